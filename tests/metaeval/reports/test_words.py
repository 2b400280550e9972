"""The decision in words, and the three forms of a report."""

import json
import re

import numpy as np
import pytest

from judges.strategies.types import AspectView
from metaeval.inputs import Options
from tests.metaeval.kinds import KindItem
from tests.metaeval.kinds import content as kind_content
from tests.metaeval.kinds import inputs as kind_inputs
from tests.metaeval.kinds import judge as kind_judge
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make
from tests.metaeval.reports.kind_values import selection_in
from tests.metaeval.reports.shown import render, verdict_of
from tests.metaeval.reports.shown import verdict_of as kind_verdict_of

N = 120
GOLD = np.array([1.0, 2.0] * (N // 2))


def judge_right(name, share, **fields):
    wrong = np.arange(N) >= share * N
    said = np.where(wrong, 3 - GOLD, GOLD)
    return judge_make(name, np.stack([said, said], axis=1), **fields)


def content_of(*judges, labels=(), **fields):
    inputs = inputs_make(lengths=[(3, 5)] * N, gold=GOLD, judges=judges, labels=labels, **fields)
    return content_build(inputs, Options(n_resamples=500))


def test_clear_winner():
    found = verdict_of(content_of(judge_right("best", 0.95), judge_right("worse", 0.5)), "accuracy")
    assert (found.kind, found.leader) == ("clear", 0)
    assert found.headline == "best is significantly better than the other judges"
    assert any("runner-up, worse, is 45.0 points" in sentence for sentence in found.sentences)


def test_no_clear_winner():
    content = content_of(judge_right("one", 0.90), judge_right("two", 0.89), judge_right("poor", 0.3))
    found = verdict_of(content, "accuracy")
    assert found.headline == "No clear winner"
    assert "two is not significantly different from one" in " ".join(found.sentences)
    assert "poor" not in " ".join(found.sentences)


def test_a_floor_that_is_not_beaten_is_said():
    content = content_of(judge_right("one", 0.4), judge_right("floor", 0.9, baseline=True))
    found = verdict_of(content, "accuracy")
    assert found.kind == "floor"
    assert found.headline == "No judge beats the baseline floor"
    assert "50.0 points below the baseline floor (no LLM)" in " ".join(found.sentences)


def test_a_judge_that_is_not_told_apart_from_the_floor_is_not_recommended():
    content = content_of(
        judge_right("one", 0.70), judge_right("poor", 0.2), judge_right("floor", 0.69, baseline=True)
    )
    found = verdict_of(content, "accuracy")
    assert (found.kind, found.leader) == ("floor", 0)
    assert found.headline == "No judge is significantly better than the baseline floor"
    assert "not significantly different from the baseline floor" in " ".join(found.sentences)


def test_without_intervals_a_judge_below_the_floor_is_not_the_headline():
    inputs = inputs_make(
        lengths=[(3, 5)] * N,
        gold=GOLD,
        judges=(judge_right("one", 0.425), judge_right("floor", 0.655, baseline=True)),
    )
    found = verdict_of(content_build(inputs, Options(n_resamples=0)), "accuracy")
    assert (found.kind, found.headline) == ("floor", "No judge beats the baseline floor")


def test_every_floor_binds_not_only_the_best():
    # "steady" has the higher mean and is beaten for certain; "unsteady" is not.
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(20), N // 20)
    wrong = np.isin(cluster, rng.permutation(20)[:7])
    said = np.where(wrong, 3 - GOLD, GOLD)
    good = np.where(
        np.isin(cluster, np.flatnonzero(~np.isin(np.arange(20), cluster[wrong]))[:5]), 3 - GOLD, GOLD
    )
    steady = np.where((good == GOLD) & (np.arange(N) % 10 != 0), GOLD, 3 - GOLD)
    content = content_of(
        judge_make("one", np.stack([good, good], axis=1)),
        judge_make("steady", np.stack([steady, steady], axis=1), baseline=True),
        judge_make("unsteady", np.stack([said, said], axis=1), baseline=True),
        cluster=[str(code) for code in cluster],
    )
    assert steady.tolist().count(1) != said.tolist().count(1)
    found = verdict_of(content, "accuracy")
    assert (found.kind, found.headline) == (
        "floor",
        "No judge is significantly better than the baseline unsteady",
    )


@pytest.mark.parametrize("backend", ["openai", "heuristic"])
def test_a_baseline_of_the_sweep_is_no_headline(backend):
    found = verdict_of(
        content_of(
            judge_right("longer", 0.95, backend="heuristic"), judge_right("llm", 0.5, backend=backend)
        ),
        "accuracy",
    )
    if backend == "heuristic":  # nothing but baselines was asked for
        assert (found.kind, found.headline) == (
            "clear",
            "longer is significantly better than the other judges",
        )
    else:
        assert (found.kind, found.headline) == ("floor", "No judge beats the baseline longer")


def test_nothing_to_compare():
    assert verdict_of(content_of(), "accuracy").kind == "none"
    found = verdict_of(content_of(judge_right("one", 0.4)), "agreement")
    assert "leave-one-out agreement is undefined" in found.sentences[0]


def test_without_judges_it_says_what_is_to_be_beaten():
    labels = [(k, a, GOLD[k]) for k in range(N) for a in range(3)]
    content = content_of(judge_right("floor", 0.6, baseline=True), labels=labels)
    for primary, words in (
        ("agreement", "Human annotators agree with each other on 100.0"),
        ("accuracy", "60.0"),
    ):
        found = verdict_of(content, primary)
        assert found.kind == "none"
        assert words in " ".join(found.sentences)
        assert "The best baseline (no LLM), floor, reaches 60.0" in " ".join(found.sentences)
    for suffix in (".md", ".html"):
        assert "a judge must beat that" in render(content, suffix)


def test_without_intervals_nothing_is_said_to_be_tied():
    inputs = inputs_make(
        lengths=[(3, 5)] * N,
        gold=GOLD,
        judges=(judge_right("a", 0.9), judge_right("b", 0.2), judge_right("f", 0.5, baseline=True)),
    )
    found = verdict_of(content_build(inputs, Options(n_resamples=0)), "accuracy")
    assert (found.kind, found.leader) == ("open", 0)
    assert "No intervals were asked for" in " ".join(found.sentences)
    assert "told apart from" not in found.headline
    assert "not significantly different" not in " ".join(found.sentences)


def test_the_choice_on_the_same_items_is_said():
    content = content_of(judge_right("best", 0.95), judge_right("worse", 0.5))
    for suffix in (".md", ".html"):
        assert "chosen on these same items" in render(content, suffix)
    alone = verdict_of(content_of(judge_right("alone", 0.95)), "accuracy")
    assert not any("chosen" in caution for caution in alone.cautions)


@pytest.mark.parametrize("suffix", [".json", ".md", ".html"])
def test_names_of_others_are_harmless_in_every_form(suffix):
    hostile = "<script>alert(1)</script> | `x` {{ 7 }}\nnext"
    content = content_of(judge_right(hostile, 0.9), judge_right("b", 0.2), category=[hostile] * N)
    text = render(content, suffix)
    assert text == render(content, suffix)
    if suffix == ".json":
        assert json.loads(text)["judges"][0]["name"] == hostile
        return
    assert "<script" not in text.replace("\\<script", "")
    if suffix == ".md":
        tables = [line for line in text.splitlines() if line.startswith("|")]
        widths = {line.count(" | ") for line in tables if "script" in line}
        assert tables
        assert widths
        assert "\nnext" not in text


def test_html_is_one_file_without_scripts():
    text = render(content_of(judge_right("one", 0.9), judge_right("two", 0.2)), ".html")
    assert "<svg" in text
    assert "<style>" in text
    text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name, not an address
    assert not re.search(r"<script|<link|https?://|src=|@import|url\((?!#)", text)


def test_simulated_labels_are_marked():
    inputs = inputs_make(lengths=[(3, 5)] * 4, labels=[(k, a, 1) for k in range(4) for a in range(3)])
    inputs.labels.simulated[:] = True
    content = content_build(inputs, Options(n_resamples=100))
    assert content["people"]["simulated_share"] == 1
    for suffix in (".md", ".html"):
        assert "Simulated labels" in render(content, suffix)
    assert "simulated annotators" in " ".join(verdict_of(content, "agreement").cautions)


@pytest.mark.parametrize(("share", "kind"), [(0.45, "floor"), (1.0, "single")])
def test_a_judge_of_checklists_below_always_yes_is_not_the_headline(share, kind):
    rng = np.random.default_rng(2)
    keys = [f"q{place}" for place in range(4)]
    aspects = tuple(AspectView(key, key) for key in keys)
    gold = [{"answers": {key: bool(rng.random() < 0.7) for key in keys}} for _ in range(60)]
    said = {
        row: {
            "answers": {
                key: value if rng.random() < share else not value for key, value in one["answers"].items()
            }
        }
        for row, one in enumerate(gold)
    }
    items = [KindItem(f"x{row}", f"i{row}", aspects=aspects, gold=one) for row, one in enumerate(gold)]
    found = kind_content(kind_inputs("checklist", items, (), [kind_judge("llm", said)]), "gold")
    assert selection_in(found)["best_baseline"]["name"] == "always yes"
    verdict = kind_verdict_of(found)
    assert verdict.kind == kind
    assert (verdict.headline == "No judge beats the baseline always yes") == (kind == "floor")
    for suffix in (".md", ".html"):
        assert ("the baseline always yes" in render(found, suffix)) == (kind == "floor")
