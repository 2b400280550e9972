"""The judges without a model, and the overlap they measure."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.overlap import lcs_length, ngram_f, rouge_l_f, tokens
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import ItemView, Verdict
from tests.judges.strategies.replay import advance

ITEM = ItemView(item_id=3, kind="pairwise", instruction="?", responses=("ab", "abc"), external_id="x3")


def judge(name, item=ITEM, **params) -> Verdict:
    verdict = advance(build_strategy(JudgeSpec(strategy=name, params=params))(item), [])
    assert isinstance(verdict, Verdict)
    return verdict


def canonical(name, item, **params) -> set[int]:
    """The canonical verdicts in both presentation orders."""
    swapped = replace(item, responses=item.responses[::-1], order=1)
    here, there = judge(name, item, **params).choice, judge(name, swapped, **params).choice
    return {here, {0: 0, 1: 2, 2: 1}[there]}


def test_longest_and_shortest_follow_the_length():
    assert canonical("longest", ITEM) == {2}
    assert canonical("shortest", ITEM) == {1}


@pytest.mark.parametrize("name", ["longest", "shortest"])
def test_equal_lengths_go_to_the_canonical_second(name):
    item = replace(ITEM, responses=("abc", "xyz"))

    assert judge(name, item).choice == 2
    assert judge(name, replace(item, order=1)).choice == 1
    assert canonical(name, item) == {2}


def test_always_a_flips_with_the_order():
    assert judge("always_a").choice == 1
    assert canonical("always_a", ITEM) == {1, 2}


def test_random_depends_on_seed_and_item_alone():
    items = [replace(ITEM, external_id=f"i{n}") for n in range(400)]
    choices = [judge("random", item, seed=5).choice for item in items]

    assert choices == [judge("random", replace(item, item_id=9), seed=5).choice for item in items]
    assert choices != [judge("random", item, seed=6).choice for item in items]
    assert 150 < choices.count(1) < 250
    assert all(len(canonical("random", item, seed=5)) == 1 for item in items)


def test_random_may_choose_anew_in_each_order():
    items = [replace(ITEM, external_id=f"i{n}") for n in range(400)]
    flips = sum(len(canonical("random", item, seed=5, per_order=True)) == 2 for item in items)

    assert 150 < flips < 250


def test_random_names_an_item_by_its_id_when_it_has_no_other_name():
    items = [replace(ITEM, external_id="", item_id=n) for n in range(50)]

    assert {judge("random", item).choice for item in items} == {1, 2}


@pytest.mark.parametrize("name", ["rouge_l", "ngram"])
def test_the_response_closer_to_the_reference_wins(name):
    item = replace(ITEM, responses=("the cat sat", "a dog stood"), reference="The cat sat down.")

    verdict = judge(name, item)
    assert verdict.choice == 1
    assert verdict.scores[0] > verdict.scores[1] == 0.0
    assert canonical(name, item) == {1}


@pytest.mark.parametrize("name", ["rouge_l", "ngram"])
def test_equal_overlap_is_a_tie_with_equal_scores(name):
    verdict = judge(name, replace(ITEM, responses=("cat x", "y cat"), reference="cat"))

    assert verdict.choice == 0
    assert verdict.scores[0] == verdict.scores[1] > 0


@pytest.mark.parametrize("name", ["rouge_l", "ngram"])
@pytest.mark.parametrize(
    ("reference", "reason"), [(None, "no reference"), (" ", "no reference"), ("日本語", "no words")]
)
def test_without_a_usable_reference_there_is_no_verdict(name, reference, reason):
    verdict = judge(name, replace(ITEM, reference=reference))

    assert (verdict.choice, verdict.status) == (None, "unparsed")
    assert reason in verdict.reason


@given(st.text(), st.text(), st.text() | st.none(), st.sampled_from([0, 1]))
def test_heuristics_never_raise(a, b, reference, order):
    item = ItemView(1, "pairwise", "?", (a, b), reference=reference, order=order, external_id=a)
    for name, info in STRATEGIES.items():
        if not info.needs_model:
            verdict = judge(name, item)
            assert (verdict.status == "parsed") == (verdict.choice in {0, 1, 2})


@given(st.text(), st.text(), st.text())
def test_the_canonical_verdict_does_not_depend_on_the_order_where_it_is_said_not_to(a, b, reference):
    item = ItemView(1, "pairwise", "?", (a, b), reference=f"word {reference}")
    for name, info in STRATEGIES.items():
        if not info.needs_model and not info.order_matters:
            assert len(canonical(name, item)) == 1


WORDS = ("a", "b", "c", "d", "e", "ee", "the", "cat's", "Cat,", "x1", "é", "ß", "İ", "-", ".")
words = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


@cache
def scorer():
    from rouge_score.rouge_scorer import RougeScorer  # takes a second, of each worker that only collects

    return RougeScorer(["rougeL", "rouge1", "rouge2"], use_stemmer=False)


@given(words | st.text(), words | st.text())
def test_overlap_equals_that_of_the_rouge_score_package(candidate, reference):
    expected = scorer().score(reference, candidate)
    ours = tokens(candidate), tokens(reference)

    assert float(rouge_l_f(*ours)) == pytest.approx(expected["rougeL"].fmeasure, abs=1e-12)
    assert float(ngram_f(*ours)) == pytest.approx(
        (expected["rouge1"].fmeasure + expected["rouge2"].fmeasure) / 2, abs=1e-12
    )


@given(st.lists(st.sampled_from("abc"), max_size=80), st.lists(st.sampled_from("abc"), max_size=80))
def test_the_longest_common_subsequence_equals_the_textbook_one(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        previous = row
        row = [0]
        for j, y in enumerate(b):
            row.append(previous[j] + 1 if x == y else max(previous[j + 1], row[j]))

    assert lcs_length(a, b) == lcs_length(b, a) == row[-1]
