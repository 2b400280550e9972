"""Few-shot judging: worked examples before the question.

Brown et al., "Language Models are Few-Shot Learners", NeurIPS 2020. Each example is a turn of the conversation, the
same question as the real one and its verdict as the answer. So an example is fenced as the real item is, and all items
share the beginning of their prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from judges.strategies.errors import StrategyError
from judges.strategies.pairwise import render, step_prompt
from judges.strategies.prompts import Message, Prompt
from judges.strategies.question import one_question
from judges.strategies.types import ItemView, Steps, StrategyConfig


def fewshot(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does after worked examples; ``params["cot"]``: reasons first, as the examples give them."""
    if not config.shots:
        raise StrategyError(
            f"The strategy '{config.name}' shows worked examples and its configuration has none."
        )
    reasons = bool(config.params.get("cot"))
    prompt = step_prompt(config, "cot") if reasons else config.prompt

    def show(view: ItemView) -> tuple[Message, ...]:
        return with_shots(render(view, config, prompt=prompt), config, prompt=prompt, reasons=reasons)

    return (yield from one_question(item, config, show, reasons=reasons))


def with_shots(
    messages: tuple[Message, ...],
    config: StrategyConfig,
    *,
    prompt: Prompt | None = None,
    reasons: bool = False,
) -> tuple[Message, ...]:
    """Put the configuration's worked examples before the last question, as turns of the same conversation.

    Parameters
    ----------
    messages : tuple of Message
        The rendered prompt; its last message is the question.
    prompt : Prompt or None
        What the messages were rendered from; None: the main prompt.
    reasons : bool
        Examples answer with their reason before the verdict's line.

    Raises
    ------
    StrategyError
        An example's verdict is a tie, and ties are not allowed.
    """
    turns = [turn for shot in config.shots for turn in _turns(shot, config, prompt, reasons=reasons)]
    return (*messages[:-1], *turns, messages[-1])


def _turns(
    shot: Mapping[str, str], config: StrategyConfig, prompt: Prompt | None, *, reasons: bool
) -> tuple[Message, Message]:
    if shot["verdict"] == "tie" and not config.allow_tie:
        raise StrategyError(f"An example of '{config.name}' is a tie, which this judge may not answer.")
    item = ItemView(
        item_id=0,
        kind="pairwise",
        instruction=shot["instruction"],
        responses=(shot["output_a"], shot["output_b"]),
        context=shot.get("context", ""),
    )
    # Examples have no reference of their own.
    question = render(item, replace(config, use_reference=False), prompt=prompt)[-1]
    answer = shot["verdict"]
    if reasons:
        answer = "\n\n".join(filter(None, (shot.get("reason", ""), f"Verdict: {shot['verdict']}")))
    return question, ("assistant", answer)
