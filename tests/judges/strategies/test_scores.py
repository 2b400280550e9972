"""DRFR and TOWER, by hand and on InFoBench's published verdicts."""

from __future__ import annotations

import doctest
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies import aspect_tree, item_prompt, orders, scores, structured
from judges.strategies.scores import (
    Share,
    drfr,
    drfr_share,
    expected_score,
    has_tree,
    levels,
    levels_of,
    macro,
    micro,
    tower,
    tower_share,
    weights_of,
)
from judges.strategies.types import Answer, AspectView, TokenLogprob

TREE = (
    AspectView("poem", "It is a poem."),
    AspectView("lines", "It has four lines.", parent="poem"),
    AspectView("rhyme", "It rhymes.", parent="lines"),
    AspectView("polite", "It is polite."),
)


@pytest.mark.parametrize("module", [aspect_tree, item_prompt, orders, scores, structured])
def test_the_examples_of_the_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_drfr_counts_only_yes():
    assert drfr({"a": True, "b": False, "c": None}) == pytest.approx(1 / 3)
    assert drfr_share({"a": True, "b": False, "c": None}) == Share(1.0, 3.0)


def test_levels_and_weights():
    assert levels(TREE) == {"poem": 1, "lines": 2, "rhyme": 3, "polite": 1}
    assert levels(TREE[::-1]) == levels(TREE)
    assert weights_of(levels(TREE)) == {
        "poem": 1.0,
        "lines": 0.5,
        "rhyme": pytest.approx(1 / 3),
        "polite": 1.0,
    }


def test_tower_weighs_by_level():
    answers = {"poem": True, "lines": False, "rhyme": None, "polite": True}
    assert tower(answers, TREE) == pytest.approx(2 / (2 + 1 / 2 + 1 / 3))
    assert tower_share(answers, TREE).followed == 2.0


def test_without_a_tree_tower_is_drfr():
    flat = [AspectView(each.key, each.text) for each in TREE]
    answers = {"poem": True, "lines": False, "rhyme": True, "polite": True}
    assert not has_tree(flat)
    assert has_tree(TREE)
    assert tower(answers, flat) == drfr(answers) == 0.75


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        ({"a": "a"}, "cycle a -> a"),
        ({"a": "b", "b": "a"}, "cycle a -> b -> a"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "cycle a -> b -> c -> a"),
        ({"a": "z"}, "unknown parent z"),
    ],
)
def test_what_is_no_tree_is_named(parents, problem):
    with pytest.raises(ValueError, match=f"^{problem}$"):
        levels_of(parents)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_levels_are_one_below_the_parent(choices):
    # Each node hangs below one that came before it, or is a root.
    parents = {str(i): "" if not i or c > i - 1 else str(c) for i, c in enumerate(choices)}
    found = levels_of(dict(sorted(parents.items())))
    assert all(found[node] == (found[parent] + 1 if parent else 1) for node, parent in parents.items())


def test_deep_trees():
    chain = {str(i): str(i - 1) if i else "" for i in range(5000)}
    assert levels_of(dict(reversed(chain.items())))["4999"] == 5000


def test_macro_and_micro():
    shares = [Share(1, 1), Share(1, 3), Share(0, 2)]
    assert macro(shares) == pytest.approx((1 + 1 / 3) / 3)
    assert micro(shares) == pytest.approx(2 / 6)


@pytest.mark.parametrize(
    "undefined", [lambda: drfr({}), lambda: tower({}, []), lambda: macro([]), lambda: micro([])]
)
def test_the_share_of_nothing_is_undefined_and_says_so(undefined):
    with pytest.warns(RuntimeWarning, match="undefined"):
        assert math.isnan(undefined())


@given(
    st.dictionaries(
        st.sampled_from([each.key for each in TREE]), st.sampled_from([True, False, None]), min_size=4
    )
)
def test_shares_are_shares(answers):
    assert 0 <= drfr(answers) <= 1
    assert 0 <= tower(answers, TREE) <= 1
    assert (tower(answers, TREE) == 1) == (drfr(answers) == 1) == all(answers.values())


def test_the_expected_score():
    values = {str(n): n for n in range(1, 6)}
    top = (("4", math.log(0.6)), (" 5", math.log(0.2)), ("Good", math.log(0.1)), ("3", -9999.0))
    tokens = (TokenLogprob("Rating:", -0.1), TokenLogprob("4", math.log(0.6), top))
    assert expected_score(Answer("4", logprobs=tokens), values, "4") == pytest.approx(4.25)
    assert expected_score(Answer("4"), values, "4") is None
    assert expected_score(Answer("4", logprobs=tokens), values, "5") is None


def test_infobench(shared_data: Path):
    shares: dict[str, list[Share]] = {"Easy_set": [], "Hard_set": []}
    with (shared_data / "infobench" / "gpt4_eval.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            answers = {str(place): verdict for place, verdict in enumerate(row["eval"])}
            shares[row["subset"]].append(drfr_share(answers))
    everything = [share for part in shares.values() for share in part]

    assert (len(everything), sum(share.total for share in everything)) == (500, 2250)
    assert round(100 * micro(everything), 2) == 87.60
    assert round(100 * macro(everything), 2) == 87.98
    assert round(100 * micro(shares["Easy_set"]), 2) == 88.41
    assert round(100 * micro(shares["Hard_set"]), 2) == 87.24
