"""What the pairwise strategies share: the pair, its rendering and the presentation order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import render_item, shown_reference, step_prompt
from judges.strategies.prompts import Message, Prompt
from judges.strategies.types import Chat, ItemView, StrategyConfig, Verdict

LABELS = ("A", "B")
LABELS_WITH_TIE = ("A", "B", "tie")
NO_TEXTS: Mapping[str, str] = {}


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


def presented(canonical: int, order: int) -> int:
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
    choice = presented(choice, item.order)
    return Verdict(choice, "parsed", raw_text=raw_text, probability=probability, value=value)


def ask_flags(config: StrategyConfig) -> tuple[str, ...]:
    """Return the flags that the judge's own settings raise in a prompt."""
    return ("rules",) if config.params.get("rules") else ()


def render(
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
    """Render a prompt for an instruction with these outputs; as `render`, for one output or two."""
    flags = (*extra_flags, *ask_flags(config), *texts, *(["tie"] if config.allow_tie else ()))
    # The order of the values is part of what marks a fence, and so of stored requests.
    values = {"instruction": item.instruction, **outputs, **texts}
    values |= {"context": item.context} if item.context else {}
    values |= {"guidelines": config.guidelines} if config.guidelines.strip() else {}
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
