"""Judges made of other judges."""

from __future__ import annotations

from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = ()
