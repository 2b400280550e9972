"""DRFR and TOWER: by hand, against the file of InfoBench, a slow oracle, and what is undefined."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.checklist import checklist_scores
from judges.strategies.types import AspectView, ItemView
from metaeval.stats import InvalidInputError, StatisticsWarning
from metaeval.stats.following import (
    aspect_levels,
    drfr,
    follow_rate_by_level,
    tower_drfr_differences,
    tower_score,
)


def test_by_hand():
    # Item 0: a root followed, two below it not; item 1: one root, followed.
    #   DRFR pooled 2/4, mean of items (1/3 + 1)/2 = 2/3.
    #   TOWER weights 1, 1/2, 1/2: item 0 has 1/2; mean (1/2 + 1)/2 = 3/4; pooled (1 + 1)/(2 + 1) = 2/3.
    answers, items, levels = [1, 0, 0, 1], [0, 0, 0, 1], [1, 2, 2, 1]
    assert drfr(answers, items).value == 0.5
    assert drfr(answers, items, average="macro").value == pytest.approx(2 / 3)
    assert tower_score(answers, items, levels).value == 0.75
    assert tower_score(answers, items, levels, average="micro").value == pytest.approx(2 / 3)
    rates = follow_rate_by_level(answers, items, levels)
    assert {level: (rate.value, rate.n) for level, rate in rates.items()} == {1: (1.0, 2), 2: (0.0, 1)}


def test_the_file_of_infobench(shared_data):
    # DRFR 87.60% over questions, 87.98% as the mean over instructions; easy 88.41%, hard 87.24%.
    path = shared_data / "infobench" / "gpt4_eval.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    answers = np.concatenate([np.array(row["eval"], dtype=float) for row in rows])
    items = np.concatenate([np.full(len(row["eval"]), place) for place, row in enumerate(rows)])
    subset = np.array([row["subset"] for row in rows])
    assert round(100 * drfr(answers, items).value, 2) == 87.60
    assert round(100 * drfr(answers, items, average="macro").value, 2) == 87.98
    for name, printed in (("Easy_set", 88.41), ("Hard_set", 87.24)):
        found = drfr(answers, items, where=subset == name)
        assert round(100 * found.value, 2) == printed
        assert found.low < found.value < found.high


@st.composite
def _trees(draw):
    """Flat aspects of some items, with the levels of random trees."""
    answers, items, levels = [], [], []
    for item in range(draw(st.integers(1, 4))):
        depth = []
        for _ in range(draw(st.integers(1, 5))):
            depth.append(draw(st.sampled_from([0, *depth])) + 1)
            answers.append(draw(st.sampled_from([0.0, 1.0, math.nan])))
            items.append(item)
        levels += depth
    return answers, items, levels


@given(_trees(), st.sampled_from(["macro", "micro"]), st.sampled_from(["not_followed", "omit"]))
def test_against_a_slow_oracle(tree, average, unsure):
    answers, items, levels = tree
    shares, top, bottom = [], Fraction(0), Fraction(0)
    for item in sorted(set(items)):
        own = [
            (answer, Fraction(1, level))
            for answer, of, level in zip(answers, items, levels, strict=True)
            if of == item and not (unsure == "omit" and math.isnan(answer))
        ]
        followed, total = sum(w for a, w in own if a == 1), sum(w for _, w in own)
        top, bottom = top + followed, bottom + total
        if total:
            shares.append(Fraction(followed) / total)
    if not shares:
        with pytest.warns(StatisticsWarning, match="no aspect"):
            assert math.isnan(tower_score(answers, items, levels, average=average, unsure=unsure).value)
        return
    expected = sum(shares) / len(shares) if average == "macro" else top / bottom
    found = tower_score(answers, items, levels, average=average, unsure=unsure, n_resamples=0)
    assert found.value == pytest.approx(float(expected))


@given(_trees())
def test_it_is_the_score_that_judges_store(tree):
    answers, items, levels = tree
    for item in set(items):
        rows = [(a, level) for a, of, level in zip(answers, items, levels, strict=True) if of == item]
        flat, depth = np.array([a for a, _ in rows]), [level for _, level in rows]
        # An aspect depends on the last one before it that is a level above.
        parents = [
            next((str(j) for j in reversed(range(k)) if depth[j] == depth[k] - 1), "")
            for k in range(len(depth))
        ]
        aspects = [AspectView(str(k), "text", parent=parent) for k, parent in enumerate(parents)]
        stored = {str(k): None if math.isnan(a) else bool(a) for k, a in enumerate(flat)}
        same = np.zeros(len(flat))
        assert aspect_levels({str(k): parent for k, parent in enumerate(parents)}) == {
            str(k): level for k, level in enumerate(depth)
        }
        view = ItemView(
            item_id=1, kind="checklist", instruction="?", responses=("!",), aspects=tuple(aspects)
        )
        assert checklist_scores(view, stored, flat=True) == {
            "drfr": drfr(flat, same, n_resamples=0).value,
            "tower": tower_score(flat, same, depth, n_resamples=0).value,
        }


def test_without_a_tree_tower_is_drfr():
    rng = np.random.default_rng(1)
    answers, items = rng.integers(0, 2, 60).astype(float), np.repeat(np.arange(12), 5)
    ones = np.ones(60)
    assert tower_score(answers, items, ones) == drfr(answers, items, average="macro")
    assert len(tower_drfr_differences(answers, items, ones)) == 0


def test_items_that_share_an_instruction_move_together():
    rng = np.random.default_rng(2)
    share = np.repeat(rng.random(30), 4)
    items = np.repeat(np.arange(120), 5)
    answers = (rng.random(600) < share[items]).astype(float)
    alone = drfr(answers, items)
    together = drfr(answers, items, clusters=np.arange(120) // 4)
    assert together.n_clusters == 30
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def test_the_largest_differences_come_first():
    # a: TOWER 1/2, DRFR 1/3. b: TOWER (1/2)/(3/2) = 1/3, DRFR 1/2. c: the same by both.
    answers, items, levels = [1, 0, 0, 0, 1, 1], list("aaabbc"), [1, 2, 2, 1, 2, 1]
    found = tower_drfr_differences(answers, items, levels)
    assert found.item == ("a", "b")
    assert found.difference.tolist() == pytest.approx([1 / 6, -1 / 6])
    assert len(tower_drfr_differences(answers, items, levels, n=1)) == 1


def test_levels_from_parents():
    assert aspect_levels({"c": "b", "b": "a", "a": ""}) == {"c": 3, "b": 2, "a": 1}
    with pytest.raises(InvalidInputError, match="unknown parent"):
        aspect_levels({"a": "x"})
    with pytest.raises(InvalidInputError, match="cycle a -> b -> c -> a"):
        aspect_levels({"x": "a", "a": "b", "b": "c", "c": "a"})
    chain = {str(i): str(i - 1) if i else "" for i in range(5000)}
    assert aspect_levels(dict(reversed(chain.items())))["4999"] == 5000


@pytest.mark.parametrize(
    ("answers", "levels", "said"),
    [
        ([2, 0], [1, 1], "answers"),
        ([1, 0], [0, 1], "levels"),
        ([1, 0], [1.5, 1], "levels"),
        ([1, 0], [1], "levels"),
    ],
)
def test_input_that_cannot_be_meant(answers, levels, said):
    with pytest.raises(InvalidInputError, match=said):
        tower_score(answers, [0, 0], levels)
