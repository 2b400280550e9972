"""DRFR and TOWER of one checklist, and on InFoBench's published verdicts."""

from __future__ import annotations

import doctest
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies import aspect_tree, item_prompt, orders, structured
from judges.strategies.checklist import checklist_scores, has_tree
from judges.strategies.errors import StrategyError
from judges.strategies.probabilities import expected_score
from judges.strategies.types import Answer, AspectView, ItemView, TokenLogprob

TREE = (
    AspectView("poem", "It is a poem."),
    AspectView("lines", "It has four lines.", parent="poem"),
    AspectView("rhyme", "It rhymes.", parent="lines"),
    AspectView("polite", "It is polite."),
)
ITEM = ItemView(item_id=7, kind="checklist", instruction="Write.", responses=("A poem.",), aspects=TREE)
FLAT = replace(ITEM, aspects=tuple(AspectView(each.key, each.text) for each in TREE))


@pytest.mark.parametrize("module", [aspect_tree, item_prompt, orders, structured])
def test_the_examples_of_the_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_drfr_counts_only_yes_and_tower_weighs_by_level():
    found = checklist_scores(ITEM, {"poem": True, "lines": False, "rhyme": None, "polite": True})
    assert found == {"drfr": 0.5, "tower": pytest.approx(2 / (2 + 1 / 2 + 1 / 3))}


def test_without_a_tree_tower_is_drfr():
    answers = {"poem": True, "lines": False, "rhyme": True, "polite": True}
    assert has_tree(TREE)
    assert not has_tree(FLAT.aspects)
    assert checklist_scores(FLAT, answers) == {"drfr": 0.75}
    assert checklist_scores(FLAT, answers, flat=True) == {"drfr": 0.75, "tower": 0.75}


@pytest.mark.parametrize(
    ("parent", "problem"), [("lines", "cycle lines -> lines"), ("z", "unknown parent z")]
)
def test_what_is_no_tree_is_named(parent, problem):
    broken = replace(ITEM, aspects=(TREE[0], AspectView("lines", "Four lines.", parent=parent)))
    with pytest.raises(StrategyError, match=f"The aspects of item 7 are no tree: {problem}"):
        checklist_scores(broken, {"poem": True, "lines": True})


@given(
    st.dictionaries(
        st.sampled_from([each.key for each in TREE]), st.sampled_from([True, False, None]), min_size=4
    )
)
def test_shares_are_shares(answers):
    found = checklist_scores(ITEM, answers)
    assert all(0 <= share <= 1 for share in found.values())
    assert (found["tower"] == 1) == (found["drfr"] == 1) == all(answers.values())


def test_the_expected_score():
    values = {str(n): n for n in range(1, 6)}
    top = (("4", math.log(0.6)), (" 5", math.log(0.2)), ("Good", math.log(0.1)), ("3", -9999.0))
    tokens = (TokenLogprob("Rating:", -0.1), TokenLogprob("4", math.log(0.6), top))
    assert expected_score(Answer("4", logprobs=tokens), values, "4") == pytest.approx(4.25)
    assert expected_score(Answer("4"), values, "4") is None
    assert expected_score(Answer("4", logprobs=tokens), values, "5") is None
