"""Ratings: each response alone, then compared."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.types import TokenLogprob
from tests.judges.strategies.feeding import ITEM, SWAPPED, asks, canonical, feed, judge, said, text_of, told


def rating(**params):
    return judge("rating", params=params)


def test_each_response_is_rated_alone_and_the_request_is_the_same_whatever_its_partner():
    first, second = asks(rating())
    other = replace(ITEM, responses=("Nine.", "Eleven."), external_id="other", order=1)

    assert "<output>\nSeven.\n</output>" in text_of(first)
    assert "Nine." not in text_of(first)
    assert asks(rating(), item=SWAPPED) == (second, first)
    assert asks(rating(), item=other)[0] == second
    assert first.choices == tuple("0123456789")
    assert not first.logprobs


@pytest.mark.parametrize("item", [ITEM, SWAPPED])
def test_the_higher_score_wins(item):
    verdict = feed(rating(), "Rating: 8", "**3**", item=item)

    assert (verdict.choice, verdict.scores, verdict.value) == (1, (8.0, 3.0), None)
    assert feed(rating(), "3", "8", item=item).choice == 2
    low, high = ("**3**", "Rating: 8") if item is SWAPPED else ("Rating: 8", "**3**")
    assert verdict.raw_text == f"[first response]\n{low}\n\n[second response]\n{high}"


@pytest.mark.parametrize("allow_tie", [False, True])
def test_equal_scores_are_a_hedge(allow_tie):
    verdict = feed(judge("rating", allow_tie=allow_tie), "5", "5")

    assert (verdict.choice, verdict.status, verdict.scores) == (0, "parsed", (5.0, 5.0))
    assert verdict.value == {"hedge": True}


@pytest.mark.parametrize("item", [ITEM, SWAPPED])
@pytest.mark.parametrize("bad", ["", "ten", "10", "7 or 8", "好", '{"rating": 11}', "<think>7"])
def test_what_is_no_rating_is_unparsed_and_says_whose(item, bad):
    verdict = feed(rating(), "7", bad, item=item)

    assert (verdict.choice, verdict.status, verdict.scores) == (None, "unparsed", None)
    assert verdict.reason.startswith("the second response: " if item is ITEM else "the first response: ")
    assert bad.removeprefix("<think>") in verdict.raw_text + verdict.thought


def test_reasons_first():
    assert asks(rating(cot=True))[0].choices == ()
    assert feed(rating(cot=True), "Right.\nRating: 8", "9 is no prime.\nRating: 2").choice == 1
    assert (
        feed(rating(cot=True), "Right.\nRating: 8", said("Rating: 2", finish_reason="length")).choice is None
    )


def test_a_truncated_number_counts_only_under_a_constraint():
    cut = said("7", finish_reason="length")

    assert feed(rating(), cut, "8").choice is None
    assert feed(rating(), replace(cut, constrained=True), "8").choice == 2


@pytest.mark.parametrize(
    ("scale", "labels", "wording"),
    [
        ("0-9", ("0", "9"), "from 0 to 9"),
        ("1-5", ("1", "5"), "3: it does the main part"),
        ("1-10", ("1", "10"), "from 1 to 10"),
    ],
)
def test_scales(scale, labels, wording):
    (first, _) = asks(rating(scale=scale))

    assert (first.choices[0], first.choices[-1]) == labels
    assert wording in text_of(first)


def test_rules_reference_and_context_are_shown():
    text = text_of(
        asks(judge("rating", use_reference=True, params={"rules": True}), item=replace(ITEM, context="Q"))[0]
    )

    assert "Rate by these rules" in text
    assert "<reference>\nFor example 7.\n</reference>" in text
    assert "<input>\nQ\n</input>" in text
    with pytest.raises(MissingReferenceError):
        asks(judge("rating", use_reference=True), item=replace(ITEM, reference=""))
    with pytest.raises(StrategyError, match="a pair has two"):
        asks(rating(), item=replace(ITEM, responses=()))


def scored(text: str, **chances: float):
    return told(text, **{name.strip("_"): log(p) if p else -9999.0 for name, p in chances.items()})


@pytest.mark.parametrize("item", [ITEM, SWAPPED])
def test_the_expected_score_is_the_mean_over_the_score_tokens(item):
    spec = rating(expected=True)
    verdict = feed(spec, scored("7", _7=0.4, _9=0.4, The=0.2), scored("8", _8=0.5, _0=0.0), item=item)

    assert asks(spec)[0].logprobs
    assert verdict.scores == (pytest.approx(8.0), pytest.approx(8.0))
    verdict = feed(spec, scored("7", _7=0.5, _9=0.5), scored("8", _8=0.9, _3=0.1), item=item)
    assert verdict.scores == (pytest.approx(8.0), pytest.approx(7.5))
    assert verdict.choice == 1
    assert verdict.value == {"ratings": [7, 8] if item is ITEM else [8, 7]}


def test_without_log_probabilities_both_scores_are_those_of_the_texts():
    verdict = feed(rating(expected=True), scored("7", _7=0.5, _9=0.5), "8")

    assert (verdict.choice, verdict.scores) == (2, (7.0, 8.0))
    assert "read from the texts" in verdict.value["note"]


def test_a_ten_in_two_tokens_does_not_pass_for_a_one():
    spec = rating(scale="1-10", expected=True)
    split = said("10", logprobs=(TokenLogprob("1", -0.1, (("1", -0.1),)), TokenLogprob("0", -0.1, ())))
    whole = scored("9", _9=0.5, _10=0.3, _1=0.2)

    assert feed(spec, split, whole).scores == (10.0, 9.0)
    assert feed(spec, scored("9", _9=0.5, _1=0.5), whole).scores == (9.0, 9.0)
    assert feed(spec, whole, scored("10", _10=0.5, _9=0.5)).scores == (pytest.approx(7.7), pytest.approx(9.5))
    assert feed(spec, scored("9", _9=0.5, _8=0.5), whole).scores == (pytest.approx(8.5), pytest.approx(7.7))


def test_the_expected_score_behind_reasons_is_read_at_the_last_line():
    tokens = ("Covers", " 5", " points.", "\n", "Rating:", " 5")
    logprobs = [TokenLogprob(token, -0.01, ((token, -0.01),)) for token in tokens]
    logprobs[-1] = TokenLogprob(" 5", log(0.5), ((" 5", log(0.5)), (" 9", log(0.5))))
    answer = said("".join(tokens), logprobs=tuple(logprobs))

    assert feed(rating(cot=True, expected=True), answer, answer).scores == (
        pytest.approx(7),
        pytest.approx(7),
    )


def test_canonical_scores_do_not_depend_on_the_order():
    by_output = {"Seven.": "8", "Nine.": "2"}
    here = feed(rating(), *(by_output[text] for text in ITEM.responses))
    there = feed(rating(), *(by_output[text] for text in SWAPPED.responses), item=SWAPPED)

    assert canonical(there, SWAPPED) == here
