"""Kill -9 of a worker, of the web server and of PostgreSQL, under load through the real pages, at random moments.

What a person was told is stored is stored, once, as they said it, and the counters are right.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from bench import load
from tests.live_site import LiveSite, PrivatePostgres, live_site
from tests.live_study import findings, live_study

PEOPLE = 12
KILLS = ("worker", "postgres", "server", "postgres")
PAUSE = (0.3, 1.5)  # seconds of work before each
FEWEST = 30  # answers that have to get through, even on a slow machine

pytestmark = [pytest.mark.service, pytest.mark.timeout(150)]


def killer(postgres: PrivatePostgres, site: LiveSite, seed: int) -> list[str]:
    """Kill this or that, and start it again."""
    chance, done = random.Random(seed), []
    for what in KILLS:
        time.sleep(chance.uniform(*PAUSE))
        if what == "worker":
            assert site.kill_worker(chance)
        elif what == "server":
            site.kill()
            site.start()
        else:
            postgres.kill()
            time.sleep(chance.uniform(0, 0.3))
            postgres.start()
        done.append(what)
    return done


@pytest.mark.long
@pytest.mark.parametrize("ahead", [0, 3])
def test_what_was_acknowledged_survives_kills(ahead):
    with live_site() as (postgres, site):
        with psycopg.connect(postgres.url) as connection:
            safe = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        assert safe == [("on",), ("on",)]
        study = live_study(
            postgres.url,
            items=2000,
            people=PEOPLE,
            overlap=4,
            repeat_rate=0.1,
            lease_minutes=1,
            fetch_ahead=ahead,
        )
        log, at_work = load.Log(), load.AheadAnnotator if ahead else load.Annotator
        people = [at_work(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]
        with ThreadPoolExecutor(1) as pool:
            killing = pool.submit(killer, postgres, site, seed=time.time_ns())
            load.run(people, log, until=lambda: killing.done() and len(log.acknowledged) >= FEWEST)
        assert tuple(killing.result()) == KILLS
        found = findings(postgres.url, study.pk, log.acknowledged)
    assert found.pop("labels") >= len(log.acknowledged) >= FEWEST
    assert not any(found.values()), found
