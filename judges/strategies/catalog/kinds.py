"""Judges of rubrics, checklists and importance."""

from __future__ import annotations

from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = ()
