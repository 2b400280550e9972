"""Krippendorff's alpha: by hand, the package, a slow oracle, and the interval against plain resampling."""

import json
import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval.stats.alpha as alpha_module
from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning, krippendorff_alpha
from metaeval.stats.alpha_many import Disagreement, ManyValues, alpha_influence
from metaeval.stats.counts import count_labels
from metaeval.stats.resampling import draw_counts
from tests.metaeval.stats import oracle

NAN = math.nan
LEVELS = ("nominal", "ordinal", "interval", "ratio")


def test_by_hand():
    # Items 11, 22, 12, 11; eight labels, five 1 and three 2. Observed: 2 ordered unequal pairs of 8 labels
    # = 1/4. Expected: 2 * 5 * 3 / (8 * 7) = 30/56. Alpha = 1 - (1/4) / (30/56) = 1 - 14/30 = 8/15.
    assert krippendorff_alpha([[1, 1], [2, 2], [1, 2], [1, 1]]).value == pytest.approx(8 / 15)


def test_wholly_agreed():
    assert krippendorff_alpha([[1, 1], [2, 2]] * 20).value == 1


def test_ten_items_without_a_disagreement_do_not_prove_that_there_is_none():
    found = krippendorff_alpha([[1, 1, 1], [2, 2, 2]] * 5)
    assert (found.value, found.high, found.method) == (1, 1, "wilson")
    # Of 10 items Wilson allows 27.75% to disagree wholly, where chance would do so in 2 * 15 * 15 / (30 * 29).
    assert found.low == pytest.approx(1 - 0.27753 / (450 / 870), abs=1e-4)


@pytest.mark.filterwarnings("ignore:all labels are one value")
@pytest.mark.parametrize("n", [10, 30, 100])
def test_coverage_where_people_nearly_always_agree(n):
    rng = np.random.default_rng(8)
    # Two values, three people, each errs in 2%: observed 2 * 0.02 * 0.98, expected 1/2.
    truth, covered, defined = 1 - 2 * 0.02 * 0.98 / 0.5, 0, 0
    for _ in range(150):
        right = rng.integers(1, 3, (n, 1))
        said = np.where(rng.random((n, 3)) < 0.02, 3 - right, right).astype(float)
        found = krippendorff_alpha(said, n_resamples=400)
        covered += found.low <= truth <= found.high
        defined += found.defined
    assert covered / defined > 0.9


labels = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, NAN]), min_size=3, max_size=3), min_size=2, max_size=8
)


def pairable(items):
    kept = [[x for x in row if not math.isnan(x)] for row in items]
    return [row for row in kept if len(row) > 1]


@given(labels, st.sampled_from(LEVELS))
@settings(deadline=None)
def test_it_is_the_package(items, level):
    pool = {value for row in pairable(items) for value in row}
    if len(pool) < 2:
        with pytest.warns(StatisticsWarning):
            assert not krippendorff_alpha(items, level=level).defined
        return
    expected = krippendorff.alpha(np.array(items).T, level_of_measurement=level)
    assert krippendorff_alpha(items, level=level, n_resamples=0).value == pytest.approx(expected)


@given(labels)
@settings(deadline=None)
def test_against_the_oracle(items):
    if len({value for row in pairable(items) for value in row}) < 2:
        return
    for level, distance in (("nominal", lambda a, b: float(a != b)), ("interval", lambda a, b: (a - b) ** 2)):
        found = krippendorff_alpha(items, level=level, n_resamples=0).value
        assert found == pytest.approx(oracle.alpha(items, distance))


@pytest.mark.parametrize("shift", [0.0, 0.25])
@pytest.mark.parametrize("level", LEVELS)
def test_every_resample_is_the_package_on_the_items_drawn(level, shift, monkeypatch):
    # Values that are no integers are counted item by item, and with a limit of 2 held as a sparse matrix.
    monkeypatch.setattr("metaeval.stats.alpha.MOST_VALUES", 2)
    resampled = []
    finish = alpha_module.finish
    monkeypatch.setattr(alpha_module, "finish", lambda *args: resampled.append(args[1]) or finish(*args))
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 5, 80)
    items = np.clip(truth[:, np.newaxis] + rng.integers(-1, 2, (80, 3)), 1, 5) + shift
    items[rng.random((80, 3)) < 0.1] = NAN
    clusters = np.arange(80) // 2
    resamples = Resamples(clusters, 60, rng=9)
    # The same draws, each expanded to whole items and given to the package.
    draws = draw_counts(40, 60, np.random.default_rng(resamples._seed))
    plain = [
        krippendorff.alpha(
            np.repeat(items, draws[clusters, b], axis=0).T,
            level_of_measurement=level,
            value_domain=np.arange(1, 6) + shift,
        )
        for b in range(60)
    ]
    found = krippendorff_alpha(items, level=level, resamples=resamples)
    assert resampled[0].tolist() == pytest.approx(plain)
    assert found.low < np.quantile(plain, 0.1) < found.value < np.quantile(plain, 0.9) < found.high
    assert found.n_clusters == 40


