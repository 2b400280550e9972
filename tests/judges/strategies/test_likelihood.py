"""Judges that read log-likelihoods, fed with numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.strategies.errors import MissingReferenceError, SpecError, StrategyError
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, ItemView, Score
from tests.judges.strategies.replay import advance

PAIR = ItemView(
    item_id=17,
    kind="pairwise",
    instruction="Name a prime.",
    context="Below 10.",
    responses=("Seven.", "It is nine."),
    reference="7",
    systems=("small", "org/large"),
)
QUESTION = ItemView(
    item_id=18, kind="answer_ranking", instruction="Why?", responses=("ab", "abcd", "abcdefgh")
)
MODEL = {"backend": "openai", "model": "m"}
ROLES = {"small": MODEL, "org/large": MODEL | {"model": "n"}}


def answer(logprob, tokens=1):
    return Answer(text="", logprob=logprob, completion_tokens=tokens)


def start(strategy, item, **fields):
    return build_strategy(JudgeSpec.from_dict({"strategy": strategy, **MODEL, **fields}))(item)


def perplexity(*answers, item=PAIR, **fields):
    return advance(start("perplexity_reference", item, roles=ROLES, **fields), [answers] if answers else [])


class TestPerplexityOfTheReference:
    def test_each_system_scores_the_reference_after_the_same_conversation(self):
        messages = (("user", "Name a prime.\n\nBelow 10."),)
        assert perplexity() == (
            Score(messages, "7", role="small"),
            Score(messages, "7", role="org/large"),
        )

    def test_the_turns_before_come_first(self):
        turns = (("user", "Hello."), ("assistant", "Yes?"))
        asked = perplexity(item=replace(PAIR, conversation=turns))
        assert asked[0].messages == (*turns, ("user", "Name a prime.\n\nBelow 10."))

    def test_turns_that_stand_in_the_context_too_are_not_said_twice(self):
        turns = (("user", "Hello."), ("assistant", "Yes?"))
        text = "User: Hello.\n\nAssistant: Yes?"
        for context, said in (
            (f"{text}\n\nBelow 10.", "Name a prime.\n\nBelow 10."),
            (text, "Name a prime."),
        ):
            item = replace(PAIR, conversation=turns, context=context)
            assert perplexity(item=item)[0].messages == (*turns, ("user", said))
            (plain, _) = advance(start("loglikelihood", item), [])
            assert plain.prefix == f"{text}\n\nQuestion: {said}\nAnswer:"

    def test_the_lower_perplexity_wins(self):
        # Sums of -6 over 3 tokens and -4 over 1: perplexities e^2 and e^4.
        verdict = perplexity(answer(-6.0, 3), answer(-4.0, 1))
        assert (verdict.choice, verdict.scores) == (1, (-2.0, -4.0))
        assert verdict.value == {"loglikelihoods": [-6.0, -4.0], "tokens": [3, 1]}
        assert "org/large: log-likelihood -4.0 over 1 tokens" in verdict.raw_text

    def test_it_may_be_divided_by_characters_or_not_at_all(self):
        answers = answer(-6.0, 3), answer(-4.0, 1)
        assert perplexity(*answers, params={"normalise": "none"}).scores == (-6.0, -4.0)
        item = replace(PAIR, reference="seven7")
        assert perplexity(*answers, item=item, params={"normalise": "character"}).scores == (-1.0, -4 / 6)
        with pytest.raises(SpecError, match="normalise"):
            perplexity(params={"normalise": "words"})

    @settings(deadline=None)
    @given(st.floats(-1e6, 0), st.floats(-1e6, 0), st.integers(1, 99), st.integers(1, 99))
    def test_only_equal_values_are_a_tie(self, a, b, m, n):
        verdict = perplexity(answer(a, m), answer(b, n))
        assert (verdict.choice == 0) == (a / m == b / n)
        assert verdict.choice == (0 if a / m == b / n else 1 if a / m > b / n else 2)

    def test_the_canonical_verdict_does_not_depend_on_the_order(self):
        swapped = replace(PAIR, responses=PAIR.responses[::-1], systems=PAIR.systems[::-1], order=1)
        requests = perplexity(item=swapped)
        assert [request.role for request in requests] == ["org/large", "small"]
        verdict = perplexity(answer(-4.0, 1), answer(-6.0, 3), item=swapped)
        assert (verdict.choice, verdict.scores) == (2, (-4.0, -2.0))
        assert verdict.value == {"loglikelihoods": [-6.0, -4.0], "tokens": [3, 1]}

    @pytest.mark.parametrize("missing", [None, "", " \n"])
    def test_without_a_reference_there_is_nothing_to_score(self, missing):
        with pytest.raises(MissingReferenceError, match="Item 17"):
            perplexity(item=replace(PAIR, reference=missing))

    def test_a_system_without_a_model_is_named_with_those_there_are(self):
        item = replace(PAIR, systems=("small", "other"))
        with pytest.raises(StrategyError, match=r"'other'.*it has models for: org/large, small\."):
            perplexity(item=item)

    def test_an_item_that_names_no_systems_is_an_error(self):
        with pytest.raises(StrategyError, match="which systems"):
            perplexity(item=replace(PAIR, systems=()))

    def test_a_judge_without_models_cannot_be_built(self):
        with pytest.raises(SpecError, match="name them"):
            start("perplexity_reference", PAIR)

    @pytest.mark.parametrize(
        "bad", [answer(None, 3), answer(math.nan, 3), answer(-math.inf, 3), answer(-1.0, 0)]
    )
    def test_what_is_no_likelihood_is_unparsed(self, bad):
        verdict = perplexity(answer(-6.0, 3), bad)
        assert (verdict.choice, verdict.status) == (None, "unparsed")
        assert verdict.reason == "the backend gave no log-likelihood"


def ranking(*answers, item=QUESTION, **params):
    return advance(start("loglikelihood_ranking", item, params=params), [answers] if answers else [])


class TestRanking:
    def test_the_published_form_is_raw_text(self):
        asked = ranking()
        assert asked == tuple(
            Score((), f" {text}", prefix="Question: Why?\nAnswer:") for text in QUESTION.responses
        )

    def test_or_the_chat_template(self):
        assert ranking(template="chat")[1] == Score((("user", "Why?"),), "abcd")

    def test_likelihoods_are_divided_by_characters(self):
        verdict = ranking(answer(-4.0, 1), answer(-4.0, 2), answer(-24.0, 3))
        assert (verdict.choice, verdict.status) == (None, "parsed")
        assert verdict.value == {
            "ranks": {"0": 2, "1": 1, "2": 3},
            "loglikelihoods": {"0": -4.0, "1": -4.0, "2": -24.0},
            "normalised": {"0": -2.0, "1": -1.0, "2": -3.0},
        }

    def test_or_by_tokens_or_not(self):
        answers = answer(-4.0, 1), answer(-4.0, 2), answer(-24.0, 12)
        assert ranking(*answers, normalise="token").value["ranks"] == {"0": 2, "1": 1, "2": 1}
        assert ranking(*answers, normalise="none").value["ranks"] == {"0": 1, "1": 1, "2": 2}

    def test_places_are_canonical_in_the_other_order_too(self):
        swapped = replace(QUESTION, responses=QUESTION.responses[::-1], order=1)
        here = ranking(answer(-4.0), answer(-4.0), answer(-24.0))
        there = ranking(answer(-24.0), answer(-4.0), answer(-4.0), item=swapped)
        assert here.value == there.value

    def test_one_answer_without_a_likelihood_leaves_it_unparsed(self):
        verdict = ranking(answer(-4.0), answer(None), answer(-24.0))
        assert (verdict.status, verdict.reason) == ("unparsed", "the backend gave no log-likelihood")

    def test_an_empty_answer_has_none(self):
        verdict = ranking(item=replace(QUESTION, responses=("a", " ", "")))
        assert (verdict.status, verdict.reason) == ("unparsed", "response 2, 3 is empty")

    def test_one_answer_is_no_ranking(self):
        with pytest.raises(StrategyError, match="two or more"):
            ranking(item=replace(QUESTION, responses=("a",)))


class TestPairs:
    def test_the_likelier_response_wins(self):
        steps = start("loglikelihood", PAIR)
        asked = advance(steps, [])
        assert asked[0] == Score((), " Seven.", prefix="Question: Name a prime.\n\nBelow 10.\nAnswer:")
        verdict = advance(start("loglikelihood", PAIR), [(answer(-12.0, 2), answer(-11.0, 3))])
        assert (verdict.choice, verdict.scores) == (2, (-2.0, -1.0))
        assert verdict.probability is None

    def test_equal_values_are_a_tie(self):
        item = replace(PAIR, responses=("same", "same"))
        assert advance(start("loglikelihood", item), [(answer(-3.0), answer(-3.0))]).choice == 0
