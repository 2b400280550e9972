"""Judges without a model: the floor that a real judge must beat."""

from __future__ import annotations

from collections.abc import Mapping

from judges.strategies.info import NO_PARAMS, Param, StrategyInfo


def _heuristic(
    name: str,
    title: str,
    summary: str,
    *,
    needs_reference: bool = False,
    params: Mapping[str, Param] = NO_PARAMS,
    order_matters: bool = False,
) -> StrategyInfo:
    return StrategyInfo(
        name=name,
        title=title,
        target=f"judges.strategies.heuristics:{name}",
        family="Without a model",
        needs_model=False,
        requests=frozenset(),
        takes=frozenset(),
        needs_reference=needs_reference,
        params=params,
        order_matters=order_matters,
        summary=summary,
    )


ENTRIES = (
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
        params={
            "seed": Param(int, 0, "Another seed, other coins."),
            "per_order": Param(bool, False, "Toss anew for each presentation order."),
        },
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
