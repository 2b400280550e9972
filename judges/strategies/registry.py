"""From a strategy's name to the function, its needs and its default prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import cast

from judges.strategies.errors import UnknownStrategyError
from judges.strategies.types import Strategy


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """What is known of a strategy without importing it.

    Attributes
    ----------
    target : str
        ``"module:function"``, imported when first used.
    needs_model : bool
        False for heuristics: they yield no request, so the spec's backend, model and decoding do not matter.
    needs_reference : bool
        Reads the human-written reference whatever ``use_reference`` says.
    prompt : str
        Name of the default prompt, such as ``"vanilla.v1"``; empty when it has none.
    params : mapping of str to (type, default)
        The strategy's own settings. Others are refused.
    order_matters : bool
        False when the canonical verdict cannot depend on the presentation order.
    version : int
        Raised when the code asks or reads differently, so that a judge's fingerprint changes with it.
    summary : str
        What it is, for whoever chooses it: a sentence or two.
    """

    name: str
    title: str
    target: str
    kind: str = "pairwise"
    needs_model: bool = True
    needs_reference: bool = False
    prompt: str = ""
    params: Mapping[str, tuple[type, object]] = field(default_factory=dict)
    order_matters: bool = True
    version: int = 1
    summary: str = ""


_NO_PARAMS: Mapping[str, tuple[type, object]] = MappingProxyType({})


def _heuristic(
    name: str,
    title: str,
    summary: str,
    *,
    needs_reference: bool = False,
    params: Mapping[str, tuple[type, object]] = _NO_PARAMS,
    order_matters: bool = False,
) -> StrategyInfo:
    return StrategyInfo(
        name=name,
        title=title,
        target=f"judges.strategies.heuristics:{name}",
        needs_model=False,
        needs_reference=needs_reference,
        params=params,
        order_matters=order_matters,
        summary=summary,
    )


_ALL = (
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
        params={"rules": (bool, False)},
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
    _heuristic("longest", "Longer response", "Prefers more characters: how far length alone gets."),
    _heuristic("shortest", "Shorter response", "Prefers fewer characters."),
    _heuristic(
        "always_a",
        "Always the first shown",
        "Prefers what is shown first: what a judge scores that reads nothing.",
        order_matters=True,
    ),
    _heuristic(
        "random",
        "Random choice",
        "Tosses a coin; the same seed gives the same verdicts everywhere.",
        params={"seed": (int, 0), "per_order": (bool, False)},
        order_matters=True,
    ),
    _heuristic(
        "rouge_l",
        "ROUGE-L with the reference",
        "Prefers what shares the longer run of words, in order, with a human-written answer.",
        needs_reference=True,
    ),
    _heuristic(
        "ngram",
        "N-gram overlap with the reference",
        "Prefers what shares more words and pairs of words with a human-written answer.",
        needs_reference=True,
    ),
)

STRATEGIES: Mapping[str, StrategyInfo] = MappingProxyType({info.name: info for info in _ALL})


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
