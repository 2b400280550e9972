"""What people said of items, for who compares it with what judges said."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.domain.pseudonyms import SHORT, pseudonym
from annotation.domain.scales import Scales
from annotation.kinds import kind_of
from annotation.kinds.evidence import MarkSaid, marks_said
from annotation.kinds.reasonable import KEY
from annotation.kinds.reasons import reason_words, reasons_in
from annotation.kinds.values import NO_SCALES
from annotation.models import Item, User
from annotation.models.work import LabelQuerySet
from annotation.selectors.datasets import scales_of
from annotation.selectors.overview import labels_visible_to

UNDECIDED = 0.5
"""Share of yes at which people are divided."""


@dataclass(frozen=True, slots=True)
class PeopleSaid:
    """The current labels of one item, taken together.

    Attributes
    ----------
    n : int
        Labels, one a person.
    choices : tuple of three int
        Of a pair: how many said tie, first response, second response (canonical order).
    parts : mapping of str to float
        Mean rating by criterion (without those who say that it does not apply), share of yes in [0, 1] by aspect (who
        could not tell left out), or mean rank by what was ranked.
    scales : mapping of str to Scale
        Of criteria.
    """

    kind: str
    n: int
    choices: tuple[int, int, int] = (0, 0, 0)
    parts: Mapping[str, float] = field(default_factory=dict)
    scales: Scales = field(default_factory=dict)

    @property
    def majority(self) -> int | None:
        """What most people chose of a pair: 1, 2, or 0 for a tie; None where two choices share the lead."""
        most = max(self.choices)
        leaders = [choice for choice, n in enumerate(self.choices) if n == most]
        return leaders[0] if most and len(leaders) == 1 else None

    @property
    def answers(self) -> dict[str, bool | None]:
        """Of a checklist: what most people answered, by aspect; None where they are divided."""
        return {key: None if share == UNDECIDED else share > UNDECIDED for key, share in self.parts.items()}


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """One current label of an item; the person by their pseudonym, the reasons that they picked in words."""

    label_id: int
    person: str
    is_simulated: bool
    study: str
    kind: str
    value: dict[str, Any]
    choice: int | None
    comment: str
    marks: tuple[MarkSaid, ...]
    seconds: float | None
    created_at: datetime
    reasons: tuple[str, ...] = ()


def people_said(
    item_ids: Iterable[int], *, reader: User | None = None, study_id: int | None = None
) -> dict[int, PeopleSaid]:
    """What people said of these items; items without a label are left out, and labels that `reader` may not see.

    One query, and one for the scales of each dataset with ratings.
    """
    found: dict[int, list[tuple[str, int | None, dict[str, Any]]]] = defaultdict(list)
    datasets: dict[int, int] = {}
    rows = _current(reader, study_id).filter(item_id__in=list(item_ids)).order_by("item_id", "pk")
    for item_id, dataset, kind, choice, value in rows.values_list(
        "item_id", "item__dataset_id", "kind", "choice", "value"
    ):
        found[item_id].append((kind, choice, value))
        if kind_of(kind).parts == "criteria":
            datasets[item_id] = dataset
    scales = {dataset: scales_of(dataset) for dataset in set(datasets.values())}
    return {
        item_id: said_together(
            labels[0][0],
            [(choice, value) for _, choice, value in labels],
            scales[datasets[item_id]] if item_id in datasets else NO_SCALES,
        )
        for item_id, labels in found.items()
    }


def _current(reader: User | None, study_id: int | None = None) -> LabelQuerySet:
    rows = labels_visible_to(reader).current()
    return rows if study_id is None else rows.filter(study=study_id)


def items_labelled(
    items: QuerySet[Item],
    *,
    least: int = 1,
    annotator_id: int | None = None,
    with_set: bool = False,
    reader: User | None = None,
    study_id: int | None = None,
) -> QuerySet[Item]:
    """Those of the items that so many annotators labelled, or this one; with labels that have a response set."""
    labels = _current(reader, study_id).order_by()
    if with_set:
        labels = labels.filter(value__has_key=KEY)
    if annotator_id is not None:
        labels = labels.filter(annotator=annotator_id)
    if least == 1:
        return items.filter(Exists(labels.filter(item=OuterRef("pk"))))
    counted = labels.values("item").annotate(n=Count("annotator", distinct=True)).filter(n__gte=least)
    return items.filter(pk__in=counted.values("item"))


def annotators_of_items(
    items: QuerySet[Item], *, reader: User | None = None, study_id: int | None = None
) -> list[tuple[int, int]]:
    """Who labelled what: (item, annotator), each once; one query."""
    rows = _current(reader, study_id).filter(item__in=items).order_by()
    return list(rows.values_list("item_id", "annotator_id").distinct())


def annotator_by_pseudonym(
    name: str, *, dataset_id: int, reader: User | None = None, study_id: int | None = None
) -> int | None:
    """The annotator who has this pseudonym in a study, or in a dataset where none is given; one query."""
    labels = _current(reader, study_id).filter(item__dataset=dataset_id).order_by()
    people = labels.values_list("annotator_id", "annotator__public_id").distinct()
    return next(
        (pk for pk, one in people if str(pseudonym(one, study=study_id, dataset=dataset_id)) == name), None
    )


def choices_said(
    items: QuerySet[Item], *, reader: User | None = None, study_id: int | None = None
) -> dict[int, tuple[int, int, int]]:
    """How many said tie, first and second of each pair that has a label; counted by the database, one query."""
    rows = _current(reader, study_id).filter(item__in=items).order_by().values_list("item_id")
    counted = rows.annotate(**{f"n_{choice}": Count("pk", filter=Q(choice=choice)) for choice in (0, 1, 2)})
    return {item_id: (ties, first, second) for item_id, ties, first, second in counted}


def values_said(
    items: QuerySet[Item], *, reader: User | None = None, study_id: int | None = None
) -> dict[int, list[dict[str, Any]]]:
    """What people said of each of these items that has a label; one query."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = _current(reader, study_id).filter(item__in=items).order_by("item_id", "pk")
    for item_id, value in rows.values_list("item_id", "value").iterator(chunk_size=5_000):
        found[item_id].append(value)
    return found


