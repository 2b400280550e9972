"""Items of a dataset that fit a filter, with what people and judges said of them, page by page.

What fits is decided by the database: judges' and people's choices of a pair are counted there, so that of the rows
of a dataset only one a pair is read, and none where nothing but the items themselves is asked. Values of the other
kinds are JSON, which is compared here; of so many judgments that this would take long, it asks for fewer judges.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.domain.scales import STANDARD
from annotation.kinds import kind_of
from annotation.kinds.values import NO_SCALES
from annotation.models import Item
from annotation.selectors.adjudication import disputes_of
from annotation.selectors.datasets import scales_of
from annotation.selectors.judged_items import ItemExcerpt, item_excerpts, items_found
from annotation.selectors.judging_labels import (
    PeopleSaid,
    choices_said,
    parts_of,
    people_said,
    said_together,
    values_said,
)
from judges.models import Judgment, ParseStatus
from judges.selectors.disagreement import against_gold, against_people, rank_correlation_of
from judges.selectors.item_cells import Choices, Verdicts, pair_in_cell, parts_in_cell
from judges.selectors.item_conditions import with_conditions
from judges.selectors.item_filter import CASES, COMPARED, ItemFilter
from judges.selectors.judgment_list import other_verdicts

PAGE = 25
MOST_VALUES = 40_000
"""Judgments of a kind other than pairs that are compared for one page."""


@dataclass(frozen=True, slots=True)
class JudgeSaid:
    """What one judge said of an item; `judgments` in the order of presentation, at most two."""

    judge_id: int
    name: str
    judgments: tuple[Judgment, ...]
    disagrees: bool | None
    is_wrong: bool | None

    @property
    def differs(self) -> bool:
        """Whether its verdicts in both orders say different things."""
        return len({each.choice for each in self.judgments if each.choice is not None}) > 1


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item of the list. `disagreement` is from 0 to 1; None where there is nothing to compare."""

    item: ItemExcerpt
    people: PeopleSaid | None
    judges: tuple[JudgeSaid, ...]
    disagreement: float | None

    @property
    def n_disagree(self) -> int:
        return sum(judge.disagrees is True for judge in self.judges)

    @property
    def n_wrong(self) -> int:
        return sum(judge.is_wrong is True for judge in self.judges)

    @property
    def n_differ(self) -> int:
        return sum(judge.differs for judge in self.judges)

    @property
    def n_unparsed(self) -> int:
        return sum(
            any(each.status != ParseStatus.PARSED for each in judge.judgments) for judge in self.judges
        )


@dataclass(frozen=True, slots=True)
class ItemPage:
    """One page of the list. `newer` and `older` are the items from which to read the pages before and after."""

    rows: tuple[ListedItem, ...]
    n_found: int
    newer: int | None
    older: int | None


class TooManyError(Exception):
    """So many judgments would have to be compared that a page would take long."""


def item_page(
    filters: ItemFilter, *, after: int | None = None, before: int | None = None, size: int = PAGE
) -> ItemPage:
    """Return a page: the first one, the one that follows `after`, or the one that ends above `before`.

    The number of queries does not depend on the size. Raises `TooManyError`.
    """
    if filters.is_by_number:
        return _page_by_number(filters, after=after, before=before, size=size)
    ids = item_order(filters)
    if before is not None and before in ids:
        end = ids.index(before)
        start = max(0, end - size)
    else:
        start = ids.index(after) + 1 if after is not None and after in ids else 0
        end = start + size
    shown = ids[start:end]
    return ItemPage(
        rows=_rows(filters, shown),
        n_found=len(ids),
        newer=shown[0] if shown and start > 0 else None,
        older=shown[-1] if shown and end < len(ids) else None,
    )


def item_neighbours(filters: ItemFilter, item_id: int) -> tuple[int | None, int | None]:
    """The items above and below one in the list; None at the ends, and where it is not in it."""
    if filters.is_by_number:
        items = _items(filters)
        if (here := _place(items, item_id)) is None:
            return None, None
        return _beside(items, here, 1, down=False)[0], _beside(items, here, 1, down=True)[0]
    try:
        ids = item_order(filters)
        place = ids.index(item_id)
    except (TooManyError, ValueError):
        return None, None
    return (ids[place - 1] if place else None), (ids[place + 1] if place + 1 < len(ids) else None)


