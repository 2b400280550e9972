"""The words of a choice claim no more than its figures allow."""

from dataclasses import replace

import pytest

from metaeval.reports.selection import verdict as sections
from metaeval.reports.selection.verdict import selection_verdict
from metaeval.selection.types import Settling, Violation
from tests.metaeval.reports.selection.test_words import KEYS, gap, replacing, report, said, selection


def with_rule(**fields):
    """A clear winner, and a rule without a model that stands as given."""
    *judges, rule = selection().standings
    return report(standings=(*judges, replace(rule, **fields)))


@pytest.mark.parametrize("lead", [0.01, -0.05])
def test_no_judge_is_recommended_that_does_not_beat_a_rule(lead):
    found = with_rule(behind=gap(lead))
    verdict = selection_verdict(found)
    assert (verdict.kind, verdict.label) == ("floor", "Not better than a baseline")
    assert verdict.headline == "No judge is significantly better than the baseline longest"
    assert said(found).count("(no LLM)") == 1
    assert "is significantly better than all" not in said(found)


def test_a_rule_that_breaks_a_constraint_binds_as_well():
    broken = Violation("min_accuracy", 0.8, 0.3, "traps")
    verdict = selection_verdict(with_rule(behind=gap(0.01), violations=(broken,)))
    assert (verdict.kind, verdict.headline) == (
        "floor",
        "No judge is significantly better than the baseline longest",
    )
    assert "The baseline itself does not satisfy the constraints: its accuracy" in verdict.sentences[0]


@pytest.mark.parametrize("kind", ["clear", "open", "single"])
@pytest.mark.parametrize("reached", [0.655, 0.9])
def test_a_rule_binds_every_verdict(kind, reached):
    """Also that of a stored choice, whose verdict was made before the rule was the library's."""
    ada, bea, cy, longest = selection().standings
    low = replace(ada, objective=replace(ada.objective, value=0.425, low=0.3, high=0.55))
    rule = replace(longest, objective=replace(longest.objective, value=reached), behind=gap(0.425 - reached))
    alone = (low, *(replace(one, is_ranked=False) for one in (bea, cy)), rule)
    found = report(
        standings=alone if kind == "single" else (low, bea, cy, rule),
        verdict=kind,
        confidence_set=tuple(KEYS[name] for name in ("Ada", "Bea")[: 1 + (kind == "open")]),
    )
    verdict = selection_verdict(found)
    assert (verdict.kind, verdict.headline) == ("floor", "No judge beats the baseline longest")
    assert verdict.sentences[0].startswith("The baseline longest (no LLM) reaches")
    assert ("Bea is not significantly different from Ada" in said(found)) == (kind == "open")


def test_a_baseline_of_the_sweep_is_no_headline():
    found = report(replaces={"farm": replacing(True)})
    mixed = [
        replace(judge, backend="heuristic" if judge.name in ("Ada", "longest") else "openai")
        for judge in found.judges
    ]
    found = replace(found, judges=tuple(mixed))
    verdict = selection_verdict(found)
    assert (verdict.kind, verdict.headline) == ("floor", "No judge beats the baseline Ada")
    assert sections.replaces_words(found, "farm").endswith("so it is not recommended as a replacement.")
    rules = tuple(replace(judge, backend="heuristic") for judge in found.judges)
    assert selection_verdict(replace(found, judges=rules)).kind == "clear"


def test_a_rule_that_is_worse_on_average_and_unsteady_binds_too():
    ada, bea, cy, longest = selection().standings
    beaten = replace(longest, behind=gap(0.3))
    other = replace(
        longest, objective=replace(longest.objective, value=0.1), behind=replace(gap(0.7), low=-0.1)
    )
    assert selection_verdict(report(standings=(ada, bea, cy, beaten))).kind == "clear"
    assert selection_verdict(report(standings=(ada, bea, cy, beaten, other))).kind == "floor"


def test_the_only_one_left_is_not_the_only_one_there_is():
    ada, bea, cy, longest = selection().standings
    fields = {"verdict": "single", "confidence_set": (KEYS["Ada"],)}
    part = tuple(replace(one, is_ranked=False) for one in (bea, cy))
    text = said(report(standings=(ada, *part, longest), **fields))
    assert "the only judge that judged enough to be compared, so there was no choice" in text
    alone = said(report(standings=(ada, longest), **fields))
    assert "It is the only judge here, so there was no choice." in alone


def test_the_confidence_is_about_judges_that_may_be_chosen():
    found = report(verdict="open", winner=None, confidence_set=(KEYS["Ada"], KEYS["Bea"]))
    assert "The best eligible judge is one of these 2" in said(found)


def test_resamples_are_of_these_instructions_and_expectations_of_items_like_these():
    assert "The selection frequency (bootstrap) of Ada is 50%." in said(report())
    assert "The held-out estimate for new items like these is" in said(report())


def test_a_lead_of_nothing_is_not_equality():
    found = report(settling=(Settling(KEYS["Bea"], 0.0, "farm", 100, 0, 0.8),))
    text = sections.settling_words(found, found.settling[0])
    assert "no number" not in text
    assert "do equally well on these items" in text
    assert "cannot be computed" in text


def test_a_test_that_fails_shows_nothing():
    no = sections.replaces_words(report(replaces={"farm": replacing(False)}), "farm")
    assert "That doesn't show that it is worse." in no
    assert "It is not shown that Ada" in no
    yes = sections.replaces_words(report(replaces={"farm": replacing(True)}), "farm")
    assert "Ada is shown to be less than epsilon (0.2) worse than at least half of these annotators" in yes
    assert "may replace" not in yes
