"""Published prompts, run as they are."""

from __future__ import annotations

from judges.strategies.catalog.pairwise import READS
from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = (
    StrategyInfo(
        "published",
        "Published prompt",
        "judges.strategies.published:published",
        family="Published",
        source="LLMBar (Zeng et al., ICLR 2024) or AlpacaEval (Li et al., 2023), from your own copy",
        version=READS,
        takes=frozenset({"decoding"}),
        summary="Asks in the words of LLMBar's or AlpacaEval's files, imported from your copy of them.",
    ),
)
