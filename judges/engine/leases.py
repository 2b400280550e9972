"""Who works on what: the leases of runs, their counters, and what becomes of a sweep.

Each function is one short transaction. Times are those of the worker's clock; a lease is long enough for
clocks that differ by a few seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from judges.engine.works import ActiveRun, Counts
from judges.models import Sweep, SweepRun, SweepState
from judges.selectors.sweeps import judgment_tallies
from judges.services.sweep_states import ACTIVE, sweep_stop


def runs_open(*, sweep_id: int | None = None) -> QuerySet[SweepRun]:
    """Return the runs of active sweeps that anybody may take up now."""
    rows = SweepRun.objects.filter(sweep__state__in=ACTIVE, finished_at=None, last_error="")
    rows = rows.filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))
    return rows if sweep_id is None else rows.filter(sweep_id=sweep_id)


def run_claim(
    *, owner: str, lease: float, busy: Collection[int | None], sweep_id: int | None = None
) -> SweepRun | None:
    """Claim the next run, oldest sweep first; None if there is none for us.

    Parameters
    ----------
    busy : collection of (int or None)
        Endpoints that need no more works now; None stands for judges without a model.
    """
    rows = runs_open(sweep_id=sweep_id)
    if None in busy:
        rows = rows.exclude(judge__endpoint=None)
    if keys := [key for key in busy if key is not None]:
        # Spelled out, since SQL's NOT IN is not true of NULL, and a judge without a model is not busy.
        rows = rows.filter(Q(judge__endpoint=None) | ~Q(judge__endpoint_id__in=keys))
    if not rows.exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        run = rows.select_for_update(skip_locked=True, of=("self",)).order_by("sweep_id", "pk").first()
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
    for run in runs:
        counts = run.counts
        if not counts:
            continue
        SweepRun.objects.filter(pk=run.run_id).update(
            n_done=F("n_done") + counts.done,
            n_unparsed=F("n_unparsed") + counts.unparsed,
            n_failed=F("n_failed") + counts.failed,
            n_requests=F("n_requests") + counts.requests,
            n_shared=F("n_shared") + counts.shared,
            cost=F("cost") + counts.cost,
        )
        if run.gate is not None:
            run.gate.spent += counts.cost
            run.gate.unwritten -= counts.cost
        run.counts = Counts()


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


def endpoint_runs_stop(*, sweep_ids: Collection[int], endpoint_id: int, error: str) -> None:
    """Mark the runs that nobody has yet and that would meet the same trouble."""
    runs_open().filter(sweep_id__in=sweep_ids, judge__endpoint_id=endpoint_id).update(last_error=error)


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


@dataclass(frozen=True, slots=True)
class RunControl:
    """What the database says now of a run that this worker has."""

    owner: str
    is_active: bool
    is_private: bool
    is_local: bool
    budget: float | None
    spent: float


def runs_control(*, runs: Collection[ActiveRun]) -> dict[int, RunControl]:
    """Read what may have changed under the worker's hands: cancellation, ownership, privacy, budget."""
    if not runs:
        return {}
    rows = (
        SweepRun.objects.filter(pk__in=[run.run_id for run in runs])
        .select_related("sweep", "dataset")
        .prefetch_related("judge__models__endpoint")
    )
    spent: dict[int, float] = {}
    if any(run.gate is not None for run in runs):
        sums = SweepRun.objects.filter(sweep_id__in={run.sweep_id for run in runs}).order_by()
        spent = dict(sums.values_list("sweep_id").annotate(total=Sum("cost")))
    return {
        row.pk: RunControl(
            owner=row.owner,
            is_active=row.sweep.state in ACTIVE,
            is_private=bool(getattr(row.dataset, "is_private")),  # noqa: B009 (typed as any model)
            is_local=all(each.endpoint.keeps_private for each in row.judge.models.all()),
            budget=None if row.sweep.budget is None else float(row.sweep.budget),
            spent=spent.get(row.sweep_id, 0.0),
        )
        for row in rows
    }
