"""A comparison and a decision rank judges of every kind by the same figure, and say the same of them."""

import numpy as np
import pytest

from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports import words
from metaeval.reports.content import build
from metaeval.reports.selection import verdict as choices
from metaeval.reports.selection.inputs import (
    Criteria,
    Part,
    SelectionInputs,
    SelectionOptions,
    dataset_inputs,
)
from metaeval.reports.selection.report import selection_report
from metaeval.reports.verdict import reasons_of
from metaeval.selection.types import Candidate
from tests.metaeval.kinds import inputs, judge
from tests.metaeval.kinds import plain_items as items_of
from tests.metaeval.reports.kind_values import CRITERIA, TREE, answered, aspects, ranked, rated

N, PEOPLE = 60, 6
PARTS = {"rubric": {}, "checklist": {"aspects": TREE}, "importance": {"aspects": aspects(4)}}
PARTS["answer_ranking"] = {"n_responses": 4}


def value_of(kind, seen, kindness=0.0):
    if kind == "rubric":
        return rated(*np.clip(np.round(3 + seen[:2] + kindness), 1, 5).tolist())
    if kind == "checklist":
        return answered(*(bool(one) for one in seen[:3] + kindness > 0))
    return ranked(*(1 + (-seen).argsort().argsort()).tolist())


def inputs_of(kind):
    """People who see the same give or take noise; judges: near, too kind, far, and one that is unread at times."""
    rng = np.random.default_rng(5)
    good = rng.normal(size=(N, 4))

    def said(noise, kindness=0.0):
        return [value_of(kind, good[row] + noise * rng.normal(size=4), kindness) for row in range(N)]

    labels = [(row, person, one) for person in range(PEOPLE) for row, one in enumerate(said(0.5))]
    labels.sort(key=lambda label: label[:2])
    judges = [judge("near", dict(enumerate(said(0.4)))), judge("kind", dict(enumerate(said(0.2, 1.0))))]
    judges += [judge("far", dict(enumerate(said(2.5))))]
    part = dict(enumerate(said(0.4)))
    judges += [judge("unread", {row: one for row, one in part.items() if row % 5}, unparsed=range(0, N, 5))]
    criteria = (CRITERIA,) if kind == "rubric" else ()
    return inputs(kind, items_of(N, **PARTS[kind]), labels, judges, *criteria)


def both(kind, figure):
    found = inputs_of(kind)
    report = build(found, Options(n_resamples=50))
    part = dataset_inputs(Part("items", "people", 1.0), found, list(found.items.cluster), figure)
    candidates = [Candidate(one.fingerprint, one.name) for one in found.judges]
    baselines = [one for one in part.judges if one.baseline]
    candidates += [Candidate(one.fingerprint, one.name, is_baseline=True) for one in baselines]
    criteria = Criteria((Part("items", "people", 1.0),), kind=kind, figure=figure)
    options = SelectionOptions(n_resamples=50, n_repeats=1)
    return report, selection_report(SelectionInputs({}, (part,), tuple(candidates), criteria, options))


@pytest.mark.parametrize("kind", ["rubric", "checklist", "importance", "answer_ranking"])
def test_the_same_order_the_same_intervals_the_same_words(kind):
    for figure in FIGURES[kind].primaries:
        report, choice = both(kind, figure)
        selection = report.selections[figure]
        compared = [report.judges[place].name for place in selection.ranking]
        decided = [choice.name(row.judge) for row in choice.candidates]
        if kind in ("rubric", "checklist"):
            assert compared == decided, figure
        else:  # a comparison leaves out what could not be read, of which a choice makes 0
            assert [name for name in compared if name != "unread"] == [
                name for name in decided if name != "unread"
            ]
            continue
        rows = {choice.name(row.judge): row for row in choice.candidates}
        for row in selection.differences:
            other = rows[report.judges[row["judge"]].name]
            for end in ("value", "low", "high"):
                assert row[end] == pytest.approx(other.behind[end], abs=1e-9)
                assert row["alike"][end] == pytest.approx(other.alike[end], abs=1e-9)
        one, two = words.report_compared(report, figure), choices.choice_compared(choice)
        assert one.kind == two.kind
        assert reasons_of(one) == reasons_of(two)


def test_a_judge_that_is_always_too_kind_does_not_rank_first():
    report, choice = both("rubric", "")
    spearman = {one.name: one.measures["spearman"]["overall"]["value"] for one in report.judges}
    assert max(spearman, key=spearman.get) == "kind"
    assert report.judges[report.selection.leader].name == choice.name(choice.leader) == "near"
    leading = report.judges[report.selection.leader]
    for name in ("minus_people", "below_best"):
        gap = leading.measures[name]["overall"]
        (decided,), (alike,) = (getattr(choice, each).values() for each in (name, f"{name}_alike"))
        assert (gap["low"], gap["high"]) == pytest.approx((decided["low"], decided["high"]))
        assert (gap["alike"]["low"], gap["alike"]["high"]) == pytest.approx((alike["low"], alike["high"]))
    (best,) = [
        one for one in words.verdict_of(report).sentences if one.startswith("Upper bound minus near: ")
    ]
    assert best in choices.selection_verdict(choice).sentences
