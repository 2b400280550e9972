"""Items as the pages of judgments need them: chosen by a filter, and one of them with all of its texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.kinds import ItemKind, kind_of
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownResponse, ShownTurn, turns_of
from annotation.models import Instruction, Item, ItemResponse, Label
from annotation.selectors.shown import aspects_shown, criteria_shown


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """All that is known of an item, for administrators: who wrote the responses and the gold too.

    `responses` and `systems` are in canonical order.
    """

    item_id: int
    external_id: str
    kind: str
    dataset_id: int
    dataset: str
    is_private: bool
    category: str
    subset: str
    instruction: str
    context: str
    conversation: tuple[ShownTurn, ...]
    reference: str
    responses: tuple[ShownResponse, ...]
    systems: tuple[str, ...]
    criteria: tuple[ShownCriterion, ...]
    aspects: tuple[ShownAspect, ...]
    gold: Mapping[str, Any] | None
    explanation: str

    @property
    def kind_info(self) -> ItemKind:
        return kind_of(self.kind)


def items_chosen(
    *,
    dataset_id: int | None = None,
    category: str = "",
    kind: str = "",
    external_id: str = "",
    with_labels: bool = False,
    with_gold: bool = False,
) -> QuerySet[Item]:
    """Items that fit; `external_id` is a part of theirs. Nothing given: all."""
    rows = Item.objects.order_by()
    if dataset_id is not None:
        rows = rows.filter(dataset_id=dataset_id)
    if category:
        rows = rows.filter(instruction__category=category)
    if kind:
        rows = rows.filter(kind=kind)
    if external_id:
        rows = rows.filter(external_id__icontains=external_id)
    if with_labels:
        rows = rows.filter(Exists(Label.objects.filter(item=OuterRef("pk"))))
    if with_gold:
        rows = rows.filter(gold__isnull=False)
    return rows


def dataset_categories(dataset_id: int) -> list[str]:
    """The categories of a dataset's instructions, by name; one query."""
    rows = Instruction.objects.filter(dataset_id=dataset_id).exclude(category="")
    return list(rows.order_by("category").values_list("category", flat=True).distinct())


def item_texts(item_id: int) -> ItemTexts:
    """One item with its texts; at most four queries. Raises Item.DoesNotExist."""
    item = Item.objects.select_related("dataset", "instruction").get(pk=item_id)
    asked = item.instruction
    links = ItemResponse.objects.filter(item=item).order_by("position").select_related("response")
    responses = [link.response for link in links]
    parts = kind_of(item.kind).parts
    return ItemTexts(
        item_id=item.pk,
        external_id=item.external_id,
        kind=item.kind,
        dataset_id=item.dataset_id,
        dataset=item.dataset.name,
        is_private=item.dataset.is_private,
        category=asked.category,
        subset=asked.subset,
        instruction=asked.text,
        context=asked.context,
        conversation=turns_of(asked.conversation),
        reference=asked.reference or "",
        responses=tuple(ShownResponse(each.text, turns_of(each.messages)) for each in responses),
        systems=tuple(each.system for each in responses),
        criteria=criteria_shown(item.dataset_id) if parts == "criteria" else (),
        aspects=aspects_shown(asked.pk) if parts == "aspects" else (),
        gold=item.gold,
        explanation=item.explanation,
    )
