"""Claim and submit on PostgreSQL, thirty-two people at once, until everything is labelled.

Figures
-------
over_assigned, repeated : items with more accepted labels than their overlap, and (item, person) pairs labelled more
    than once; both have to be 0.
queries_per_pair : statements that one claim and one submit send together, BEGIN and COMMIT counted, mean over all.
pairs_per_second, p50_ms, p99_ms : through the services, from threads of this process.
http_pairs_per_second, http_p50_ms, http_p99_ms : the same through the real pages (submit, redirect, next page).
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PEOPLE = 32
ITEMS = 300
OVERLAP = 4
HTTP_ITEMS = 40


def run() -> dict[str, float]:
    """Start a private PostgreSQL, label a study with services and one with pages, and count."""
    _setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    try:
        return _measure_services() | _measure_pages()
    finally:
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def _setup() -> None:
    from tests import services

    os.environ["DATABASE_URL"] = services.start_postgres()
    os.environ["DATABASE_POOL_SIZE"] = str(PEOPLE + 4)
    os.environ["RATELIMIT_ENABLE"] = "false"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["LOG_LEVEL"] = "ERROR"
    os.environ.setdefault("TOUCHSTONE_VAR", tempfile.mkdtemp(prefix="touchstone-bench-"))
    import django
    from django.conf import settings

    django.setup()
    settings.STATIC_ROOT.mkdir(
        parents=True, exist_ok=True
    )  # whitenoise warns about a folder that is not there


def _all_at_once(work: Callable[[Any], list[float]], arguments: list[Any]) -> tuple[list[float], float]:
    """Milliseconds of every pair, and the seconds that the whole took."""
    from django.db import connection

    start = threading.Barrier(len(arguments) + 1)

    def body(argument: Any) -> list[float]:
        try:
            start.wait(timeout=30)
            return work(argument)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(arguments)) as pool:
        futures = [pool.submit(body, argument) for argument in arguments]
        start.wait(timeout=30)
        began = time.perf_counter()
        times = [ms for future in futures for ms in future.result()]
    return times, time.perf_counter() - began


def _quantiles(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100)
    return round(cuts[49], 2), round(cuts[98], 2)


def _study(items: int) -> tuple[Any, list[Any]]:
    from tests.annotation.factories import enrollment_make, study_make

    study = study_make(pairs=items, overlap=OVERLAP)
    return study, [enrollment_make(study=study) for _ in range(PEOPLE)]


def _violations(study: Any) -> dict[str, float]:
    from django.db.models import Count, F

    from annotation.models import Label

    accepted = Label.objects.current().filter(study=study)
    per_item = accepted.values("item").annotate(times=Count("pk"))
    full = study.study_items.filter(n_accepted=F("overlap"), n_open=0).count()
    if full != study.study_items.count():
        raise RuntimeError(f"only {full} of {study.study_items.count()} items are complete")
    per_pair = Label.objects.filter(study=study, supersedes=None).values("item", "annotator")
    return {
        "over_assigned": per_item.filter(times__gt=OVERLAP).count(),
        "repeated": per_pair.annotate(times=Count("pk")).filter(times__gt=1).count(),
    }


def _measure_services() -> dict[str, float]:
    from django.db import connection

    from annotation.models import Enrollment
    from annotation.services.assignments import assignment_claim, assignment_submit

    study, people = _study(ITEMS)
    queries: list[int] = []  # appended by all threads, which is atomic

    def work(pk: int) -> list[float]:
        times = []
        sent = 0

        def count(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
            nonlocal sent
            sent += 1
            return execute(sql, params, many, context)

        with connection.execute_wrapper(count):
            while True:
                person = Enrollment.objects.select_related("study", "annotator").get(pk=pk)
                began, sent = time.perf_counter(), 0
                lease = assignment_claim(enrollment=person)
                if lease is None:
                    return times
                assignment_submit(assignment=lease, shown_value={"choice": len(times) % 3})
                times.append(1000 * (time.perf_counter() - began))
                # BEGIN and COMMIT of the two transactions do not pass through the wrapper.
                queries.append(sent + 4)

    times, seconds = _all_at_once(work, [person.pk for person in people])
    p50, p99 = _quantiles(times)
    return {
        **_violations(study),
        "pairs": len(times),
        "queries_per_pair": round(statistics.mean(queries), 2),
        "queries_per_pair_max": max(queries),
        "pairs_per_second": round(len(times) / seconds, 1),
        "p50_ms": p50,
        "p99_ms": p99,
    }


def _measure_pages() -> dict[str, float]:
    from django.test import Client
    from django.urls import reverse

    study, people = _study(HTTP_ITEMS)
    work_url = reverse("annotation:work", args=[study.slug])

    def work(person: Any) -> list[float]:
        times = []
        browser = Client(HTTP_HOST="localhost")
        browser.get(reverse("annotation:resume", args=[person.resume_token]))
        page = browser.get(work_url)
        while page.status_code == 302 and "/done/" not in page["Location"]:
            began = time.perf_counter()
            address = page["Location"]
            browser.get(address)
            page = browser.post(address, {"choice": len(times) % 3})
            times.append(1000 * (time.perf_counter() - began))
        return times

    times, seconds = _all_at_once(work, people)
    found = _violations(study)
    if any(found.values()):
        raise RuntimeError(f"through the pages: {found}")
    p50, p99 = _quantiles(times)
    return {
        "http_pairs_per_second": round(len(times) / seconds, 1),
        "http_p50_ms": p50,
        "http_p99_ms": p99,
    }
