"""Who works on what: the ranges of runs, their counters, and what becomes of a sweep.

Each function is one short transaction. Times are those of the worker's clock; a lease is long enough for
clocks that differ by a few seconds.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.selectors.judging import key_after
from judges.engine import store
from judges.engine.meters import Meter
from judges.engine.options import EngineOptions
from judges.engine.works import ActiveRun, Counts
from judges.models import (
    IN_WORKER,
    BudgetReservation,
    JudgeModel,
    RequestBatch,
    RunRange,
    Sweep,
    SweepRun,
    SweepState,
    Worker,
)
from judges.selectors.items import judge_kind, sweep_slice
from judges.selectors.sweeps import worked_seconds
from judges.selectors.tallies import judgment_tallies
from judges.services.sweep_states import ACTIVE, sweep_stop

FIRST = ("-run__sweep__priority", "run__sweep_id", "run_id", "first")
"""Which of the open ranges is taken up first."""
TRIES = 50
"""How often a range is looked for where all are locked, a hundredth of a second apart."""


def ranges_open(*, sweep_id: int | None = None, queues: Collection[str] | None = None) -> QuerySet[RunRange]:
    """Return the ranges of active sweeps that anybody may take up now; with `queues`, those of these or of none.

    Not those that wait for a batch.
    """
    waiting = RequestBatch.objects.filter(ranges=OuterRef("pk"), ended_at=None)
    rows = RunRange.objects.filter(
        ~Exists(waiting), run__sweep__state__in=ACTIVE, run__finished_at=None, run__last_error=""
    ).filter(Q(owner="") | ~Exists(_alive()))
    if queues is not None:
        rows = rows.filter(run__queue__in=["", *queues])
    return rows if sweep_id is None else rows.filter(run__sweep_id=sweep_id)


def _alive() -> QuerySet[Worker]:
    return Worker.objects.filter(name=OuterRef("owner"), lease_until__gte=timezone.now())


def range_claim(
    *,
    owner: str,
    options: EngineOptions,
    busy: Mapping[int | None, int],
    engines: Collection[tuple[int, str]] = (),
    sweep_id: int | None = None,
    queues: Collection[str] | None = None,
    without: Collection[int] = (),
) -> RunRange | None:
    """Claim the next range, of the highest priority and of the oldest sweep first; None if there is none for us.

    Parameters
    ----------
    busy : mapping of (int or None) to int
        Endpoints that need no more works now, and the priority that they work for: only runs of a higher one are
        taken up for them. None stands for judges without a model.
    engines : collection of (int, str)
        Endpoint and name of the models at work in this worker. While there are any, no run is taken up that would
        load another one: together they may not fit.
    queues : collection of str, optional
        Only runs of these queues, or of none.
    without : collection of int
        Runs that are not taken up.
    """
    rows = ranges_open(sweep_id=sweep_id, queues=queues).exclude(run__in=without)
    if engines:
        loaded = Q()
        for engine_at, model in engines:
            loaded |= Q(endpoint_id=engine_at, model=model)
        others = JudgeModel.objects.filter(endpoint__kind__in=IN_WORKER, judge=OuterRef("run__judge_id"))
        rows = rows.filter(~Exists(others.exclude(loaded)))
    for endpoint_id, priority in busy.items():
        # Spelled out, since SQL's NOT is not true of NULL, and a judge without a model is busy with no endpoint.
        higher = Q(run__sweep__priority__gt=priority)
        if endpoint_id is None:
            rows = rows.filter(Q(run__judge__endpoint__isnull=False) | higher)
        else:
            another = Q(run__judge__endpoint=None) | ~Q(run__judge__endpoint_id=endpoint_id)
            rows = rows.filter(another | higher)
    for _ in range(TRIES):
        if not rows.exists():  # without the write lock that a transaction takes on SQLite
            return None
        if (claimed := _range_taken(rows, owner, options)) is not None:
            found = RunRange.objects.select_related("run__sweep", "run__dataset", "run__judge__endpoint")
            return found.prefetch_related("run__judge__models__endpoint").get(pk=claimed)
        # All there are were locked: by workers that are just leaving the rest of a long one.
        time.sleep(0.01)
    return None


def _range_taken(rows: QuerySet[RunRange], owner: str, options: EngineOptions) -> int | None:
    with transaction.atomic():
        locked = rows.select_for_update(skip_locked=True, of=("self",)).order_by(*FIRST)
        row = locked.select_related("run__sweep", "run__judge__endpoint").first()
        if row is None:
            return None
        if (end := _end_of_part(row, options)) is not None:
            RunRange.objects.create(run_id=row.run_id, first=end + 1, last=row.last)
            row.last = end
        RunRange.objects.filter(pk=row.pk).update(owner=owner, last=row.last)
        now = timezone.now()
        SweepRun.objects.filter(pk=row.run_id).update(
            owner=owner,
            lease_until=now + timedelta(seconds=options.lease),
            started_at=Coalesce("started_at", now),
        )
        Sweep.objects.filter(pk=row.run.sweep_id, state=SweepState.QUEUED).update(
            state=SweepState.RUNNING, started_at=Coalesce("started_at", now), resumed_at=now
        )
    return row.pk


def _end_of_part(row: RunRange, options: EngineOptions) -> int | None:
    """Return the last key of the part that is taken of a range; None: all of it.

    Of a sample all is taken: to draw it, the whole dataset is read.
    """
    run = row.run
    part, kind = sweep_slice(run.sweep), judge_kind(run.judge)
    if run.sweep.anchors_id is not None or part.sample_size is not None:
        return None
    endpoint = run.judge.endpoint
    in_worker = endpoint is not None and endpoint.kind in IN_WORKER
    most = options.range_items_in_worker if in_worker else options.range_items
    if endpoint is not None and endpoint.in_batches:
        most = options.range_items_in_batches
    return key_after(
        dataset_id=run.dataset_id, kind=kind, part=part, between=(row.first, row.last), count=most
    )


def runs_keep(*, run_ids: Collection[int], lease: float) -> None:
    """Say that a worker is at work on these runs: for the eye, since a worker's sign of life holds its ranges."""
    SweepRun.objects.filter(pk__in=run_ids).update(lease_until=timezone.now() + timedelta(seconds=lease))


