"""A bench is run by hand, and rarely: what it imports from the project is still there."""

import asyncio
import importlib
import pkgutil

import pytest

import bench
from bench.arrivals import run_open
from bench.load import Log
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


class SlowPerson:
    """Gets each answer through in 20 ms, one at a time."""

    async def enter(self) -> bool:
        return True

    async def answer(self) -> bool:
        await asyncio.sleep(0.02)
        return True

    def close(self) -> None:
        pass


def test_times_of_an_open_loop_begin_when_a_submit_is_due():
    alone, crowd = Log(), Log()
    run_open([SlowPerson()], alone, per_second=100, seconds=0.6)
    run_open([SlowPerson() for _ in range(40)], crowd, per_second=100, seconds=0.6)
    assert len(alone.milliseconds) == len(crowd.milliseconds) > 30
    # One person can answer half of what arrives, so that the last submit waits for about half of the time.
    assert max(alone.milliseconds) > 5 * max(crowd.milliseconds)
    assert min(crowd.milliseconds) >= 20
