"""Sets of categories by the MASI distance, and macro precision, recall and F1.

The constants are of this session of Python 3.11 with nltk 3.10.4 and scikit-learn 1.9.1:

    >>> data = [(f"p{j}", f"i{i}", frozenset(s)) for i, row in enumerate(ROWS) for j, s in enumerate(row)]
    >>> AnnotationTask(data=data, distance=masi_distance).alpha()
    0.3858638743455497
    >>> precision_recall_fscore_support(TRUTH, SAID, average="macro", zero_division=0)
    (0.6081318681318681, 0.5355555555555556, 0.5614860681114551, None)
"""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import InvalidInputError, StatisticsWarning, krippendorff_alpha
from metaeval.stats.categories import macro_scores, masi_distances, set_alpha, set_codes

ROWS = (
    ("ab", "ab", "a"),
    ("b", "bc", "b"),
    ("c", "c", "c"),
    ("abc", "ab", "bc"),
    ("a", "b", "c"),
    ("bc", "bc", "bc"),
)
SAID = [
    *[2, 3, 3, 3, 4, 1, 2, 3, 3, 0, 0, 1, 2, 1, 0, 0, 1, 0, 0, 0],
    *[0, 1, 3, 0, 4, 1, 1, 3, 0, 3, 3, 4, 0, 4, 2, 3, 2, 2, 0, 0],
]
TRUTH = [
    *[2, 3, 0, 3, 1, 2, 2, 1, 3, 0, 1, 1, 2, 1, 0, 0, 0, 0, 0, 3],
    *[0, 2, 3, 0, 1, 1, 1, 3, 0, 3, 3, 3, 0, 1, 2, 1, 2, 2, 2, 0],
]

sets = st.sets(st.integers(0, 3))
items = st.lists(st.lists(sets, min_size=0, max_size=4), min_size=1, max_size=6)


def row(chosen, n=4):
    return [int(k in chosen) for k in range(n)]


def long_of(labels):
    """Item, annotator and sets of labels by item."""
    flat = [(k, p, row(said)) for k, of_item in enumerate(labels) for p, said in enumerate(of_item)]
    item, person, chosen = zip(*flat, strict=True)
    return np.array(item), np.array(person), np.array(chosen)


def masi(one, two):
    """From the definition, set by set."""
    if one == two:
        return 0.0
    shared = len(one & two)
    overlap = 2 / 3 if one <= two or two <= one else 1 / 3
    return 1 - shared / len(one | two) * overlap


def alpha_oracle(labels):
    """Krippendorff's alpha pair by pair; None where it is not defined."""
    paired = [of_item for of_item in labels if len(of_item) > 1]
    every = [said for of_item in paired for said in of_item]
    n = len(every)
    if n < 2:
        return None
    observed = sum(
        sum(masi(a, b) for a, b in permutations(of_item, 2)) / (len(of_item) - 1) for of_item in paired
    )
    expected = sum(masi(a, b) for a, b in permutations(every, 2)) / (n - 1)
    return None if expected == 0 else 1 - observed / expected


def macro_oracle(said, truth):
    """Precision, recall and F1 by category from sets of places, as scikit-learn's docs define them."""
    found = []
    for k in range(len(truth[0])):
        right, chosen = ({i for i, each in enumerate(rows) if each[k]} for rows in (truth, said))
        if not right and not chosen:
            continue
        hits = len(right & chosen)
        precision, recall = hits / max(1, len(chosen)), hits / max(1, len(right))
        f1 = 2 * hits / (len(right) + len(chosen))
        found.append((precision, recall, f1))
    return np.mean(found, axis=0)


