"""What cannot be compared says so, and what cannot be meant is refused by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.selection import Candidate, Constraints, choose
from metaeval.stats import InvalidInputError
from tests.metaeval.selection.build import dataset, judges

NAN = float("nan")


def test_all_judges_equal():
    found = choose([dataset({key: [1, 1, 1, 2] * 10 for key in "abc"})], judges("a", "b", "c"))
    assert (found.verdict, found.leader, found.winner) == ("open", "a", None)
    assert found.confidence_set == ("a", "b", "c")
    assert [standing.chosen_share for standing in found.standings] == pytest.approx([1 / 3] * 3)
    assert all(standing.behind.value == 0 for standing in found.standings[1:])
    assert found.optimism.value == pytest.approx(0)
    assert {settling.n_needed for settling in found.settling} == {0}


def test_always_right():
    found = choose([dataset({"a": [1] * 30, "b": [1] * 30})], judges("a", "b"))
    assert found.held_out.value == 1.0
    assert 0.8 < found.held_out.low < 1.0
    assert found.verdict == "open"


def test_nothing_was_readable():
    found = choose([dataset({"a": [NAN] * 20, "b": [NAN] * 20})], judges("a", "b"))
    assert (found.verdict, found.held_out.value) == ("open", 0.0)
    assert np.isnan(found.standing("a").positional_agreement.value)
    assert found.standing("a").unparsed.value == 1.0


def test_nothing_was_judged():
    nothing = {"a": np.zeros((20, 2), bool)}
    found = choose([dataset({"a": [NAN] * 20}, judged=nothing)], judges("a"))
    assert (found.verdict, found.leader) == ("none", None)
    assert found.held_out.reason == "no dataset can be scored"
    assert np.isnan(found.naive)
    assert any("no candidate judged an item" in note for note in found.notes)


def test_no_labels():
    one = dataset({"a": [1] * 20}, name="People", role="people")
    found = choose([one], judges("a"))
    assert found.verdict == "none"
    assert any("People: no item with two labels" in note for note in found.notes)
    beside = choose([one, dataset({"a": [1] * 20})], judges("a"))
    assert (beside.verdict, beside.standing("a").objective.value) == ("single", 1.0)
    assert np.isnan(beside.standing("a").scores["People"].value)


def test_only_baselines_or_unknown_keys():
    one = dataset({"a": [1] * 20})
    assert choose([one], [Candidate("a", "First", is_baseline=True)]).verdict == "none"
    found = choose([one], judges("a", "elsewhere"))
    assert (found.verdict, found.standing("elsewhere").is_ranked) == ("single", False)


def test_no_items():
    empty = dataset({"a": np.zeros((0, 2))}, name="Empty")
    assert choose([empty], judges("a")).verdict == "none"
    found = choose([empty, dataset({"a": [1] * 20})], judges("a"))
    assert (found.verdict, found.held_out.value) == ("single", 1.0)


def test_every_dataset_has_weight_0():
    found = choose([dataset({"a": [1] * 20}, weight=0.0)], judges("a"))
    assert found.verdict == "none"
    assert found.standing("a").scores["Traps"].value == 1.0
    assert any("weight 0" in note for note in found.notes)


def test_every_item_of_a_dataset_has_weight_0():
    fine = dataset({"a": [1] * 20, "b": [2] * 20}, name="Fine")
    void = dataset({"a": [2] * 20, "b": [1] * 20}, name="Void", weights=np.zeros(20))
    found = choose([fine, void], judges("a", "b"))
    assert (found.verdict, found.winner) == ("clear", "a")
    assert found.standing("a").objective.value == 1.0
    assert any(note.startswith("Void: every item that can be scored has weight 0") for note in found.notes)
    assert choose([void], judges("a", "b")).verdict == "none"


def test_one_instruction():
    one = dataset({"a": [1] * 6, "b": [1, 2] * 3}, clusters=["same"] * 6)
    found = choose([one], judges("a", "b"))
    assert (found.verdict, found.n_folds) == ("open", 0)
    assert found.standing("b").behind.reason
    assert found.held_out.reason == "fewer than three instructions cannot be held out in turn"
    assert found.optimism is None
    assert any("only one instruction" in note for note in found.notes)


def test_one_instruction_beside_many():
    lone = dataset({"a": [1] * 5, "b": [2] * 5}, name="Lone", clusters=["same"] * 5)
    many = dataset({"a": [1] * 40, "b": [1] * 39 + [2]}, name="Many")
    found = choose([lone, many], judges("a", "b"))
    assert (found.verdict, found.leader) == ("open", "a")  # one instruction proves nothing
    assert found.held_out.defined
    assert any(note.startswith("Lone has only one instruction") for note in found.notes)


def test_few_instructions_few_folds():
    found = choose([dataset({"a": [1, 1, 2, 1], "b": [1, 1, 1, 2]})], judges("a", "b"))
    assert found.n_folds == 4
    assert any("4 folds" in note for note in found.notes)


def test_no_resamples():
    found = choose([dataset({"a": [1, 2] * 10, "b": [2, 1] * 10})], judges("a", "b"), n_resamples=0)
    assert np.isnan(found.held_out.low)
    assert np.isnan(found.standing("a").chosen_share)
    assert found.standing("b").behind.low < 0  # comes from the clusters themselves


def test_none_in_some_training_parts():
    # One of ten is unparsed: with the limit at 10% training parts that hold it out pass, and others do not.
    found = choose(
        [dataset({"a": [NAN] + [1] * 9})], judges("a"), Constraints(max_unparsed=0.1), n_folds=5, n_repeats=1
    )
    assert found.verdict == "single"
    assert any(note.startswith("In 4 of the 5 parts") for note in found.notes)
    assert (found.held_out.value, found.held_out.n) == (0.5, 2)


def test_none_anywhere():
    found = choose([dataset({"a": [1, 2] * 5})], judges("a"), Constraints(min_accuracy=0.9))
    assert (found.verdict, found.winner, found.confidence_set) == ("none", None, ())
    assert found.standing("a").violations[0].name == "min_accuracy"
    with pytest.raises(KeyError):
        found.standing("b")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"verdicts": {"a": [1, 3]}}, r"dataset 'Traps': verdicts of 'a': .*found 3"),
        (
            {"verdicts": {"a": np.ones((2, 3))}},
            r"dataset 'Traps': verdicts of 'a': expected shape \(2,\) or \(2, 2\)",
        ),
        ({"gold": [1, 1, 1]}, "dataset 'Traps': gold"),
        ({"gold": [1, 5]}, "dataset 'Traps': gold"),
        ({"clusters": np.arange(3)}, "dataset 'Traps'"),
        ({"clusters": np.array(["x", None])}, "dataset 'Traps': clusters: entry 1 is missing"),
        ({"categories": np.array(["x"])}, "dataset 'Traps': categories"),
        ({"judged": {"a": np.ones((2, 2))}}, "dataset 'Traps': judged of 'a': expected booleans"),
        ({"weights": [1, -1]}, "dataset 'Traps': weights"),
        ({"weight": -1.0}, "dataset 'Traps': weight"),
        ({"role": "other"}, "dataset 'Traps': role"),
        ({"role": "people", "labels": np.ones((3, 2))}, "dataset 'Traps': labels"),
        ({"costs": {"a": np.ones((3, 2))}}, "dataset 'Traps': costs of 'a'"),
    ],
)
def test_input_that_cannot_be_meant(fields, message):
    fields = {"verdicts": {"a": [1, 1]}, **fields}
    with pytest.raises(InvalidInputError, match=message):
        choose([dataset(**fields)], judges("a"))


def test_arguments_that_cannot_be_meant():
    one = dataset({"a": [1] * 5})
    for datasets, candidates, options, message in (
        ([], judges("a"), {}, "datasets"),
        ([one], [], {}, "candidates"),
        ([one, one], judges("a"), {}, "'Traps' is there twice"),
        ([one], judges("a", "a"), {}, "'a' is there twice"),
        ([one], judges("composite"), {}, "taken by the composite"),
        ([one], judges("a"), {"n_folds": 2}, "n_folds"),
        ([one], judges("a"), {"n_repeats": 0}, "n_repeats"),
        ([one], judges("a"), {"n_resamples": -1}, "n_resamples"),
        ([one], judges("a"), {"confidence": 1.0}, "confidence"),
        ([one], judges("a"), {"power": 0.0}, "power"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            choose(datasets, candidates, **options)
    for constraints, name in (
        (Constraints(max_unparsed=1.5), "max_unparsed"),
        (Constraints(min_accuracy=NAN), "min_accuracy"),
        (Constraints(max_cost_per_1000=-1.0), "max_cost_per_1000"),
    ):
        with pytest.raises(InvalidInputError, match=name):
            choose([one], judges("a"), constraints)


@st.composite
def anything(draw):
    """Datasets of any size, with anything missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = []
    for place in range(draw(st.integers(1, 3))):
        n, role = draw(st.integers(0, 14)), draw(st.sampled_from(["people", "gold"]))
        missing = draw(st.sampled_from([0.1, 0.6]))
        values = [0.0, 1.0, 2.0, NAN]
        chance = [0.1, 0.6 - missing / 2, 0.3 - missing / 2, missing]
        verdicts = {key: rng.choice(values, (n, 2), p=chance) for key in "abc"[: draw(st.integers(1, 3))]}
        found.append(
            dataset(
                verdicts,
                name=f"d{place}",
                role=role,
                gold=rng.choice(values, n) if role == "gold" else None,
                labels=rng.choice(values, (n, draw(st.integers(0, 4)))) if role == "people" else None,
                judged={key: rng.random((n, 2)) < draw(st.sampled_from([0.3, 0.9, 1.0])) for key in verdicts},
                clusters=rng.integers(0, draw(st.integers(1, 20)), n).astype(str),
                categories=rng.choice(["", "x", "y"], n),
                costs={key: rng.choice([0.0, 0.1, NAN], (n, 2)) for key in verdicts},
                weights=rng.choice([0.0, 1.0, 2.0], n) if draw(st.booleans()) else None,
                weight=draw(st.sampled_from([0.0, 1.0, 2.5])),
            )
        )
    return found


