"""One question, one verdict: vanilla, with rules, with the human reference, by the annotators' guidelines.

Vanilla and Rules: Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following"
(LLMBar), ICLR 2024. The human-written reference as context: Lyu et al., "HREF: Human Response-Guided
Evaluation of Instruction Following in Language Models", 2024. The prompts are our own.
"""

from __future__ import annotations

from dataclasses import replace

from judges.strategies.errors import StrategyError
from judges.strategies.fewshot import with_shots
from judges.strategies.pairwise import render
from judges.strategies.question import one_question
from judges.strategies.types import ItemView, Steps, StrategyConfig


def vanilla(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask which response is better and for nothing else."""
    return (yield from one_question(item, config, lambda view: render(view, config)))


def rules(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, after rules that say what counts."""
    return (yield from one_question(item, config, lambda view: render(view, config, "rules")))


def reference(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask as vanilla does, with the human-written reference shown; an item without one is an error."""
    return (yield from vanilla(item, replace(config, use_reference=True)))


def guidelines(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask by the guidelines that the annotators follow, after their worked examples if there are any."""
    if not config.guidelines.strip():
        raise StrategyError(
            f"The strategy '{config.name}' works by guidelines and its configuration has none."
        )
    return (yield from one_question(item, config, lambda view: with_shots(render(view, config), config)))
