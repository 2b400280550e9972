"""Sending items back to people: to a study of their own, or to an expert of a study that there is."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from annotation.domain.errors import StudyRuleError
from annotation.models import (
    AdjudicationRequest,
    Dataset,
    Item,
    ItemRole,
    Study,
    StudyItem,
    User,
)
from annotation.services.item_choice import ChosenItem, items_choose
from annotation.services.studies import study_create, study_duplicate
from web.batches import batched

CHUNK = 5_000


def study_again(
    *, dataset: Dataset, kind: str, items: Sequence[int], owner: User, nonce: str, like: Study | None = None
) -> Study:
    """A draft study with exactly these items of a dataset. The same form (`nonce`) sent twice makes one.

    With `like`, a study of the same dataset and kind, its rules and texts are copied.

    Raises
    ------
    StudyRuleError
        There is no item, or one cannot be offered; nothing is made.
    """
    slug = f"{dataset.name[:40].strip('-_')}-again-{nonce}".lower()
    made = Study.objects.filter(slug=slug, owner=owner)
    if (found := made.first()) is not None:
        return found
    if not items:
        raise StudyRuleError("items", "Select at least one item.")
    names = [
        name
        for chunk in batched(list(items), CHUNK)
        for name in Item.objects.current()
        .filter(dataset=dataset, kind=kind, pk__in=chunk)
        .order_by("position", "pk")
        .values_list("external_id", flat=True)
    ]
    try:
        with transaction.atomic():
            if like is not None and (like.dataset_id, like.kind) == (dataset.pk, kind):
                study = study_duplicate(study=like, owner=owner, slug=slug)
            else:
                title = f"{dataset.title[:180]}: labels again"
                study = study_create(dataset=dataset, kind=kind, title=title, slug=slug, owner=owner)
            items_choose(study=study, rows=[ChosenItem(name) for name in names])
    except (IntegrityError, StudyRuleError):
        if (found := made.first()) is not None:  # sent twice at once: the other one has it
            return found
        raise
    return study


def adjudication_request(*, study: Study, items: Sequence[int], by: User) -> tuple[int, int]:
    """Ask for an expert's decision about items of a study: (how many wait for one now, how many it does not have).

    Asking again changes nothing.
    """
    offered: list[int] = []
    for chunk in batched(list(items), CHUNK):
        places = StudyItem.objects.filter(
            study=study, item__in=chunk, role=ItemRole.WORK, withdrawn_at__isnull=True
        )
        offered += places.values_list("item_id", flat=True)
    AdjudicationRequest.objects.bulk_create(
        (AdjudicationRequest(study=study, item_id=item, by=by) for item in offered),
        ignore_conflicts=True,
        batch_size=CHUNK,
    )
    return len(offered), len(set(items)) - len(offered)
