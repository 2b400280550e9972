"""Notes that researchers wrote beside items."""

from annotation.models import ItemNote, User
from annotation.selectors.datasets import datasets_visible_to


def item_notes(item_id: int) -> list[ItemNote]:
    """The notes of an item that was fetched for the reader, the first one first, with their authors; one query."""
    return list(ItemNote.objects.filter(item=item_id).select_related("author").order_by("pk"))


def note_get_for(user: User, pk: int) -> ItemNote:
    """A note of their own, on a dataset that they may still see; else `ItemNote.DoesNotExist`."""
    return ItemNote.objects.select_related("item__dataset").get(
        pk=pk, author=user, item__dataset__in=datasets_visible_to(user)
    )
