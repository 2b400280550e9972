"""Reward and preference models, fed with logits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judges.strategies.errors import SpecError, StrategyError
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, Classify, ItemView
from tests.judges.strategies.replay import advance

ITEM = ItemView(17, "pairwise", "Name a prime.", ("Seven.", "It says {b}."), context="Below 10.")
ASKED = ("user", "Name a prime.\n\nBelow 10.")


def judged(strategy, *outputs, item=ITEM, allow_tie=False, **params):
    spec = JudgeSpec(strategy=strategy, backend="transformers", model="m", params=params, allow_tie=allow_tie)
    answers = tuple(Answer(text="", scores=scores) for scores in outputs)
    given_answers = [answers if strategy == "reward" else answers[0]] if answers else []
    return advance(build_strategy(spec)(item), given_answers)


def rewarded(*outputs, **fields):
    return judged("reward", *outputs, **fields)


def classified(*outputs, **fields):
    return judged("preference_classifier", *outputs, **fields)


class TestReward:
    def test_both_conversations_are_classified_at_once(self):
        assert rewarded() == (
            Classify((ASKED, ("assistant", "Seven."))),
            Classify((ASKED, ("assistant", "It says {b}."))),
        )

    def test_the_turns_before_come_first(self):
        turns = (("user", "Hello."), ("assistant", "Yes?"))
        assert rewarded(item=replace(ITEM, conversation=turns))[0].messages[:2] == turns

    def test_the_higher_reward_wins_with_the_probability_of_bradley_and_terry(self):
        verdict = rewarded((2.0,), (1.0,))
        assert (verdict.choice, verdict.scores) == (1, (2.0, 1.0))
        assert verdict.probability == pytest.approx(1 / (1 + math.exp(-1)))

    def test_equal_rewards_are_a_hedge(self):
        verdict = rewarded((1.5,), (1.5,))
        assert (verdict.choice, verdict.probability) == (0, 0.5)

    @example(1.7e308, -1.7e308)
    @example(-1.7e308, 1.7e308)
    @settings(deadline=None)
    @given(st.floats(-1e308, 1e308), st.floats(-1e308, 1e308))
    def test_probabilities_are_probabilities(self, a, b):
        verdict = rewarded((a,), (b,))
        assert 0 <= verdict.probability <= 1
        assert verdict.choice == (0 if a == b else 1 if a > b else 2)

    @pytest.mark.parametrize(
        ("outputs", "reason"),
        [
            (((1.0,), None), "expected one score, as of a reward model, found 0"),
            (((1.0,), ()), "found 0"),
            (((1.0, 2.0), (1.0, 2.0)), "found 2"),
            (((1.0,), (math.nan,)), "not finite"),
        ],
    )
    def test_what_is_no_reward_is_unparsed(self, outputs, reason):
        verdict = rewarded(*outputs)
        assert (verdict.choice, verdict.status) == (None, "unparsed")
        assert reason in verdict.reason


class TestPreferenceClassifier:
    def test_it_reads_one_text_with_both_responses(self):
        asked = classified()
        assert asked.text == "Name a prime.\n\nBelow 10.\n\nResponse A:\nSeven.\n\nResponse B:\nIt says {b}."
        assert (asked.messages, asked.text_pair) == ((), "")

    def test_or_two_texts_in_the_words_of_its_training(self):
        asked = classified(text="<q>{question}<a>{a}", text_pair="<b>{b}")
        assert asked.text == "<q>Name a prime.\n\nBelow 10.<a>Seven."
        assert asked.text_pair == "<b>It says {b}."

    def test_two_outputs(self):
        verdict = classified((2.0, 1.0))
        assert verdict.choice == 1
        assert verdict.probability == pytest.approx(1 / (1 + math.exp(-1)))
        assert classified((2.0, 1.0), classes="B, A").choice == 2
        assert classified((1.0, 1.0)).choice == 0

    def test_one_output_is_the_log_odds_of_the_first(self):
        verdict = classified((-0.5,))
        assert (verdict.choice, verdict.probability) == (2, pytest.approx(1 / (1 + math.exp(0.5))))
        assert classified((-0.5,), classes="B, A").choice == 1

    def test_three_outputs(self):
        logits = (0.5, 1.0, 3.0)
        verdict = classified(logits, classes="A, B, tie", allow_tie=True)
        chances = [math.exp(logit) / sum(map(math.exp, logits)) for logit in logits]
        assert verdict.choice == 0
        assert verdict.probability == pytest.approx(chances[0] + chances[2] / 2)
        assert verdict.value == {"tie_probability": pytest.approx(chances[2])}
        assert classified((0.5, 4.0, 3.0), classes="A, B, tie", allow_tie=True).choice == 2

    def test_a_tie_that_is_not_allowed_goes_to_the_likelier_of_the_two(self):
        assert classified((0.5, 1.0, 3.0), classes="A, B, tie").choice == 2

    @pytest.mark.parametrize(
        ("outputs", "reason"),
        [(None, "found 0"), ((1.0, 2.0, 3.0), "found 3"), ((1.0, math.inf), "not finite")],
    )
    def test_other_outputs_are_unparsed(self, outputs, reason):
        verdict = classified(outputs)
        assert (verdict.choice, verdict.status) == (None, "unparsed")
        assert reason in verdict.reason

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"text": "{question} {a}"}, r"hold no \{b\}"),
        ],
    )
    def test_settings_that_make_no_sense_are_an_error(self, params, message):
        with pytest.raises(StrategyError, match=message):
            classified(**params)

    @pytest.mark.parametrize("classes", ["A, C", "A, A, B", "A", ""])
    def test_classes_are_a_b_and_perhaps_tie(self, classes):
        with pytest.raises(SpecError, match=r"params\.classes"):
            classified(classes=classes)
