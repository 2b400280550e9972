"""What operators watch of judging: workers, waiting runs, what was asked of endpoints, jobs, what failed.

Everything here reads short tables, or indexes that hold few rows, so that it can be asked every few seconds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Min, Model, Q, Sum
from django.utils import timezone

from judges.models import (
    DatasetImport,
    Endpoint,
    ExportJob,
    ExportState,
    ImportState,
    ModelRequest,
    Queue,
    RequestForm,
    Sweep,
    SweepRun,
    SweepState,
    VerdictImport,
    Worker,
    WorkerHeartbeat,
)
from judges.selectors.overview import key_state

ACTIVE = (SweepState.QUEUED, SweepState.RUNNING)
LEAST_SILENCE = 60
"""Seconds: a worker is missed after four beats, but never sooner than this."""
FAILED_WITHIN = timedelta(days=7)
MOST_FAILED = 10
COMPOSED = "composed"
"""Stands for the endpoint of judges that are made of others, which may ask several."""
NO_ENDPOINT = "none"
"""Stands for the endpoint of judges that need no model."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker, with the seconds since its last sign of life.

    `is_alive`: it was not shut down, and its last sign of life is not older than `silence_allowed`.
    """

    name: str
    queues: tuple[str, ...]
    n_processes: int
    version: str
    started_at: datetime
    beat_at: datetime
    stopped_at: datetime | None
    silent_seconds: float
    is_alive: bool


@dataclass(frozen=True, slots=True)
class QueueState:
    """Runs of active sweeps that go through one queue.

    Attributes
    ----------
    queue : str
        "any" for runs that any worker may take up.
    n_waiting, n_running : int
        Runs that no worker has begun, and those that one has.
    n_remaining : int
        Judgments that are still missing in both.
    waiting_since : datetime or None
        When the oldest queued sweep among them was queued; None where none is queued.
    """

    queue: str
    n_waiting: int
    n_running: int
    n_remaining: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointUsage:
    """What sweeps asked of one endpoint, as far as they are stored; cost in US dollars.

    `n_running`: runs of active sweeps that a worker has begun; `n_stopped`: runs that stopped by an error.
    """

    endpoint: str
    n_requests: int
    n_shared: int
    n_judgments: int
    n_unparsed: int
    n_failed: int
    n_tokens: int
    n_running: int
    n_stopped: int
    cost: float


@dataclass(frozen=True, slots=True)
class ServerUsage:
    """What one model server, or engine in a worker, answered: summed seconds, and requests that failed for good."""

    server: str
    n_answers: int
    seconds: float
    n_failed: int


@dataclass(frozen=True, slots=True)
class JobsState:
    """Jobs of one kind: how many are in each state, and since when the oldest of those queued waits."""

    kind: str
    states: dict[str, int]
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointState:
    """An endpoint as the status page lists it. `key`: "none", "set" or "missing" in this process."""

    pk: int
    name: str
    kind: str
    queue: str
    key: str
    used: EndpointUsage


@dataclass(frozen=True, slots=True)
class FailedWork:
    """Something that stopped by an error. `url_name` and `url_args` are the page that an administrator may open."""

    kind: str
    name: str
    reason: str
    failed_at: datetime | None
    url_name: str
    url_args: tuple[Any, ...]


def silence_allowed() -> timedelta:
    """How long a worker may give no sign of life."""
    return timedelta(seconds=max(LEAST_SILENCE, 4 * settings.WAKE_UP_SECONDS))


def workers_watched(*, now: datetime | None = None) -> list[WorkerState]:
    """Workers that gave a sign of life lately, those that were shut down included; one query."""
    now = now or timezone.now()
    rows = WorkerHeartbeat.objects.order_by("name")
    return [
        WorkerState(
            name=row.name,
            queues=tuple(row.queues),
            n_processes=row.n_processes,
            version=row.version,
            started_at=row.started_at,
            beat_at=row.beat_at,
            stopped_at=row.stopped_at,
            silent_seconds=max((now - row.beat_at).total_seconds(), 0.0),
            is_alive=row.stopped_at is None and now - row.beat_at <= silence_allowed(),
        )
        for row in rows
    ]


def n_workers_alive(*, now: datetime | None = None) -> int:
    """Return how many workers give signs of life; one query."""
    since = (now or timezone.now()) - silence_allowed()
    return WorkerHeartbeat.objects.filter(stopped_at=None, beat_at__gte=since).count()


def n_sessions() -> int:
    """Return how many sessions of the engine are at work; one query."""
    return Worker.objects.filter(lease_until__gte=timezone.now()).count()


def sweep_states() -> dict[str, int]:
    """Return how many sweeps are in each state, checks of anchors left out; one query."""
    rows = Sweep.objects.filter(anchors=None).order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(SweepState.values, 0) | dict(rows)


def queue_states() -> list[QueueState]:
    """Return what waits in each queue, empty ones included; one query."""
    is_waiting = Q(started_at=None)
    rows = (
        SweepRun.objects.filter(sweep__state__in=ACTIVE, finished_at=None, last_error="")
        .order_by()
        .values_list("queue")
        .annotate(
            waiting=Count("pk", filter=is_waiting),
            running=Count("pk", filter=~is_waiting),
            remaining=Sum(F("n_total") - F("n_done")),
            since=Min("sweep__queued_at", filter=Q(sweep__state=SweepState.QUEUED)),
        )
    )
    found = {queue or "any": QueueState(queue or "any", *counts) for queue, *counts in rows}
    return [found.get(queue, QueueState(queue, 0, 0, 0, None)) for queue in (*Queue.values, "any")]


def endpoints_usage() -> list[EndpointUsage]:
    """Return what sweeps asked of each endpoint since they are stored; one query.

    A judge that is made of others counts under "composed", one without a model under "none".
    """
    is_waiting = Q(started_at=None)
    rows = (
        SweepRun.objects.order_by()
        .values_list("judge__endpoint__name", "judge__backend")
        .annotate(
            sent=Sum("n_requests"),
            shared=Sum("n_shared"),
            done=Sum("n_done"),
            unparsed=Sum("n_unparsed"),
            failed=Sum("n_failed"),
            tokens=Sum("n_tokens"),
            running=Count(
                "pk", filter=Q(sweep__state__in=ACTIVE, finished_at=None, last_error="") & ~is_waiting
            ),
            stopped=Count("pk", filter=~Q(last_error="")),
            dollars=Sum("cost"),
        )
    )
    sums: dict[str, list[float]] = {}
    for name, backend, *counts in rows:
        endpoint = name or (COMPOSED if backend == COMPOSED else NO_ENDPOINT)
        before = sums.setdefault(endpoint, [0] * len(counts))
        sums[endpoint] = [one + more for one, more in zip(before, counts, strict=True)]
    return [_usage(name, counts) for name, counts in sorted(sums.items())]


def _usage(name: str, counts: list[float]) -> EndpointUsage:
    sent, shared, done, unparsed, failed, tokens, running, stopped = map(int, counts[:-1])
    return EndpointUsage(
        endpoint=name,
        n_requests=sent,
        n_shared=shared,
        n_judgments=done,
        n_unparsed=unparsed,
        n_failed=failed,
        n_tokens=tokens,
        n_running=running,
        n_stopped=stopped,
        cost=counts[-1],
    )


def servers_usage() -> list[ServerUsage]:
    """Return what each model server answered, how long it took, and what failed for good; two queries.

    Answers are added up at the end of a worker's session, so these lag behind while sweeps run.
    """
    answered = RequestForm.objects.order_by().values_list("endpoint")
    failed = ModelRequest.objects.exclude(error="").order_by().values_list("form__endpoint")
    sums: dict[str, list[float]] = {}
    for identity, n, latency_ms in answered.annotate(n=Sum("n_answers"), ms=Sum("latency_ms")):
        _add(sums, identity, n, latency_ms / 1000, 0)
    for identity, n in failed.annotate(n=Count("pk")):
        _add(sums, identity or "", 0, 0.0, n)
    return [ServerUsage(server, int(n), took, int(bad)) for server, (n, took, bad) in sorted(sums.items())]


def _add(sums: dict[str, list[float]], identity: str, n: float, seconds: float, failed: float) -> None:
    # Settings are part of an identity; a server is one whatever they are.
    backend, _, rest = identity.partition("|")
    server = rest.partition("|")[0] or backend or "unknown"
    before = sums.setdefault(server, [0.0, 0.0, 0.0])
    sums[server] = [before[0] + n, before[1] + seconds, before[2] + failed]


def job_states() -> list[JobsState]:
    """Return the jobs of exports and imports by state; one query a kind."""
    return [
        _jobs("export", ExportJob, ExportState),
        _jobs("dataset_import", DatasetImport, ImportState),
        _jobs("verdict_import", VerdictImport, ImportState),
    ]


def _jobs(kind: str, model: type[Model], states: Any) -> JobsState:
    rows = (
        model._default_manager.order_by()
        .values_list("state")
        .annotate(n=Count("pk"), since=Min("created_at"))
    )
    found = {state: (n, since) for state, n, since in rows}
    counts = {state: found.get(state, (0, None))[0] for state in states.values}
    return JobsState(kind, counts, found.get("queued", (0, None))[1])


def endpoints_watched(usage: Iterable[EndpointUsage]) -> list[EndpointState]:
    """Return all endpoints with what `endpoints_usage` says of them; one query."""
    used = {one.endpoint: one for one in usage}
    return [
        EndpointState(
            pk=row.pk,
            name=row.name,
            kind=row.get_kind_display(),
            queue=row.queue,
            key=key_state(row),
            used=used.get(row.name) or _usage(row.name, [0.0] * 9),
        )
        for row in Endpoint.objects.order_by("name")
    ]


def judging_failures(*, now: datetime | None = None) -> list[FailedWork]:
    """Return sweeps and jobs that stopped by an error in the last week, a few of each kind; four queries."""
    since = (now or timezone.now()) - FAILED_WITHIN
    return [*_failed_sweeps(since), *_failed_jobs(since)]


def _failed_sweeps(since: datetime) -> Iterator[FailedWork]:
    rows = Sweep.objects.filter(state=SweepState.FAILED, finished_at__gte=since).order_by("-finished_at")
    for row in rows[:MOST_FAILED]:
        yield FailedWork("Sweep", row.name, row.message, row.finished_at, "judges:sweep-detail", (row.pk,))


def _failed_jobs(since: datetime) -> Iterator[FailedWork]:
    exports = ExportJob.objects.filter(state=ExportState.FAILED, finished_at__gte=since)
    for job in exports.select_related("dataset", "study").order_by("-finished_at")[:MOST_FAILED]:
        page = ("annotation:dataset-detail", (job.dataset.name,))
        yield FailedWork("Export", str(job), job.error, job.finished_at, *page)
    verdicts = VerdictImport.objects.filter(state=ImportState.FAILED, finished_at__gte=since)
    for one in verdicts.select_related("dataset").order_by("-finished_at")[:MOST_FAILED]:
        page = ("annotation:dataset-detail", (one.dataset.name,))
        yield FailedWork("Import of verdicts", one.name, _first(one.errors), one.finished_at, *page)
    items = DatasetImport.objects.filter(state=ImportState.FAILED, finished_at__gte=since)
    for each in items.order_by("-finished_at")[:MOST_FAILED]:
        yield FailedWork("Import of items", each.name, _first(each.errors), each.finished_at, "", ())


def _first(errors: list[dict[str, Any]]) -> str:
    return str(errors[0].get("message", "")) if errors else ""