def _page_by_number(filters: ItemFilter, *, after: int | None, before: int | None, size: int) -> ItemPage:
    """A page of the items in their own order: the database reads no more of them than the page has."""
    items = _items(filters)
    above = _place(items, before)
    if above is not None:
        shown = [pk for pk in _beside(items, above, size + 1, down=False) if pk is not None]
        more, shown = len(shown) > size, shown[:size][::-1]
        newer = shown[0] if more else None
        older = shown[-1] if shown else None
    else:
        below = _place(items, after)
        shown = [pk for pk in _beside(items, below, size + 1, down=True) if pk is not None]
        more, shown = len(shown) > size, shown[:size]
        newer = shown[0] if shown and below is not None else None
        older = shown[-1] if more else None
    return ItemPage(rows=_rows(filters, shown), n_found=items.count(), newer=newer, older=older)


def _place(items: QuerySet[Item], pk: int | None) -> tuple[int, int] | None:
    """Where an item stands in the order of the source; None where it is not among these."""
    return None if pk is None else items.filter(pk=pk).values_list("position", "pk").first()


def _beside(items: QuerySet[Item], place: tuple[int, int] | None, n: int, *, down: bool) -> list[int | None]:
    """The items next to a place (None: from the start), the nearest first; at least one, None where there is none."""
    if place is not None:
        position, pk = place
        # The condition on the position alone lets an index bound the search.
        if down:
            items = items.filter(~Q(position=position, pk__lte=pk), position__gte=position)
        else:
            items = items.filter(~Q(position=position, pk__gte=pk), position__lte=position)
    order = ("position", "pk") if down else ("-position", "-pk")
    found = list(items.order_by(*order).values_list("pk", flat=True)[:n])
    return [*found] or [None]


def item_order(filters: ItemFilter) -> list[int]:
    """All items that fit, in the order of the list. Raises `TooManyError`."""
    items = _items(filters)
    ids = list(items.order_by("position", "pk").values_list("pk", flat=True))
    if filters.sort in CASES:
        found = item_order(replace(filters, sort="number"))
        first = set(item_order(replace(filters, case=filters.sort, sort="number")))
        return sorted(found, key=lambda pk: pk not in first)
    if not filters.is_compared:
        return ids
    compared = _pairs(filters, items) if kind_of(filters.kind).presented else _values(filters, items)
    fitting = [pk for pk in ids if pk in compared]
    if filters.sort == "disagreement":
        # Stable: equals stay in the order of their numbers; items without anything to compare come last.
        fitting.sort(key=lambda pk: 1.0 if (found := compared[pk]) is None else -found)
    return fitting


def _items(filters: ItemFilter) -> QuerySet[Item]:
    """Items that fit as far as the rows themselves say."""
    items = items_found(
        dataset_id=filters.dataset_id,
        kind=filters.kind,
        category=filters.category,
        subset=filters.subset,
        study=filters.study,
        text=filters.text,
    )
    items = with_conditions(items, filters, _judgments(filters))
    said = _judgments(filters).filter(item=OuterRef("pk"))
    if filters.case == "unparsed":
        items = items.filter(Exists(said.exclude(status=ParseStatus.PARSED)))
    if filters.case == "orders_differ":
        items = items.filter(Exists(said.filter(Exists(other_verdicts()))))
    return items


def _judgments(filters: ItemFilter) -> QuerySet[Judgment]:
    rows = Judgment.objects.order_by()
    rows = rows.filter(sample=0) if filters.is_counted else rows
    return rows.filter(judge_id__in=filters.judge_ids) if filters.judge_ids else rows


def _pairs(filters: ItemFilter, items: QuerySet[Item]) -> dict[int, float | None]:
    """The pairs that fit what was said, with their disagreement."""
    is_of_people = filters.case == "split" and filters.sort != "disagreement" and not filters.truth
    needs_gold = filters.case == "wrong" or filters.truth == "gold"
    return {
        pk: pair_disagreement(labels, said) if labels and said else None
        for pk, labels, said, gold in _pair_rows(filters, items, judges=not is_of_people, golds=needs_gold)
        if _pair_fits(filters, labels, said, gold)
    }


