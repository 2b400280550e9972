"""What judging has to know of datasets before it reads their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.domain.conversation import flatten
from annotation.models import Item, Kind


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """How many items of one kind a dataset has, and how many of them lack a human-written reference."""

    n_items: int = 0
    n_without_reference: int = 0


def item_counts(*, dataset_ids: Iterable[int], kind: str = Kind.PAIRWISE) -> dict[int, ItemCounts]:
    """Count the items of `kind` in each dataset; one query. A dataset without any is in the result too."""
    wanted = list(dataset_ids)
    lacking = Q(instruction__reference__isnull=True) | Q(instruction__reference="")
    rows = (
        Item.objects.filter(dataset_id__in=wanted, kind=kind)
        .order_by()
        .values_list("dataset_id")
        .annotate(n=Count("pk"), lacking=Count("pk", filter=lacking))
    )
    found = {dataset_id: ItemCounts(n, lacking) for dataset_id, n, lacking in rows}
    return {dataset_id: found.get(dataset_id, ItemCounts()) for dataset_id in wanted}


def context_for_judging(context: str, conversation: Sequence[Mapping[str, str]]) -> str:
    """What a judge reads before the instruction: the conversation so far as one text, then the context."""
    return "\n\n".join(part for part in (flatten(conversation), context) if part)
