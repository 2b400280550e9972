"""From a strategy's name to the function, its needs and its default prompts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import cast

from judges.strategies.catalog import ENTRIES
from judges.strategies.errors import UnknownStrategyError
from judges.strategies.info import Param, StrategyInfo
from judges.strategies.types import Strategy

__all__ = ["STRATEGIES", "Param", "StrategyInfo", "get_strategy", "strategy_info"]

STRATEGIES: Mapping[str, StrategyInfo] = MappingProxyType({info.name: info for info in ENTRIES})


def strategy_info(name: str) -> StrategyInfo:
    """Return what is known of the strategy `name`; raises UnknownStrategyError with the names there are."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(sorted(STRATEGIES))
        raise UnknownStrategyError(f"There is no strategy '{name}'. Known strategies: {known}.") from None


@cache
def get_strategy(name: str) -> Strategy:
    """Import and return the strategy function of that name."""
    module, _, attribute = strategy_info(name).target.partition(":")
    return cast("Strategy", getattr(import_module(module), attribute))
