"""The strategies that ask a model, fed with strings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.registry import STRATEGIES, get_strategy
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, Chat, ItemView, StrategyConfig, Verdict, several, single
from tests.judges.strategies.kinds_props import text_of
from tests.judges.strategies.replay import advance

ITEM = ItemView(
    item_id=17,
    kind="pairwise",
    instruction="Name a prime.",
    responses=("Seven.", "Nine."),
    reference="For example 7.",
)
ASKING = ["vanilla", "rules", "cot", "reference"]
PAIRWISE = [
    name
    for name, info in sorted(STRATEGIES.items())
    if info.kind == "pairwise" and not info.open_roles and not info.composed and not info.needs
]


def start(strategy, item=ITEM, **fields):
    spec = JudgeSpec(strategy=strategy, backend="openai", model="m", **fields)
    return build_strategy(spec)(item)


def asked(strategy, item=ITEM, **fields) -> Chat:
    request = advance(start(strategy, item, **fields), [])
    assert isinstance(request, Chat)
    return request


@pytest.mark.parametrize("strategy", ASKING)
def test_a_strategy_asks_once_and_reads_the_answer(strategy):
    answer = Answer(text="Both name a number.\nVerdict: B" if strategy == "cot" else "B")
    verdict = advance(start(strategy), [answer])

    assert verdict == Verdict(choice=2, status="parsed", raw_text=answer.text)


@pytest.mark.parametrize("strategy", ASKING)
def test_an_answer_without_a_verdict_is_kept_unparsed(strategy):
    verdict = advance(start(strategy), [Answer(text="Hard to say.")])

    assert (verdict.choice, verdict.status, verdict.raw_text) == (None, "unparsed", "Hard to say.")


@pytest.mark.parametrize("strategy", ASKING)
def test_the_same_answers_lead_to_the_same_requests(strategy):
    assert asked(strategy) == asked(strategy)


@pytest.mark.parametrize("strategy", ASKING)
def test_a_replay_with_foreign_answers_is_refused(strategy):
    with pytest.raises(ValueError, match="more answers"):
        advance(start(strategy), [Answer(text="A"), Answer(text="A")])


@pytest.mark.parametrize("strategy", ["vanilla", "rules", "reference"])
def test_choices_are_offered_to_the_backend(strategy):
    assert asked(strategy).choices == ("A", "B")
    assert asked(strategy, allow_tie=True).choices == ("A", "B", "tie")


def test_chain_of_thought_is_not_constrained():
    assert asked("cot").choices == ()


@pytest.mark.parametrize("strategy", ASKING)
def test_responses_are_shown_in_the_presented_order(strategy):
    text = text_of(asked(strategy))

    assert "<output_a>\nSeven.\n</output_a>" in text
    assert "<output_b>\nNine.\n</output_b>" in text
    assert text.index("Seven.") < text.index("Nine.")


@pytest.mark.parametrize("strategy", ASKING)
def test_ties_and_context_change_the_prompt_only_when_they_are_there(strategy):
    plain, tied = text_of(asked(strategy)), text_of(asked(strategy, allow_tie=True))

    assert "tie" not in plain
    assert "tie" in tied
    assert "<input>" not in plain
    assert "<input>\nBelow 10.\n</input>" in text_of(asked(strategy, replace(ITEM, context="Below 10.")))


@pytest.mark.parametrize("strategy", ["vanilla", "rules", "cot"])
def test_the_reference_is_shown_only_when_asked_for(strategy):
    assert "For example 7." not in text_of(asked(strategy))
    assert "For example 7." in text_of(asked(strategy, use_reference=True))


def test_the_reference_strategy_shows_it_always():
    assert "<reference>\nFor example 7.\n</reference>" in text_of(asked("reference"))


@pytest.mark.parametrize("missing", [None, "", " \n"])
def test_an_item_without_a_reference_is_an_error_that_names_it(missing):
    with pytest.raises(MissingReferenceError, match="Item 17 has no reference, and the strategy 'reference'"):
        advance(start("reference", replace(ITEM, reference=missing)), [])


def test_chain_of_thought_with_rules():
    assert "Judge by these rules" not in text_of(asked("cot"))
    assert "Judge by these rules" in text_of(asked("cot", params={"rules": True}))
    assert "Judge by these rules" in text_of(asked("rules"))


@pytest.mark.parametrize("strategy", [name for name in PAIRWISE if name != "published"])
def test_an_item_that_is_no_pair_is_an_error(strategy):
    with pytest.raises(StrategyError, match="Item 17 has 1 responses; a pair has two"):
        advance(start(strategy, replace(ITEM, responses=("Seven.",))), [])


def test_a_strategy_without_its_prompt_is_an_error():
    with pytest.raises(StrategyError, match="needs a prompt"):
        advance(get_strategy("vanilla")(ITEM, StrategyConfig(name="vanilla")), [])


def test_a_truncated_choice_counts_only_under_a_constraint():
    cut = Answer(text="B", finish_reason="length")

    assert advance(start("vanilla"), [cut]).choice is None
    assert advance(start("vanilla"), [replace(cut, constrained=True)]).choice == 2


def test_a_truncated_chain_of_thought_is_unparsed():
    assert advance(start("cot"), [Answer(text="Verdict: A", finish_reason="length")]).choice is None


def test_one_request_takes_one_answer_and_several_take_a_tuple():
    answer = Answer(text="A")

    assert single(answer) is answer
    assert several((answer,)) == (answer,)
    with pytest.raises(TypeError):
        single((answer,))
    with pytest.raises(TypeError):
        several(answer)