def counts_write(runs: Iterable[ActiveRun]) -> None:
    """Add to the runs' counters what has happened since the last time; inside the caller's transaction."""
    rows = []
    for run in runs:
        counts = run.counts
        if not counts:
            continue
        rows.append((*counts.row(), run.run_id))
        for meter in run.meters:
            meter.wrote(counts.cost, counts.tokens)
        run.counts = Counts()
    if rows:
        # In one order everywhere: several workers count for the same run.
        store.counts_add(sorted(rows, key=lambda row: row[-1]))


def range_finish(*, run: ActiveRun, owner: str) -> None:
    """Delete a range of which nothing is left. The last one of a run finishes the run, if all that is to be is judged.

    The counters, which are for the eye, are set from the judgments themselves. If items came in meanwhile,
    the run is open again.
    """
    with transaction.atomic():
        # One worker after the other, so that one of them sees that it was the last.
        rows = SweepRun.objects.select_for_update(of=("self",)).select_related("sweep", "judge")
        row = rows.filter(pk=run.run_id).first()
        if row is None or not RunRange.objects.filter(pk=run.range_id, owner=owner).delete()[0]:
            return
        row.n_started += run.n_started
        SweepRun.objects.filter(pk=row.pk).update(n_started=row.n_started)
        if RunRange.objects.filter(run=row).exists():
            _run_leave(row.pk)
            return
        (tally,) = judgment_tallies(runs=[row])
        # With nothing started nothing can come in either: what is missing cannot be judged.
        complete = tally.n_done >= tally.n_total or not row.n_started
        if not complete:
            RunRange.objects.create(run=row)
        SweepRun.objects.filter(pk=row.pk).update(
            n_total=tally.n_total,
            n_done=tally.n_done,
            n_unparsed=tally.n_unparsed,
            n_failed=tally.n_failed,
            n_started=0,
            owner="",
            lease_until=None,
            finished_at=timezone.now() if complete else None,
        )


