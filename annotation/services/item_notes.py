"""Writing, changing and deleting notes on items."""

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.domain.errors import ItemNoteError
from annotation.models import Item, ItemNote, User

MAX_NOTE = 2_000
MAX_NOTES = 100


def note_add(*, item: Item, author: User, text: str, nonce: str) -> ItemNote:
    """Write a note; a form that is sent twice (`nonce`) writes one. Raises `ItemNoteError`."""
    written = _checked(text)
    same = ItemNote.objects.filter(item=item, author=author)
    if (found := same.filter(nonce=nonce).first()) is not None:
        return found
    if same.count() >= MAX_NOTES:
        raise ItemNoteError(f"You have {MAX_NOTES} notes on this item. Delete one first.")
    try:
        with transaction.atomic():
            return ItemNote.objects.create(item=item, author=author, text=written, nonce=nonce)
    except IntegrityError:  # sent twice at once: the other one has it
        return same.get(nonce=nonce)


def note_change(*, note: ItemNote, text: str) -> None:
    """Change a note of one's own; the same text again changes nothing. Raises `ItemNoteError`."""
    written = _checked(text)
    # Nothing where it was deleted meanwhile: a change never brings it back.
    ItemNote.objects.filter(pk=note.pk).exclude(text=written).update(text=written, edited_at=timezone.now())


def note_delete(*, note: ItemNote) -> bool:
    """Delete a note of one's own; False if it is gone already."""
    return bool(ItemNote.objects.filter(pk=note.pk).delete()[0])


def _checked(text: str) -> str:
    written = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not written:
        raise ItemNoteError("Write a note first.")
    if len(written) > MAX_NOTE:
        raise ItemNoteError(f"Shorten the note to {MAX_NOTE:,} characters; it has {len(written):,}.")
    return written
