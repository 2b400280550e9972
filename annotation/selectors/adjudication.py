"""Items on which people disagree, and what experts decided about them.

An expert sees an item as an annotator would. What people said of it are counts without names and times, and is read
by `tally_of` alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.core.cache import cache
from django.utils.crypto import salted_hmac

from annotation.domain.presentation import shown_order
from annotation.domain.scales import STANDARD, Scales
from annotation.domain.scales import Scale as CriterionScale
from annotation.kinds import ItemKind, Value, kind_of
from annotation.kinds.base import Scale, from_shown, letter_of
from annotation.kinds.dimensions import on_dimension
from annotation.kinds.evidence import MarkSaid, marks_for_script, marks_said
from annotation.kinds.reasons import reasons_in
from annotation.kinds.shown import ShownItem
from annotation.kinds.values import NO_SCALES
from annotation.models import Adjudication, AdjudicationRequest, Label, Study, StudyItem, User
from annotation.selectors.agreement import LabelStamp, label_stamp
from annotation.selectors.costly import counted, study_key
from annotation.selectors.datasets import scales_of
from annotation.selectors.item_reports import reported_open
from annotation.selectors.privacy import erasure_requests_open
from annotation.selectors.shown import parts_count
from metaeval.stats import rank_agreement_contributions

VERSION = 1
CACHE_SECONDS = 24 * 60 * 60
LOW_RHO = 0.5
MANY_LABELS = 20_000  # more are not read for the sake of a number in a tab

Numbers = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Disputed:
    """An item on which people disagree, from hardly (near 0) to completely (1)."""

    item: int
    dispute: float
    labels: int


def disputed_items(study: Study, stamp: LabelStamp | None = None) -> list[Disputed]:
    """Items with two labels or more that differ, most disputed first. Withdrawn items are left out.

    Pairs: not all choices the same. Rubrics: farther apart on a criterion than its scale holds near (on 1 to 5 two
    points or more), or not at one whether it applies. Checklists: an aspect answered differently. Rankings: mean
    pairwise rho below 0.5.
    """
    key = f"disputed:{VERSION}:{study.pk}:{study.created_at.timestamp()}:{stamp or label_stamp(study)}"
    known: list[tuple[int, float, int]] | None = cache.get(key)
    if known is None:
        known = _disputed(study)
        cache.set(key, known, CACHE_SECONDS)
    withdrawn = set(
        StudyItem.objects.filter(study=study, withdrawn_at__isnull=False).values_list("item_id", flat=True)
    )
    return [Disputed(*row) for row in known if row[0] not in withdrawn]


def _disputed(study: Study) -> list[tuple[int, float, int]]:
    """(item, dispute, labels), plain, so that thousands are quickly read from the cache."""
    labels = Label.objects.current().filter(study=study, kind=study.kind)
    kind = kind_of(study.kind)
    values: dict[int, list[Numbers]] = {}
    rows = labels.order_by("item__position", "item_id", "pk").values_list("item_id", kind.column)
    for item, value in rows.iterator(chunk_size=5_000):
        values.setdefault(item, []).append(kind.numbers(kind.of_column(value)))
    several = {item: found for item, found in values.items() if len(found) >= 2}
    scales = scales_of(study.dataset_id) if kind.parts == "criteria" else NO_SCALES
    disputes = disputes_of(kind.name, list(several.values()), scales)
    result = [
        (item, dispute, len(found))
        for (item, found), dispute in zip(several.items(), disputes, strict=True)
        if dispute > 0
    ]
    return sorted(result, key=lambda row: (-row[1], -row[2]))


def _split(answers: Sequence[Any]) -> float:
    """Share of those who did not give the commonest answer, of the most that it can be: 1 is no two alike."""
    commonest = max(Counter(answers).values())
    return (len(answers) - commonest) / (len(answers) - 1)


def _names_split(items: Sequence[Sequence[Numbers]], scales: Scales) -> list[float]:  # noqa: ARG001
    return [
        max((_split(said) for said in _columns(values).values() if len(said) > 1), default=0.0)
        for values in items
    ]


def _points_apart(items: Sequence[Sequence[Numbers]], scales: Scales) -> list[float]:
    return [
        max(
            (_apart(points, scales.get(key, STANDARD)) for key, points in _columns(values).items()),
            default=0.0,
        )
        for values in items
    ]


def _apart(points: Sequence[float | None], scale: CriterionScale) -> float:
    known = [point for point in points if point is not None]
    # Whether the criterion applies at all.
    applies = _split([point is None for point in points]) if len(points) > 1 else 0.0
    apart = max(known) - min(known) if known else 0.0
    return max(applies, apart / scale.width if apart > scale.near else 0.0)


def _orders_apart(items: Sequence[Sequence[Numbers]], scales: Scales) -> list[float]:  # noqa: ARG001
    matrices = [np.array(list(_columns(values).values()), dtype=np.float64).T for values in items]
    if not matrices:
        return []
    disputes = []
    for values, rho in zip(items, rank_agreement_contributions(matrices).tolist(), strict=True):
        if np.isnan(rho):  # somebody holds all parts for equal
            disputes.append(0.5 if any(value != values[0] for value in values) else 0.0)
        else:
            disputes.append((1 - rho) / 2 if rho < LOW_RHO else 0.0)
    return disputes


def _columns(values: Iterable[Numbers]) -> dict[str, list[float | None]]:
    """Part to what each person said of it."""
    columns: dict[str, list[float | None]] = {}
    for value in values:
        for part, said in value.items():
            columns.setdefault(part, []).append(said)
    return columns


_DISPUTES: dict[Scale, Callable[[Sequence[Sequence[Numbers]], Scales], list[float]]] = {
    "preference": _names_split,
    "nominal": _names_split,
    "ordinal": _points_apart,
    "ranks": _orders_apart,
}


def disputes_of(kind: str, items: Sequence[Sequence[Numbers]], scales: Scales = NO_SCALES) -> list[float]:
    """How far people disagree on each item, 0 to 1; `items` has the numbers of each label of an item, `scales` those of
    the criteria.
    """
    return _DISPUTES[kind_of(kind).scale](items, scales)


def adjudications_of(study: Study) -> dict[int, dict[str, Any]]:
    """Item id to the value that stands, in canonical order."""
    standing = Adjudication.objects.filter(study=study, superseded_by__isnull=True)
    return dict(standing.values_list("item_id", "value"))


def adjudications_listed(study: Study) -> list[Adjudication]:
    """What stands, latest first, with item and expert."""
    standing = Adjudication.objects.filter(study=study, superseded_by__isnull=True)
    return list(standing.select_related("item__instruction", "expert").order_by("-pk"))


@dataclass(frozen=True, slots=True)
class AdjudicationQueue:
    """What there is to decide: items in order, those that were asked for first, and which of them are decided."""

    items: tuple[int, ...]
    decided: frozenset[int]

    @property
    def left(self) -> int:
        return sum(item not in self.decided for item in self.items)

    @property
    def done(self) -> int:
        return len(self.items) - self.left

    def next(self, after: int | None = None) -> int | None:
        """The most disputed item without a decision; with `after`, the next one behind that, round the end."""
        start = self.items.index(after) + 1 if after in self.items else 0
        rotated = self.items[start:] + self.items[:start]
        return next((item for item in rotated if item not in self.decided), None)


def queue_of(study: Study, stamp: LabelStamp | None = None) -> AdjudicationQueue:
    requests = AdjudicationRequest.objects.filter(
        study=study, item__study_items__study=study, item__study_items__withdrawn_at=None
    )
    asked = dict.fromkeys(requests.order_by("pk").values_list("item_id", flat=True))
    items = tuple(asked | dict.fromkeys(row.item for row in disputed_items(study, stamp)))
    return AdjudicationQueue(items, frozenset(adjudications_of(study)))


def place_of(study: Study, item_id: int) -> StudyItem:
    """An item of a study that was fetched for the user, or `StudyItem.DoesNotExist`."""
    place = StudyItem.objects.select_related("item__instruction", "item__dataset").get(
        study=study, item_id=item_id
    )
    place.study = study
    return place


def expert_order(study: Study, item_id: int, expert: User) -> list[int]:
    """The order in which this expert sees the parts of the item: random, and the same whenever they come back."""
    return shown_order(UUID(int=expert.pk), item_id, parts_count(study, item_id))


def standing_for(place: StudyItem) -> Adjudication | None:
    return Adjudication.objects.filter(
        study=place.study, item_id=place.item_id, superseded_by__isnull=True
    ).first()


@dataclass(frozen=True, slots=True)
class TallyRow:
    """What people said of one part: words and how many of them, in the order shown; `reasonable` are those that some
    find reasonable and how many do, where they were asked.
    """

    part: str
    counts: tuple[tuple[str, int], ...]
    reasonable: tuple[tuple[str, int], ...] = ()


def tally_of(place: StudyItem, shown: ShownItem, order: Sequence[int]) -> list[TallyRow]:
    """Counts of what people said, as it looks in this expert's order: no names, no times."""
    study = place.study
    said = (
        Label.objects.current()
        .filter(study=study, item_id=place.item_id)
        .order_by("pk")
        .values_list("value", flat=True)
    )
    kind = kind_of(study.kind)
    values = [from_shown(kind, value, order) for value in said]
    columns = _columns(kind.numbers(value) for value in values)
    sets = [kind.set_numbers(value) for value in values]
    scales = {criterion.key: criterion.scale for criterion in shown.criteria}
    reasonable = [numbers for found in sets for numbers in found.values()]
    every = [number for column in (*columns.values(), *reasonable) for number in column]
    rows = []
    for part in kind.shown_parts(shown) if columns else ():
        said_of_it = columns.get(part.key, [])
        included = Counter(number for found in sets for number in found.get(part.key, ()))
        own = kind.tally([*said_of_it, *included] if scales else every, scales.get(part.key, STANDARD))
        counts = Counter(said_of_it)
        rows.append(
            TallyRow(
                part.text,
                tuple((kind.number_words(number), counts[number]) for number in own),
                tuple((kind.number_words(number), included[number]) for number in own if included[number]),
            )
        )
    return [*_by_dimension(rows, kind, values, shown), *_reasons_picked(values, shown)]


