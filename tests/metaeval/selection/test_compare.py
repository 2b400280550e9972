"""Choosing between judges on arrays."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from metaeval.figures import FIGURES
from metaeval.reports.report import SCHEMA
from metaeval.selection import compare
from metaeval.stats import Resamples, critical_values, paired_difference

RNG = np.random.default_rng(11)
N = 200


def scores(share):
    return (RNG.random(N) < share).astype(float)


def test_differences_are_paired_on_the_same_resamples():
    resamples = Resamples(N, 2000, 3)
    good, middle, poor = scores(0.9), scores(0.6), scores(0.2)
    found = compare({"poor": poor, "good": good, "middle": middle}, resamples=resamples)
    assert found.ranking == ("good", "middle", "poor")
    assert found.verdict == "clear"
    plain = paired_difference(good, middle, resamples=Resamples(N, 2000, 3))
    lead = found.differences["middle"]
    assert (lead.value, lead.share_better) == (plain.value, plain.share_better)
    # At most what Hsu's comparison takes, which knows nothing of judges dropped before.
    most = critical_values([good, middle, poor], 3, resamples=resamples)[1]
    hsu = paired_difference(good, middle, resamples=resamples, critical=most)
    assert hsu.low <= lead.low <= plain.low


@pytest.mark.slow
def test_the_best_judge_is_rarely_ruled_out_however_many_there_are():
    # 27 judges, all equally good: by plain intervals one in four of them is ruled out.
    rng = np.random.default_rng(3)
    resamples = Resamples(N, 1)
    out = clear = 0
    for _ in range(16):
        found = compare({str(k): (rng.random(N) < 0.8).astype(float) for k in range(27)}, resamples=resamples)
        out += found.leader != "0" and "0" not in found.tied
        clear += found.verdict == "clear"
    assert out <= 2
    assert clear == 0


def test_a_floor_is_compared_with_the_choice_of_the_leader_allowed_for():
    rng = np.random.default_rng(4)
    judges = {str(k): (rng.random(N) < 0.7).astype(float) for k in range(20)}
    floors = {"low": (rng.random(N) < 0.2).astype(float), "level": (rng.random(N) < 0.7).astype(float)}
    found = compare(judges, resamples=Resamples(N, 500), floors=floors)
    assert found.floor == "level"
    assert found.above_floor.value == pytest.approx(judges[found.leader].mean() - floors["level"].mean())
    assert found.above_floor.low < 0 < found.above_floor.value
    plain = paired_difference(judges[found.leader], floors["level"], resamples=Resamples(N, 500))
    assert plain.low > found.above_floor.low
    assert set(found.differences) == set(judges) - {found.leader}


def test_one_that_is_level_makes_it_unclear():
    good = scores(0.8)
    level = good.copy()
    level[:3] = 1 - level[:3]
    found = compare({"a": good, "b": level, "c": scores(0.1)}, resamples=Resamples(N, 2000))
    assert found.verdict == "open"
    assert found.tied == tuple(name for name in ("a", "b") if name != found.leader)


def test_only_items_that_both_were_scored_on_count():
    first, second = np.ones(N), np.zeros(N)
    second[: N // 2] = np.nan
    found = compare({"a": first, "b": second}, resamples=Resamples(N, 500))
    assert found.differences["b"].n == N // 2


@pytest.mark.parametrize("columns", [{}, {"a": np.full(N, np.nan)}])
def test_nothing_to_compare(columns):
    found = compare(columns, resamples=Resamples(N, 100))
    assert (found.leader, found.verdict, found.ranking) == (None, "none", ())


def test_a_judge_alone_is_no_winner():
    found = compare({"a": np.ones(N)}, resamples=Resamples(N, 100))
    assert (found.leader, found.verdict) == ("a", "single")


def test_one_instruction_cannot_tell_judges_apart():
    found = compare({"a": np.ones(4), "b": np.zeros(4)}, resamples=Resamples(["x"] * 4, 100))
    assert (found.tied, found.verdict) == (("b",), "open")


@pytest.mark.parametrize(
    "name",
    [
        "selection.paired",
        "selection.juries",
        "figures.groups",
        "reports.tables",
        "reports.errors",
        "reports.comparison",
        "reports.leading",
    ],
)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(f"metaeval.{name}"), extraglobs={"np": np}).failed == 0


def test_the_documentation_names_every_measure():
    text = (Path(settings.BASE_DIR) / "docs/report-schema.md").read_text()
    assert SCHEMA in text
    for kind in FIGURES.values():
        for figure in (*kind.people, *kind.judges):
            assert f"`{figure.name}`" in text, figure.name
