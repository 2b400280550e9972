"""Chain of thought: reasons first, the verdict on the last line.

Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022; as a judge
that compares two outputs: Zeng et al. (LLMBar), ICLR 2024. The prompt is our own.
"""

from __future__ import annotations

from judges.strategies.pairwise import render
from judges.strategies.parsing import read_verdict_line
from judges.strategies.types import Chat, ItemView, Steps, StrategyConfig, single


def cot(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for reasons and then the verdict; ``params["rules"]`` puts the rules of judging before them."""
    flags = ("rules",) if config.params.get("rules") else ()
    answer = single((yield Chat(render(item, config, *flags))))
    return read_verdict_line(answer.text, allow_tie=config.allow_tie, finish_reason=answer.finish_reason)