def _pair_rows(filters: ItemFilter, items: QuerySet[Item], *, judges: bool, golds: bool) -> list["PairRow"]:
    """What was said of each pair, counted by the database, and its gold."""
    people = choices_said(items, reader=filters.reader, study_id=filters.study_id)
    judgments = _judgments(filters) if judges else Judgment.objects.none()
    counted = judgments.filter(item__in=items).values_list("item_id")
    verdicts = {
        pk: (ties, first, second, unread)
        for pk, ties, first, second, unread in counted.annotate(
            **{f"n_{choice}": Count("pk", filter=Q(choice=choice)) for choice in (0, 1, 2)},
            unread=Count("pk", filter=Q(choice=None)),
        )
    }
    gold = dict(items.filter(gold__isnull=False).values_list("pk", "gold")) if golds else {}
    return [
        (pk, people.get(pk), verdicts.get(pk), (gold.get(pk) or {}).get("choice"))
        for pk in items.values_list("pk", flat=True)
    ]


PairRow = tuple[int, Choices | None, Verdicts | None, int | None]


def _pair_fits(filters: ItemFilter, labels: Choices | None, said: Verdicts | None, gold: int | None) -> bool:
    if filters.case == "split":
        return labels is not None and sum(n > 0 for n in labels) > 1
    majority = None if labels is None else PeopleSaid(filters.kind, sum(labels), labels).majority
    if filters.case in ("disagrees", "wrong"):
        right = majority if filters.case == "disagrees" else gold
        if said is None or right is None or not sum(said[:3]) - said[right]:
            return False
    return not filters.truth or pair_in_cell(filters, labels, said, gold, majority)


def pair_disagreement(labels: Choices, said: Verdicts) -> float:
    """The share of all (verdict, label) pairs that differ; what could not be read differs from every label."""
    alike = sum(n * said[choice] for choice, n in enumerate(labels))
    return 1.0 - alike / (sum(labels) * sum(said))


def _values(filters: ItemFilter, items: QuerySet[Item]) -> dict[int, float | None]:
    """The items of another kind that fit what was said, with their disagreement."""
    return {
        pk: value_disagreement(filters.kind, said, people)
        for pk, fits, said, people in _value_rows(filters, items)
        if fits.get(filters.case, True)
    }


def _value_rows(filters: ItemFilter, items: QuerySet[Item]) -> Iterator["ValueRow"]:
    """The items that are in the filter's cell, each with the cases that it fits and what was said."""
    kind = kind_of(filters.kind)
    rows = _judgments(filters).filter(item__in=items).values_list("item_id", "status", "value")
    read = list(rows[: MOST_VALUES + 1])
    if len(read) > MOST_VALUES:
        raise TooManyError
    said: dict[int, list[dict[str, Any] | None]] = defaultdict(list)
    for pk, status, value in read:
        said[pk].append(value if status == ParseStatus.PARSED else None)
    labels = values_said(items, reader=filters.reader, study_id=filters.study_id)
    several = [pk for pk, values in labels.items() if len(values) > 1]
    scales = scales_of(filters.dataset_id) if kind.parts == "criteria" else NO_SCALES
    numbers = [[kind.numbers(value) for value in labels[pk]] for pk in several]
    disputes = disputes_of(filters.kind, numbers, scales)
    split = {pk for pk, dispute in zip(several, disputes, strict=True) if dispute > 0}
    for pk, gold in items.values_list("pk", "gold"):
        if filters.truth and not parts_in_cell(filters, labels.get(pk, ()), said[pk], gold, scales):
            continue
        people = (
            said_together(filters.kind, [(None, value) for value in labels[pk]], scales)
            if pk in labels
            else None
        )
        heard = [value for value in said[pk] if value is not None]
        fits = {
            "split": pk in split,
            "disagrees": any(against_people(filters.kind, None, value, people) for value in heard),
            "wrong": any(against_gold(filters.kind, None, value, gold) for value in heard),
        }
        yield pk, fits, said[pk], people


ValueRow = tuple[int, dict[str, bool], list[dict[str, Any] | None], PeopleSaid | None]


