"""Who works on what: the leases of runs, their counters, and what becomes of a sweep.

Each function is one short transaction. Times are those of the worker's clock; a lease is long enough for
clocks that differ by a few seconds.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from judges.engine import store
from judges.engine.meters import Meter
from judges.engine.works import ActiveRun, Counts
from judges.models import IN_WORKER, BudgetReservation, JudgeModel, Sweep, SweepRun, SweepState
from judges.selectors.sweeps import worked_seconds
from judges.selectors.tallies import judgment_tallies
from judges.services.sweep_states import ACTIVE, sweep_stop

FIRST = ("-sweep__priority", "sweep_id", "pk")
"""Which of the open runs is taken up first."""


def runs_open(*, sweep_id: int | None = None, queues: Collection[str] | None = None) -> QuerySet[SweepRun]:
    """Return the runs of active sweeps that anybody may take up now; with `queues`, those of these or of none."""
    rows = SweepRun.objects.filter(sweep__state__in=ACTIVE, finished_at=None, last_error="")
    rows = rows.filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))
    if queues is not None:
        rows = rows.filter(queue__in=["", *queues])
    return rows if sweep_id is None else rows.filter(sweep_id=sweep_id)


def run_claim(
    *,
    owner: str,
    lease: float,
    busy: Mapping[int | None, int],
    engines: Collection[tuple[int, str]] = (),
    sweep_id: int | None = None,
    queues: Collection[str] | None = None,
) -> SweepRun | None:
    """Claim the next run, that of the highest priority and of the oldest sweep first; None if there is none for us.

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
    """
    rows = runs_open(sweep_id=sweep_id, queues=queues)
    if engines:
        loaded = Q()
        for engine_at, model in engines:
            loaded |= Q(endpoint_id=engine_at, model=model)
        others = JudgeModel.objects.filter(endpoint__kind__in=IN_WORKER, judge=OuterRef("judge_id"))
        rows = rows.filter(~Exists(others.exclude(loaded)))
    for endpoint_id, priority in busy.items():
        # Spelled out, since SQL's NOT is not true of NULL, and a judge without a model is busy with no endpoint.
        if endpoint_id is None:
            rows = rows.filter(Q(judge__endpoint__isnull=False) | Q(sweep__priority__gt=priority))
        else:
            another = Q(judge__endpoint=None) | ~Q(judge__endpoint_id=endpoint_id)
            rows = rows.filter(another | Q(sweep__priority__gt=priority))
    if not rows.exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        run = rows.select_for_update(skip_locked=True, of=("self",)).order_by(*FIRST).first()
        if run is None:
            return None
        now = timezone.now()
        SweepRun.objects.filter(pk=run.pk).update(
            owner=owner, lease_until=now + timedelta(seconds=lease), started_at=Coalesce("started_at", now)
        )
        Sweep.objects.filter(pk=run.sweep_id, state=SweepState.QUEUED).update(
            state=SweepState.RUNNING, started_at=Coalesce("started_at", now), resumed_at=now
        )
    rows = SweepRun.objects.select_related("sweep", "dataset", "judge")
    return rows.prefetch_related("judge__models__endpoint").get(pk=run.pk)


def runs_keep(*, owner: str, lease: float) -> None:
    """Give a sign of life for all runs of this worker."""
    SweepRun.objects.filter(owner=owner).update(lease_until=timezone.now() + timedelta(seconds=lease))


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
        store.counts_add(rows)


def run_finish(*, run: ActiveRun, owner: str) -> None:
    """Give back a run of which nothing is left: finished, if every judgment that it is to make is there.

    The counters, which are for the eye, are set from the judgments themselves. If items came in meanwhile,
    the run is open again.
    """
    with transaction.atomic():
        row = SweepRun.objects.select_related("sweep", "judge").filter(pk=run.run_id, owner=owner).first()
        if row is None:
            return
        (tally,) = judgment_tallies(runs=[row])
        # With nothing started nothing can come in either: what is missing cannot be judged.
        complete = tally.n_done >= tally.n_total or not run.n_started
        SweepRun.objects.filter(pk=row.pk, owner=owner).update(
            n_total=tally.n_total,
            n_done=tally.n_done,
            n_unparsed=tally.n_unparsed,
            n_failed=tally.n_failed,
            owner="",
            lease_until=None,
            finished_at=timezone.now() if complete else None,
        )


def run_release(*, run_id: int, owner: str, error: str = "") -> None:
    """Give back a run that is not complete; with an error, nobody takes it up until the sweep is resumed."""
    SweepRun.objects.filter(pk=run_id, owner=owner).update(owner="", lease_until=None, last_error=error)


def endpoint_runs_stop(*, sweep_ids: Collection[int], endpoint_id: int, error: str, model: str = "") -> None:
    """Mark the runs that nobody has yet and that would meet the same trouble, with any model or with this one."""
    asking = JudgeModel.objects.filter(endpoint_id=endpoint_id, judge=OuterRef("judge_id"))
    if model:
        asking = asking.filter(model=model)
    runs_open().filter(Exists(asking), sweep_id__in=sweep_ids).update(last_error=error)


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
        SweepRun.objects.filter(lease_until__gt=timezone.now(), judge__models__endpoint__in=endpoint_ids)
        .exclude(owner="")
        .order_by()
        .values_list("judge__models__endpoint")
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


def runs_control(*, runs: Collection[ActiveRun]) -> dict[int, RunControl]:
    """Read what may have changed under the worker's hands: state, ownership, privacy, time."""
    if not runs:
        return {}
    now = timezone.now()
    rows = (
        SweepRun.objects.filter(pk__in=[run.run_id for run in runs])
        .select_related("sweep", "dataset")
        .prefetch_related("judge__models__endpoint")
    )
    return {
        row.pk: RunControl(
            owner=row.owner,
            is_active=row.sweep.state in ACTIVE,
            is_private=bool(getattr(row.dataset, "is_private")),  # noqa: B009 (typed as any model)
            is_local=all(each.endpoint.keeps_private for each in row.judge.models.all()),
            minutes_used=_minutes_used(row.sweep, now),
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