def test_renaming_reordering_and_long_format():
    rng = np.random.default_rng(1)
    items = rng.choice([0.0, 1.0, 2.0, NAN], (50, 4))
    value = krippendorff_alpha(items).value
    assert krippendorff_alpha(7 - 2 * items).value == pytest.approx(value)
    assert krippendorff_alpha(items[::-1, ::-1]).value == pytest.approx(value)
    item, annotator = np.nonzero(~np.isnan(items))
    assert krippendorff_alpha((item, annotator, items[item, annotator])).value == pytest.approx(value)


def test_undefined():
    for items in (np.zeros((0, 2)), [[NAN, NAN]], [[1], [2]]):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            assert not krippendorff_alpha(items).defined
    with pytest.warns(StatisticsWarning, match="all labels are one value"):
        assert krippendorff_alpha([[1, 1], [1, 1]]).as_dict()["value"] is None
    with pytest.raises(InvalidInputError, match="level"):
        krippendorff_alpha([[1, 2]], level="metric")


def test_a_selection_is_the_selection():
    rng = np.random.default_rng(2)
    items = rng.integers(1, 3, (40, 3)).astype(float)
    where = np.arange(40) < 25
    chosen = krippendorff_alpha(items, where=where)
    assert chosen.value == pytest.approx(krippendorff_alpha(items[:25]).value)
    assert chosen.n == 25


class TestManyValues:
    """Above eight distinct values the labels are a sparse matrix: the same figures another way."""

    @pytest.fixture
    def ratings(self):
        rng = np.random.default_rng(6)
        items = np.clip(np.round(rng.normal(50, 15, (60, 1)) + rng.normal(0, 12, (60, 3))), 0, 100)
        items[rng.random((60, 3)) < 0.15] = NAN
        return items

    @pytest.mark.parametrize("level", LEVELS)
    def test_it_is_the_package_and_the_other_way(self, ratings, level, monkeypatch):
        expected = krippendorff.alpha(ratings.T, level_of_measurement=level)
        clusters = np.arange(60) // 2
        few, many = (Resamples(clusters, 40, rng=1) for _ in range(2))
        found = krippendorff_alpha(ratings, level=level, resamples=many)
        assert found.value == pytest.approx(expected)
        monkeypatch.setattr("metaeval.stats.alpha.MOST_OF_THE_PACKAGE", 0)
        assert krippendorff_alpha(ratings, level=level, n_resamples=0).value == pytest.approx(expected)
        monkeypatch.setattr("metaeval.stats.alpha.MOST_VALUES", 1_000)
        other = krippendorff_alpha(ratings, level=level, resamples=few)
        assert (found.low, found.high, found.n) == (
            pytest.approx(other.low), pytest.approx(other.high), other.n
        )  # fmt: skip

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_selection_and_ratings_that_are_no_integers(self, ratings, level):
        where = np.arange(60) < 30
        chosen = krippendorff_alpha(ratings / 8, level=level, where=where)
        expected = krippendorff.alpha(ratings[:30].T / 8, level_of_measurement=level)
        assert chosen.value == pytest.approx(expected)

    def test_undefined(self, ratings):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            krippendorff_alpha(ratings[:, :1])
        where = np.arange(62) >= 60
        with pytest.warns(StatisticsWarning, match="one value"):
            krippendorff_alpha(np.vstack([ratings, np.ones((2, 3))]), where=where)

    def test_too_many_values_for_ratios(self):
        labels = np.random.default_rng(0).random((6_000, 2))
        with pytest.raises(InvalidInputError, match="too many"):
            krippendorff_alpha(labels, level="ratio", n_resamples=0)
        assert abs(krippendorff_alpha(labels, level="interval", n_resamples=0).value) < 0.05


def test_the_published_alphas_of_newsroom(shared_data):
    folder = shared_data / "newsroom"
    labels = json.loads((folder / "newsroom.labels.json").read_text(encoding="utf-8"))["instances"]
    published = json.loads((folder / "published_newsroom.json").read_text(encoding="utf-8"))
    for criterion in ("Informativeness", "Relevance", "Fluency", "Coherence"):
        people = [instance["annotations"][criterion]["individual_human_scores"] for instance in labels]
        found = krippendorff_alpha(people, level="ordinal", n_resamples=0).value
        for row in published.values():
            assert found == pytest.approx(row[criterion]["krippendorff_alpha"], abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "interval", "ratio"])
def test_influence_is_the_derivative_by_an_items_weight(level):
    rng = np.random.default_rng(0)
    items = np.round(rng.normal(50, 10, (20, 1)) + rng.normal(0, 8, (20, 3))) + 0.5
    data = ManyValues.of(count_labels(items), np.ones(20, dtype=bool))
    disagreement = Disagreement(data, level)

    def alpha(weights):
        observed, expected, total, _ = disagreement.under(weights)
        return 1 - (total - 1) * observed / expected

    moves = 1e-5 * np.eye(20)
    slopes = (alpha(1 + moves) - alpha(1 - moves)) / 2e-5
    np.testing.assert_allclose(alpha_influence(data, level), slopes, atol=1e-8)
