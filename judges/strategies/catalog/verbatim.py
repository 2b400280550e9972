"""Published prompts, run as they are."""

from __future__ import annotations

from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = ()