def _by_dimension(
    overall: list[TallyRow], kind: ItemKind, values: Sequence[Value], shown: ShownItem
) -> list[TallyRow]:
    """The rows of an item whose study asks on several dimensions, `overall` being what was said on the overall one."""
    if not shown.dimensions or not overall:
        return overall
    rows = []
    for dimension in shown.dimensions:
        if dimension.overall:
            rows += [replace(row, part=dimension.name) for row in overall]
            continue
        said = [on_dimension(value, dimension.key) for value in values]
        numbers = [kind.numbers(each)[""] for each in said if each is not None]
        counts = Counter(numbers)
        listed = tuple((kind.number_words(number), counts[number]) for number in kind.tally(numbers))
        rows.append(TallyRow(dimension.name, listed))
    return rows


def _reasons_picked(values: Sequence[Value], shown: ShownItem) -> list[TallyRow]:
    counts = Counter(key for value in values for key in reasons_in(value) or ())
    listed = tuple((reason.words, counts[reason.key]) for reason in shown.reasons if counts[reason.key])
    return [TallyRow("Reasons", listed)] if listed else []


@dataclass(frozen=True, slots=True)
class MarksOfItem:
    """The passages that people marked of an item: those of each person who marked some, and all for the script."""

    people: tuple[tuple[MarkSaid, ...], ...]

    @property
    def script(self) -> str:
        return marks_for_script(self.people)


