"""What web processes count: requests, claims and submits with their latencies.

These are counted where they happen, by each process, since nothing stored says how long a request took. granian runs
several processes behind one port, and a scrape reaches any one of them, so they share a folder
(`PROMETHEUS_MULTIPROC_DIR`, which `manage.py serve` makes) and each answers for all. Everything that the database
knows is read from there instead (`config.observing.collector`): it is right whatever process is asked, over restarts,
and for workers, which nobody can scrape.
"""

import os
from collections.abc import Sequence
from functools import cache

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds. A claim is to take less than 0.1 at the 99th percentile."""


class Instruments:
    """The counters of this process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "touchstone_http_requests",
            "Requests, by route.",
            ["route", "method", "status"],
            registry=registry,
        )
        self.request_seconds = _seconds("touchstone_http_request", "an answer is ready", registry, ["route"])
        self.counts = {
            "claim": Counter("touchstone_claims", "Claims of an item.", ["outcome"], registry=registry),
            "submit": Counter(
                "touchstone_submits", "Answers that were submitted.", ["outcome"], registry=registry
            ),
        }
        self.seconds = {
            "claim": _seconds("touchstone_claim", "a claim has ended", registry),
            "submit": _seconds("touchstone_submit", "a submit has ended", registry),
        }


def _seconds(name: str, end: str, registry: CollectorRegistry, labels: Sequence[str] = ()) -> Histogram:
    return Histogram(f"{name}_seconds", f"Seconds until {end}.", labels, buckets=BUCKETS, registry=registry)


@cache
def instruments() -> Instruments:
    """Those of this process, made when the first is counted or asked for."""
    return Instruments()


def request_observe(*, route: str, method: str, status: int, seconds: float) -> None:
    """Count a request, where metrics are on."""
    if settings.METRICS:
        instruments().requests.labels(route, method, str(status)).inc()
        instruments().request_seconds.labels(route).observe(seconds)


def action_observe(action: str, outcome: str, seconds: float) -> None:
    """Count an action of a service (`web.measuring`), where metrics are on."""
    if settings.METRICS and action in instruments().counts:
        instruments().counts[action].labels(outcome).inc()
        instruments().seconds[action].observe(seconds)


def counted_everywhere() -> Collector:
    """What all web processes of this server counted; of this one alone where they share no folder."""
    if FOLDER not in os.environ:
        return instruments().registry
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
