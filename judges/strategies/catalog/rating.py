"""Judges that score each response alone."""

from __future__ import annotations

from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = ()
