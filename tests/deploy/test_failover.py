"""The database dies under load and a second one takes over: what people were told is stored is stored there."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench import load
from tests.live_site import LiveSite, PrivatePostgres, manage
from tests.live_study import findings, live_study
from tests.standby import Standby, either

pytestmark = [pytest.mark.service, pytest.mark.long, pytest.mark.timeout(240)]

PEOPLE = 12
BEFORE, AFTER = 100, 100  # answers


def test_a_second_database_takes_over_with_all_that_was_acknowledged():
    primary = PrivatePostgres()
    manage(primary.url, "migrate", "--verbosity", "0")
    study = live_study(primary.url, items=1000, people=PEOPLE, overlap=4, lease_minutes=1)
    standby = Standby(primary)
    site = LiveSite(either(primary.url, standby.url))
    log = load.Log()

    def fail_over() -> int:
        while len(log.acknowledged) < BEFORE:
            time.sleep(0.02)
        primary.kill()
        acknowledged = len(log.acknowledged)
        standby.promote()
        return acknowledged

    try:
        site.start()
        people = [load.Annotator(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]
        with ThreadPoolExecutor(1) as pool:
            failing = pool.submit(fail_over)
            load.run(
                people,
                log,
                until=lambda: failing.done() and len(log.acknowledged) >= failing.result() + AFTER,
            )
        found = findings(standby.url, study.pk, log.acknowledged)
    finally:
        site.stop()
        standby.stop()
        primary.stop()
    assert found.pop("labels") >= len(log.acknowledged) >= BEFORE + AFTER
    assert not any(found.values()), found
