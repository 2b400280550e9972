"""What is stored of a sweep: which rows belong to it, and how many there are."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Count, Model, Q, QuerySet

from annotation.selectors.judging import GENERATION, ItemSlice, item_counts, slice_names
from judges.models import Anchor, AnchorVerdict, Generation, Judgment, Orders, ParseStatus, Sweep, SweepRun
from judges.selectors.items import judge_kind, sweep_slice
from judges.strategies.presentation import is_presented, order_drawn, orders_wanted

CHUNK = 5000
"""Items named in one statement: below what SQLite takes as parameters."""

COUNTED = {
    "n": Count("pk"),
    "unparsed": Count("pk", filter=Q(status=ParseStatus.UNPARSED)),
    "failed": Count("pk", filter=Q(status=ParseStatus.FAILED)),
}
"""What is counted of results."""
_Counts = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The table that a kind's results go into, and what its columns are called."""

    model: type[Model]
    judge: str
    subject: str
    text: str


JUDGMENTS = ResultTable(Judgment, "judge", "item", "raw_text")
GENERATIONS = ResultTable(Generation, "contestant", "instruction", "text")


@dataclass(frozen=True, slots=True)
class Tally:
    """What is to be had of one judge over one dataset in a sweep, and what is stored of that."""

    n_total: int
    n_done: int = 0
    n_unparsed: int = 0
    n_failed: int = 0


def result_table(kind: str) -> ResultTable:
    """Return where results of this kind are stored."""
    return GENERATIONS if kind == GENERATION else JUDGMENTS


def judgment_tallies(*, runs: Iterable[SweepRun], orders: str | None = None) -> list[Tally]:
    """Count, for each run of a sweep, what is to be judged (or generated) and what has been.

    Two queries a kind for all runs; where items or orders are drawn at random, a few more a dataset.

    Parameters
    ----------
    runs : iterable of SweepRun
        Of one sweep; they need not be stored.
    orders : str, optional
        In place of the sweep's.
    """
    runs = list(runs)
    if runs and runs[0].sweep.anchors_id is not None:
        return [_anchor_tally(run) for run in runs]
    tallies: dict[int, Tally] = {}
    by_kind: dict[str, list[SweepRun]] = defaultdict(list)
    for run in runs:
        by_kind[judge_kind(run.judge)].append(run)
    for kind, some in by_kind.items():
        sweep = some[0].sweep
        wanted = orders or sweep.orders
        datasets = {run.dataset_id for run in some}
        counts = item_counts(dataset_ids=datasets, kind=kind, part=sweep_slice(sweep))
        each = _results_an_item(sweep, kind, wanted)
        stored = _stored(sweep, kind, wanted, datasets, {run.judge_id for run in some})
        for run in some:
            tallies[id(run)] = Tally(
                counts[run.dataset_id].n_items * each,
                *stored.get((run.judge_id, run.dataset_id), (0, 0, 0)),
            )
    return [tallies[id(run)] for run in runs]


def _anchor_tally(run: SweepRun) -> Tally:
    said = AnchorVerdict.objects.filter(sweep=run.sweep_id).aggregate(**COUNTED)
    n_total = Anchor.objects.filter(anchors=run.sweep.anchors_id).count()
    return Tally(n_total, said["n"], said["unparsed"], said["failed"])


def sweep_results(
    *, sweep: Sweep, kind: str, dataset_ids: Collection[int], orders: str | None = None
) -> Iterator[QuerySet[Model]]:
    """Yield querysets which together hold the results, of any judge, that belong to a sweep, each once."""
    part, wanted = sweep_slice(sweep), orders or sweep.orders
    table = result_table(kind)
    rows = table.model._default_manager.order_by()
    if kind == GENERATION:
        rows = rows.filter(sample__lt=sweep.samples)
    else:
        rows = rows.filter(sample=0)
    is_drawn = is_presented(kind) and wanted == Orders.RANDOM
    if not is_drawn and kind != GENERATION:
        rows = rows.filter(order__in=orders_wanted(wanted, kind))
    if part.sample_size is None and not is_drawn:
        way = "instruction__" if kind == GENERATION else "item__instruction__"
        yield rows.filter(part.condition(way), **{f"{table.subject}__dataset__in": dataset_ids})
        return
    for dataset_id in dataset_ids:
        for order, names in _drawn(sweep, kind, part, dataset_id, is_drawn=is_drawn):
            some = rows if order is None else rows.filter(order=order)
            for start in range(0, len(names), CHUNK):
                yield some.filter(**{f"{table.subject}__in": names[start : start + CHUNK]})


def _drawn(
    sweep: Sweep, kind: str, part: ItemSlice, dataset_id: int, *, is_drawn: bool
) -> Iterator[tuple[int | None, list[int]]]:
    """Yield order (None: any that is wanted) and primary keys of what is to be judged."""
    names = slice_names(dataset_id=dataset_id, kind=kind, part=part)
    if not is_drawn:
        yield None, [pk for pk, _ in names]
        return
    by_order: tuple[list[int], list[int]] = ([], [])
    for pk, external_id in names:
        by_order[order_drawn(sweep.seed, external_id)].append(pk)
    yield from enumerate(by_order)


def _results_an_item(sweep: Sweep, kind: str, orders: str) -> int:
    if kind == GENERATION:
        return sweep.samples
    return 1 if orders == Orders.RANDOM else len(orders_wanted(orders, kind))


def _stored(
    sweep: Sweep, kind: str, orders: str, dataset_ids: Collection[int], judge_ids: Collection[int]
) -> dict[tuple[int, int], _Counts]:
    table = result_table(kind)
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for rows in sweep_results(sweep=sweep, kind=kind, dataset_ids=dataset_ids, orders=orders):
        counted = (
            rows.filter(**{f"{table.judge}__in": judge_ids})
            .values_list(f"{table.judge}_id", f"{table.subject}__dataset_id")
            .annotate(**COUNTED)
        )
        for judge, dataset, *numbers in counted:
            total = sums[judge, dataset]
            for place, number in enumerate(numbers):
                total[place] += number
    return {key: (n, unparsed, failed) for key, (n, unparsed, failed) in sums.items()}