def case_counts(filters: ItemFilter) -> dict[str, int]:
    """How many items each case of a list has under its other filters; "" is all. Raises `TooManyError`."""
    every = replace(filters, case="", sort="number")
    items = _items(every)
    found = {case: len(item_order(replace(every, case=case))) for case in ("", "orders_differ", "unparsed")}
    if kind_of(filters.kind).presented:
        rows = _pair_rows(every, items, judges=True, golds=True)
        return found | {
            case: sum(_pair_fits(replace(every, case=case), *row[1:]) for row in rows) for case in COMPARED
        }
    values = [fits for _, fits, _, _ in _value_rows(every, items)]
    return found | {case: sum(fits[case] for fits in values) for case in COMPARED}


def value_disagreement(
    kind: str, said: Sequence[Mapping[str, Any] | None], people: PeopleSaid | None
) -> float | None:
    """The mean distance of verdicts from people, from 0 to 1: of ratings as a share of the scale, of answers from the
    share of people who say yes, of rankings half of one minus rho. What could not be read is 1 away.
    """
    if people is None or not said:
        return None
    apart = [1.0 if value is None else _apart(kind, parts_of(kind, value), people) for value in said]
    known = [each for each in apart if each is not None]
    return sum(known) / len(known) if known else None


def _apart(kind: str, said: Mapping[str, float], people: PeopleSaid) -> float | None:
    shared = [key for key in said if key in people.parts]
    if not shared:
        return None
    mine, theirs = [said[key] for key in shared], [people.parts[key] for key in shared]
    scale = kind_of(kind).scale
    if scale == "ranks":
        rho = rank_correlation_of(mine, theirs)
        return None if rho is None else (1.0 - rho) / 2
    widths = [people.scales.get(key, STANDARD).width if scale == "ordinal" else 1.0 for key in shared]
    return sum(abs(a - b) / width for a, b, width in zip(mine, theirs, widths, strict=True)) / len(shared)


def _rows(filters: ItemFilter, ids: Sequence[int]) -> tuple[ListedItem, ...]:
    """Read what a page shows of these items; five queries."""
    if not ids:
        return ()
    items = item_excerpts(ids)
    people = people_said(ids, reader=filters.reader, study_id=filters.study_id)
    said: dict[int, dict[int, list[Judgment]]] = defaultdict(lambda: defaultdict(list))
    judgments = (
        _judgments(filters)
        .filter(item_id__in=ids)
        .select_related("judge", "item")
        .only("judge__name", "item__kind", "sample", "order", "status", "choice", "value")
        .order_by("judge__name", "judge_id", "order", "sample")
    )
    for judgment in judgments:
        said[judgment.item_id][judgment.judge_id].append(judgment)
    return tuple(
        _row(items[pk], people.get(pk), said[pk])
        for pk in ids
        if pk in items  # deleted since
    )


def _row(item: ItemExcerpt, people: PeopleSaid | None, said: Mapping[int, list[Judgment]]) -> ListedItem:
    judges = tuple(judge_said(item.kind, each, people, item.gold) for each in said.values())
    every = [judgment for each in said.values() for judgment in each]
    apart: float | None = None
    if people is not None and every and item.kind_info.presented:
        counts = [sum(each.choice == choice for each in every) for choice in (0, 1, 2, None)]
        apart = pair_disagreement(people.choices, (counts[0], counts[1], counts[2], counts[3]))
    elif people is not None:
        values = [each.value if each.status == ParseStatus.PARSED else None for each in every]
        apart = value_disagreement(item.kind, values, people)
    return ListedItem(item, people, judges, apart)


def judge_said(
    kind: str, judgments: Sequence[Judgment], people: PeopleSaid | None, gold: Mapping[str, Any] | None
) -> JudgeSaid:
    """What one judge said of an item, compared with people and the gold."""
    parsed = [each for each in judgments if each.status == ParseStatus.PARSED]
    against = [against_people(kind, each.choice, each.value, people) for each in parsed]
    wrong = [against_gold(kind, each.choice, each.value, gold) for each in parsed]
    one = judgments[0]
    return JudgeSaid(one.judge_id, one.judge.name, tuple(judgments), _any_of(against), _any_of(wrong))


def _any_of(found: Sequence[bool | None]) -> bool | None:
    """Whether one is true; None where all are undecided."""
    known = [each for each in found if each is not None]
    return any(known) if known else None
