"""What the pairwise strategies share: the pair, its rendering, the presentation order, and one question about it.

A question is put in one order or in both, and read from the text or the probabilities. Asking in both orders and
averaging is the calibration of Wang et al., "Large Language Models are not Fair Evaluators", ACL 2024, and Zheng et
al., "Judging LLM-as-a-Judge", NeurIPS 2023 (section 3.4: a verdict that does not survive the swap is a tie). The
verdict's probability from the first answer token is that of AlpacaEval 2 (Dubois et al., 2024).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import render_item, shown_reference, step_prompt
from judges.strategies.parsing import read_choice, read_verdict_line, unparsed
from judges.strategies.probabilities import label_chances
from judges.strategies.prompts import Message, Prompt
from judges.strategies.records import record
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, Verdict, several, single

LABELS = ("A", "B")
LABELS_WITH_TIE = ("A", "B", "tie")
NO_TEXTS: Mapping[str, str] = {}
NO_CHANCES = "No log-probabilities of the verdict came with the answer; it was read from the text."

Render = Callable[[ItemView], tuple[Message, ...]]
Reader = Callable[[Answer, StrategyConfig], Verdict]


def labels(config: StrategyConfig) -> tuple[str, ...]:
    """Return the verdicts that the configuration allows, in the words the prompts use."""
    return LABELS_WITH_TIE if config.allow_tie else LABELS


def pair(item: ItemView) -> tuple[str, str]:
    """Return the responses shown as A and as B.

    Raises
    ------
    StrategyError
        The item has not exactly two responses.
    """
    if len(item.responses) != 2:
        raise StrategyError(f"Item {item.item_id} has {len(item.responses)} responses; a pair has two.")
    return item.responses[0], item.responses[1]


def choice_presented(canonical: int, order: int) -> int:
    """Map a choice in canonical order (0, 1, 2) to the presented order; it is its own inverse."""
    return 3 - canonical if order == 1 and canonical else canonical


def in_order(item: ItemView, order: int) -> ItemView:
    """Return the pair as it is presented in `order`, whatever order it is presented in now."""
    if item.order == order:
        return item
    pair(item)
    return replace(item, order=order, responses=item.responses[::-1], systems=item.systems[::-1])


def in_both_orders(item: ItemView) -> tuple[ItemView, ItemView]:
    """Return the pair as stored and swapped: the same two views from either."""
    return in_order(item, 0), in_order(item, 1)


def canonical_verdict(
    item: ItemView,
    choice: int,
    *,
    probability: float | None = None,
    raw_text: str = "",
    value: dict[str, Any] | None = None,
) -> Verdict:
    """Return a parsed verdict on an item from a choice, and a probability, in canonical order."""
    if probability is not None and item.order == 1:
        probability = 1.0 - probability
    choice = choice_presented(choice, item.order)
    return Verdict(choice, "parsed", raw_text=raw_text, probability=probability, value=value)


def ask_flags(config: StrategyConfig) -> tuple[str, ...]:
    """Return the flags that the judge's own settings raise in a prompt."""
    return ("rules",) if config.params.get("rules") else ()


def render_pair(
    item: ItemView,
    config: StrategyConfig,
    *extra_flags: str,
    prompt: Prompt | None = None,
    texts: Mapping[str, str] = NO_TEXTS,
) -> tuple[Message, ...]:
    """Render a prompt for a pair.

    Parameters
    ----------
    prompt : Prompt or None
        None: the configured main prompt.
    texts : mapping of str to str
        What the prompt shows beside the item's own texts; each raises the flag of its name.

    Raises
    ------
    StrategyError
        No prompt is configured, or the item is not a pair.
    MissingReferenceError
        The configuration shows the reference and the item has none.
    """
    output_a, output_b = pair(item)
    return render_outputs(
        item, config, {"output_a": output_a, "output_b": output_b}, *extra_flags, prompt=prompt, texts=texts
    )


def render_outputs(
    item: ItemView,
    config: StrategyConfig,
    outputs: Mapping[str, str],
    *extra_flags: str,
    prompt: Prompt | None = None,
    texts: Mapping[str, str] = NO_TEXTS,
) -> tuple[Message, ...]:
    """Render a prompt for an instruction with these outputs; as `render_pair`, for one output or two."""
    flags = (*extra_flags, *ask_flags(config), *texts)
    if config.allow_tie:
        flags = (*flags, "tie")
    # The order of the values is part of what marks a fence, and so of stored requests.
    values = {"instruction": item.instruction, **outputs, **texts}
    if item.context:
        values["context"] = item.context
    if config.guidelines and not config.guidelines.isspace():
        values["guidelines"] = config.guidelines
    return render_item(item, config, values, *flags, prompt=prompt)


def about_instruction(item: ItemView, config: StrategyConfig, step: str) -> Chat:
    """Ask about the instruction alone, by the prompt of a step, in preparation of a question about the pair.

    Nothing of the outputs, the reference or the judge's settings goes into it, so that it is the identical request in
    every strategy and in both presentation orders, and is sent once for all of them.

    Raises
    ------
    StrategyError
        The question about the pair could not be asked afterwards: found out before anything is spent.
    """
    pair(item)
    shown_reference(item, config)
    values = {"instruction": item.instruction} | ({"context": item.context} if item.context else {})
    return Chat(step_prompt(config, step).render(values, frozenset(values) & {"context"}))


def both_texts(first: str, second: str) -> str:
    """Join the answers in the two orders into one raw text, the stored order first."""
    return f"[as stored]\n{first}\n\n[swapped]\n{second}"


@record(frozen=True, slots=True)
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

    if config.params.get("both_orders"):
        asked = tuple(_ask(config, show(view), reasons=reasons) for view in in_both_orders(item))
        answers = several((yield asked))
        first, second = (_read(answer, config, reasons=reasons) for answer in answers)
        return _averaged(item, config, first, second)
    answer = single((yield _ask(config, show(item), reasons=reasons)))
    return _from_one(_read(answer, config, reasons=reasons))


def _ask(config: StrategyConfig, messages: tuple[Message, ...], *, reasons: bool) -> Chat:
    return Chat(messages) if reasons else ask_alone(config, messages)


def disagreement(first: Verdict, second: Verdict) -> tuple[int, int] | Verdict:
    """Return the choices of both orders, each in canonical order, or why they cannot be had, as a verdict."""
    text = both_texts(first.raw_text, second.raw_text)
    if first.choice is None:
        return unparsed(text, f"shown as stored: {first.reason}")
    if second.choice is None:
        return unparsed(text, f"shown swapped: {second.reason}")
    return first.choice, choice_presented(second.choice, 1)


def _read(answer: Answer, config: StrategyConfig, *, reasons: bool) -> ReadVerdict:
    if reasons:
        return ReadVerdict(read_last_line(answer, config))
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
