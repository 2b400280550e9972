"""Test-retest reliability: what samples of the same request say, by hand, by a naive oracle, and from a sweep."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.figures import FIGURES
from metaeval.figures.retest import ONE_SAMPLE
from metaeval.inputs import Options
from metaeval.stats import krippendorff_alpha
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make

NAN = np.nan
OPTIONS = Options(n_resamples=200)


def sampled(said, name="judge", **fields):
    """A judge from what each sample said, (n_items, n_orders, n_samples); one order is the original one."""
    samples = np.asarray(said, dtype=float)
    asked = np.ones((len(samples), 2), dtype=bool)
    if samples.shape[1] == 1:
        samples, asked[:, 1] = np.repeat(samples, 2, axis=1), False
    verdicts = np.where(asked, np.minimum(samples[:, :, 0], 2), NAN)  # whatever it samples, these are choices
    return replace(judge_make(name, verdicts, judged=asked, **fields), samples=samples[..., np.newaxis])


def measures(said, *, options=OPTIONS, judge=None, **fields):
    judge = judge or sampled(said)
    inputs = inputs_make(lengths=[(1, 2)] * len(judge.values), judges=(judge,), **fields)
    (first, *_) = content_build(inputs, options)["judges"]
    return {name: first["measures"].get(name) for name in ("test_retest", "test_retest_alpha")}


def overall(said, **fields):
    found = measures(said, **fields)
    return found["test_retest"]["overall"], found["test_retest_alpha"]["overall"]


def test_a_case_by_hand():
    # Item 1: three equal, two of three equal; item 2: two of three equal, all differ (a tie, one, none read).
    said = [[[1, 1, 1], [1, 1, 2]], [[2, 2, 1], [0, 1, NAN]]]
    agreement, _ = overall(said)
    assert agreement["value"] == pytest.approx(((1 + 1 / 3) / 2 + (1 / 3 + 0) / 2) / 2)
    assert agreement["n"] == 2


def test_the_published_example_of_krippendorff():
    # Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), C: nominal data of four observers, two missing
    # often; here four samples of one judge. Alpha 0.743.
    rows = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    said = np.array([[NAN if word == "." else float(word) for word in row.split()] for row in rows]).T
    _, alpha = overall(said[:, np.newaxis, :])
    assert alpha["value"] == pytest.approx(0.743, abs=5e-4)


def naive_agreement(said):
    per_item = []
    for item in said:
        orders = [np.mean([one == other for one, other in combinations(samples, 2)]) for samples in item]
        per_item.append(np.mean(orders))
    return float(np.mean(per_item))


def naive_alpha(said):
    """One minus the observed share of unequal pairs over that of all values, NaN where nothing can differ."""
    units = [[v for v in samples if not np.isnan(v)] for item in said for samples in item]
    units = [unit for unit in units if len(unit) > 1]
    every = [value for unit in units for value in unit]
    observed = sum(
        sum(a != b for k, a in enumerate(unit) for m, b in enumerate(unit) if k != m) / (len(unit) - 1)
        for unit in units
    )
    expected = sum(a != b for k, a in enumerate(every) for m, b in enumerate(every) if k != m)
    return 1 - observed * (len(every) - 1) / expected if expected else NAN


said_of = st.integers(2, 4).flatmap(
    lambda n: st.lists(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=n, max_size=n), min_size=2, max_size=2
        ),
        min_size=1,
        max_size=7,
    )
)


@given(said_of)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_naive_oracle_says_the_same(said):
    agreement, alpha = overall(said, options=Options(n_resamples=0))
    assert agreement["value"] == pytest.approx(naive_agreement(said))
    expected = naive_alpha(said)
    if np.isnan(expected):
        assert alpha["value"] is None
    else:
        assert alpha["value"] == pytest.approx(expected)


def test_the_order_of_samples_and_of_items_plays_no_part():
    rng = np.random.default_rng(3)
    said = rng.integers(1, 3, (40, 2, 4)).astype(float)
    first = overall(said, options=Options(n_resamples=0))
    second = overall(said[::-1, ::-1, ::-1], options=Options(n_resamples=0))
    assert [one["value"] for one in first] == pytest.approx([one["value"] for one in second])


def test_a_coin_agrees_by_chance_alone_and_a_stone_always():
    rng = np.random.default_rng(5)
    agreement, alpha = overall(rng.integers(1, 3, (400, 2, 3)).astype(float))
    assert agreement["value"] == pytest.approx(0.5, abs=0.05)
    assert alpha["low"] < 0 < alpha["high"]
    steady = np.repeat(rng.integers(1, 3, (50, 2, 1)), 3, axis=2).astype(float)
    assert [one["value"] for one in overall(steady)] == [1.0, 1.0]


def test_the_interval_is_over_instructions():
    rng = np.random.default_rng(7)
    kind = rng.random(60) < 0.5
    said = np.where(kind[:, np.newaxis, np.newaxis], 1.0, rng.integers(1, 3, (60, 1, 4)).astype(float))
    alone = overall(said)
    cluster = [str(k // 6) for k in range(60)]
    order = np.argsort(kind)  # an instruction's items are alike
    together = overall(said[order], cluster=cluster)
    for one, other in zip(alone, together, strict=True):
        assert one["value"] == pytest.approx(other["value"])
        assert other["high"] - other["low"] > one["high"] - one["low"]
    rows = krippendorff_alpha(said[order][:, 0], clusters=cluster, n_resamples=200, rng=0)
    assert together[1]["value"] == pytest.approx(rows.value)


def test_a_judge_without_samples_has_a_reason_where_others_have_them():
    once = judge_make("once", [[1, 2], [1, 1]])
    twice = sampled([[[1, 1], [1, 2]], [[1, 1], [2, 2]]], name="twice")
    inputs = inputs_make(lengths=[(1, 2)] * 2, judges=(once, twice))
    first, second = content_build(inputs, OPTIONS)["judges"][:2]
    for name in ("test_retest", "test_retest_alpha"):
        assert first["measures"][name]["overall"]["value"] is None
        assert ONE_SAMPLE in first["measures"][name]["overall"]["reason"]
        assert second["measures"][name]["overall"]["value"] is not None


def test_where_nobody_has_samples_there_is_no_such_figure():
    judge = judge_make("once", [[1, 2], [1, 1]])
    assert set(measures(None, judge=judge).values()) == {None}


def test_one_value_alone_and_nothing_read_are_undefined_beyond_chance():
    agreement, alpha = overall([[[1, 1]], [[1, 1]]])
    assert (agreement["value"], alpha["value"]) == (1.0, None)
    assert "one value" in alpha["reason"]
    agreement, alpha = overall([[[NAN, NAN]], [[NAN, NAN]]])
    assert (agreement["value"], alpha["value"]) == (0.0, None)


def test_samples_are_part_of_the_hash():
    judge = sampled([[[1, 1]], [[1, 2]]])
    plain = replace(judge, samples=None)
    other = sampled([[[1, 2]], [[1, 2]]])
    hashes = {inputs_make(lengths=[(1, 2)] * 2, judges=(one,)).hash(OPTIONS) for one in (judge, plain, other)}
    assert len(hashes) == 3


@pytest.mark.parametrize("kind", list(FIGURES))
def test_every_kind_has_the_figures(kind):
    assert {"test_retest", "test_retest_alpha"} <= {figure.name for figure in FIGURES[kind].judges}
