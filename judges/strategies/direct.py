"""One question, one verdict: vanilla, with rules, with the human reference.

Vanilla and Rules: Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following"
(LLMBar), ICLR 2024. The human-written reference as context: Lyu et al., "HREF: Human Response-Guided
Evaluation of Instruction Following in Language Models", 2024. The prompts are our own.
"""

from __future__ import annotations

from dataclasses import replace

from judges.strategies.pairwise import labels, render
from judges.strategies.parsing import read_choice
from judges.strategies.types import Chat, ItemView, Steps, StrategyConfig, single


def vanilla(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask which response is better and for nothing else."""
    answer = single((yield Chat(render(item, config), choices=labels(config))))
    # Under a constraint the text is complete once it is one of the choices, even at the token limit.
    cut_off = answer.finish_reason == "length" and not answer.constrained
    return read_choice(answer.text, allow_tie=config.allow_tie, cut_off=cut_off)


def rules(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, after rules that say what counts. The rules stand in the prompt."""
    return (yield from vanilla(item, config))


def reference(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, with the human-written reference shown; an item without one is an error."""
    return (yield from vanilla(item, replace(config, use_reference=True)))
