"""The judgments that fit a filter, page by page.

They stand in the order of their items, the newest first, so that what several judges said of one item is side by
side. A page is found by walking the items: some items at a time, then their judgments, both by index. So the time
does not grow with the table, nothing is ever counted, and a filter that fits next to nothing stops after a while
and says how far it has looked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left

from annotation.models import Item, User
from annotation.selectors.judged_items import items_chosen
from annotation.selectors.judging_labels import PeopleSaid, people_said
from judges.models import Judge, Judgment, ParseStatus
from judges.selectors.disagreement import against_gold, against_people

PAGE = 50
FIRST_ITEMS, MOST_ITEMS = 25, 400
"""How many items are looked at together: more as long as they bring few judgments."""
CHUNK = 4_000
"""Judgments that are read at once."""
MOST_LOOKED, MOST_JUDGMENTS = 10_000, 40_000
"""Items, and judgments of them, that one page looks at before it stops and says so."""
EXCERPT = 160
"""Characters of the instruction that the list reads."""
BEYOND = 2**62
"""A primary key above all that there are."""


@dataclass(frozen=True, slots=True)
class JudgmentFilter:
    """Which judgments are wanted; what is empty does not matter.

    Attributes
    ----------
    external_id : str
        A part of the item's name.
    against_people, against_gold, against_itself : bool
        Only judgments that contradict what most people said, the gold, or the judge's own verdict in the other order.
    reader : User or None
        Whose right to see labels bounds what people said; None: all labels count.
    """

    judge_id: int | None = None
    dataset_id: int | None = None
    category: str = ""
    kind: str = ""
    status: str = ""
    order: int | None = None
    external_id: str = ""
    against_people: bool = False
    against_gold: bool = False
    against_itself: bool = False
    reader: User | None = None


class Place(NamedTuple):
    """Where a judgment stands in the list."""

    item_id: int
    pk: int


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """A judgment with what it is compared with; `contradicts_…` is None where there is nothing to compare."""

    judgment: Judgment
    people: PeopleSaid | None
    contradicts_people: bool | None
    contradicts_gold: bool | None


@dataclass(frozen=True, slots=True)
class JudgmentPage:
    """One page of the list.

    Attributes
    ----------
    newer, older : Place or None
        From where to read the page before and the one after; None at the ends.
    n_looked : int
        Items that were looked at.
    stopped : bool
        It looked at as many items as it may and there are more: `older` goes on.
    """

    rows: tuple[JudgmentRow, ...]
    newer: Place | None
    older: Place | None
    n_looked: int
    stopped: bool


def judgments_page(
    filters: JudgmentFilter, *, before: Place | None = None, after: Place | None = None, size: int = PAGE
) -> JudgmentPage:
    """Return a page: the first one, the one that follows `before`, or the one that ends above `after`."""
    backward = after is not None
    found = _walk(filters, start=after if backward else before, descending=not backward, limit=size + 1)
    places = found.places[:size]
    more = len(found.places) > size or found.resume is not None
    if backward:
        places = places[::-1]
        newer = places[0] if more and places else None
        older = places[-1] if places else None
        return JudgmentPage(_rows(places, filters.reader), newer, older, found.n_looked, False)
    last = places[-1] if len(found.places) > size else found.resume
    first = places[0] if places and before is not None else None
    return JudgmentPage(
        _rows(places, filters.reader), first, last if more else None, found.n_looked, found.resume is not None
    )


def judgment_neighbours(filters: JudgmentFilter, judgment: Judgment) -> tuple[int | None, int | None]:
    """Return the primary keys of the judgments above and below one in the list; None at the ends."""
    here = Place(judgment.item_id, judgment.pk)
    above = _walk(filters, start=here, descending=False, limit=1).places
    below = _walk(filters, start=here, descending=True, limit=1).places
    return (above[0].pk if above else None), (below[0].pk if below else None)


def judges_with_judgments() -> QuerySet[Judge]:
    """Return the judges that have judged something, by name."""
    return Judge.objects.filter(Exists(Judgment.objects.filter(judge=OuterRef("pk")))).order_by("name")


@dataclass(frozen=True, slots=True)
class _Found:
    places: list[Place]
    resume: Place | None
    n_looked: int


def _walk(filters: JudgmentFilter, *, start: Place | None, descending: bool, limit: int) -> _Found:
    found: list[Place] = []
    at, n_looked, n_judgments, n_items = start, 0, 0, FIRST_ITEMS
    while n_looked < MOST_LOOKED and n_judgments < MOST_JUDGMENTS:
        items = _next_items(filters, at, descending=descending, n=n_items)
        if not items:
            return _Found(found, None, n_looked)
        n_looked += len(items)
        n_rows = 0
        while True:
            rows = _next_rows(
                filters, items, at, descending=descending, limit=_chunk(filters, limit - len(found))
            )
            n_rows += len(rows)
            found += [Place(row["item_id"], row["pk"]) for row in _kept(filters, rows, items)]
            if len(found) >= limit:
                return _Found(found[:limit], None, n_looked)
            if len(rows) < CHUNK:
                break
            at = Place(rows[-1]["item_id"], rows[-1]["pk"])
        last = next(reversed(items))
        at = Place(last - 1, BEYOND) if descending else Place(last + 1, 0)
        n_judgments += n_rows
        if n_rows < CHUNK // 4:
            n_items = min(n_items * 2, MOST_ITEMS)
    return _Found(found, at, n_looked)


def _chunk(filters: JudgmentFilter, wanted: int) -> int:
    """How many judgments to read: as many as are wanted where the database alone decides which fit."""
    return CHUNK if filters.against_people or filters.against_gold else min(wanted, CHUNK)


def _next_items(
    filters: JudgmentFilter, at: Place | None, *, descending: bool, n: int
) -> dict[int, tuple[str, Any]]:
    """Return the kind and the gold of the next items that have a judgment, in the order of the walk."""
    judged = Judgment.objects.filter(item=OuterRef("pk"))
    if filters.judge_id is not None:
        judged = judged.filter(judge_id=filters.judge_id)
    items: QuerySet[Item] = items_chosen(
        dataset_id=filters.dataset_id,
        category=filters.category,
        kind=filters.kind,
        external_id=filters.external_id,
        with_labels=filters.against_people,
        with_gold=filters.against_gold,
    ).filter(Exists(judged))
    if at is not None:
        items = items.filter(pk__lte=at.item_id) if descending else items.filter(pk__gte=at.item_id)
    rows = items.order_by("-pk" if descending else "pk").values_list("pk", "kind", "gold")
    return {pk: (kind, gold) for pk, kind, gold in rows[:n]}


def _next_rows(
    filters: JudgmentFilter, items: Mapping[int, Any], at: Place | None, *, descending: bool, limit: int
) -> list[dict[str, Any]]:
    rows = Judgment.objects.filter(item_id__in=list(items))
    if filters.judge_id is not None:
        rows = rows.filter(judge_id=filters.judge_id)
    if filters.status:
        rows = rows.filter(status=filters.status)
    if filters.order is not None:
        rows = rows.filter(order=filters.order)
    if filters.against_people or filters.against_gold:
        rows = rows.filter(status=ParseStatus.PARSED)
    if filters.against_itself:
        rows = rows.filter(Exists(other_verdicts()))
    if at is not None:
        # A condition on the item alone beside it lets an index bound the search.
        if descending:
            rows = rows.filter(~Q(item_id=at.item_id, pk__gte=at.pk), item_id__lte=at.item_id)
        else:
            rows = rows.filter(~Q(item_id=at.item_id, pk__lte=at.pk), item_id__gte=at.item_id)
    ordered = rows.order_by("-item_id", "-pk") if descending else rows.order_by("item_id", "pk")
    return [dict(row) for row in ordered.values("pk", "item_id", "choice", "value")[:limit]]


def other_verdicts() -> QuerySet[Judgment]:
    """Verdicts of the same judge on the same pair in the other order that say something else."""
    return Judgment.objects.filter(
        judge=OuterRef("judge"), item=OuterRef("item"), sample=OuterRef("sample"), choice__isnull=False
    ).exclude(Q(order=OuterRef("order")) | Q(choice=OuterRef("choice")))


def _kept(
    filters: JudgmentFilter, rows: Sequence[dict[str, Any]], items: Mapping[int, tuple[str, Any]]
) -> list[dict[str, Any]]:
    """Keep what contradicts people or gold, where that is asked for."""
    if filters.against_gold:
        rows = [row for row in rows if _contradicts_gold(row, *items[row["item_id"]])]
    if filters.against_people and rows:
        people = people_said({row["item_id"] for row in rows}, reader=filters.reader)
        rows = [
            row
            for row in rows
            if against_people(
                items[row["item_id"]][0], row["choice"], row["value"], people.get(row["item_id"])
            )
        ]
    return list(rows)


def _contradicts_gold(row: dict[str, Any], kind: str, gold: Any) -> bool:
    return bool(against_gold(kind, row["choice"], row["value"], gold))


def _rows(places: Sequence[Place], reader: User | None) -> tuple[JudgmentRow, ...]:
    """Read what a page shows of these judgments; two queries."""
    found = (
        Judgment.objects.filter(pk__in=[place.pk for place in places])
        .select_related("judge", "item__dataset", "item__instruction")
        .only(
            "judge__name", "item__external_id", "item__kind", "item__gold", "item__dataset__name",
            "item__instruction__category", "order", "sample", "status", "choice", "probability", "value",
            "requests", "cost", "latency_ms", "created_at",
        )
        .annotate(asked=Left("item__instruction__text", EXCERPT))
        .in_bulk()
    )  # fmt: skip
    people = people_said({place.item_id for place in places}, reader=reader) if places else {}
    rows = []
    for place in places:
        judgment = found.get(place.pk)
        if judgment is None:  # deleted since
            continue
        kind, said = judgment.item.kind, people.get(place.item_id)
        told = (kind, judgment.choice, judgment.value)
        is_parsed = judgment.status == ParseStatus.PARSED
        rows.append(
            JudgmentRow(
                judgment,
                said,
                against_people(*told, said) if is_parsed else None,
                against_gold(*told, judgment.item.gold) if is_parsed else None,
            )
        )
    return tuple(rows)
