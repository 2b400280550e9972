"""Items as the pages of judgments need them: chosen by a filter, and one of them with all of its texts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Left

from annotation.domain.conversation import Turn, turns_of
from annotation.kinds import ItemKind, kind_of
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownResponse
from annotation.kinds.shown_trace import ShownStep, steps_shown
from annotation.models import (
    Aspect,
    Dataset,
    Instruction,
    Item,
    ItemNote,
    ItemResponse,
    ItemRole,
    Label,
    Study,
    StudyItem,
)
from annotation.selectors.costly import counted_of_version
from annotation.selectors.datasets import items_of
from annotation.selectors.judging import ItemSlice
from annotation.selectors.shown import aspects_shown, criteria_shown

EXCERPT = 400
"""Characters of a text that a list of items reads."""


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
    conversation: tuple[Turn, ...]
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

    @property
    def conversation_steps(self) -> tuple[ShownStep, ...]:
        """The turns before the instruction, tool calls with their results."""
        return steps_shown(self.conversation)


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
    rows = Item.objects.current().order_by()
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


def keys_of_aspects(instructions: Collection[int]) -> dict[int, list[str]]:
    """The keys of the aspects of each of these instructions, in their order; one query."""
    found: dict[int, list[str]] = defaultdict(list)
    rows = Aspect.objects.filter(instruction__in=instructions).order_by("position", "pk")
    for instruction, key in rows.values_list("instruction_id", "key"):
        found[instruction].append(key)
    return found


def responses_of_item() -> QuerySet[ItemResponse]:
    """The responses of the item of an outer query, as a subquery of it."""
    return ItemResponse.objects.filter(item=OuterRef("pk")).order_by()


def items_found(
    *,
    dataset_id: int,
    kind: str,
    category: str = "",
    subset: str = "",
    study: Study | None = None,
    text: str = "",
) -> QuerySet[Item]:
    """Items of a dataset of one kind; `text` is a part of an item's name, of its instruction or of a response.

    Of a study those of its version that it asks about, and those that it had labels of before they were withdrawn.
    """
    part = ItemSlice((category,) if category else (), (subset,) if subset else ())
    rows = items_of([dataset_id], kind, study=study).filter(part.condition("instruction__"))
    if study is not None:
        asked = StudyItem.objects.filter(study=study, withdrawn_at=None, item=OuterRef("pk"))
        labelled = Label.objects.current().filter(study=study, item=OuterRef("pk"))
        rows = rows.filter(Exists(asked) | Exists(labelled))
    if text:
        answered = ItemResponse.objects.filter(item=OuterRef("pk"), response__text__icontains=text)
        rows = rows.filter(
            Q(external_id__icontains=text) | Q(instruction__text__icontains=text) | Exists(answered)
        )
    return rows


def items_asked(study: Study, *, complete: bool = False) -> QuerySet[StudyItem, int]:
    """Primary keys of the items that a study asks about, or of those of them that have all their labels."""
    places = StudyItem.objects.filter(study=study, role=ItemRole.WORK, withdrawn_at=None)
    places = places.filter(n_accepted__gte=F("overlap")) if complete else places
    return places.values_list("item", flat=True)


@dataclass(frozen=True, slots=True)
class ItemExcerpt:
    """An item as a list shows it: the beginnings of its texts; responses in canonical order."""

    item_id: int
    external_id: str
    kind: str
    category: str
    subset: str
    instruction: str
    responses: tuple[str, ...]
    gold: Mapping[str, Any] | None
    n_notes: int

    @property
    def kind_info(self) -> ItemKind:
        return kind_of(self.kind)


def item_excerpts(item_ids: Sequence[int]) -> dict[int, ItemExcerpt]:
    """The beginnings of the texts of items; three queries."""
    rows = (
        Item.objects.filter(pk__in=item_ids)
        .order_by()
        .annotate(asked=Left("instruction__text", EXCERPT))
        .values("pk", "external_id", "kind", "gold", "asked", "instruction__category", "instruction__subset")
    )
    responses: dict[int, list[str]] = defaultdict(list)
    links = ItemResponse.objects.filter(item__in=item_ids).order_by("item_id", "position")
    for item_id, text in links.annotate(said=Left("response__text", EXCERPT)).values_list("item_id", "said"):
        responses[item_id].append(text)
    notes = Counter(ItemNote.objects.filter(item__in=item_ids).order_by().values_list("item_id", flat=True))
    return {
        row["pk"]: ItemExcerpt(
            item_id=row["pk"],
            external_id=row["external_id"],
            kind=row["kind"],
            category=row["instruction__category"],
            subset=row["instruction__subset"],
            instruction=row["asked"],
            responses=tuple(responses[row["pk"]]),
            gold=row["gold"],
            n_notes=notes[row["pk"]],
        )
        for row in rows
    }


def item_find(dataset_id: int, pk: int) -> Item | None:
    """An item of a dataset that was fetched for the reader; None where it is of another."""
    return Item.objects.filter(dataset=dataset_id, pk=pk).first()


def dataset_categories(dataset: Dataset) -> list[str]:
    """The categories of a dataset's instructions, by name; at most one query."""
    rows = Instruction.objects.filter(dataset=dataset).exclude(category="").order_by("category")
    return counted_of_version(
        dataset, "categories", lambda: list(rows.values_list("category", flat=True).distinct())
    )


def dataset_kinds(dataset: Dataset) -> dict[str, str]:
    """The kinds of a dataset's items, with what each is called, the kind of its first item first; at most one query."""
    rows = Item.objects.current().filter(dataset=dataset).order_by().values_list("kind", flat=True)
    first = rows.annotate(first=Min("position")).order_by("first", "kind")
    return {kind: kind_of(kind).label for kind in counted_of_version(dataset, "kinds", lambda: list(first))}


def kinds_ever(dataset: Dataset) -> list[str]:
    """The kinds of a dataset's items, of earlier versions too, by name; at most one query."""
    rows = Item.objects.filter(dataset=dataset).order_by("kind").values_list("kind", flat=True)
    return counted_of_version(dataset, "kinds-ever", lambda: list(rows.distinct()))


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
