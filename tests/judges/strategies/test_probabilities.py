"""Verdicts from probabilities, and questions in both orders."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.probabilities import label_chances
from judges.strategies.types import Answer, TokenLogprob
from tests.judges.strategies.feeding import ITEM, SWAPPED, asks, canonical, feed, judge, said, told

AB = ("A", "B")
ABT = ("A", "B", "tie")
FORBIDDEN = -9999.0
UNLISTED = Answer("A", logprobs=(TokenLogprob("A", math.log(0.5), (("B", math.log(0.5)),)),))


def tokens(*pieces: str | tuple[str, dict[str, float]]) -> Answer:
    """Return an answer of these tokens; each may have the probabilities of its place."""
    logprobs = []
    for piece in pieces:
        token, chances = piece if isinstance(piece, tuple) else (piece, {piece: 1.0})
        top = tuple((each, math.log(p) if p else FORBIDDEN) for each, p in chances.items())
        logprobs.append(TokenLogprob(token, dict(top).get(token, -0.1), top))
    return Answer(text="".join(each.token for each in logprobs), logprobs=tuple(logprobs))


@pytest.mark.parametrize(
    ("answer", "labels", "label", "chances"),
    [
        (tokens(("A", {"A": 0.6, "B": 0.2})), AB, "A", {"A": 0.75, "B": 0.25}),
        (tokens(("A", {"A": 0.3, " A": 0.3, "(A": 0.1, "B": 0.1, "The": 0.2})), AB, "A", {"A": 0.875, "B": 0.125}),
        (tokens(("A", {"A": 1.0, "B": 0.0})), AB, "A", {"A": 1, "B": 0}),
        (tokens(("A", {"A": 0.9})), AB, "A", {"A": 1, "B": 0}),
        (tokens("\n", ("B", {"A": 0.25, "B": 0.75})), AB, "B", {"A": 0.25, "B": 0.75}),
        (tokens("(", ("B", {"A": 0.25, "B": 0.75}), ")"), AB, "B", {"A": 0.25, "B": 0.75}),
        (tokens("▁", ("▁B", {"▁A": 0.25, "▁B": 0.75})), AB, "B", {"A": 0.25, "B": 0.75}),
        (tokens("Answer", ":", (" B", {" A": 0.25, " B": 0.75})), AB, "B", {"A": 0.25, "B": 0.75}),
        (tokens("A", "nswer", ":", (" A", {" A": 0.5, " B": 0.5})), AB, "A", {"A": 0.5, "B": 0.5}),
        (tokens('{"', "choice", '":', (' "A', {' "A': 0.5, ' "B': 0.5}), '"}'), AB, "A", {"A": 0.5, "B": 0.5}),
        # A label that is split, and one that could be the article.
        (tokens(("t", {"A": 0.2, "B": 0.2, "t": 0.6}), "ie"), ABT, "tie", {"A": 0.2, "B": 0.2, "tie": 0.6}),
        (tokens(("A", {"A": 0.5, "Tie": 0.3, "ti": 0.2})), ABT, "A", {"A": 0.5, "B": 0.0, "tie": 0.5}),
        (tokens("a", (" tie", {" tie": 1.0})), ABT, "tie", {"A": 0, "B": 0, "tie": 1}),
        # The generated token counts once, also where the list leaves it out.
        (UNLISTED, AB, "A", {"A": 0.5, "B": 0.5}),
    ],
)  # fmt: skip
def test_the_chances_are_those_at_the_token_that_says_it(answer, labels, label, chances):
    found = label_chances(answer, labels, label)

    assert found == pytest.approx({"tie": 0.0} | chances if "tie" in labels else chances)
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("A"),
        Answer("A", logprobs=()),
        tokens("AB"),
        tokens("A", "B"),
        tokens("b"),
        Answer("A", logprobs=(TokenLogprob("A", FORBIDDEN, ()),)),
    ],
)
def test_without_a_token_for_the_label_there_are_no_chances(answer):
    assert label_chances(answer, AB, "A") is None


def test_the_last_place_is_taken_behind_reasons():
    answer = tokens(
        ("A", {"A": 0.9, "B": 0.1}), " is long.", "\n", "Verdict:", (" A", {" A": 0.6, " B": 0.4})
    )

    assert label_chances(answer, AB, "A")["A"] == pytest.approx(0.9)
    assert label_chances(answer, AB, "A", last=True)["A"] == pytest.approx(0.6)


rivals = st.lists(
    st.tuples(
        st.sampled_from([*"AB", " A", "(B", "t", "tie", "the", "x", ""]) | st.text(), st.floats(-50, 1)
    ),
    max_size=8,
)
logprobs = st.lists(
    st.builds(
        TokenLogprob,
        st.sampled_from([*"AB", " A", "tie", "ti", "e", "\n", "</think>"]) | st.text(),
        st.floats(-10_000, 0),
        rivals.map(tuple),
    ),
    max_size=5,
)


@given(logprobs, st.sampled_from(ABT), st.booleans())
def test_chances_are_probabilities_or_unknown(given_tokens, label, last):
    found = label_chances(Answer("", logprobs=tuple(given_tokens)), ABT, label, last=last)

    assert found is None or (
        set(found) == set(ABT)
        and all(0 <= p <= 1 for p in found.values())
        and math.isclose(sum(found.values()), 1)
    )


# --- judges -------------------------------------------------------------------------------------------------

ONE = ["vanilla", "rules", "reference", "guidelines", "fewshot"]
LOG = math.log


@pytest.mark.parametrize("strategy", ONE)
def test_a_verdict_carries_its_probability(strategy):
    spec = judge(strategy, params={"probabilities": True})
    verdict = feed(spec, told("B", A=LOG(0.2), B=LOG(0.6)))

    assert asks(spec)[0].logprobs
    assert not asks(judge(strategy))[0].logprobs
    assert (verdict.choice, verdict.status) == (2, "parsed")
    assert verdict.probability == pytest.approx(0.25)
    assert verdict.value is None


def test_what_is_likelier_is_chosen_and_a_tie_counts_half():
    spec = judge("vanilla", allow_tie=True, params={"probabilities": True})

    sampled = feed(spec, told("B", A=LOG(0.5), B=LOG(0.3), tie=LOG(0.2)))
    assert (sampled.choice, sampled.probability) == (1, pytest.approx(0.6))
    tied = feed(spec, told("A", A=LOG(0.3), B=LOG(0.2), tie=LOG(0.5)))
    assert (tied.choice, tied.probability) == (0, pytest.approx(0.55))
    even = feed(spec, told("B", A=LOG(0.5), B=LOG(0.5)))
    assert (even.choice, even.probability) == (2, pytest.approx(0.5))


def test_without_log_probabilities_the_text_counts_and_that_is_said():
    verdict = feed(judge("vanilla", params={"probabilities": True}), "B")

    assert (verdict.choice, verdict.probability) == (2, None)
    assert "read from the text" in verdict.value["note"]


def test_probabilities_make_no_verdict_of_what_is_none():
    verdict = feed(judge("vanilla", params={"probabilities": True}), told("Both", Both=-0.1, A=-3.0, B=-4.0))

    assert (verdict.choice, verdict.status, verdict.probability) == (None, "unparsed", None)


# --- both orders --------------------------------------------------------------------------------------------

BOTH = {"both_orders": True}


@pytest.mark.parametrize("strategy", [*ONE, "cot"])
def test_both_orders_ask_what_the_plain_judge_asks_in_each(strategy):
    plain = asks(judge(strategy))[0], asks(judge(strategy), item=SWAPPED)[0]

    assert asks(judge(strategy, params=BOTH)) == plain
    assert asks(judge(strategy, params=BOTH), item=SWAPPED) == plain


@pytest.mark.parametrize(
    ("allow_tie", "first", "second", "choice", "reason"),
    [
        (False, "A", "B", 1, ""),
        (False, "B", "A", 2, ""),
        (False, "A", "A", None, "contradict"),
        (True, "A", "A", 0, ""),
        (True, "tie", "tie", 0, ""),
        (True, "A", "tie", 0, ""),
        (True, "A", "B", 1, ""),
        (False, "A", "tie", None, "shown swapped: a tie"),
        (True, "", "A", None, "shown as stored: empty"),
    ],
)
@pytest.mark.parametrize("item", [ITEM, SWAPPED])
def test_agreement_counts_and_contradiction_is_a_tie_or_nothing(
    item, allow_tie, first, second, choice, reason
):
    verdict = canonical(
        feed(judge("vanilla", params=BOTH, allow_tie=allow_tie), first, second, item=item), item
    )

    assert verdict.choice == choice
    assert reason in verdict.reason
    assert verdict.raw_text == f"[as stored]\n{first}\n\n[swapped]\n{second}"


@pytest.mark.parametrize("item", [ITEM, SWAPPED])
def test_probabilities_of_both_orders_are_averaged(item):
    spec = judge("vanilla", params=BOTH | {"probabilities": True})
    answers = told("A", A=LOG(0.9), B=LOG(0.1)), told("A", A=LOG(0.6), B=LOG(0.4))
    verdict = canonical(feed(spec, *answers, item=item), item)

    # Both times the one shown first: 0.9 for the first response, then 0.4.
    assert (verdict.choice, verdict.probability) == (1, pytest.approx(0.65))
    assert verdict.value == {"orders": [1, 2]}


@pytest.mark.parametrize(("allow_tie", "choice"), [(True, 0), (False, None)])
def test_orders_that_balance_exactly_prefer_neither(allow_tie, choice):
    spec = judge("vanilla", params=BOTH | {"probabilities": True}, allow_tie=allow_tie)
    answer = told("A", A=LOG(0.75), B=LOG(0.25))

    assert feed(spec, answer, answer).choice == choice


def test_one_order_without_log_probabilities_leaves_it_to_the_texts():
    spec = judge("vanilla", params=BOTH | {"probabilities": True})
    verdict = feed(spec, told("A", A=LOG(0.9), B=LOG(0.1)), said("B"))

    assert (verdict.choice, verdict.probability) == (1, None)
    assert "read from the text" in verdict.value["note"]