def item_labels(item_id: int, *, reader: User | None = None) -> list[PersonSaid]:
    """The current labels of an item that `reader` may see, the first one first; one query."""
    rows = list(
        _current(reader).filter(item_id=item_id).select_related("annotator", "study", "item").order_by("pk")
    )
    marked = [mark["response"] for row in rows for mark in row.evidence or ()]
    are_several = bool(marked) and kind_of(rows[0].item.kind).ordered == "responses"
    names = [f"Response {number}" for number in range(1, max(marked) + 1)] if are_several else ()
    return [
        PersonSaid(
            label_id=row.pk,
            person=str(pseudonym(row.annotator.public_id, study=row.study_id, dataset=row.item.dataset_id))[
                :SHORT
            ],
            is_simulated=row.annotator.is_simulated,
            study=row.study.title if row.study is not None else "",
            kind=row.kind,
            value=row.value,
            choice=row.choice,
            comment=row.comment,
            marks=marks,
            seconds=None if row.active_ms is None else row.active_ms / 1000,
            created_at=row.created_at,
            reasons=tuple(
                reason_words(reasons_in(row.value) or (), row.study.reasons_offered if row.study else ())
            ),
        )
        for row, marks in zip(rows, marks_said((row.evidence for row in rows), names=names), strict=True)
    ]


def said_together(
    kind: str, labels: Sequence[tuple[int | None, Mapping[str, Any]]], scales: Scales = NO_SCALES
) -> PeopleSaid:
    """Labels of one item, (choice, value) each, taken together; `scales` are those of its criteria."""
    if kind_of(kind).scale == "preference":
        counts = Counter(choice for choice, _ in labels)
        return PeopleSaid(kind, len(labels), (counts[0], counts[1], counts[2]))
    numbers: dict[str, list[float]] = defaultdict(list)
    for _, value in labels:
        for key, number in parts_of(kind, value).items():
            numbers[key].append(number)
    means = {key: sum(each) / len(each) for key, each in numbers.items()}
    return PeopleSaid(kind, len(labels), parts=means, scales=scales)


def parts_of(kind: str, value: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a value by part, without what could not be told."""
    return {key: number for key, number in kind_of(kind).numbers(value).items() if number is not None}
