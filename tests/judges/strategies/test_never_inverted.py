"""Whatever a judge is made of and in whatever order it sees a pair: what it prefers is what it is said to prefer."""

from __future__ import annotations

from itertools import chain

import pytest

from judges.strategies.pairwise import choice_presented
from judges.strategies.registry import STRATEGIES
from judges.strategies.types import Answer, Chat, Request, TokenLogprob
from tests.cases import over
from tests.judges.strategies.feeding import ITEM, SWAPPED, judge, run

PROMPTED = [
    name
    for name, info in STRATEGIES.items()
    if (info.kind, info.requests, info.composed) == ("pairwise", frozenset({"chat"}), False)
    and info.needs_model
    and name != "published"  # which has a prompt of its own
]


def settings_of(name):
    """Every setting that can be ticked or chosen, one at a time, and probabilities in both orders."""
    params = STRATEGIES[name].params
    yield {}
    if STRATEGIES[name].check:  # its settings belong together, and to a prompt of one's own
        return
    for key, param in params.items():
        yield from ({key: value} for value in (param.choices or ((True,) if param.kind is bool else ())))
    if "probabilities" in params:
        yield {"probabilities": True, "both_orders": True}


CASES = list(chain.from_iterable(((name, params) for params in settings_of(name)) for name in PROMPTED))


def fan_of(favourite: str):
    """A model that prefers the response with this text wherever it is shown, with probability 0.8."""

    def answer(label: str, other: str) -> Answer:
        return Answer(label, logprobs=(TokenLogprob(label, -0.22, ((label, -0.22), (other, -1.6))),))

    def respond(request: Request) -> Answer:
        assert isinstance(request, Chat)
        text = "\n".join(content for _, content in request.messages)
        if "<output>" in text:
            is_good = favourite in text.rsplit("<output>", 1)[1].split("</output>")[0]
            score, other = ("4", "2") if is_good else ("2", "4")
            return answer(score, other) if request.choices else Answer(f"Hm.\nRating: {score}")
        if "<output_a>" not in text:
            return Answer("1. Is it prime?")
        first = text.rsplit("<output_a>", 1)[1].split("</output_a>")[0]
        label, other = ("A", "B") if favourite in first else ("B", "A")
        if request.json_schema:
            return Answer(f'{{"reasons": "Not {other}.", "verdict": "{label}"}}')
        if "[[" in text or "[RESULT]" in text:
            return Answer(f"Not {other}.\n{'[RESULT] ' + label if '[RESULT]' in text else f'[[{label}]]'}")
        return answer(label, other) if request.choices else Answer(f"Hm.\nVerdict: {label}")

    return respond


@over((*case, allow_tie) for case in CASES for allow_tie in (False, True))
def test_the_favourite_wins_in_both_orders(name, params, allow_tie):
    spec = judge(name, params=params, allow_tie=allow_tie)
    for wanted, favourite in enumerate(ITEM.responses, start=1):
        for item in (ITEM, SWAPPED):
            verdict, _ = run(spec, item, fan_of(favourite))

            assert verdict.choice is not None, verdict.reason
            assert choice_presented(verdict.choice, item.order) == wanted
            if verdict.probability is not None:
                of_first = verdict.probability if item.order == 0 else 1 - verdict.probability
                assert of_first == pytest.approx(0.8 if wanted == 1 else 0.2, abs=0.01)
            if verdict.scores is not None:
                assert (verdict.scores[0] > verdict.scores[1]) == (verdict.choice == 1)
