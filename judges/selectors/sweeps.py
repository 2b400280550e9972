"""How far a sweep is: what its progress page and the engine's counters read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min
from django.utils import timezone

from annotation.selectors.judging import GENERATION
from judges.models import BatchState, Generation, ParseStatus, RequestBatch, Sweep, SweepRun, SweepState
from judges.selectors.items import judge_kind
from judges.selectors.tallies import ResultTable, result_table

RATE_WINDOW = timedelta(seconds=30)
RATE_ROWS = 20_000
"""How far back the rate looks, in rows of the table: it must stay cheap however long that table grows."""
N_ERRORS = 10
MOST_BATCHES = 100
COUNTED = (
    *("n_total", "n_done", "n_reused", "n_unparsed", "n_failed"),
    *("n_requests", "n_shared", "n_tokens"),
)
"""What is counted of each run, and summed over a sweep's."""

_Recent = dict[tuple[bool, int, int], tuple[int, datetime]]
"""Number and first time of results, by whether they are generations, judge and dataset."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """One judge over one dataset.

    Attributes
    ----------
    kind : str
        Of the items that it judges; "generation" of a contestant, whose results are generations.
    queue : str
        Which workers do it: "http", "cpu" or "gpu"; empty: any.
    state : {"waiting", "running", "finished", "stopped"}
        "stopped": by `last_error`.
    n_tokens : int
        Prompt and completion tokens of the requests that were sent.
    rate : float or None
        Results a second over the last half minute; None when there were none, or the sweep does not run.
    """

    run_id: int
    judge_id: int
    judge: str
    dataset_id: int
    dataset: str
    kind: str
    queue: str
    state: str
    n_total: int
    n_done: int
    n_reused: int
    n_unparsed: int
    n_failed: int
    n_requests: int
    n_shared: int
    n_tokens: int
    cost: float
    rate: float | None
    started_at: datetime | None
    finished_at: datetime | None
    last_error: str

    @property
    def share(self) -> float:
        """Share done, in [0, 1]."""
        return self.n_done / self.n_total if self.n_total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at this rate; None when there is none."""
        return (self.n_total - self.n_done) / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """An open batch of requests.

    Attributes
    ----------
    remote : str
        The vendor's id of it; empty until it is submitted.
    state : str
        In words.
    n_done, n_failed : int
        Of its requests, as the vendor counts; some count at the end alone.
    is_cancelling : bool
        The vendor was asked to stop.
    error : str
        Why the vendor could not be asked, the last time.
    """

    key: str
    remote: str
    judge: str
    endpoint: str
    state: str
    n_requests: int
    n_done: int
    n_failed: int
    is_cancelling: bool
    error: str
    created_at: datetime
    submitted_at: datetime | None


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
    budget, budget_tokens, budget_minutes : float or int or None
        US dollars, tokens and minutes at work, after which it stops.
    priority : int
        Sweeps with a higher one go first.
    worked_seconds : float
        Time at work so far, pauses left out.
    rate : float or None
        Judgments and generations a second over the last half minute; None when nothing is running.
    seconds_left : float or None
        At that rate; None when there is none.
    errors : tuple of SweepErrorCount
        The latest distinct messages of failed judgments, latest first.
    batches : tuple of BatchProgress
        Batches that have not ended, oldest first, 100 at most.
    n_in_batches : int
        Requests in batches that have not ended.
    """

    sweep_id: int
    name: str
    state: str
    state_label: str
    message: str
    budget: float | None
    budget_tokens: int | None
    budget_minutes: int | None
    priority: int
    worked_seconds: float
    n_total: int
    n_done: int
    n_reused: int
    n_unparsed: int
    n_failed: int
    n_requests: int
    n_shared: int
    n_tokens: int
    cost: float
    rate: float | None
    seconds_left: float | None
    started_at: datetime | None
    finished_at: datetime | None
    errors: tuple[SweepErrorCount, ...]
    runs: tuple[RunProgress, ...]
    batches: tuple[BatchProgress, ...] = ()
    n_in_batches: int = 0

    @property
    def is_active(self) -> bool:
        """Queued or running: the page should look again."""
        return self.state in (SweepState.QUEUED, SweepState.RUNNING)

    @property
    def is_paused(self) -> bool:
        """Paused by hand: it goes on when it is resumed."""
        return self.state == SweepState.PAUSED

    @property
    def share(self) -> float:
        """Share done, in [0, 1]."""
        return self.n_done / self.n_total if self.n_total else 0.0


def sweep_progress(sweep_id: int, *, now: datetime | None = None) -> SweepProgress:
    """Return how far a sweep is; at most six queries, however many runs it has, three more with contestants.

    Raises
    ------
    Sweep.DoesNotExist
    """
    now = now or timezone.now()
    sweep = Sweep.objects.get(pk=sweep_id)
    rows = list(SweepRun.objects.filter(sweep_id=sweep_id).select_related("judge", "dataset").order_by("pk"))
    kinds = {row.pk: judge_kind(row.judge) for row in rows}
    tables = list({result_table(kind): None for kind in kinds.values()})
    recent = _recent(sweep_id, tables, now) if sweep.state == SweepState.RUNNING else {}
    runs = tuple(_run_progress(row, kinds[row.pk], recent, now) for row in rows)
    sums = progress_sums(runs)
    batches = _open_batches(sweep_id)
    n_left = sums["n_total"] - sums["n_done"]
    rate = _rate(recent.values(), now)
    return SweepProgress(
        sweep_id=sweep.pk,
        name=sweep.name,
        state=sweep.state,
        state_label=SweepState(sweep.state).label,
        message=sweep.message,
        budget=None if sweep.budget is None else float(sweep.budget),
        budget_tokens=sweep.budget_tokens,
        budget_minutes=sweep.budget_minutes,
        priority=sweep.priority,
        worked_seconds=worked_seconds(sweep, now),
        cost=sum(run.cost for run in runs),
        rate=rate,
        seconds_left=max(n_left, 0) / rate if rate else None,
        started_at=sweep.started_at,
        finished_at=sweep.finished_at,
        errors=_latest_errors(sweep_id, tables) if sums["n_failed"] else (),
        runs=runs,
        batches=batches,
        n_in_batches=sum(batch.n_requests for batch in batches),
        **sums,
    )


def _open_batches(sweep_id: int) -> tuple[BatchProgress, ...]:
    rows = RequestBatch.objects.filter(run__sweep=sweep_id, ended_at=None)
    return tuple(
        BatchProgress(
            key=row.key,
            remote=row.remote,
            judge=str(row.run.judge),
            endpoint=str(row.endpoint),
            state="Being cancelled" if row.is_cancelling else BatchState(row.state).label,
            n_requests=row.n_requests,
            n_done=row.n_done,
            n_failed=row.n_failed,
            is_cancelling=row.is_cancelling,
            error=row.error,
            created_at=row.created_at,
            submitted_at=row.submitted_at,
        )
        for row in rows.select_related("run__judge", "endpoint").order_by("created_at")[:MOST_BATCHES]
    )


def progress_sums(runs: Iterable[RunProgress]) -> dict[str, Any]:
    """Return what is counted of runs, summed over them, by the field of `SweepProgress`."""
    runs = list(runs)
    return {name: sum(getattr(run, name) for run in runs) for name in COUNTED}


def worked_seconds(sweep: Sweep, now: datetime) -> float:
    """Return the seconds that a sweep has been at work; pauses do not count."""
    current = 0.0
    if sweep.state == SweepState.RUNNING and sweep.resumed_at is not None:
        current = max((now - sweep.resumed_at).total_seconds(), 0.0)
    return sweep.worked_seconds + current


def _run_progress(run: SweepRun, kind: str, recent: _Recent, now: datetime) -> RunProgress:
    if run.finished_at:
        state = "finished"
    elif run.last_error:
        state = "stopped"
    else:
        state = "running" if run.lease_until is not None and run.lease_until > now else "waiting"
    own = recent.get((kind == GENERATION, run.judge_id, run.dataset_id))
    return RunProgress(
        run_id=run.pk,
        judge_id=run.judge_id,
        judge=str(run.judge),
        dataset_id=run.dataset_id,
        dataset=str(run.dataset),
        kind=kind,
        queue=run.queue,
        state=state,
        **{name: getattr(run, name) for name in COUNTED} | {"n_done": min(run.n_done, run.n_total)},
        cost=run.cost,
        rate=_rate([own], now) if own and not run.finished_at else None,
        started_at=run.started_at,
        finished_at=run.finished_at,
        last_error=run.last_error,
    )


def _recent(sweep_id: int, tables: Iterable[ResultTable], now: datetime) -> _Recent:
    """Return how much came in over the last half minute, by run, and when the first of it did."""
    found: _Recent = {}
    judges = SweepRun.objects.filter(sweep_id=sweep_id).values("judge_id")
    for table in tables:
        manager = table.model._default_manager
        latest = manager.aggregate(latest=Max("pk"))["latest"] or 0
        rows = (
            manager.filter(
                **{f"{table.judge}__in": judges}, pk__gt=latest - RATE_ROWS, created_at__gt=now - RATE_WINDOW
            )
            .order_by()
            .values_list(f"{table.judge}_id", f"{table.subject}__dataset_id")
            .annotate(n=Count("pk"), first=Min("created_at"))
        )
        for judge_id, dataset_id, n, first in rows:
            found[table.model is Generation, judge_id, dataset_id] = (n, first)
    return found


def _rate(counts: Iterable[tuple[int, datetime]], now: datetime) -> float | None:
    counts = list(counts)
    if not counts:
        return None
    # Over what there is of the window: a sweep that has just begun is not slow.
    seconds = max((now - min(first for _, first in counts)).total_seconds(), 1.0)
    return sum(n for n, _ in counts) / seconds


def _latest_errors(sweep_id: int, tables: Iterable[ResultTable]) -> tuple[SweepErrorCount, ...]:
    runs = SweepRun.objects.filter(sweep_id=sweep_id)
    found: list[SweepErrorCount] = []
    for table in tables:
        rows = (
            table.model._default_manager.filter(
                **{
                    "status": ParseStatus.FAILED,
                    f"{table.judge}__in": runs.values("judge_id"),
                    f"{table.subject}__dataset__in": runs.values("dataset_id"),
                }
            )
            .order_by()
            .values_list(table.text)
            .annotate(n=Count("pk"), latest=Max("pk"))
            .order_by("-latest")[:N_ERRORS]
        )
        found.extend(SweepErrorCount(message, n) for message, n, _ in rows)
    return tuple(found)
