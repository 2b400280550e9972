"""The alternative annotator test in reports: epsilon is asked for, shown and explained; baselines replace nobody."""

import json

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.reports.report import canonical_json
from metaeval.selection.replacement import chosen_elsewhere
from metaeval.stats import InvalidInputError
from tests.metaeval.reports.arrays import alpaca_inputs, content_build, inputs_make, judge_make
from tests.metaeval.reports.shown import render, replacements
from tests.metaeval.reports.test_content import validate

N = 120


def crowd(*, judges=(), lazy=True):
    """Five annotators who mostly prefer the longer response, which is always the first."""
    rng = np.random.default_rng(3)
    share = 0.9 if lazy else 0.5
    truth = np.where(rng.random(N) < share, 1, 2)
    said = np.where(rng.random((N, 5)) < 0.85, truth[:, np.newaxis], 3 - truth[:, np.newaxis])
    labels = [(item, person, said[item, person]) for item in range(N) for person in range(5)]
    good = np.tile(truth[:, np.newaxis].astype(float), (1, 2))
    return inputs_make(
        lengths=[(90, 10)] * N,
        labels=labels,
        judges=(*judges, judge_make("good", good), judge_make("longest", np.ones((N, 2)), baseline=True)),
    )


def texts(content):
    return {suffix: " ".join(render(content, suffix).split()) for suffix in (".html", ".md", ".tex")}


def test_epsilon_is_asked_for_shown_and_explained():
    default = content_build(crowd(), Options(n_resamples=20))
    validate(default)
    assert default["options"]["epsilon"] == default["judges"][0]["replaces"]["epsilon"] == 0.1
    for suffix, text in texts(default).items():
        assert "Epsilon is 0.1" in text, suffix
        for advice in ("0.1 for crowdworkers", "0.15 for skilled annotators", "0.2 for experts"):
            assert advice in text, suffix
    asked = content_build(crowd(), Options(n_resamples=20, epsilon=0.2))
    assert json.loads(canonical_json(asked))["options"]["epsilon"] == 0.2
    assert asked["inputs_hash"] != default["inputs_hash"]
    for suffix, text in texts(asked).items():
        assert "Epsilon is 0.2" in text, suffix
        assert "advice for experts" in text, suffix
    with pytest.raises(InvalidInputError, match="epsilon"):
        Options(epsilon=1.0)


def test_no_baseline_is_a_replacement():
    content = content_build(crowd(), Options(n_resamples=20, epsilon=0.2))
    longest = next(judge for judge in content["judges"] if judge["name"] == "longest")
    assert longest["replaces"]["passed"]
    words = {row.name: row.word for row in replacements(content)}
    assert words["longest"] == "no (baseline)"
    for suffix, text in texts(content).items():
        assert "The baseline longest (no LLM) passes as well" in text, suffix


def test_a_judge_that_does_not_beat_a_baseline_is_not_recommended():
    rng = np.random.default_rng(5)
    said = np.where(rng.random((N, 1)) < 0.99, 1.0, 2.0).repeat(2, axis=1)
    inputs = inputs_make(
        lengths=[(90, 10)] * N,
        labels=[(item, person, 1 if (item + person) % 7 else 2) for item in range(N) for person in range(5)],
        judges=(judge_make("copy", said), judge_make("longest", np.ones((N, 2)), baseline=True)),
    )
    content = content_build(inputs, Options(n_resamples=20))
    assert content["replacement"]["passed"]
    for text in texts(content).values():
        assert "copy is not significantly better than the baseline longest, so it is not recommended" in text


@pytest.mark.slow
def test_the_leader_is_tested_on_folds_that_it_was_not_chosen_on():
    rng = np.random.default_rng(7)
    guesses = tuple(judge_make(f"g{k}", rng.choice([1.0, 2.0], (N, 1)).repeat(2, axis=1)) for k in range(25))
    labels = [(item, person, rng.choice([1, 2])) for item in range(N) for person in range(4)]
    inputs = inputs_make(lengths=[(5, 5)] * N, labels=labels, judges=guesses)
    content = content_build(inputs, Options(n_resamples=20))
    validate(content)
    leader = content["judges"][content["selections"]["agreement"]["leader"]]
    (name, _, choice, _), *others = replacements(content)
    assert "held-out" in name
    assert choice["n_folds"] == 5
    in_sample = leader["replaces"]["advantage_probability"]["value"]
    assert choice["advantage_probability"]["value"] < in_sample
    assert {row[0]: row[1] for row in others}[leader["name"]] == "in-sample"


def test_held_out_choice_never_sees_the_fold():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(12), [1] * 8 + [5] * 4)
    scores = rng.random((len(cluster), 3))
    chosen, folds = chosen_elsewhere(scores, cluster, rng=1)
    assert folds == 5
    for one in np.unique(cluster):
        assert len(set(chosen[cluster == one])) == 1
        other = scores.copy()
        # Whatever the scores on an instruction were, what is chosen for it stays.
        other[cluster == one] = 1 - other[cluster == one]
        assert (chosen_elsewhere(other, cluster, rng=1)[0][cluster == one] == chosen[cluster == one]).all()
    assert chosen_elsewhere(scores[:1], cluster[:1])[0].tolist() == [-1]


def test_an_older_report_without_the_choice_still_opens():
    content = content_build(crowd(), Options(n_resamples=20)) | {"replacement": None}
    del content["options"]["epsilon"]
    for text in texts(content).values():
        assert "Alternative annotator test" in text


@pytest.mark.parametrize(("epsilon", "won"), [(0.1, 0), (0.2, 10)])
def test_the_length_counter_of_alpaca_replaces_nobody(shared_data, epsilon, won):
    content = content_build(alpaca_inputs(shared_data), Options(n_resamples=20, epsilon=epsilon))
    test = next(judge for judge in content["judges"] if judge["name"] == "longest")["replaces"]
    assert (test["n_won"], test["n_tested"], test["epsilon"]) == (won, 15, epsilon)
    assert {row.name: row.word for row in replacements(content)}["longest"] == "no (baseline)"
