"""The words of a choice claim no more than its figures allow."""

from dataclasses import replace

import pytest

from metaeval.reports import selection_words as words
from metaeval.reports.selection_verdict import verdict_of
from metaeval.selection.types import Settling, Violation
from tests.metaeval.test_selection_words import KEYS, content, gap, replacing, said, selection


def with_rule(**fields):
    """A clear winner, and a rule without a model that stands as given."""
    *judges, rule = selection().standings
    return content(standings=(*judges, replace(rule, **fields)))


@pytest.mark.parametrize("lead", [0.01, -0.05])
def test_no_judge_is_recommended_that_does_not_beat_a_rule(lead):
    found = with_rule(behind=gap(lead))
    verdict = verdict_of(found)
    assert (verdict.kind, verdict.label) == ("floor", "No better than a rule")
    assert verdict.headline == "No judge is clearly better than longest, which needs no model"
    assert said(found).count("rule without a model") == 1
    assert "is the judge to use" not in said(found)


def test_a_rule_that_breaks_a_constraint_is_a_caution_only():
    broken = Violation("min_accuracy", 0.8, 0.3, "traps")
    verdict = verdict_of(with_rule(behind=gap(0.01), violations=(broken,)))
    assert (verdict.kind, verdict.headline) == ("clear", "Ada is the judge to use")
    assert any("rule without a model" in one for one in verdict.cautions)


def test_the_only_one_left_is_not_the_only_one_there_is():
    ada, bea, cy, longest = selection().standings
    fields = {"verdict": "single", "confidence_set": (KEYS["Ada"],)}
    part = tuple(replace(one, is_ranked=False) for one in (bea, cy))
    text = said(content(standings=(ada, *part, longest), **fields))
    assert "the only judge that judged enough to be compared, so there was nothing to choose" in text
    alone = said(content(standings=(ada, longest), **fields))
    assert "It is the only judge here, so there was nothing to choose between." in alone


def test_the_confidence_is_about_judges_that_may_be_chosen():
    found = content(verdict="open", winner=None, confidence_set=(KEYS["Ada"], KEYS["Bea"]))
    assert "the best of the judges that may be chosen is one of these 2" in said(found)


def test_resamples_are_of_these_instructions_and_expectations_of_items_like_these():
    assert "In samples drawn anew from these instructions it would have been chosen in 50 of" in said(
        content()
    )
    assert "On new items like these expect" in said(content())
    assert "the figure to expect on new items like these" in " ".join(words.held_out_words(content()))


def test_a_lead_of_nothing_is_not_equality():
    found = content(settling=(Settling(KEYS["Bea"], 0.0, "farm", 100, 0, 0.8),))
    text = words.settling_words(found, found["settling"][0])
    assert "no number" not in text
    assert "do equally well on these items" in text
    assert "cannot be worked out" in text


def test_a_test_that_fails_shows_nothing():
    no = words.replaces_words(content(replaces={"farm": replacing(False)}), "farm")
    assert no.endswith("That does not show that Ada may replace a person there.")
    yes = words.replaces_words(content(replaces={"farm": replacing(True)}), "farm")
    assert yes.endswith("By this test Ada may replace a person there.")
