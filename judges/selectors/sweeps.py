"""How far a sweep is: what its progress page and the engine's counters read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from annotation.selectors.judging import item_counts
from judges.models import Judgment, Orders, ParseStatus, Sweep, SweepRun, SweepState

RATE_WINDOW = timedelta(seconds=30)
RATE_ROWS = 20_000
"""How far back the rate looks, in rows of the table: it must stay cheap however long that table grows."""
N_ERRORS = 10


@dataclass(frozen=True, slots=True)
class RunProgress:
    """One judge over one dataset.

    Attributes
    ----------
    state : {"waiting", "running", "finished", "stopped"}
        "stopped": by `last_error`.
    """

    run_id: int
    judge_id: int
    judge: str
    dataset_id: int
    dataset: str
    state: str
    n_total: int
    n_done: int
    n_reused: int
    n_unparsed: int
    n_failed: int
    n_requests: int
    n_shared: int
    cost: float
    started_at: datetime | None
    finished_at: datetime | None
    last_error: str

    @property
    def share(self) -> float:
        """Share done, in [0, 1]."""
        return self.n_done / self.n_total if self.n_total else 0.0


@dataclass(frozen=True, slots=True)
class SweepErrorCount:
    """A message and how many judgments failed with it."""

    message: str
    count: int


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """How far a sweep is.

    Attributes
    ----------
    rate : float or None
        Judgments a second over the last half minute; None when nothing is running.
    seconds_left : float or None
        At that rate; None when there is none.
    errors : tuple of SweepErrorCount
        The latest distinct messages of failed judgments, latest first.
    """

    sweep_id: int
    name: str
    state: str
    state_label: str
    message: str
    budget: float | None
    n_total: int
    n_done: int
    n_reused: int
    n_unparsed: int
    n_failed: int
    n_requests: int
    n_shared: int
    cost: float
    rate: float | None
    seconds_left: float | None
    started_at: datetime | None
    finished_at: datetime | None
    errors: tuple[SweepErrorCount, ...]
    runs: tuple[RunProgress, ...]

    @property
    def is_active(self) -> bool:
        """Queued or running: the page should look again."""
        return self.state in (SweepState.QUEUED, SweepState.RUNNING)

    @property
    def share(self) -> float:
        """Share done, in [0, 1]."""
        return self.n_done / self.n_total if self.n_total else 0.0


def sweep_progress(sweep_id: int, *, now: datetime | None = None) -> SweepProgress:
    """Return how far a sweep is; at most five queries, however many runs it has.

    Raises
    ------
    Sweep.DoesNotExist
    """
    now = now or timezone.now()
    sweep = Sweep.objects.get(pk=sweep_id)
    rows = SweepRun.objects.filter(sweep_id=sweep_id).select_related("judge", "dataset").order_by("pk")
    runs = tuple(_run_progress(run, now) for run in rows)
    n_total, n_done = sum(run.n_total for run in runs), sum(run.n_done for run in runs)
    n_failed = sum(run.n_failed for run in runs)
    running = sweep.state == SweepState.RUNNING
    rate = _recent_rate(sweep_id, now) if running else None
    return SweepProgress(
        sweep_id=sweep.pk,
        name=sweep.name,
        state=sweep.state,
        state_label=SweepState(sweep.state).label,
        message=sweep.message,
        budget=None if sweep.budget is None else float(sweep.budget),
        n_total=n_total,
        n_done=n_done,
        n_reused=sum(run.n_reused for run in runs),
        n_unparsed=sum(run.n_unparsed for run in runs),
        n_failed=n_failed,
        n_requests=sum(run.n_requests for run in runs),
        n_shared=sum(run.n_shared for run in runs),
        cost=sum(run.cost for run in runs),
        rate=rate,
        seconds_left=max(n_total - n_done, 0) / rate if rate else None,
        started_at=sweep.started_at,
        finished_at=sweep.finished_at,
        errors=_latest_errors(sweep_id) if n_failed else (),
        runs=runs,
    )


def _run_progress(run: SweepRun, now: datetime) -> RunProgress:
    if run.finished_at:
        state = "finished"
    elif run.last_error:
        state = "stopped"
    else:
        state = "running" if run.lease_until is not None and run.lease_until > now else "waiting"
    return RunProgress(
        run_id=run.pk,
        judge_id=run.judge_id,
        judge=str(run.judge),
        dataset_id=run.dataset_id,
        dataset=str(run.dataset),
        state=state,
        n_total=run.n_total,
        n_done=min(run.n_done, run.n_total),
        n_reused=run.n_reused,
        n_unparsed=run.n_unparsed,
        n_failed=run.n_failed,
        n_requests=run.n_requests,
        n_shared=run.n_shared,
        cost=run.cost,
        started_at=run.started_at,
        finished_at=run.finished_at,
        last_error=run.last_error,
    )


def _recent_rate(sweep_id: int, now: datetime) -> float | None:
    latest = Judgment.objects.aggregate(latest=Max("pk"))["latest"] or 0
    recent = Judgment.objects.filter(
        pk__gt=latest - RATE_ROWS,
        created_at__gt=now - RATE_WINDOW,
        judge__in=SweepRun.objects.filter(sweep_id=sweep_id).values("judge_id"),
    ).aggregate(n=Count("pk"), first=Min("created_at"))
    if not recent["n"]:
        return None
    # Over what there is of the window: a sweep that has just begun is not slow.
    seconds = max((now - recent["first"]).total_seconds(), 1.0)
    return float(recent["n"] / seconds)


def _latest_errors(sweep_id: int) -> tuple[SweepErrorCount, ...]:
    runs = SweepRun.objects.filter(sweep_id=sweep_id)
    rows = (
        Judgment.objects.filter(
            status=ParseStatus.FAILED,
            judge__in=runs.values("judge_id"),
            item__dataset__in=runs.values("dataset_id"),
        )
        .order_by()
        .values_list("raw_text")
        .annotate(n=Count("pk"), latest=Max("pk"))
        .order_by("-latest")[:N_ERRORS]
    )
    return tuple(SweepErrorCount(message, n) for message, n, _ in rows)


@dataclass(frozen=True, slots=True)
class Tally:
    """What is stored of one judge over one dataset."""

    n_total: int
    n_done: int = 0
    n_unparsed: int = 0
    n_failed: int = 0


def judgment_tallies(*, runs: Iterable[SweepRun], orders: str) -> list[Tally]:
    """Count, for each run, what is to be judged and what has been; two queries for all runs."""
    runs = list(runs)
    wanted = orders_wanted(orders)
    counts = item_counts(dataset_ids={run.dataset_id for run in runs})
    rows = (
        Judgment.objects.filter(
            judge__in={run.judge_id for run in runs},
            item__dataset__in={run.dataset_id for run in runs},
            order__in=wanted,
            sample=0,
        )
        .order_by()
        .values_list("judge_id", "item__dataset_id")
        .annotate(
            n=Count("pk"),
            unparsed=Count("pk", filter=Q(status=ParseStatus.UNPARSED)),
            failed=Count("pk", filter=Q(status=ParseStatus.FAILED)),
        )
    )
    stored = {(judge, dataset): (n, unparsed, failed) for judge, dataset, n, unparsed, failed in rows}
    return [
        Tally(
            counts[run.dataset_id].n_items * len(wanted),
            *stored.get((run.judge_id, run.dataset_id), (0, 0, 0)),
        )
        for run in runs
    ]


def orders_wanted(orders: str) -> tuple[int, ...]:
    """Return the presentation orders of a sweep."""
    return (0,) if orders == Orders.ORIGINAL else (0, 1)
