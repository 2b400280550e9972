"""What the database knows, as metrics. Ages are seconds; sums over all time are counters, though deleting a sweep
takes its part from them, as a restart would.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.observing.operations import Operations, operations_recent
from web.version import software_version

logger = logging.getLogger(__name__)


class SiteCollector(Collector):
    """Reads the state of the site when it is scraped, at most once in a few seconds a process."""

    def collect(self) -> Iterator[Metric]:
        """Yield all families; without a database the first two alone."""
        yield _gauge(
            "touchstone_info", "The version of Touchstone.", ["version"], [([software_version()], 1)]
        )
        try:
            found = operations_recent()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The database does not answer to metrics: %s", type(error).__name__)
            yield _value("touchstone_database_up", "Whether the database answers.", 0)
            return
        yield _value("touchstone_database_up", "Whether the database answers.", 1)
        yield from _annotation(found)
        yield from _judging(found)
        yield from _workers(found)
        yield from _storage(found)


Rows = Iterable[tuple[list[str], float]]


def _gauge(name: str, help_text: str, labels: list[str], rows: Rows) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def _value(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)


def _counter(name: str, help_text: str, labels: list[str], rows: Rows) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def _age(moment: datetime | None) -> float:
    return 0.0 if moment is None else max((timezone.now() - moment).total_seconds(), 0.0)


def _annotation(found: Operations) -> Iterator[Metric]:
    leases = [(["held"], found.leases.n_open - found.leases.n_overdue), (["overdue"], found.leases.n_overdue)]
    yield _gauge(
        "touchstone_leases", "Open leases: held, and run out but not yet released.", ["state"], leases
    )
    yield _gauge(
        "touchstone_studies",
        "Studies, by state.",
        ["state"],
        [([one], n) for one, n in found.studies.items()],
    )
    deliveries = [(["waiting"], found.deliveries.n_waiting), (["failed"], found.deliveries.n_failed)]
    yield _gauge("touchstone_webhook_deliveries", "Messages to webhooks, by state.", ["state"], deliveries)
    yield _value(
        "touchstone_webhook_delivery_age_seconds",
        "How long the oldest is overdue.",
        _age(found.deliveries.due_since),
    )


def _judging(found: Operations) -> Iterator[Metric]:
    yield _gauge(
        "touchstone_sweeps", "Sweeps, by state.", ["state"], [([one], n) for one, n in found.sweeps.items()]
    )
    runs = [
        ([one.queue, state], n)
        for one in found.queues
        for state, n in (("waiting", one.n_waiting), ("running", one.n_running))
    ]
    yield _gauge("touchstone_queue_runs", "Unfinished runs of active sweeps.", ["queue", "state"], runs)
    missing = [([one.queue], one.n_remaining) for one in found.queues]
    yield _gauge("touchstone_queue_judgments", "Judgments still to be made.", ["queue"], missing)
    ages = [([one.queue], _age(one.waiting_since)) for one in found.queues]
    yield _gauge("touchstone_queue_age_seconds", "How long the oldest queued sweep waits.", ["queue"], ages)
    used = found.endpoints
    yield _counter(
        "touchstone_judge_requests",
        "Requests of sweeps: sent, or answered from what was stored.",
        ["endpoint", "state"],
        [
            ([one.endpoint, state], n)
            for one in used
            for state, n in (("sent", one.n_requests), ("reused", one.n_shared))
        ],
    )
    yield _counter(
        "touchstone_judgments",
        "Judgments of sweeps, by how they ended.",
        ["endpoint", "state"],
        [
            ([one.endpoint, state], n)
            for one in used
            for state, n in (
                ("parsed", max(one.n_judgments - one.n_unparsed - one.n_failed, 0)),
                ("unparsed", one.n_unparsed),
                ("failed", one.n_failed),
            )
        ],
    )
    tokens = [([one.endpoint], float(one.n_tokens)) for one in used]
    yield _counter("touchstone_judge_tokens", "Prompt and completion tokens.", ["endpoint"], tokens)
    cost = [([one.endpoint], one.cost) for one in used]
    yield _counter("touchstone_judge_cost_dollars", "US dollars, at the prices set.", ["endpoint"], cost)
    answers = [
        ([one.server, state], n)
        for one in found.servers
        for state, n in (("answered", one.n_answers), ("failed", one.n_failed))
    ]
    yield _counter("touchstone_server_requests", "Requests by model server.", ["server", "state"], answers)
    seconds = [([one.server], one.seconds) for one in found.servers]
    yield _counter("touchstone_server_answer_seconds", "Seconds that answers took.", ["server"], seconds)
    jobs = [([one.kind, state], n) for one in found.jobs for state, n in one.states.items()]
    yield _gauge("touchstone_jobs", "Exports, imports and reports, by state.", ["kind", "state"], jobs)
    waiting = [([one.kind], _age(one.waiting_since)) for one in found.jobs]
    yield _gauge("touchstone_job_age_seconds", "How long the oldest queued job waits.", ["kind"], waiting)


def _workers(found: Operations) -> Iterator[Metric]:
    alive = [one for one in found.workers if one.is_alive]
    counts = [([queue], sum(queue in one.queues for one in alive)) for queue in ("http", "cpu", "gpu")]
    yield _gauge("touchstone_workers", "Workers that give signs of life, by queue.", ["queue"], counts)
    silent = [([one.name], one.silent_seconds) for one in found.workers if one.stopped_at is None]
    yield _gauge(
        "touchstone_worker_heartbeat_age_seconds", "Since a worker's last sign of life.", ["worker"], silent
    )
    yield _value("touchstone_engine_sessions", "Sessions that judge now.", found.n_sessions)


def _storage(found: Operations) -> Iterator[Metric]:
    free = [([",".join(one.folders)], float(one.free)) for one in found.disks]
    yield _gauge("touchstone_disk_free_bytes", "Free bytes of a file system.", ["folders"], free)
    total = [([",".join(one.folders)], float(one.total)) for one in found.disks]
    yield _gauge("touchstone_disk_total_bytes", "Size of a file system.", ["folders"], total)
    if found.database_bytes is not None:
        yield _value("touchstone_database_bytes", "Size of the database.", found.database_bytes)
