"""What the pairwise strategies share: the pair, its rendering and the presentation order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.prompts import Message, Prompt
from judges.strategies.types import Answer, Chat, ItemView, StrategyConfig, Verdict

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


def shown_reference(item: ItemView, config: StrategyConfig) -> str:
    """Return the reference that the judge shows, empty if it shows none; raises MissingReferenceError."""
    if not config.use_reference:
        return ""
    if item.reference is None or not item.reference.strip():
        raise MissingReferenceError(item_id=item.item_id, strategy=config.name)
    return item.reference


def step_prompt(config: StrategyConfig, step: str) -> Prompt:
    """Return the prompt of a further step; raises StrategyError if the configuration has none."""
    if step not in config.prompts:
        raise StrategyError(
            f"The strategy '{config.name}' needs a prompt for '{step}' and its configuration has none."
        )
    return config.prompts[step]


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
    prompt = prompt or config.prompt
    if prompt is None:
        raise StrategyError(f"The strategy '{config.name}' needs a prompt and its configuration has none.")
    values = {"instruction": item.instruction, **outputs, **texts}
    flags = {*extra_flags, *ask_flags(config), *texts}
    if config.allow_tie:
        flags.add("tie")
    if item.context:
        flags.add("context")
        values["context"] = item.context
    if config.guidelines.strip():
        flags.add("guidelines")
        values["guidelines"] = config.guidelines
    reference = shown_reference(item, config)
    if reference:
        flags.add("reference")
        values["reference"] = reference
    return prompt.render(values, frozenset(flags))


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


def was_cut_off(answer: Answer) -> bool:
    """Whether the token limit came before the end; under a constraint a text that is one of the choices is whole."""
    return answer.finish_reason == "length" and not answer.constrained


def both_texts(first: str, second: str) -> str:
    """Join the answers in the two orders into one raw text, the stored order first."""
    return f"[as stored]\n{first}\n\n[swapped]\n{second}"
