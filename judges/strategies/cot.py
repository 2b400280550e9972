"""Chain of thought: reasons first, the verdict on the last line.

Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022; as a judge
that compares two outputs: Zeng et al. (LLMBar), ICLR 2024. The prompt is our own.
"""

from __future__ import annotations

from judges.strategies.pairwise import render
from judges.strategies.question import one_question
from judges.strategies.types import ItemView, Steps, StrategyConfig


def cot(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for reasons and then the verdict; ``params["rules"]`` puts the rules of judging before them."""
    return (yield from one_question(item, config, lambda view: render(view, config), reasons=True))
