"""Judges that read likelihoods, vectors and scores instead of answers; and contestants, which answer themselves."""

from __future__ import annotations

from judges.strategies.info import StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = ()
