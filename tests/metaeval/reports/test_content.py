"""The content of a report: figures by hand, published figures, and that it is a function of its inputs."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval.reports
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports.errors import ReportError
from metaeval.reports.report import canonical_json
from metaeval.stats import (
    accuracy,
    expected_win_rate,
    leave_one_out_agreement,
    length_bias_rate,
    longer_preference_share,
    pairwise_agreement,
    positional_agreement,
    preference_share,
    tie_rate,
    unparsed_rate,
)
from tests.metaeval.reports.arrays import alpaca_inputs, content_build, inputs_make, judge_make, llmbar_inputs

SCHEMA = json.loads((Path(metaeval.reports.__file__).parent / "schema.json").read_text())
QUICK = Options(n_resamples=200)
NAN = float("nan")


def validate(content):
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(canonical_json(content)))


def small(**fields):
    return inputs_make(
        lengths=[(5, 3), (2, 9), (4, 4), (8, 1)],
        gold=[1, 2, 1, NAN],
        subset=["Natural", "Adversarial/Near", "Adversarial/Far", "Natural"],
        category=["QA", "QA", "", "Rewrite"],
        labels=[(0, 0, 1), (0, 1, 1), (0, 2, 2), (1, 0, 2), (1, 1, 2), (3, 0, 0), (3, 1, 1)],
        **fields,
    )


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_figures_of_people_by_hand():
    people = content_build(small(), QUICK)["people"]
    assert (people["n_labels"], people["n_annotators"]) == (7, 3)
    assert (people["n_items_labelled"], people["n_items_with_two_labels"]) == (3, 3)
    measures = people["measures"]
    # 1, 1, 2: one third; 2, 2: 1; 0, 1: 0.
    assert measures["leave_one_out"]["overall"]["value"] == pytest.approx(4 / 9)
    assert measures["leave_one_out"]["subset"]["Natural"]["value"] == pytest.approx(1 / 6)
    assert measures["leave_one_out"]["category"]["QA"]["value"] == pytest.approx(2 / 3)
    assert measures["best_reachable"]["overall"]["value"] == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert measures["tie_rate"]["overall"]["value"] == pytest.approx(1 / 7)
    assert measures["prefers_first"]["overall"]["value"] == pytest.approx(3.5 / 7)
    assert measures["prefers_longer"]["overall"]["value"] == pytest.approx(5 / 7)
    # Towards the longer: 1 / 3 of the first item, all of the second, half of the last; a mean over items.
    assert measures["length_bias"]["overall"]["value"] == pytest.approx((1 / 3 + 1 + 1 / 2) / 3)
    far = measures["leave_one_out"]["subset"]["Adversarial/Far"]
    assert far == {"value": None, "low": None, "high": None, "n": 0, "reason": "no item has two labels"}
    # The mean over subsets does not exist where one of them has no figure.
    assert measures["leave_one_out"]["macro"]["average"]["value"] is None


def test_figures_of_a_judge_by_hand():
    verdicts = [[1, 1], [2, 1], [NAN, NAN], [0, 2]]
    content = content_build(small(judges=(judge_make("j", verdicts),)), QUICK)
    validate(content)
    measures = content["judges"][0]["measures"]
    assert measures["accuracy"]["overall"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert measures["accuracy"]["macro"]["Adversarial"]["value"] == pytest.approx(0.25)
    assert measures["accuracy"]["macro"]["average"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert measures["accuracy"]["subset"]["Adversarial"]["value"] == pytest.approx(0.25)
    assert measures["accuracy"]["gap"]["value"] == pytest.approx(1 - 0.25)
    assert measures["positional_agreement_llmbar"]["overall"]["value"] == pytest.approx(0.5)
    assert measures["positional_agreement"]["overall"]["value"] == pytest.approx(0.25)
    assert measures["unparsed_rate"]["overall"]["value"] == pytest.approx(0.25)
    assert measures["tie_rate"]["overall"]["value"] == pytest.approx(1 / 6)
    # Prefers the longer, the longer; the longer, the shorter; neither, the shorter.
    assert measures["length_bias"]["overall"]["value"] == pytest.approx((1 + 0 - 0.5) / 3)
    assert measures["cost_per_1000"]["overall"]["value"] is None
    assert "imported" in measures["cost_per_1000"]["overall"]["reason"]
    assert content["judges"][0]["n_unparsed"] == 2


def test_figures_are_those_of_the_statistics():
    rng = np.random.default_rng(5)
    n = 60
    labels = [(k, a, rng.integers(0, 3)) for k in range(n) for a in range(4)]
    verdicts = rng.choice([0, 1, 2, NAN], size=(n, 2))
    gold = rng.integers(1, 3, size=n).astype(float)
    lengths = rng.integers(1, 9, size=(n, 2))
    pairs = [str(k // 2) for k in range(n)]
    judges = (judge_make("j", verdicts),)
    inputs = inputs_make(lengths=lengths, gold=gold, labels=labels, cluster=pairs, judges=judges)
    for tie_break in ("expected", "random", "alpaca_eval"):
        content = content_build(inputs, Options(tie_break=tie_break, n_resamples=0, seed=3))
        dense = np.array([value for *_, value in labels], dtype=float).reshape(n, 4)
        own = content["people"]["measures"]["leave_one_out"]["overall"]
        rate = {"tie_break": tie_break, "rng": 3, "n_resamples": 0}
        assert own["value"] == pytest.approx(leave_one_out_agreement(dense, **rate).value)
        assert own["low"] is None
        measures = content["judges"][0]["measures"]
        assert measures["agreement"]["overall"]["value"] == pytest.approx(
            leave_one_out_agreement(dense, verdicts, **rate).value
        )
    assert measures["accuracy"]["overall"]["value"] == pytest.approx(
        accuracy(verdicts, gold, n_resamples=0).value
    )
    assert measures["length_bias"]["overall"]["value"] == pytest.approx(
        length_bias_rate(verdicts, *lengths.T, n_resamples=0).value
    )
    assert measures["positional_agreement"]["overall"]["value"] == pytest.approx(
        positional_agreement(verdicts, n_resamples=0).value
    )


@pytest.mark.parametrize("seed", range(3))
def test_leanings_of_people_and_judges_are_those_of_the_statistics(seed):
    # With as many labels an item as chance gives, pooled and averaged figures are far apart.
    rng = np.random.default_rng(seed)
    n = 40
    slots = rng.choice([0, 1, 2], size=(n, 5)).astype(float)
    slots[rng.random((n, 5)) < 0.5] = NAN
    labels = [(k, a, slots[k, a]) for k in range(n) for a in range(5) if not np.isnan(slots[k, a])]
    verdicts = rng.choice([0, 1, 2, NAN], size=(n, 2))
    lengths = rng.integers(1, 90, size=(n, 2))
    lengths[:5, 1] = lengths[:5, 0]
    clusters = np.repeat(np.arange(8), [1, 1, 1, 1, 1, 1, 4, 30])
    names = [str(code) for code in clusters]
    inputs = inputs_make(lengths=lengths, labels=labels, cluster=names, judges=(judge_make("j", verdicts),))
    content = content_build(inputs, QUICK)
    options = {"clusters": clusters, "n_resamples": 10}
    people, judge = content["people"]["measures"], content["judges"][0]["measures"]
    expected = {
        "length_bias": length_bias_rate(slots, *lengths.T, unparsed="omit", **options),
        "prefers_longer": longer_preference_share(slots, *lengths.T, **options),
        "tie_rate": tie_rate(slots, **options),
        "prefers_first": preference_share(slots, **options),
        "leave_one_out": leave_one_out_agreement(slots, **options),
        "percent_agreement": pairwise_agreement(slots, **options),
    }
    of_judge = {
        "length_bias": length_bias_rate(verdicts, *lengths.T, **options),
        "prefers_longer": longer_preference_share(verdicts, *lengths.T, **options),
        "tie_rate": tie_rate(verdicts, **options),
        "expected_win_rate": expected_win_rate(verdicts, **options),
        "unparsed_rate": unparsed_rate(verdicts, **options),
        "agreement": leave_one_out_agreement(slots, verdicts, **options),
        "positional_agreement_llmbar": positional_agreement(verdicts, unparsed_agree=True, **options),
        "positional_agreement": positional_agreement(verdicts, **options),
    }
    for shown, figures in ((people, expected), (judge, of_judge)):
        for name, figure in figures.items():
            for part in ("value", "low", "high"):
                assert shown[name]["overall"][part] == pytest.approx(getattr(figure, part), rel=1e-9), name


def test_not_judged_is_not_unparsed():
    judged = [[True, True], [True, False], [False, False], [False, False]]
    verdicts = [[1, 1], [2, NAN], [NAN, NAN], [NAN, NAN]]
    content = content_build(small(judges=(judge_make("half", verdicts, judged=judged),)), QUICK)
    judge = content["judges"][0]
    assert judge["measures"]["accuracy"]["overall"]["value"] == 1
    assert judge["measures"]["accuracy"]["overall"]["n"] == 2
    assert judge["measures"]["unparsed_rate"]["overall"]["value"] == 0
    assert (judge["n_judgments"], judge["n_items_judged"]) == (3, 2)


def test_a_judge_that_judged_a_part_is_not_ranked():
    whole = judge_make("whole", [[2, 2], [2, 2], [2, 2], [2, 2]])
    judged = [[True, True], [False, False], [False, False], [False, False]]
    part = judge_make("part", [[1, 1], [NAN, NAN], [NAN, NAN], [NAN, NAN]], judged=judged)
    selection = content_build(small(judges=(part, whole)), QUICK)["selections"]["accuracy"]
    assert (selection["leader"], selection["incomplete"]) == (1, [0])
    assert selection["clear"] is False


def test_a_judge_that_says_nothing_is_not_consistent():
    content = content_build(small(judges=(judge_make("mute", np.full((4, 2), NAN)),)), QUICK)
    assert content["judges"][0]["measures"]["positional_agreement"]["overall"]["value"] is None


def test_an_answer_that_never_came_is_no_agreement():
    verdicts = [[1, 1], [NAN, NAN], [NAN, NAN], [1, 2]]
    judge = judge_make("j", verdicts)
    judge.failed[1] = True
    measures = content_build(small(judges=(judge,)), QUICK)["judges"][0]["measures"]
    # Of four items one has the same verdict twice, one was unreadable twice, and one was never answered.
    assert measures["positional_agreement_llmbar"]["overall"]["value"] == pytest.approx(2 / 4)
    assert measures["positional_agreement"]["overall"]["value"] == pytest.approx(1 / 4)


def test_a_judge_with_unreadable_answers_has_judged_them_all_the_same():
    plain = judge_make("plain", [[2, 2], [2, 2], [2, 2], [2, 2]])
    mumbler = judge_make("mumbler", [[1, 1], [NAN, NAN], [1, 1], [1, 1]])
    for unparsed in ("wrong", "omit"):
        options = Options(n_resamples=100, unparsed=unparsed)
        selection = content_build(small(judges=(plain, mumbler)), options)["selections"]["accuracy"]
        assert (selection["leader"], selection["incomplete"]) == (1, [])


def test_an_interval_is_there_or_a_reason_is():
    judges = (judge_make("j", [[1, 1], [2, 1], [NAN, NAN], [0, 2]]), judge_make("k", [[1, 1]] * 4))
    for options in (QUICK, Options(n_resamples=0)):
        content = content_build(small(judges=judges), options)
        validate(content)
        for estimate in estimates_in(content):
            assert (estimate["low"] is None) == (estimate["high"] is None) == ("reason" in estimate)
            if estimate["low"] is not None:
                assert estimate["low"] <= estimate["value"] <= estimate["high"]
                # Nothing is known for certain from four items.
                assert estimate["low"] < estimate["high"]
            assert options.n_resamples or estimate["low"] is None


def estimates_in(node):
    if isinstance(node, dict):
        if "low" in node:
            yield node
        else:
            for part in node.values():
                yield from estimates_in(part)
    elif isinstance(node, list):
        for part in node:
            yield from estimates_in(part)


def test_one_order_has_no_positional_agreement():
    judged = np.array([[True, False]] * 4)
    verdicts = [[1, NAN], [2, NAN], [1, NAN], [1, NAN]]
    judge = content_build(small(judges=(judge_make("one", verdicts, judged=judged),)), QUICK)["judges"][0]
    assert judge["orders"] == "original"
    assert judge["measures"]["positional_agreement"]["overall"]["value"] is None
    assert judge["measures"]["accuracy"]["overall"]["value"] == 1


def test_same_inputs_same_bytes_and_every_input_counts():
    judge = judge_make("j", [[1, 1], [2, 1], [NAN, NAN], [0, 2]])
    text = canonical_json(content_build(small(judges=(judge,)), QUICK))
    assert text == canonical_json(content_build(small(judges=(judge,)), QUICK))
    hashes = {
        small(judges=(judge,)).hash(QUICK),
        small(judges=(judge,)).hash(Options(n_resamples=200, seed=1)),
        small().hash(QUICK),
        small(judges=(judge_make("j", [[1, 1], [2, 1], [NAN, 1], [0, 2]]),)).hash(QUICK),
        small(name="other").hash(QUICK),
    }
    assert len(hashes) == 5


CHANGES = {
    "a label": lambda inputs: inputs.labels.choice.__setitem__(0, 2.0),
    "whose label": lambda inputs: inputs.labels.annotator.__setitem__(0, 2),
    "simulated": lambda inputs: inputs.labels.simulated.__setitem__(0, True),
    "gold": lambda inputs: inputs.items.gold.__setitem__(3, 0.0),
    "a length": lambda inputs: inputs.items.lengths.__setitem__((0, 0), 6),
    "a verdict": lambda inputs: inputs.judges[0].verdicts.__setitem__((1, 1), 2.0),
    "never judged": lambda inputs: inputs.judges[0].judged.__setitem__((2, 1), False),
    "never answered": lambda inputs: inputs.judges[0].failed.__setitem__((2, 1), True),
    "cost": lambda inputs: inputs.judges[0].cost.__setitem__((0, 0), 0.5),
    "time": lambda inputs: inputs.judges[0].seconds.__setitem__((0, 0), 0.5),
    "labels left out": lambda inputs: object.__setattr__(inputs.labels, "n_repeated", 1),
    "a name": lambda inputs: object.__setattr__(inputs.judges[0], "name", "k"),
    "an instruction": lambda inputs: object.__setattr__(inputs.items, "cluster", ("0", "0", "2", "3")),
    "a category": lambda inputs: object.__setattr__(inputs.items, "category", ("QA", "QA", "QA", "Rewrite")),
    "a fact": lambda inputs: inputs.facts["dataset"].__setitem__("licence", "MIT"),
}


@given(st.sets(st.sampled_from(sorted(CHANGES))), st.sets(st.sampled_from(sorted(CHANGES))))
@settings(deadline=None, max_examples=25)
def test_the_hash_changes_if_and_only_if_something_else_does(one, two):
    def changed(names):
        # Fresh arrays each time: lists of the caller are copied.
        inputs = small(judges=(judge_make("j", [[1, 1], [2, 1], [NAN, NAN], [0, 2]]),))
        for name in sorted(names):
            CHANGES[name](inputs)
        return inputs.hash(QUICK)

    assert (changed(one) == changed(two)) == (one == two)


def test_no_items_no_report():
    with pytest.raises(ReportError, match="no items of the kind pairwise comparison"):
        content_build(inputs_make(lengths=np.zeros((0, 2))), QUICK)


def test_baselines_are_left_to_real_judges_of_their_strategy():
    pairs = FIGURES["pairwise"]
    real = judge_make("longest", np.ones((len(small().items), 2)))
    strategies = [judge.strategy for judge in pairs.with_baselines(small(judges=(real,))).judges]
    assert strategies == ["longest", "shortest", "always_a"]
    content = content_build(pairs.with_baselines(small()), QUICK)
    validate(content)
    assert content["selections"]["accuracy"]["leader"] is None


def test_alpaca_figures(shared_data):
    inputs = alpaca_inputs(shared_data)
    content = content_build(inputs, QUICK)
    validate(content)
    people = content["people"]["measures"]
    assert round(100 * people["leave_one_out"]["overall"]["value"], 5) == 65.66358
    assert round(people["first_label_prefers_longer"]["overall"]["value"], 6) == 0.635955
    assert round(people["prefers_first"]["overall"]["value"], 6) == 0.517747
    longest = content["judges"][0]["measures"]["agreement"]["overall"]
    assert round(100 * longest["value"], 6) == 59.567901
    published = content_build(inputs, Options(n_resamples=0, tie_break="alpaca_eval"))
    assert round(100 * published["judges"][0]["measures"]["agreement"]["overall"]["value"], 5) == 62.19136


# Accuracy / positional agreement: Natural, Neighbor, GPTInst, GPTOut, Manual, Adversarial, average.
LLMBAR_ROW = "96.0/96.0 85.4/94.8 89.7/90.2 72.3/83.0 83.7/84.8 82.8/88.2 85.4/89.8"


@pytest.mark.slow
def test_llmbar_table_row(shared_data):
    content = content_build(llmbar_inputs(shared_data), Options(n_resamples=100))
    validate(content)
    judge = next(judge for judge in content["judges"] if judge["name"] == "GPT-4 Metrics_Reference")
    places = [("subset", "Natural")]
    places += [("subset", f"Adversarial/{name}") for name in ("Neighbor", "GPTInst", "GPTOut", "Manual")]
    places += [("macro", "Adversarial"), ("macro", "average")]
    accuracies, positional = judge["measures"]["accuracy"], judge["measures"]["positional_agreement"]
    row = [f"{100 * accuracies[k][n]['value']:.1f}/{100 * positional[k][n]['value']:.1f}" for k, n in places]
    assert " ".join(row) == LLMBAR_ROW
    assert content["primary"] == "accuracy"