def test_masi_by_hand():
    found = masi_distances([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    assert found[0].tolist() == pytest.approx([0, 0, 1 - 1 / 2 * 2 / 3, 1 - 1 / 3 * 1 / 3, 1])


def test_alpha_as_nltk_has_it():
    letters = [[{"abc".index(one) for one in said} for said in of_item] for of_item in ROWS]
    assert set_alpha(long_of(letters), n_resamples=0).value == pytest.approx(0.3858638743455497, abs=1e-12)


@given(items)
def test_alpha_as_from_the_definition(labels):
    if not any(labels):
        return
    expected = alpha_oracle(labels)
    if expected is None:
        with pytest.warns(StatisticsWarning):
            assert not set_alpha(long_of(labels), n_resamples=0).defined
    else:
        assert set_alpha(long_of(labels), n_resamples=0).value == pytest.approx(expected, abs=1e-9)


@given(st.lists(sets, min_size=1, max_size=8))
def test_masi_is_a_distance_between_0_and_1(chosen):
    found = masi_distances([row(each) for each in chosen])
    assert np.allclose(found, found.T)
    for (i, one), (j, two) in combinations(enumerate(chosen), 2):
        assert found[i, j] == pytest.approx(masi(one, two))
        assert (found[i, j] == 0) == (one == two)
    assert ((found >= 0) & (found <= 1)).all()


def test_sets_of_one_category_are_nominal():
    said = np.random.default_rng(3).integers(0, 4, (30, 3))
    labels = [[{int(one)} for one in of_item] for of_item in said]
    nominal, of_sets = krippendorff_alpha(said, n_resamples=200), set_alpha(long_of(labels), n_resamples=200)
    assert (of_sets.value, of_sets.low, of_sets.high) == pytest.approx(
        (nominal.value, nominal.low, nominal.high)
    )


def test_neither_names_nor_annotators_nor_items_matter():
    rng = np.random.default_rng(4)
    item, person, chosen = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20), rng.random((60, 5)) < 0.4
    value = set_alpha((item, person, chosen), n_resamples=0).value
    order = rng.permutation(60)
    other = set_alpha((19 - item[order], 2 - person[order], chosen[order][:, ::-1]), n_resamples=0)
    assert other.value == pytest.approx(value)


def test_many_distinct_sets_as_few():
    """More than the few values that are counted in a table."""
    rng = np.random.default_rng(5)
    labels = [[set(np.flatnonzero(rng.random(4) < 0.5)) for _ in range(6)] for _ in range(40)]
    found = set_alpha(long_of(labels), n_resamples=300)
    assert len(set_codes(long_of(labels)[2])[1]) > 8
    assert found.value == pytest.approx(alpha_oracle(labels), abs=1e-9)
    assert found.low < found.value < found.high
    alike = set_alpha(long_of(labels), people="sampled", n_resamples=300)
    assert alike.value == found.value
    assert alike.high - alike.low > found.high - found.low


def one_hot(values, n=5):
    return np.eye(n)[np.asarray(values)]


def test_macro_scores_as_scikit_learn_has_them():
    found = macro_scores(one_hot(SAID), one_hot(TRUTH), n_resamples=0)
    assert [found.precision.value, found.recall.value, found.f1.value] == pytest.approx(
        [0.6081318681318681, 0.5355555555555556, 0.5614860681114551], abs=1e-12
    )


@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=8))
def test_macro_scores_as_from_the_definition(pairs):
    truth, said = ([row(each) for each in side] for side in zip(*pairs, strict=True))
    if not np.any(truth) and not np.any(said):
        with pytest.warns(StatisticsWarning):
            assert not macro_scores(said, truth, n_resamples=0).f1.defined
        return
    found = macro_scores(said, truth, n_resamples=0)
    assert [found.precision.value, found.recall.value, found.f1.value] == pytest.approx(
        macro_oracle(said, truth).tolist()
    )


def test_weights_count_as_often():
    rng = np.random.default_rng(6)
    truth, said = one_hot(rng.integers(0, 3, 12), 3), one_hot(rng.integers(0, 3, 12), 3)
    times = rng.integers(1, 4, 12)
    weighted = macro_scores(said, truth, weights=times.astype(float), n_resamples=0)
    repeated = macro_scores(np.repeat(said, times, axis=0), np.repeat(truth, times, axis=0), n_resamples=0)
    assert weighted.f1.value == pytest.approx(repeated.f1.value)


def test_an_unparsed_answer_misses_and_an_unknown_truth_does_not_count():
    truth = [[1, 0], [0, 1], [np.nan, np.nan]]
    said = [[np.nan, np.nan], [0, 1], [1, 0]]
    found = macro_scores(said, truth, n_resamples=0)
    assert (found.precision.value, found.recall.value, found.f1.value) == (0.5, 0.5, 0.5)
    assert found.f1.n == 2
    assert found.by_category.tolist() == [[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]]


def test_intervals_hold_the_value():
    rng = np.random.default_rng(7)
    right = rng.integers(0, 4, 200)
    said = np.where(rng.random(200) < 0.8, right, rng.integers(0, 4, 200))
    found = macro_scores(one_hot(said), one_hot(right), clusters=np.repeat(np.arange(50), 4))
    for each in (found.precision, found.recall, found.f1):
        assert each.low < each.value < each.high
        assert each.n_clusters == 50


def test_what_cannot_be_said():
    with pytest.warns(StatisticsWarning):
        assert not set_alpha(([0, 1], [0, 0], [[1, 0], [0, 1]])).defined
    with pytest.warns(StatisticsWarning):
        assert not set_alpha(([0, 0], [0, 1], [[1, 0], [1, 0]])).defined
    with pytest.raises(InvalidInputError, match="one shape"):
        macro_scores([[1, 0]], [[1, 0, 0]])
    with pytest.raises(InvalidInputError, match="0 and 1"):
        masi_distances([[2, 0]])
    with pytest.raises(InvalidInputError, match="shape"):
        set_codes([1, 0])
