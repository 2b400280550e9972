"""2,000 annotators in 20 studies over 1,000,000 pairs, half of them labelled, on PostgreSQL with four web processes
that share a Redis as cache, as `compose.yaml` has them.

Submits arrive at random (`bench.arrivals`) at growing rates. At a pair each 35 seconds, 2,000 people are 57 a second.

Figures
-------
items, people, labels : what the site holds before the first submit.
p50_ms_at_N, p99_ms_at_N : a submit whose answer carries the next item, at N pairs a second, from when it is due; `inf`
    where the machine can't hold the rate.
model_p99_ms_at_N : what the queue M/M/c says of it (`bench.queueing`), from the processor time of a pair at this rate
    and the cores that the clients of this benchmark leave.
cpu_ms_per_pair : of web and database, at the highest rate that was held.
pairs_per_s_per_core, people_per_core : how many a core can do at 60% of its time, at a pair in 35 seconds.
claims_flat : median time at the end of the last rate that was held over that at the beginning of the first, on the
    same rate again.
page_ms_NAME, page_ms_worst : pages of a study of 50,000 items, half of them labelled, with nobody at work; the median
    of three (to reach: 300).
over_assigned, repeated, lost, miscounted : over all studies; have to be 0.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Sequence

import psutil

from bench import arrivals, load
from bench.queueing import response_seconds
from bench.scale_rows import dataset_of_pairs, half_labelled, study_of
from tests.live_site import SECRET_KEY, LiveSite, PrivatePostgres, cpu_seconds, live_site
from tests.live_study import findings

ITEMS, QUICK_ITEMS = 1_000_000, 20_000
STUDIES, PEOPLE = 20, 2_000
OVERLAP = 2
WEB_PROCESSES = 4
RATES = (15, 30, 45, 57, 75)
SECONDS, QUICK_SECONDS = 30.0, 8.0
SECONDS_PER_PAIR = 35.0
BUSY = 0.6
PAGES = ("", "people/", "pay/", "reports/", "judges/", "edit/")


def run(*, quick: bool = False, size: int = 0) -> dict[str, float]:
    """Measure; the figures by name."""
    items = size or (QUICK_ITEMS if quick else ITEMS)
    from tests.services import start_redis

    with live_site(workers=WEB_PROCESSES, CACHE_URL=start_redis()) as (postgres, site):
        session, studies, labels = _site_made(postgres, items)
        figures = {"items": float(items), "people": float(PEOPLE), "labels": float(labels)}
        figures |= _pages(site, session, studies[0][1])
        logs = {pk: load.Log() for pk, _, _ in studies}
        figures |= _rates(postgres, site, studies, logs, QUICK_SECONDS if quick else SECONDS)
        found = [findings(postgres.url, pk, logs[pk].acknowledged) for pk, _, _ in studies]
    figures |= {
        name: float(sum(one[key] for one in found for key in keys))
        for name, keys in {
            "over_assigned": ["over_assigned"],
            "repeated": ["repeated"],
            "lost": ["lost"],
            "miscounted": ["items_miscounted", "people_miscounted"],
        }.items()
    }
    return figures


Study = tuple[int, str, list[str]]
"""Its key, its slug, and the personal links of its people."""


def _site_made(postgres: PrivatePostgres, items: int) -> tuple[str, list[Study], int]:
    """The key of an administrator's session, the studies, and how many labels they have."""
    os.environ |= {
        "DATABASE_URL": postgres.url,
        "DATABASE_POOL_SIZE": "0",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DJANGO_SECRET_KEY": SECRET_KEY,
        "LOG_LEVEL": "ERROR",
        "TOUCHSTONE_VAR": tempfile.mkdtemp(prefix="touchstone-bench-"),
    }
    import django

    django.setup()
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from annotation.models import Role
    from tests.annotation.factories import user_make

    studies: list[Study] = []
    labels = 0
    for k in range(STUDIES):
        dataset = dataset_of_pairs(f"large-{k}", items // STUDIES)
        study, people = study_of(dataset, PEOPLE // STUDIES, overlap=OVERLAP)
        labels += half_labelled(study, people)
        paths = [reverse("annotation:resume", args=[person.resume_token]) for person in people]
        studies.append((study.pk, study.slug, paths))
        print(f"  scale: {(k + 1) * (items // STUDIES):,} of {items:,} items", flush=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(user_make(username="bench", role=Role.ADMINISTRATOR))
    connection.close()
    return client.cookies[settings.SESSION_COOKIE_NAME].value, studies, labels


def _pages(site: LiveSite, session: str, slug: str) -> dict[str, float]:
    addresses = {"studies": "studies/", "datasets": "datasets/", "dataset": f"datasets/{slug}/"}
    addresses["items"] = f"datasets/{slug}/items/"
    addresses |= {f"study_{page.strip('/') or 'detail'}": f"studies/{slug}/{page}" for page in PAGES}
    times = {name: _milliseconds(site, session, address) for name, address in addresses.items()}
    return {"page_ms_worst": max(times.values())} | {f"page_ms_{name}": ms for name, ms in times.items()}


def _milliseconds(site: LiveSite, session: str, address: str) -> float:
    request = urllib.request.Request(
        f"http://127.0.0.1:{site.port}/{address}", headers={"Cookie": f"sessionid={session}"}
    )
    times = []
    for _ in range(3):
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            if "/login" in answer.url:
                raise AssertionError(f"{address}: nobody is signed in")
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def _rates(
    postgres: PrivatePostgres,
    site: LiveSite,
    studies: Sequence[Study],
    logs: dict[int, load.Log],
    seconds: float,
) -> dict[str, float]:
    """Each rate for so long, and the first one again in the end."""
    everyone = [
        # Whose turn is next is of another study than whose turn it was.
        load.Annotator(site.port, paths[turn], logs[pk], seed=turn * STUDIES + k)
        for turn in range(PEOPLE // STUDIES)
        for k, (pk, _, paths) in enumerate(studies)
    ]
    figures: dict[str, float] = {}
    medians: dict[int, list[float]] = {}
    service = math.nan
    arrivals.run_open(everyone, load.Log(), per_second=RATES[0], seconds=1)
    for rate in (*RATES, RATES[0]):
        log = load.Log()
        before = _used(postgres, site), _clients()
        try:
            arrivals.run_open(everyone, log, per_second=rate, seconds=seconds, are_there=True)
        except RuntimeError:
            figures |= {f"p50_ms_at_{rate}": math.inf, f"p99_ms_at_{rate}": math.inf}
            continue
        pairs = len(log.milliseconds)
        used, clients = _used(postgres, site) - before[0], _clients() - before[1]
        cores = max(1, round((psutil.cpu_count() or 1) - clients / log.seconds))
        medians.setdefault(rate, []).append(log.quantile(50))
        print(f"  scale: {rate} a second: {log.quantile(50):.1f} and {log.quantile(99):.1f} ms", flush=True)
        if f"p99_ms_at_{rate}" in figures:
            continue
        service = used / pairs
        model = response_seconds(per_second=rate, service=service, servers=cores, quantile=0.99)
        figures |= {
            f"p50_ms_at_{rate}": log.quantile(50),
            f"p99_ms_at_{rate}": log.quantile(99),
            f"model_p99_ms_at_{rate}": 1000 * model,
        }
    return figures | {
        "cpu_ms_per_pair": 1000 * service,
        "pairs_per_s_per_core": BUSY / service,
        "people_per_core": BUSY / service * SECONDS_PER_PAIR,
        "claims_flat": medians[RATES[0]][-1] / medians[RATES[0]][0],
    }


def _used(postgres: PrivatePostgres, site: LiveSite) -> float:
    return cpu_seconds(site.process) + cpu_seconds(postgres.process)


def _clients() -> float:
    used = psutil.Process().cpu_times()
    return float(used.user + used.system)
