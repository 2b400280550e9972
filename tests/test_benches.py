"""A bench is run by hand, and rarely: what it imports from the project is still there."""

import asyncio
import heapq
import importlib
import math
import pkgutil
import random
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

import bench
from annotation.selectors.signal_reasons import signals_compute
from bench.abuse import SEED, figures_of, items_draw, simulate
from bench.abuse_kinds import KINDS, unlike
from bench.abuse_sessions import HANDS
from bench.arrivals import run_open
from bench.load import Log
from bench.queueing import response_seconds, waiting_probability
from bench.reports import LABELS, dataset_fill
from metaeval.services.reports import report_build


def test_every_bench_imports():
    names = [each.name for each in pkgutil.iter_modules(bench.__path__) if each.name != "__main__"]
    assert len(names) > 20
    for name in names:
        importlib.import_module(f"bench.{name}")


@pytest.mark.django_db
def test_the_rows_of_the_bench_of_reports_make_a_report():
    dataset = dataset_fill("small", 14, 2)
    report = report_build(dataset=dataset, n_resamples=0)
    assert (report.items.n_items, report.people.n_labels) == (14, 14 * LABELS)
    assert [judge.n_judgments for judge in report.judges if not judge.baseline] == [28, 28]
    assert len(report.items.categories) == 7


def test_what_is_drawn_of_a_kind_is_what_a_browser_is_held_against():
    rng = np.random.default_rng(SEED)
    items = items_draw(rng)
    for kind in KINDS:
        sent = [one.signals for number in range(5) for one in kind.answers(rng, number, items)]
        assert all(one is None for one in sent) == (kind.name == "http_script")
        found = Counter(name for one in sent if one is not None for name in unlike(kind, asdict(one)))
        # Whether there's a comment, and how it came, differs from answer to answer.
        assert set(found) <= {"pastes", "typed", "keyless", "keys"}, kind.name
        assert kind.name in HANDS or kind.name == "http_script"


def test_a_script_is_caught_and_people_with_a_mouse_have_no_reason():
    rng = np.random.default_rng(SEED)
    items, by_name = items_draw(rng), {kind.name: kind for kind in KINDS}
    kinds = [by_name["mouse"]] * 12 + [by_name["fixed_script"]]
    answers = [one for number, kind in enumerate(kinds) for one in kind.answers(rng, number, items)]
    reasons = signals_compute(answers).reasons
    assert set(reasons) == {12}
    assert {"automated", "reading"} <= {reason.kind.key for reason in reasons[12]}


def test_the_figures_of_the_bench_of_abuse_have_intervals():
    figures = figures_of(simulate(2))
    for name in [name for name in figures if f"{name}_low" in figures]:
        assert figures[f"{name}_low"] <= figures[name] <= figures[f"{name}_high"]
    assert "flagged_people" in figures


class SlowPerson:
    """Gets each answer through in 20 ms, one at a time, and logs that as the people of the benches do."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def enter(self) -> bool:
        return True

    async def answer(self) -> bool:
        await asyncio.sleep(0.02)
        self._log.milliseconds.append(0.0)
        return True

    def close(self) -> None:
        pass


def test_times_of_an_open_loop_begin_when_a_submit_is_due():
    alone, crowd = Log(), Log()
    run_open([SlowPerson(alone)], alone, per_second=100, seconds=0.6)
    run_open([SlowPerson(crowd) for _ in range(40)], crowd, per_second=100, seconds=0.6)
    assert len(alone.milliseconds) == len(crowd.milliseconds) > 30
    # One person can answer half of what arrives, so that the last submit waits for about half of the time.
    assert max(alone.milliseconds) > 5 * max(crowd.milliseconds)
    assert min(crowd.milliseconds) >= 20


class TestQueue:
    """`bench.queueing`; with one server the time to an answer is exponential, of rate 1 / service - arrivals."""

    def test_one_server(self):
        # 1 / 0.01 - 50 = 50 a second: 99 % are answered within ln(100) / 50 s.
        found = response_seconds(per_second=50, service=0.01, servers=1, quantile=0.99)
        assert found == pytest.approx(math.log(100) / 50)

    def test_who_has_to_wait(self):
        # Two servers of which one is at work on average: C = (1/2) / (1 + 1 + 1/2 * 2) = 1/3 (Kleinrock 1975, 3.5).
        assert waiting_probability(1.0, 2) == pytest.approx(1 / 3)
        assert waiting_probability(2.5, 2) == 1.0

    def test_more_than_it_can_do(self):
        assert response_seconds(per_second=201, service=0.01, servers=2, quantile=0.5) == math.inf

    @pytest.mark.parametrize(("per_second", "servers"), [(60, 1), (100, 2), (150, 2), (320, 4)])
    def test_as_a_queue_that_is_played_through(self, per_second, servers):
        chance, service = random.Random(5), 0.01
        free = [0.0] * servers
        at, times = 0.0, []
        for _ in range(60_000):
            at += chance.expovariate(per_second)
            begins = max(at, heapq.heappop(free))
            ends = begins + chance.expovariate(1 / service)
            heapq.heappush(free, ends)
            times.append(ends - at)
        times.sort()
        for quantile in (0.5, 0.9, 0.99):
            expected = response_seconds(
                per_second=per_second, service=service, servers=servers, quantile=quantile
            )
            assert times[int(quantile * len(times))] == pytest.approx(expected, rel=0.08)