def marks_of(place: StudyItem, order: Sequence[int]) -> MarksOfItem:
    """What people marked, as it looks in this expert's order: no names, no times, and in an order of people that says
    nothing of either.
    """
    labels = Label.objects.current().filter(study=place.study, item_id=place.item_id, evidence__isnull=False)
    rows = {pk: evidence for pk, evidence in labels.values_list("pk", "evidence") if evidence}
    mixed = sorted(rows, key=lambda pk: salted_hmac("annotation.marks", str(pk), algorithm="sha256").digest())
    is_ordered = kind_of(place.study.kind).ordered == "responses"
    names = [f"Answer {letter_of(shown)}" for shown in range(len(order))] if is_ordered else ()
    people = marks_said((rows[pk] for pk in mixed), order if is_ordered else None, names)
    return MarksOfItem(tuple(people))


def waiting_counts(study: Study) -> dict[str, int | None]:
    """How much waits for somebody, for the tabs of a study; None where it would take too long to say.

    Five queries where the labels are not new.
    """
    return counted(study_key(study, "waiting"), lambda: _waiting_counts(study))


def _waiting_counts(study: Study) -> dict[str, int | None]:
    stamp = label_stamp(study)
    disputed = queue_of(study, stamp).left if stamp.counted <= MANY_LABELS else None
    return {
        "disputed": disputed,
        "reports": reported_open(study),
        "erasures": erasure_requests_open(study).count(),
    }
