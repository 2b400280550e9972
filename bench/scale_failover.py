"""The database's machine dies under load, and a second PostgreSQL takes over (`tests.standby`).

Figures
-------
acknowledged_before, acknowledged_after : answers before the death, and after it.
failover_s : from the death to the next answer that is acknowledged; the second server is promoted at once.
failover_lost, failover_over_assigned, failover_repeated, failover_miscounted : have to be 0.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench import load
from tests.live_site import LiveSite, PrivatePostgres, manage
from tests.live_study import findings, live_study
from tests.standby import Standby, either

PEOPLE = 16
SECONDS, QUICK_SECONDS = 20.0, 5.0


def run(*, quick: bool = False) -> dict[str, float]:
    """Measure; the figures by name."""
    seconds = QUICK_SECONDS if quick else SECONDS
    primary = PrivatePostgres()
    manage(primary.url, "migrate", "--verbosity", "0")
    study = live_study(primary.url, items=4_000, people=PEOPLE, overlap=4)
    standby = Standby(primary)
    site = LiveSite(either(primary.url, standby.url))
    log = load.Log()

    def fail_over() -> tuple[int, float]:
        """How many answers were acknowledged before, and how long none was."""
        time.sleep(seconds)
        primary.kill()
        killed, before = time.perf_counter(), len(log.acknowledged)
        standby.promote()
        while len(log.acknowledged) == before:
            time.sleep(0.005)
        away = time.perf_counter() - killed
        time.sleep(seconds)
        return before, away

    try:
        site.start()
        people = [load.Annotator(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]
        with ThreadPoolExecutor(1) as pool:
            failing = pool.submit(fail_over)
            load.run(people, log, until=failing.done)
        before, away = failing.result()
        found = findings(standby.url, study.pk, log.acknowledged)
    finally:
        site.stop()
        standby.stop()
        primary.stop()
    return {
        "acknowledged_before": float(before),
        "acknowledged_after": float(len(log.acknowledged) - before),
        "failover_s": away,
        "failover_lost": float(found["lost"]),
        "failover_over_assigned": float(found["over_assigned"]),
        "failover_repeated": float(found["repeated"]),
        "failover_miscounted": float(found["items_miscounted"] + found["people_miscounted"]),
    }
