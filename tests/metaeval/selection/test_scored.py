"""Datasets of scores of items: the choice is that of verdicts which score the same, and bad input says where it is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.selection import Candidate, Constraints, JudgedDataset, choose
from metaeval.stats import InvalidInputError
from tests.metaeval.selection.build import judges

NAN = float("nan")


def scored(scores, *, name="Rubrics", role="people", **fields):
    """A dataset from scores by judge, lists of numbers."""
    columns = {key: np.asarray(said, dtype=float) for key, said in scores.items()}
    n = len(next(iter(columns.values())))
    fields.setdefault("clusters", np.array([f"{name} {place}" for place in range(n)]))
    fields.setdefault("categories", np.full(n, ""))
    return JudgedDataset(name, role, {}, fields.pop("judged", {}), scores=columns, **fields)


def first(values):
    """A column for the first presentation order, nothing in the second."""
    array = np.asarray(values)
    empty = np.zeros(len(array), array.dtype) if array.dtype == bool else np.full(len(array), NAN)
    return np.stack([array, empty], axis=1)


def test_by_hand():
    found = choose(
        [
            scored(
                {"a": [0.5, 1.0, 0.75, NAN], "b": [0.25, 1.0, NAN, NAN]},
                unparsed={"b": np.array([False, False, True, True])},
                costs={"a": first([0.001, 0.002, 0.003, NAN]), "b": first([0.0, 0.0, 0.0, 0.0])},
                seconds={"a": first([1.0, 2.0, 3.0, NAN])},
                scorable=np.array([True, True, True, False]),
            )
        ],
        judges("a", "b"),
    )
    a, b = found.standing("a"), found.standing("b")
    assert a.objective.value == pytest.approx(0.75)
    assert b.objective.value == pytest.approx((0.25 + 1.0 + 0.0) / 3)  # what could not be read scores 0
    assert (a.objective.n, b.objective.n) == (3, 3)
    assert (a.unparsed.value, b.unparsed.value) == (
        0.0,
        0.5,
    )  # of all judgments, those that nothing scores too
    assert a.cost_per_1000.value == pytest.approx(2.0)
    assert (b.cost_per_1000.value, b.seconds.reason) == (0.0, "not measured")
    assert a.seconds.value == pytest.approx(2.0)
    assert np.isnan(a.positional_agreement.value)
    assert a.positional_agreement.reason == "judged in one presentation order only"
    assert found.replaces == {}
    assert not [note for note in found.notes if "replace" in note or "order" in note]


def test_an_item_without_a_score_counts_for_nobody_compared():
    found = choose([scored({"a": [1, 1, 0, NAN], "b": [1, 0, 1, 1]})], judges("a", "b"))
    assert [found.standing(key).objective.n for key in "ab"] == [3, 3]
    assert found.standing("b").objective.value == pytest.approx(2 / 3)
    assert any("compared on 3 of the 4 items" in note for note in found.notes)


def test_weights_make_it_the_pooled_figure():
    """An item of three questions counts three times an item of one."""
    found = choose([scored({"a": [1.0, 2 / 3]}, weights=np.array([1.0, 3.0]))], judges("a"))
    assert found.standing("a").objective.value == pytest.approx((1 + 2) / (1 + 3))


def test_nothing_to_score_against():
    dataset = scored({"a": [NAN, NAN]}, judged={"a": first(np.array([True, True]))})
    found = choose([dataset], judges("a"))
    assert found.verdict == "none"
    assert found.notes[0] == "Rubrics: no item with labels, so it is reported only."
    found = choose([replace(dataset, role="gold")], judges("a"))
    assert found.notes[0] == "Rubrics: no item with a gold answer, so it is reported only."


def test_constraints_are_asked_of_it():
    rng = np.random.default_rng(1)
    dataset = scored({"a": rng.uniform(0.8, 1, 40), "b": rng.uniform(0.5, 0.7, 40)}, role="gold")
    found = choose([dataset], judges("a", "b"), Constraints(min_accuracy=0.75))
    assert (found.verdict, found.winner) == ("single", "a")
    found = choose([dataset], judges("a", "b"), Constraints(min_positional_agreement=0.5))
    assert found.verdict == "none"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scores": {"a": np.array([1.0, 1.2])}}, "scores of 'a': expected numbers from 0 to 1"),
        ({"scores": {"a": np.array([1.0, -0.1])}}, "scores of 'a': expected numbers from 0 to 1"),
        ({"scores": {"a": np.array([1.0])}}, r"scores of 'a': expected shape \(2,\), got \(1,\)"),
        ({"scores": {"a": np.array(["x", "y"])}}, "scores of 'a': expected numbers"),
        ({"unparsed": {"a": np.array([0.0, 1.0])}}, "unparsed of 'a': expected 2 booleans"),
        ({"unparsed": {"a": np.array([True])}}, "unparsed of 'a': expected 2 booleans"),
        ({"scorable": np.array([True])}, "scorable: expected 2 booleans"),
        ({"judged": {"a": np.ones((2, 2), bool)}}, "judged of 'a': scores of items are of one"),
        ({"judged": {"a": np.ones(3, bool)}}, "judged of 'a': expected booleans of shape"),
        ({"costs": {"a": np.ones(3)}}, "costs of 'a': expected shape"),
        ({"gold": np.ones(2)}, "scores: expected no gold beside them"),
        ({"verdicts": {"a": np.ones((2, 2))}}, "scores: expected no verdicts beside them"),
        ({"role": "boss"}, "role: expected 'people' or 'gold'"),
    ],
)
def test_bad_input_names_the_dataset_and_the_judge(fields, words):
    dataset = replace(scored({"a": [1.0, 0.5]}), **fields)
    with pytest.raises(InvalidInputError, match=f"dataset 'Rubrics': {words}"):
        choose([dataset], judges("a"))


def test_the_test_of_replacing_a_person_is_of_pairs():
    found = choose([scored({"a": [1.0, 0.5, 0.5, 1.0]})], judges("a"))
    assert found.replaces == {}
    assert not any("annotator" in note for note in found.notes)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.booleans(), st.booleans())
def test_scores_of_0_and_1_choose_as_the_verdicts_that_they_score(seed, n, weighted, limited):
    rng = np.random.default_rng(seed)
    gold = rng.choice([1.0, 2.0, NAN], n, p=[0.4, 0.4, 0.2])
    gold[:4] = 1.0
    said = {key: rng.choice([1.0, 2.0, NAN], n, p=[0.6, 0.3, 0.1]) for key in "abc"}
    judged = {key: first(rng.random(n) < 0.95) for key in "abc"}
    common = {
        "clusters": np.array([f"i{k // 2}" for k in range(n)]),
        "categories": rng.choice(["x", "y"], n),
        "costs": {key: first(rng.random(n)) for key in "abc"},
        "seconds": {key: first(rng.random(n)) for key in "ab"},
        "weights": rng.choice([1.0, 2.0], n) if weighted else None,
    }
    pairs = JudgedDataset("D", "gold", {key: first(said[key]) for key in said}, judged, gold=gold, **common)
    right = {
        key: np.where(np.isnan(gold) | ~judged[key][:, 0], NAN, np.where(said[key] == gold, 1.0, 0.0))
        for key in said
    }
    scores = JudgedDataset(
        "D",
        "gold",
        {},
        judged,
        scores=right,
        unparsed={key: np.isnan(said[key]) & judged[key][:, 0] for key in said},
        scorable=~np.isnan(gold),
        **common,
    )
    asked = Constraints(max_unparsed=0.2, max_cost_per_1000=600.0) if limited else Constraints()
    candidates = [*judges("a", "b"), Candidate("c", "C", is_baseline=True)]
    found = [choose([one], candidates, asked, n_resamples=50, n_repeats=2) for one in (pairs, scores)]
    assert repr(found[0]) == repr(found[1])