@given(
    anything(),
    st.builds(
        Constraints,
        max_cost_per_1000=st.sampled_from([None, 60.0]),
        min_positional_agreement=st.sampled_from([None, 0.4]),
        min_accuracy=st.sampled_from([None, 0.3]),
        max_unparsed=st.sampled_from([None, 0.3]),
    ),
)
@settings(max_examples=30, deadline=None)
def test_whatever_comes_the_answer_makes_sense(datasets, constraints):
    candidates = [*judges("a", "b"), Candidate("c", "C", is_baseline=True)]
    found = choose(datasets, candidates, constraints, n_resamples=40, n_folds=3, n_repeats=2)
    assert {standing.key for standing in found.standings} == {"a", "b", "c"}
    assert (found.leader is None) == (found.verdict == "none") == (not found.confidence_set)
    assert (found.winner is not None) == (found.verdict in ("clear", "single"))
    assert "c" not in found.confidence_set
    assert set(found.front) <= {"a", "b"}
    for standing in found.standings:
        for figure in (
            standing.objective,
            standing.unparsed,
            standing.positional_agreement,
            *standing.scores.values(),
        ):
            assert np.isnan(figure.value) or 0 <= figure.low <= figure.value <= figure.high <= 1
            assert not np.isnan(figure.value) or figure.reason
        assert np.isnan(standing.chosen_share) or 0 <= standing.chosen_share <= 1 + 1e-9
        assert standing.key != found.leader or not standing.violations
    for one in found.settling:
        assert one.n_needed == 0 or one.n_needed > one.n_now