def range_release(
    *, range_id: int, run_id: int, owner: str, error: str = "", waits: Collection[str] = ()
) -> None:
    """Give back a range that is not complete.

    With an error, nobody takes up its run until the sweep is resumed; with batches that it waits for, nobody takes up
    the range before they are over.
    """
    held = RunRange.objects.filter(pk=range_id, owner=owner)
    if waits and held.exists():
        for batch in RequestBatch.objects.filter(key__in=waits, ended_at=None):
            batch.ranges.add(range_id)
    if RunRange.objects.filter(pk=range_id, owner=owner).update(owner=""):
        _run_leave(run_id, **({"last_error": error} if error else {}))


def _run_leave(run_id: int, **fields: str) -> None:
    """Say who is at work on a run that this worker has less of now."""
    held = RunRange.objects.filter(run=run_id).exclude(owner="").filter(Exists(_alive()))
    other = held.values_list("owner", flat=True).first() or ""
    left = {"owner": other} | ({} if other else {"lease_until": None})
    SweepRun.objects.filter(pk=run_id).update(**left, **fields)


def endpoint_runs_stop(*, sweep_ids: Collection[int], endpoint_id: int, error: str, model: str = "") -> None:
    """Mark the runs that nobody has yet and that would meet the same trouble, with any model or with this one."""
    asking = JudgeModel.objects.filter(endpoint_id=endpoint_id, judge=OuterRef("judge_id"))
    if model:
        asking = asking.filter(model=model)
    held = RunRange.objects.filter(run=OuterRef("pk")).exclude(owner="").filter(Exists(_alive()))
    rows = SweepRun.objects.filter(Exists(asking), sweep_id__in=sweep_ids, finished_at=None, last_error="")
    rows.filter(~Exists(held)).update(last_error=error)


def sweeps_settle() -> None:
    """Give every active sweep whose runs have all come to an end the state that says how.

    Called after the last change of a run is committed, so that of two workers with the last two runs of a
    sweep at least the later one sees both ended.
    """
    unfinished = SweepRun.objects.filter(finished_at=None)
    for sweep_id in (
        Sweep.objects.filter(state__in=ACTIVE)
        .exclude(pk__in=unfinished.filter(last_error="").values("sweep_id"))
        .values_list("pk", flat=True)
    ):
        errors = unfinished.filter(sweep_id=sweep_id).order_by("pk").values_list("last_error", flat=True)
        messages = list(dict.fromkeys(errors))
        sweep_stop(
            sweep_id=sweep_id,
            state=SweepState.FAILED if messages else SweepState.FINISHED,
            message="\n".join(messages),
        )


def sessions_sharing(*, endpoint_ids: Collection[int]) -> dict[int, int]:
    """Return how many workers have runs that ask each of these endpoints, ourselves included; one query."""
    if not endpoint_ids:
        return {}
    rows = (
        RunRange.objects.filter(Exists(_alive()), run__judge__models__endpoint__in=endpoint_ids)
        .order_by()
        .values_list("run__judge__models__endpoint")
        .annotate(n=Count("owner", distinct=True))
    )
    return dict(rows)


@dataclass(frozen=True, slots=True)
class RunControl:
    """What the database says now of a run that this worker has.

    Attributes
    ----------
    minutes_used : int or None
        The sweep's budget in minutes, where that is used up.
    """

    owner: str
    is_active: bool
    is_private: bool
    is_local: bool
    minutes_used: int | None


def ranges_control(*, runs: Collection[ActiveRun]) -> dict[int, RunControl]:
    """Read what may have changed under the worker's hands: state, ownership, privacy, time; by range."""
    if not runs:
        return {}
    now = timezone.now()
    rows = (
        RunRange.objects.filter(pk__in=[run.range_id for run in runs])
        .select_related("run__sweep", "run__dataset")
        .prefetch_related("run__judge__models__endpoint")
    )
    return {
        row.pk: RunControl(
            owner=row.owner,
            is_active=row.run.sweep.state in ACTIVE,
            is_private=bool(getattr(row.run.dataset, "is_private")),  # noqa: B009 (typed as any model)
            is_local=all(each.endpoint.keeps_private for each in row.run.judge.models.all()),
            minutes_used=_minutes_used(row.run.sweep, now),
        )
        for row in rows
    }


