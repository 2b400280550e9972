"""Scores of items of every kind: by hand, against plain loops and the comparison; and the rules without a model."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from judges.strategies.types import AspectView
from metaeval.figures.item_scores import item_scores
from tests.metaeval.kinds import KindItem, content, inputs, judge, plain_items, rules_of, with_judges
from tests.metaeval.reports.kind_values import CRITERIA, TREE, answered, aspects, figure, ranked, rated

NAN = math.nan
ITEMS = 6


def scores(found, against="people"):
    """The scores of the only judge, as a list; None where there is none."""
    (column,) = item_scores(found, against).scores.values()
    return [None if math.isnan(value) else pytest.approx(value) for value in column]


def objective(found, against="people"):
    """The weighted mean of the items that count, of the only judge."""
    made = item_scores(found, against)
    (column,) = made.scores.values()
    counted = ~np.isnan(column)
    weights = np.ones(len(column)) if made.weights is None else made.weights
    return float(np.average(column[counted], weights=weights[counted]))


class TestRubric:
    def test_by_hand(self):
        labels = [(0, 0, rated(1, 5)), (0, 1, rated(2, 5)), (1, 0, rated(3, 3)), (2, 0, rated(4, 4))]
        one = judge("a", {0: rated(3, 5), 1: rated(3), 3: rated(1, 1)}, unparsed=[2])
        found = inputs("rubric", plain_items(5), labels, [one], CRITERIA)
        # Item 0: |3 - 1.5| and 0; item 1: 0, and a criterion left out; item 2 unreadable; item 3 without a label.
        assert scores(found) == [1 - 1.5 / 4 / 2, 0.5, 0.0, None, None]
        assert item_scores(found, "people").scorable.tolist() == [True, True, True, False, False]

    def test_against_gold(self):
        items = [replace(item, gold=rated(5, 1)) for item in plain_items(2)] + plain_items(1)
        one = judge("a", {0: rated(1, 5), 1: rated(5, 2), 2: rated(1, 1)})
        assert scores(inputs("rubric", items, [], [one], CRITERIA), "gold") == [0.0, 0.875, None]

    def test_what_never_came_scores_nothing_either(self):
        found = inputs(
            "rubric", plain_items(1), [(0, 0, rated(3, 3))], [judge("a", {}, failed=[0])], CRITERIA
        )
        assert scores(found) == [0.0]
        assert item_scores(found, "people").unparsed["f-a"].tolist() == [True]

    def test_the_rule_is_the_best_constant(self):
        labels = [(k, 0, rated(value, 3)) for k, value in enumerate((1, 4, 4, 5, 5))]
        found = inputs("rubric", plain_items(5), labels, [], CRITERIA)
        (rule,) = rules_of(found, "people")
        assert rule.name == "always the median"
        assert rule.values[0, 0].tolist() == [4.0, 3.0]
        reached = objective(replace(found, judges=(rule,)))
        for constant in range(1, 6):
            other = judge("c", {k: rated(constant, 3) for k in range(5)})
            assert objective(with_judges(found, other)) <= reached + 1e-12


class TestChecklist:
    def test_by_hand(self):
        items = plain_items(3, aspects=TREE)
        labels = [
            (0, 0, answered(True, True, False)),
            (0, 1, answered(True, False, None)),  # divided on the second
            (1, 0, answered(None, None, True)),
        ]
        one = judge("a", {0: answered(True, True, True), 1: answered(True, True, None)}, unparsed=[2])
        found = inputs("checklist", items, labels, [one])
        assert scores(found) == [0.5, 0.0, None]
        made = item_scores(found, "people")
        assert made.weights.tolist() == [2.0, 1.0, 1.0]
        assert made.scorable.tolist() == [True, True, False]

    def test_the_rule_says_yes(self):
        found = inputs("checklist", plain_items(1, aspects=TREE), [(0, 0, answered(True, True, False))])
        (rule,) = rules_of(found, "people")
        assert rule.name == "always yes"
        assert scores(replace(found, judges=(rule,))) == [2 / 3]


class TestRankings:
    def test_by_hand(self):
        items = plain_items(5, n_responses=3)
        labels = [
            (0, 0, ranked(1, 2, 3)),
            (0, 1, ranked(3, 2, 1)),
            (1, 0, ranked(1, 2, 3)),
            (2, 0, ranked(1, 2, 3)),
            (3, 0, ranked(1, 1, 1)),
            (4, 0, ranked(1, 2, 3)),
        ]
        said = {
            0: ranked(1, 2, 3),
            1: ranked(1, 2, 3),
            2: ranked(1, 1, 1),  # no order: as good as chance
            3: ranked(1, 2, 3),  # nothing to be ordered
            4: {"ranks": {"0": 1, "9": 2}},  # of other parts
        }
        for kind in ("importance", "answer_ranking"):
            parts = items if kind == "answer_ranking" else [replace(one, aspects=aspects(3)) for one in items]
            found = inputs(kind, parts, labels, [judge("a", said)])
            assert scores(found) == [0.5, 1.0, 0.5, None, 0.0]

    def test_votes_and_scores_count_by_how_far_apart_they_are(self):
        items = [KindItem("x", "i", votes=(9.0, 1.0, 0.0), n_responses=3)]
        one = judge("a", {0: {**ranked(1, 2, 3), "scores": {"0": 0.9, "1": 0.1, "2": 0.0}}})
        r = stats.pearsonr([9, 1, 0], [0.9, 0.1, 0.0])[0]
        assert scores(inputs("answer_ranking", items, [], [one]), "gold") == [(1 + r) / 2]

    def test_rules(self):
        found = inputs("importance", plain_items(1, aspects=aspects(3)), [(0, 0, ranked(1, 2, 3))])
        (rule,) = rules_of(found, "people")
        assert rule.name == "order given"
        assert scores(replace(found, judges=(rule,))) == [1.0]
        found = inputs("answer_ranking", plain_items(1, n_responses=3), [(0, 0, ranked(2, 1, 3))])
        assert rules_of(found, "people") == ()
        found = inputs(
            "answer_ranking",
            plain_items(1, n_responses=3),
            [(0, 0, ranked(2, 1, 3))],
            lengths=[(20, 30, 20)],
        )
        (rule,) = rules_of(found, "people")
        assert rule.values[0, 0].tolist() == [2, 1, 2]
        assert scores(replace(found, judges=(rule,))) == [
            (1 + stats.pearsonr([-2, -1, -2], [-2, -1, -3])[0]) / 2
        ]


def test_always_yes_reaches_the_published_figure_of_infobench(shared_data):
    """With GPT-4's answers as gold the rule's score is the share of questions answered with yes: DRFR, 87.60%."""
    lines = (shared_data / "infobench" / "gpt4_eval.jsonl").read_text(encoding="utf-8").splitlines()
    items = []
    for k, row in enumerate(json.loads(line) for line in lines if line.strip()):
        keys = [f"q{place}" for place, _ in enumerate(row["decomposed_questions"])]
        gold = {"answers": dict(zip(keys, row["eval"], strict=True))}
        items.append(
            KindItem(f"x{k}", f"i{k}", aspects=tuple(AspectView(key, key) for key in keys), gold=gold)
        )
    found = inputs("checklist", items)
    (rule,) = rules_of(found, "gold")
    assert objective(replace(found, judges=(rule,)), "gold") == pytest.approx(0.8760, abs=5e-5)


# --- against plain loops, and the comparison -----------------------------------------------------------------------

RATING = st.none() | st.integers(1, 5)
ANSWER = st.sampled_from([True, False, None])
RANKS = st.tuples(*[st.integers(1, 3)] * 3)


def given_to(value, people=2):
    """Labels of some items by some people, and what a judge says of some items: None is no answer."""
    labels = st.dictionaries(st.tuples(st.integers(0, ITEMS - 1), st.integers(0, people - 1)), value)
    said = st.lists(st.sampled_from(["unread", "none"]) | value, min_size=ITEMS, max_size=ITEMS)
    return st.tuples(labels, said)


def build(kind, items, drawn, make):
    labels, said = drawn
    one = judge(
        "a",
        {k: make(value) for k, value in enumerate(said) if not isinstance(value, str)},
        unparsed=[k for k, value in enumerate(said) if value == "unread"],
    )
    rows = [(item, person, make(value)) for (item, person), value in sorted(labels.items())]
    return inputs(kind, items, rows, [one], CRITERIA if kind == "rubric" else ())


def check(found, drawn, score):
    """`score(what the judge said, what people said)`: None where nothing can be scored."""
    labels, said = drawn
    expected = []
    for k, value in enumerate(said):
        people = [one for (item, _), one in sorted(labels.items()) if item == k]
        # What can be scored is asked of an answer that is there whatever it says.
        whole = score(value if not isinstance(value, str) else None, people)
        if whole is None or value == "none":
            expected.append(None)
        else:
            expected.append(0.0 if value == "unread" else whole)
    assert scores(found) == expected


@settings(max_examples=20, deadline=None)
@given(given_to(st.tuples(RATING, RATING)))
def test_rubric_against_plain_loops(drawn):
    def make(value):
        return {"ratings": {key: one for key, one in zip(CRITERIA, value, strict=True) if one is not None}}

    def score(value, people):
        parts = []
        for place in range(2):
            target = [one[place] for one in people if one[place] is not None]
            if target:
                own = value[place] if value else None
                parts.append(0.0 if own is None else 1 - abs(own - sum(target) / len(target)) / 4)
        return sum(parts) / len(parts) if parts else None

    check(build("rubric", plain_items(ITEMS), drawn, make), drawn, score)


@settings(max_examples=20, deadline=None)
@given(given_to(st.tuples(ANSWER, ANSWER, ANSWER), people=3))
def test_checklist_against_plain_loops_and_the_comparison(drawn):
    def score(value, people):
        right = []
        for place in range(3):
            yes, no = (sum(one[place] is answer for one in people) for answer in (True, False))
            if yes != no:
                right.append(value is not None and value[place] is (yes > no))
        return sum(right) / len(right) if right else None

    found = build("checklist", plain_items(ITEMS, aspects=TREE), drawn, lambda value: answered(*value))
    check(found, drawn, score)
    if not len(found.labels) or all(one is None for one in scores(found)):
        return
    pooled = figure(content(found, n_resamples=0), "a", "agreement")
    assert objective(found) == pytest.approx(pooled)


@pytest.mark.parametrize("kind", ["importance", "answer_ranking"])
@settings(max_examples=20, deadline=None)
@given(drawn=given_to(RANKS))
def test_rankings_against_plain_loops_and_the_comparison(kind, drawn):
    def score(value, people):
        ordered = [one for one in people if len(set(one)) > 1]
        if not ordered:
            return None
        if value is None or len(set(value)) == 1:
            return 0.5
        rho = stats.spearmanr if kind == "importance" else stats.pearsonr
        return (1 + sum(rho(value, one)[0] for one in ordered) / len(ordered)) / 2

    parts = {"aspects": aspects(3)} if kind == "importance" else {"n_responses": 3}
    found = build(kind, plain_items(ITEMS, **parts), drawn, lambda value: ranked(*value))
    check(found, drawn, score)
    read = [one for one in drawn[1] if not isinstance(one, str)]
    if len(found.labels) and "unread" not in drawn[1] and read and all(len(set(one)) > 1 for one in read):
        measure = "spearman" if kind == "importance" else "pearson"
        shown = figure(content(found, n_resamples=0), "a", measure)
        if shown is not None:
            assert 2 * objective(found) - 1 == pytest.approx(shown, abs=1e-9)
