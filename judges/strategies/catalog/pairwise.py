"""Ways of asking a model which of two responses is better."""

from __future__ import annotations

from judges.strategies.info import Param, StrategyInfo

ENTRIES = (
    StrategyInfo(
        "vanilla",
        "Vanilla",
        "judges.strategies.direct:vanilla",
        prompt="vanilla.v1",
        summary="Asks which response is better, and nothing else: the plainest and cheapest way.",
    ),
    StrategyInfo(
        "rules",
        "With rules",
        "judges.strategies.direct:rules",
        prompt="rules.v1",
        summary="Asks the same after rules of judging: following the instruction counts first, looks do not.",
    ),
    StrategyInfo(
        "cot",
        "Chain of thought",
        "judges.strategies.cot:cot",
        prompt="cot.v1",
        params={"rules": Param(bool, False, "Put the rules of judging before them.")},
        summary="The model gives its reasons first and its verdict last: slower, and dearer.",
    ),
    StrategyInfo(
        "reference",
        "With the human reference",
        "judges.strategies.direct:reference",
        needs_reference=True,
        prompt="reference.v1",
        summary="Shows the model a human-written answer beside the two responses.",
    ),
)
