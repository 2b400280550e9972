"""Sixty-four people at once through the real pages, on PostgreSQL, while the web server's workers are killed.

Figures
-------
over_assigned, repeated : items with more accepted labels than their overlap, and (item, person) pairs labelled more
    than once; both have to be 0.
lost : answers that were acknowledged and are not in the database exactly once as they were given; has to be 0.
miscounted : items and people whose counters are not what a recount finds; has to be 0.
cpu_ms_per_pair : CPU time of the web server and of PostgreSQL, with all that they started, for a submit whose answer
    carries the next item; `web_` and `database_` are its parts. Restarts of killed workers are in it, and are large in
    a short run: `quiet_cpu_ms_per_pair` is that of the run of 16 people, in which nothing is killed, and
    `quiet_web_cpu_ms_per_pair` and `quiet_database_cpu_ms_per_pair` are its parts.
claim_p50_ms, claim_p99_ms : the same request, as 16 people see it who do not think.
open_loop_p50_ms, open_loop_p99_ms : the same request, where submits arrive at random at half of the rate that the
    16 people reach (`open_loop_pairs_per_s`), from when each is due.
limit_cpu_ms_per_pair, limit_claim_p99_ms, limit_pairs_per_s_16 : the same 16 people at `bench.bare`, a server that
    reads and changes the same rows, sends as long a page and checks nothing; `times_limit` is how much more processor
    the site takes.
ahead_p50_ms, ahead_p99_ms, ahead_cpu_ms_per_pair : the same 16 people where three items are fetched ahead: a submit
    brings the item that comes three later, while the next one is on the screen; one in five is sent alone before it.
potato_pairs_per_s, ratio_vs_potato : Potato's own server on the same texts with the same 16 people, and how many times
    as many pairs ours does.
growth_1e4_to_1e6 : time of a claim in a study of 1,000,000 items over that in one of 10,000, half of each labelled.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench import arrivals, growth, load, potato
from tests.live_site import LiveSite, PrivatePostgres, cpu_seconds, live_site
from tests.live_study import LiveStudy, findings, live_study

OVERLAP = 4
FEW = 16


@dataclass(frozen=True)
class Size:
    """How much is done; `quick` is for a look while developing."""

    people: int = 64
    items: int = 20_000
    labels: int = 50_000
    seconds: float = 20.0
    open_seconds: float = 60.0  # in a minute PostgreSQL's autovacuum looks at the tables once, as on any day
    kills: int = 12
    small_items: int = 8_000  # more than `bench.bare` answers in that time
    many: int = 1_000_000


QUICK = Size(items=2_000, labels=2_000, seconds=8.0, open_seconds=8.0, kills=2, many=100_000)


FAMILIES = ("crowd", "few", "ahead", "growth", "potato")


def run(*, quick: bool = False, only: Sequence[str] = ()) -> dict[str, float]:
    """Measure; the figures by name. Potato is compared with our 16 people, so it brings `few` along."""
    size, wanted = QUICK if quick else Size(), set(only or FAMILIES)
    figures: dict[str, float] = {}
    with live_site() as (postgres, site):
        if "crowd" in wanted:
            figures |= _crowd(postgres, site, size)
        if wanted & {"few", "potato"}:
            figures |= _few(postgres, site, size)
            figures |= _open_loop(postgres, site, size, per_second=figures["pairs_per_s_16"] / 2)
            figures |= _limit(postgres, size, ours=figures["quiet_cpu_ms_per_pair"])
        if "ahead" in wanted:
            figures |= _ahead(postgres, site, size)
        site.kill()
        if "growth" in wanted:
            figures |= growth.measure(postgres.url, few=10_000, many=size.many)
    if "potato" in wanted:
        figures |= _against_potato(figures["pairs_per_s_16"], size)
    return figures


def _people(site: LiveSite, study: LiveStudy, log: load.Log) -> list[load.Annotator]:
    return [load.Annotator(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]


def _crowd(postgres: PrivatePostgres, site: LiveSite, size: Size) -> dict[str, float]:
    """All people at once until so many labels are there; a worker is killed every now and then."""
    print(f"  {size.people} people, {size.items:,} items, until {size.labels:,} labels", flush=True)
    study = live_study(postgres.url, items=size.items, people=size.people, overlap=OVERLAP)
    log = load.Log()
    before = cpu_seconds(site.process), cpu_seconds(postgres.process)
    with _killing(site, log, size) as killed:
        load.run(_people(site, study, log), log, pairs=size.labels)
    web, database = cpu_seconds(site.process) - before[0], cpu_seconds(postgres.process) - before[1]
    found = findings(postgres.url, study.pk, log.acknowledged)
    pairs = len(log.acknowledged)
    print(f"  {len(killed)} workers killed; what people saw of it: {dict(log.failures)}", flush=True)
    return {
        "over_assigned": found["over_assigned"],
        "repeated": found["repeated"],
        "lost": found["lost"],
        "miscounted": found["items_miscounted"] + found["people_miscounted"],
        "labels": found["labels"],
        "workers_killed": len(killed),
        "cpu_ms_per_pair": 1000 * (web + database) / pairs,
        "web_cpu_ms_per_pair": 1000 * web / pairs,
        "database_cpu_ms_per_pair": 1000 * database / pairs,
        "pairs_per_s": log.pairs_per_s,
    }


@contextmanager
def _killing(site: LiveSite, log: load.Log, size: Size) -> Iterator[list[int]]:
    """One worker gets SIGKILL after each such share of the labels; granian starts another."""
    over, chance = threading.Event(), random.Random(0)
    killed: list[int] = []

    def work() -> None:
        while not over.wait(0.1) and len(killed) < size.kills:
            done = len(log.acknowledged)
            if done > size.labels * (len(killed) + 1) / (size.kills + 1) and site.kill_worker(chance):
                killed.append(done)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@dataclass(frozen=True)
class _Cost:
    """What the people of a run saw, and the seconds of processor that it took."""

    log: load.Log
    web: float
    database: float

    def per_pair(self, seconds: float) -> float:
        return 1000 * seconds / len(self.log.acknowledged)


def _few(postgres: PrivatePostgres, site: LiveSite, size: Size) -> dict[str, float]:
    """Sixteen people for a short while, with nothing killed."""
    ours = _sixteen(postgres, site, size, items=size.small_items)
    return {
        "pairs_per_s_16": ours.log.pairs_per_s,
        "claim_p50_ms": ours.log.quantile(50),
        "claim_p99_ms": ours.log.quantile(99),
        "quiet_cpu_ms_per_pair": ours.per_pair(ours.web + ours.database),
        "quiet_web_cpu_ms_per_pair": ours.per_pair(ours.web),
        "quiet_database_cpu_ms_per_pair": ours.per_pair(ours.database),
    }


def _limit(postgres: PrivatePostgres, size: Size, *, ours: float) -> dict[str, float]:
    """The same at a server that does nothing beside it."""
    site = LiveSite(postgres.url, application="bench.bare:application")
    try:
        site.start()
        bare = _sixteen(postgres, site, size, items=size.small_items)
    finally:
        site.stop()
    used = bare.per_pair(bare.web + bare.database)
    return {
        "limit_pairs_per_s_16": bare.log.pairs_per_s,
        "limit_claim_p99_ms": bare.log.quantile(99),
        "limit_cpu_ms_per_pair": used,
        "times_limit": ours / used,
    }


def _sixteen(postgres: PrivatePostgres, site: LiveSite, size: Size, *, items: int) -> _Cost:
    """Sixteen people who never pause, after a warm-up by sixteen others."""
    study = live_study(postgres.url, items=items, people=2 * FEW, overlap=OVERLAP)
    warm, log = load.Log(), load.Log()
    load.run(_people(site, study, warm)[:FEW], warm, seconds=3)
    people = _people(site, study, log)[FEW:]
    before = cpu_seconds(site.process), cpu_seconds(postgres.process)
    load.run(people, log, seconds=size.seconds)
    web, database = cpu_seconds(site.process) - before[0], cpu_seconds(postgres.process) - before[1]
    _check_findings(postgres, study, warm, log)
    if log.failures:
        raise RuntimeError(f"not all of the time was work: {dict(log.failures)}")
    return _Cost(log, web, database)


def _ahead(postgres: PrivatePostgres, site: LiveSite, size: Size) -> dict[str, float]:
    """The same with three items fetched ahead."""
    study = live_study(postgres.url, items=size.small_items, people=FEW, overlap=OVERLAP, fetch_ahead=3)
    log = load.Log()
    people = [load.AheadAnnotator(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]
    before = cpu_seconds(site.process) + cpu_seconds(postgres.process)
    load.run(people, log, seconds=size.seconds)
    used = cpu_seconds(site.process) + cpu_seconds(postgres.process) - before
    _check_findings(postgres, study, log)
    return {
        "ahead_p50_ms": log.quantile(50),
        "ahead_p99_ms": log.quantile(99),
        "ahead_cpu_ms_per_pair": 1000 * used / len(log.acknowledged),
    }


def _open_loop(
    postgres: PrivatePostgres, site: LiveSite, size: Size, *, per_second: float
) -> dict[str, float]:
    """Submits at a steady rate, of so many people that one of them is always free."""
    study = live_study(postgres.url, items=size.small_items, people=size.people, overlap=OVERLAP)
    log = load.Log()
    arrivals.run_open(_people(site, study, log), log, per_second=per_second, seconds=size.open_seconds)
    _check_findings(postgres, study, log)
    return {
        "open_loop_pairs_per_s": log.pairs_per_s,
        "open_loop_p50_ms": log.quantile(50),
        "open_loop_p99_ms": log.quantile(99),
    }


def _check_findings(postgres: PrivatePostgres, study: LiveStudy, *logs: load.Log) -> None:
    """Raise when a rule was broken though nothing was killed."""
    found = findings(postgres.url, study.pk, [answer for log in logs for answer in log.acknowledged])
    if any(value for name, value in found.items() if name != "labels"):
        raise RuntimeError(f"with nothing killed: {found}")


def _against_potato(ours: float, size: Size) -> dict[str, float]:
    theirs = potato.measure(items=size.small_items, people=FEW, seconds=size.seconds, overlap=OVERLAP)
    return {
        "potato_pairs_per_s": theirs.pairs_per_s,
        "potato_claim_p99_ms": theirs.quantile(99),
        "ratio_vs_potato": ours / theirs.pairs_per_s,
    }
