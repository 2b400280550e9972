"""Agreement of pairs of labels, raw and beyond chance, for annotators like these."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import (
    StatisticsWarning,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    pairwise_agreement,
    percent_agreement,
)
from metaeval.stats.alpha import alpha_terms
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.crossed import Crossing
from metaeval.stats.crossed_pairs import pair_sums

FIGURES = {
    "pairs": pairwise_agreement,
    "within one": lambda labels, **how: pairwise_agreement(labels, tolerance=1, **how),
    "all pairs": lambda labels, **how: percent_agreement(labels, average="pairs", **how),
    "alpha": krippendorff_alpha,
    "ordinal": lambda labels, **how: krippendorff_alpha(labels, level="ordinal", **how),
    "interval": lambda labels, **how: krippendorff_alpha(labels, level="interval", **how),
    "ratio": lambda labels, **how: krippendorff_alpha(labels, level="ratio", **how),
    "Fleiss": fleiss_kappa,
    "AC1": lambda labels, **how: gwet_ac(labels, values=(1, 2, 3), **how),
    "AC2": lambda labels, **how: gwet_ac(labels, weights="ordinal", **how),
}


def some_labels(seed: int, n: int = 120, people: int = 7, each: int = 4, values: int = 3) -> np.ndarray:
    """Of people who are careful or careless."""
    rng = np.random.default_rng(seed)
    noise = np.linspace(0.1, 2.5, people)
    seen = rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, people))
    labels = 1.0 + np.digitize(seen, np.linspace(-1, 1, values - 1))
    for row in labels:
        row[rng.permutation(people)[each:]] = np.nan
    return labels


def ends(estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


@pytest.mark.parametrize("name", FIGURES)
def test_what_holds_of_each(name: str):
    figure, labels = FIGURES[name], some_labels(1)
    fixed, wide = figure(labels), figure(labels, people="sampled")
    assert wide.value == pytest.approx(fixed.value, abs=1e-12)
    assert wide.low < fixed.low < fixed.high < wide.high  # people differ
    assert wide.method == "two-way"
    # Neither the order of the people nor the form of the labels matters.
    item, person = np.nonzero(~np.isnan(labels))
    long = (item, np.array(list("gfedcba"))[person], labels[item, person])
    assert ends(figure(long, people="sampled")) == pytest.approx(ends(wide), abs=1e-9)
    assert ends(figure(labels[:, ::-1], people="sampled")) == pytest.approx(ends(wide), abs=1e-9)
    # Weights that are all the same change nothing; four people are too few; no resamples, no interval.
    weights = "sampling_weights" if name.startswith("AC") else "weights"
    assert figure(labels, people="sampled", **{weights: np.full(120, 3.0)}).value == pytest.approx(
        fixed.value
    )
    with pytest.warns(StatisticsWarning, match="too few annotators to speak of others: 4"):
        few = figure(np.where(np.arange(7) < 4, labels, np.nan), people="sampled")
    assert few.defined
    assert math.isnan(few.low)
    assert "too few" in few.reason
    assert figure(labels, people="sampled", n_resamples=0).method == "none"
    with pytest.raises(ValueError, match="people"):
        figure(labels, people="all")


@pytest.mark.parametrize("name", FIGURES)
def test_no_evidence_is_no_interval_of_a_point(name: str):
    figure = FIGURES[name]
    everybody = np.tile(np.array([[1.0], [2.0], [3.0]]), (10, 6))
    estimate = figure(everybody, people="sampled")
    # All agree on all: six people are six pieces of evidence, however many items.
    assert estimate.value == 1
    assert estimate.low < figure(everybody).low < 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        nothing = figure(np.full((6, 6), np.nan), people="sampled")
        lonely = figure(np.where(np.eye(6) > 0, 1.0, np.nan), people="sampled")
    assert not nothing.defined
    assert not lonely.defined


@pytest.mark.parametrize("name", ["pairs", "alpha", "Fleiss", "AC1"])
def test_people_who_are_all_alike_add_nothing(name: str):
    """Labels that are exchangeable between people: the interval of others is about that of these."""
    rng, ratio = np.random.default_rng(5), []
    for _ in range(20):
        side = rng.random((200, 1)) < 0.5
        labels = np.where(rng.random((200, 40)) < 0.8, side, ~side) + 1.0
        labels[rng.permuted(np.tile(np.arange(40), (200, 1)), axis=1) > 3] = np.nan
        fixed, wide = (
            FIGURES[name](labels, people=people, n_resamples=300) for people in ("fixed", "sampled")
        )
        ratio.append((wide.high - wide.low) / (fixed.high - fixed.low))
    assert 1 <= np.median(ratio) < 1.15


def test_many_values_are_as_few():
    """Ratings of 0 to 100 take another way to alpha: with the same labels it gives the same interval."""
    labels = some_labels(3, values=8)
    for level in ("nominal", "ordinal", "interval", "ratio"):
        few = krippendorff_alpha(labels, level=level, people="sampled", n_resamples=2_000)
        # A ninth value that only an item with one label has: not counted, but more than the table of patterns takes.
        more = np.vstack([labels, [99.5] + [np.nan] * 6])
        many = krippendorff_alpha(
            more, level=level, people="sampled", n_resamples=2_000, clusters=[*range(120), 0]
        )
        assert ends(many) == pytest.approx(ends(few), abs=0.01)


def slow_alpha(coincidence: np.ndarray, margins: np.ndarray, values: np.ndarray, level: str) -> float:
    """By the book: sums over pairs of values."""
    observed = expected = 0.0
    for a in range(len(values)):
        for b in range(a):
            if level == "ordinal":
                apart = (margins[b : a + 1].sum() - (margins[a] + margins[b]) / 2) ** 2
            else:
                one, two = values[a], values[b]
                apart = {
                    "nominal": 1.0,
                    "interval": (one - two) ** 2,
                    "ratio": ((one - two) / (one + two)) ** 2,
                }[level]
            observed += coincidence[a, b] * apart
            expected += margins[a] * margins[b] * apart
    return 1 - (margins.sum() - 1) * observed / expected


@given(
    seed=st.integers(0, 10_000),
    level=st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
    values=st.integers(2, 5),
)
def test_derivatives_of_alpha(seed: int, level: str, values: int):
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, values + 1, (12, 4)).astype(float)
    read, weights = read_labels(labels), rng.uniform(0.5, 2.0, 12)
    n = len(read.values)
    if n < 2:
        return
    coincidence, margins = np.zeros((n, n)), np.zeros(n)
    for row, weight in zip(labels, weights, strict=True):
        code = np.searchsorted(read.values, row)
        for one in range(4):
            margins[code[one]] += weight
            for two in range(4):
                if code[one] != code[two]:
                    coincidence[code[one], code[two]] += weight / 3
    pairs, by_value = alpha_terms(read, weights, level)
    step = 1e-5

    def slope(moved_pairs: np.ndarray, moved_margins: np.ndarray) -> float:
        up = slow_alpha(coincidence + step * moved_pairs, margins + step * moved_margins, read.values, level)
        down = slow_alpha(
            coincidence - step * moved_pairs, margins - step * moved_margins, read.values, level
        )
        return (up - down) / (2 * step)

    for a in range(n):
        assert by_value[a] == pytest.approx(slope(np.zeros((n, n)), np.eye(n)[a]), rel=1e-4, abs=1e-7)
        for b in range(a):
            moved = np.zeros((n, n))
            moved[a, b] = moved[b, a] = 1
            assert pairs[a, b] == pytest.approx(slope(moved, np.zeros(n)), rel=1e-4, abs=1e-7)


def test_pairs_by_hand():
    """Labels 1, 1, 2 of one item and 3, 3 of another: a third of the pairs agree, and all.

    In the first the mean of a label with the others is 1/2, 1/2 and 0, so its effect has the sign of that minus the
    others'; in the second each of the two has the whole of the pair.
    """
    read = LongLabels(
        np.array([0, 0, 0, 1, 1]),
        np.array([0, 1, 2, 0, 1]),
        np.array([0, 0, 1, 2, 2]),
        2,
        np.arange(3),
        np.arange(1.0, 4),
    )
    sums = pair_sums(read, Crossing.of(read.item, read.annotator))
    assert sums.top.tolist() == pytest.approx([1 / 3, 1])
    assert sums.top_effects[0] == sums.top_effects[1] > 0 > sums.top_effects[2]
    assert sums.top_effects[:3].sum() == pytest.approx(0)
    assert sums.top_effects[3] == sums.top_effects[4] > 0
