"""Whether the time to the next item tells a hidden check from work: 100 people, one after the other.

Each answer of a person is timed as the browser sees it, and belongs to the item that it carries and to the item that
it answered. The area under the curve (AUC) is the chance that a check took longer than work: 0.5 tells nothing.

Figures
-------
auc_next, auc_answered : by the role of the item that the answer carries, and of the item that was answered.
auc_next_low, auc_next_high, auc_answered_low, auc_answered_high : 95% intervals, people resampled.
check_ms, work_ms : medians by the role of the item carried.
answers, checks : how many were timed, and how many of them carried a check.
"""

from __future__ import annotations

import asyncio
import statistics

import numpy as np
import psycopg

from bench import load
from tests.live_site import live_site
from tests.live_study import live_study

PEOPLE, ANSWERS, ITEMS, CHECKS = 100, 30, 1_000, 40
RULES = {
    "overlap": 3,
    "check_rate": 0.15,
    "check_window": 10,
    "check_minimum": 10,
    "check_warn_below": 0.0,
    "check_suspend_below": 0.0,
}
RESAMPLES = 1_000
MAKE_CHECKS = """
    WITH last AS (SELECT id, item_id FROM annotation_studyitem WHERE study_id = %(study)s ORDER BY position DESC
                  LIMIT %(checks)s),
         golden AS (UPDATE annotation_item SET gold = '{"choice": 1}' WHERE id IN (SELECT item_id FROM last))
    UPDATE annotation_studyitem SET role = 'check', overlap = 0 WHERE id IN (SELECT id FROM last)"""
ROLES = "SELECT id, role FROM annotation_assignment"


def run(*, quick: bool = False) -> dict[str, float]:
    """Measure; the figures by name."""
    people, answers = (30, 20) if quick else (PEOPLE, ANSWERS)
    with live_site() as (postgres, site):
        study = live_study(postgres.url, items=ITEMS + CHECKS, people=people, **RULES)
        with psycopg.connect(postgres.url) as connection:
            connection.execute(MAKE_CHECKS, {"study": study.pk, "checks": CHECKS})
        timed = asyncio.run(_times(site.port, study.resume_paths, answers))
        with psycopg.connect(postgres.url) as connection:
            roles = dict(connection.execute(ROLES).fetchall())
    rows = [(who, roles[before], roles[after], ms) for who, before, after, ms in timed]
    carried = [(who, after == "check", ms) for who, _, after, ms in rows]
    answered = [(who, before == "check", ms) for who, before, _, ms in rows]
    return {
        **_areas("next", carried),
        **_areas("answered", answered),
        "check_ms": statistics.median(ms for _, check, ms in carried if check),
        "work_ms": statistics.median(ms for _, check, ms in carried if not check),
        "answers": len(rows),
        "checks": sum(check for _, check, _ in carried),
    }


async def _times(port: int, paths: list[str], answers: int) -> list[tuple[int, int, int, float]]:
    """(person, assignment answered, assignment that came, milliseconds); one person after the other."""
    log = load.Log()
    timed = []
    for who, path in enumerate(paths):
        person = load.Annotator(port, path, log, seed=who)
        await person.enter()
        for turn in range(answers):
            before = person.assignment
            there = await person.answer()
            if there and turn:  # the first answer of each opens what is kept for the rest
                timed.append((who, before, person.assignment, log.milliseconds[-1]))
        person.close()
    return timed


def _areas(name: str, rows: list[tuple[int, bool, float]]) -> dict[str, float]:
    people = np.array([who for who, _, _ in rows])
    check = np.array([is_check for _, is_check, _ in rows])
    times = np.array([ms for _, _, ms in rows])
    rng = np.random.default_rng(0)
    everybody = np.unique(people)
    places = {who: np.flatnonzero(people == who) for who in everybody}
    areas = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([places[who] for who in rng.choice(everybody, size=len(everybody))])
        areas.append(_area(times[drawn], check[drawn]))
    low, high = np.quantile(areas, [0.025, 0.975])
    return {
        f"auc_{name}": _area(times, check),
        f"auc_{name}_low": float(low),
        f"auc_{name}_high": float(high),
    }


def _area(times: np.ndarray, check: np.ndarray) -> float:
    ranks = np.argsort(np.argsort(times, kind="stable"), kind="stable") + 1.0
    n = int(check.sum())
    return float((ranks[check].sum() - n * (n + 1) / 2) / (n * (len(times) - n)))