def sweep_limits(sweep: Sweep) -> tuple[float | None, float | None]:
    """Return a sweep's budgets in US dollars and in tokens."""
    return (
        None if sweep.budget is None else float(sweep.budget),
        None if sweep.budget_tokens is None else float(sweep.budget_tokens),
    )


def budget_reserve(*, meter: Meter, owner: str, lease: float, more: float, at_once: int) -> None:
    """Reserve what this worker has under way in a sweep, and `more` beside it, as far as the budget allows.

    One worker after the other, under a lock of the sweep: what all have reserved and what is spent never is more than
    the budget. Where there is room, enough for `at_once` requests like it is reserved, but no more than a quarter of
    what is left, so that others get some and the lock is not taken for each.
    """
    now = timezone.now()
    place = 0 if meter.is_money else 1
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=meter.sweep_id)
        limit = sweep_limits(sweep)[place]
        spent = sweeps_spent([meter.sweep_id]).get(meter.sweep_id, (0.0, 0.0))[place]
        rows = BudgetReservation.objects.filter(sweep=sweep, is_money=meter.is_money)
        others = (
            rows.filter(lease_until__gt=now).exclude(owner=owner).aggregate(sum=Sum("amount"))["sum"] or 0.0
        )
        limit = meter.limit if limit is None else limit
        free = max(limit - spent - others, 0.0)
        least = meter.outstanding + more
        # What was reserved and is not needed yet is kept as long as nobody else could use it.
        kept = 0.0 if others or more else meter.ceiling - meter.written
        amount = max(least + min(more * at_once, max(free - least, 0.0) / 4), kept)
        granted = min(amount, free) if sweep.state in ACTIVE else 0.0
        # What is under way may turn out to be more than was granted: others are to know of it all the same.
        amount = max(granted, meter.outstanding)
        if amount > 0.0:
            rows.update_or_create(
                sweep=sweep,
                owner=owner,
                is_money=meter.is_money,
                defaults={"amount": amount, "lease_until": now + timedelta(seconds=lease)},
            )
        else:
            rows.filter(owner=owner).delete()
    meter.reserved(granted, limit=limit, spent=spent, others=others)


def others_affordable(*, sweep_id: int, queues: Collection[str] | None, without: Collection[int]) -> bool:
    """Whether a sweep has ranges that a worker is at, or that are open beside those of the runs `without`.

    Their judges may be cheaper: a budget is spent when there are none.
    """
    held = RunRange.objects.filter(Exists(_alive()), run__sweep_id=sweep_id)
    return held.exists() or ranges_open(sweep_id=sweep_id, queues=queues).exclude(run__in=without).exists()


def run_requests(*, run_id: int) -> tuple[int, float, int]:
    """Return how many requests of a run were answered, and what they took in US dollars and in tokens."""
    return SweepRun.objects.values_list("n_requests", "cost", "n_tokens").get(pk=run_id)


def budgets_release(*, owner: str, sweep_ids: Collection[int] | None = None) -> None:
    """Give back what a worker has reserved, of these sweeps or of all, when nothing of it is under way any more."""
    rows = BudgetReservation.objects.filter(owner=owner)
    (rows if sweep_ids is None else rows.filter(sweep__in=sweep_ids)).delete()


def sweeps_spent(sweep_ids: Collection[int]) -> dict[int, tuple[float, float]]:
    """Return what sweeps have spent so far, in US dollars and in tokens; one query."""
    sums = SweepRun.objects.filter(sweep_id__in=sweep_ids).order_by().values_list("sweep_id")
    return {
        sweep_id: (float(cost), float(tokens))
        for sweep_id, cost, tokens in sums.annotate(money=Sum("cost"), tokens=Sum("n_tokens"))
    }


def _minutes_used(sweep: Sweep, now: datetime) -> int | None:
    minutes = sweep.budget_minutes
    return minutes if minutes is not None and worked_seconds(sweep, now) >= minutes * 60 else None
