"""A bench is run by hand, and rarely: what it imports from the project is still there."""

import importlib
import pkgutil

import bench


def test_every_bench_imports():
    names = [each.name for each in pkgutil.iter_modules(bench.__path__) if each.name != "__main__"]
    assert len(names) > 20
    for name in names:
        importlib.import_module(f"bench.{name}")
