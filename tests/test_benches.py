"""A bench is run by hand, and rarely: what it imports from the project is still there."""

import importlib
import pkgutil

import pytest

import bench
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
