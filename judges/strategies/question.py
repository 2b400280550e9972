"""One question about a pair: put in one order or in both, and read from the text or the probabilities.

Asking in both orders and averaging is the calibration of Wang et al., "Large Language Models are not Fair
Evaluators", ACL 2024, and Zheng et al., "Judging LLM-as-a-Judge", NeurIPS 2023 (section 3.4: a verdict that does
not survive the swap is a tie). The verdict's probability from the first answer token is that of AlpacaEval 2
(Dubois et al., 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from judges.strategies.pairwise import (
    both_texts,
    canonical_verdict,
    in_both_orders,
    labels,
    presented,
)
from judges.strategies.parsing import read_choice, read_verdict_line, unparsed
from judges.strategies.probabilities import label_chances
from judges.strategies.prompts import Message
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, Verdict, several, single

NO_CHANCES = "No log-probabilities of the verdict came with the answer; it was read from the text."

Render = Callable[[ItemView], tuple[Message, ...]]
Reader = Callable[[Answer, StrategyConfig], Verdict]


@dataclass(frozen=True, slots=True)
class ReadVerdict:
    """A verdict read from one answer, and the probability of each label where it was asked for and came."""

    verdict: Verdict
    chances: Mapping[str, float] | None = None


def read_alone(answer: Answer, config: StrategyConfig) -> Verdict:
    """Read a verdict that was asked for alone."""
    return read_choice(answer.text, allow_tie=config.allow_tie, cut_off=answer.cut_off)


def read_last_line(answer: Answer, config: StrategyConfig) -> Verdict:
    """Read a verdict that stands behind reasons."""
    return read_verdict_line(answer.text, allow_tie=config.allow_tie, finish_reason=answer.finish_reason)


def ask_alone(config: StrategyConfig, messages: tuple[Message, ...]) -> Chat:
    """Ask for the verdict alone."""
    return Chat(messages, choices=labels(config), logprobs=bool(config.params.get("probabilities")))


def one_question(item: ItemView, config: StrategyConfig, show: Render, *, reasons: bool = False) -> Steps:
    """Ask one question and read its verdict.

    Parameters
    ----------
    show : callable
        Renders the messages for the item as it is presented.
    reasons : bool
        The prompt asks for reasons first and the verdict on the last line. Without: the verdict alone.

    ``params["probabilities"]`` reads the verdict's probability (not behind reasons); ``params["both_orders"]`` asks
    in both presentation orders, the requests that it would make in each, and averages.
    """

    def ask(view: ItemView) -> Chat:
        return Chat(show(view)) if reasons else ask_alone(config, show(view))

    def read(answer: Answer) -> ReadVerdict:
        return ReadVerdict(read_last_line(answer, config)) if reasons else _read(answer, config)

    if config.params.get("both_orders"):
        answers = several((yield tuple(ask(view) for view in in_both_orders(item))))
        return _averaged(item, config, read(answers[0]), read(answers[1]))
    reading = read(single((yield ask(item))))
    return _from_one(reading)


def disagreement(first: Verdict, second: Verdict) -> tuple[int, int] | Verdict:
    """Return the choices of both orders, each in canonical order, or why they cannot be had, as a verdict."""
    text = both_texts(first.raw_text, second.raw_text)
    if first.choice is None:
        return unparsed(text, f"shown as stored: {first.reason}")
    if second.choice is None:
        return unparsed(text, f"shown swapped: {second.reason}")
    return first.choice, presented(second.choice, 1)


def _read(answer: Answer, config: StrategyConfig) -> ReadVerdict:
    verdict = read_alone(answer, config)
    if verdict.choice is None or not config.params.get("probabilities"):
        return ReadVerdict(verdict)
    said = ("tie", "A", "B")[verdict.choice]
    chances = label_chances(answer, labels(config), said)
    if chances is None:
        return ReadVerdict(replace(verdict, value={"note": NO_CHANCES}))
    return ReadVerdict(verdict, chances)


def _from_one(reading: ReadVerdict) -> Verdict:
    if reading.chances is None:
        return reading.verdict
    likeliest = _likeliest(reading.chances)
    # Equal chances leave it to what the model said.
    choice = reading.verdict.choice if likeliest is None else likeliest
    return replace(reading.verdict, choice=choice, probability=_first_better(reading.chances))


def _averaged(item: ItemView, config: StrategyConfig, first: ReadVerdict, second: ReadVerdict) -> Verdict:
    choices = disagreement(first.verdict, second.verdict)
    if isinstance(choices, Verdict):
        return choices
    text = both_texts(first.verdict.raw_text, second.verdict.raw_text)
    value: dict[str, Any] = {"orders": list(choices)}
    choice: int | None
    if first.chances is not None and second.chances is not None:
        swapped = {"A": second.chances["B"], "B": second.chances["A"], "tie": second.chances.get("tie", 0.0)}
        chances = {label: (first.chances[label] + swapped[label]) / 2 for label in first.chances}
        choice, probability = _likeliest(chances), _first_better(chances)
    else:
        choice, probability = (choices[0] if choices[0] == choices[1] else None), None
        if config.params.get("probabilities"):
            value["note"] = NO_CHANCES
    if choice is None:
        if not config.allow_tie:
            return unparsed(text, "the two orders contradict each other, and a tie was not allowed")
        choice = 0
    return canonical_verdict(item, choice, probability=probability, raw_text=text, value=value)


def _likeliest(chances: Mapping[str, float]) -> int | None:
    """Return the choice of the likeliest label; None where two share the first place."""
    highest = max(chances.values())
    first = [label for label, chance in chances.items() if chance == highest]
    return {"tie": 0, "A": 1, "B": 2}[first[0]] if len(first) == 1 else None


def _first_better(chances: Mapping[str, float]) -> float:
    return min(chances["A"] + chances.get("tie", 0.0) / 2, 1.0)
