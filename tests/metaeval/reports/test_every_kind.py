"""What holds of the comparison of every kind but pairs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from metaeval.figures.response_sets import TABLE as RESPONSE_SETS
from metaeval.inputs import Options
from metaeval.reports.errors import ReportError
from tests.metaeval.kinds import KindItem, content, inputs, judge, labelled, plain_items, with_judges
from tests.metaeval.reports import shown as tables
from tests.metaeval.reports.kind_values import (
    CRITERIA,
    MEASURES,
    PEOPLE,
    TREE,
    answered,
    aspects,
    chosen,
    ranked,
    rated,
    selection_in,
)

# Of labels with one category, and without an order.
OF_OTHER_LISTS = {"alpha_ordinal", "alpha_interval", "alpha_masi", "categories_per_label"}


def some(kind, n=14):
    """Inputs of a kind with two people and three judges: like the first person, unlike, and one that is not done."""
    if kind == "rubric":
        items, make = plain_items(n), lambda k: rated(k % 5 + 1, (2 * k) % 5 + 1)
    elif kind == "checklist":
        items = [KindItem(f"x{k}", f"i{k // 2}", "c", f"S/{k % 2}", aspects=TREE) for k in range(n)]
        make = lambda k: answered(k % 2 == 0, k % 3 == 0, k % 5 != 0)  # noqa: E731
    elif kind == "classification":
        items = [KindItem(f"x{k}", f"i{k}", f"c{k % 2}", aspects=aspects(3)) for k in range(n)]
        make = lambda k: chosen(k % 3)  # noqa: E731
    else:
        parts = {"aspects": aspects(3)} if kind == "importance" else {"n_responses": 3}
        items = [KindItem(f"x{k}", f"i{k}", f"c{k % 2}", **parts) for k in range(n)]
        make = lambda k: ranked(*np.roll([1, 2, 3], k).tolist())  # noqa: E731
    labels = [(k, p, make(k + p * (k % 4 == 0))) for k in range(n) for p in (0, 1)]
    judges = [
        judge("like", {k: make(k) for k in range(n)}),
        judge("unlike", {k: make(k + 1) for k in range(n)}),
        judge("begun", {1: make(1)}),
    ]
    return inputs(kind, items, labels, judges, CRITERIA if kind == "rubric" else ())


def estimates_in(node):
    if isinstance(node, dict):
        if {"value", "low", "high"} <= node.keys():
            yield node
        for child in node.values():
            yield from estimates_in(child)
    elif isinstance(node, list):
        for child in node:
            yield from estimates_in(child)


@pytest.mark.parametrize("kind", MEASURES)
def test_every_figure_has_n_and_an_interval_or_a_reason(kind):
    found = content(some(kind))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for estimate in estimates_in(found):
        assert isinstance(estimate["n"], int)
        assert (estimate["low"] is None) == (estimate["high"] is None)
        if estimate["low"] is None:
            assert estimate["reason"]
        else:
            assert estimate["low"] <= estimate["value"] <= estimate["high"]
    selection = selection_in(found)
    # On the first checklist the two people say yes and no, so nothing is decided.
    n = 13 if kind == "checklist" else 14
    assert (selection["leader"], selection["incomplete"], selection["n_compared"]) == (0, [2], n)
    assert selection["differences"][0]["value"] > 0
    known = {info.name for info in MEASURES[kind]}
    assert all(set(row["measures"]) <= known for row in found["judges"])
    expected = {info.name for info in PEOPLE[kind] if info.table != RESPONSE_SETS} - OF_OTHER_LISTS
    assert set(found["people"]["measures"]) == expected


@pytest.mark.parametrize("kind", MEASURES)
def test_the_order_of_judges_and_their_number_change_no_figure(kind):
    whole = some(kind)
    found, turned = content(whole), content(replace(whole, judges=whole.judges[::-1]))
    assert [row["measures"] for row in found["judges"]] == [row["measures"] for row in turned["judges"][::-1]]
    alone = content(replace(whole, judges=whole.judges[:1]))
    assert alone["judges"][0]["measures"] == found["judges"][0]["measures"]
    assert alone["people"] == found["people"]


@pytest.mark.parametrize("kind", MEASURES)
def test_the_hash_is_of_all_that_counts(kind):
    whole, options = some(kind), Options(n_resamples=10)
    first = whole.judges[0]
    assert whole.hash(options) == some(kind).hash(options)
    others = [
        labelled(whole, slice(1, None)),
        replace(whole, judges=whole.judges[1:]),
        replace(whole, items=replace(whole.items, category=("other", *whole.items.category[1:]))),
        replace(whole, judges=(replace(first, failed=first.judged), *whole.judges[1:])),
    ]
    assert len({other.hash(options) for other in (whole, *others)}) == 5
    assert whole.hash(options) != whole.hash(replace(options, against="gold"))


@pytest.mark.parametrize("kind", MEASURES)
def test_words_and_tables(kind):
    found = content(some(kind))
    words = tables.verdict_of(found)
    assert "like" in words.headline or "like" in words.sentences[0]
    assert any("begun" in caution for caution in words.cautions)
    table = tables.main_table(found)
    assert [row.status for row in table.rows][:2] == ["people", "leads"]
    assert all(len(row.cells) == len(table.heads) for row in table.rows)
    for group in tables.group_tables(found):
        assert all(len(row.cells) == len(group.heads) for row in group.rows)
    assert len(tables.differences(found)) == 1
    text = tables.csv_text(found)
    # An interval for annotators like these stands in the line of its figure.
    shown = list(estimates_in([found["people"], found["judges"]]))
    assert text.count("\n") == 1 + len(shown) - sum("alike" in one for one in shown)


@pytest.mark.parametrize("kind", MEASURES)
def test_nothing_at_all(kind):
    empty = inputs(
        kind, plain_items(2, aspects=TREE), (), [judge("mute", {}, unparsed=[0], failed=[1])], CRITERIA
    )
    found = content(empty)
    assert selection_in(found)["leader"] is None
    assert found["judges"][0]["measures"]["unparsed_rate"]["overall"]["value"] == 1
    assert tables.verdict_of(found).kind == "none"
    assert empty.targets() == ()
    assert content(replace(empty, judges=()))["judges"] == []
    with pytest.raises(ReportError, match="no items"):
        content(inputs(kind, ()))
    nonsense = judge("odd", {0: {}, 1: {"ratings": "x", "answers": [1], "ranks": {"0": None}}})
    assert selection_in(content(with_judges(empty, nonsense)))["leader"] is None


def test_one_instruction_says_nothing_of_others():
    whole = some("checklist")
    found = content(replace(whole, items=replace(whole.items, cluster=("i",) * len(whole.items))))
    assert found["items"]["n_instructions"] == 1
    # Without an interval nothing is shown to be better than the baseline either.
    assert tables.verdict_of(found).kind == "floor"
    assert (
        tables.verdict_of(
            found
            | {
                "selections": {
                    found["primary"]: selection_in(found) | {"best_baseline": None, "verdict": None}
                }
            }
        ).kind
        == "open"
    )


def test_a_correlation_may_differ_between_subsets_by_more_than_one():
    subsets = ["Natural"] * 4 + ["Adversarial/Manual"] * 4
    items = [
        KindItem(f"x{k}", f"i{k}", subset=subset, n_responses=3, gold=ranked(1, 2, 3))
        for k, subset in enumerate(subsets)
    ]
    said = {k: ranked(1, 2, 3) if k < 4 else ranked(3, 2, 1) for k in range(8)}
    found = content(inputs("answer_ranking", items, (), [judge("j", said)]), "gold")
    assert found["judges"][0]["measures"]["spearman"]["overall"]["value"] == pytest.approx(0)
