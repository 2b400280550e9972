"""Judges made of other judges: one for each category or subset, or several at once.

The requests of a member name their role behind the member's name (`under`).

Composite: Lyu et al. (HREF, 2024) choose the judge by the instruction's category. Jury: Verga et al., "Replacing
Judges with Juries: Evaluating LLM Generations with a Panel of Diverse Models", 2024.
"""

import json
import math
from collections.abc import Collection, Generator, Mapping
from dataclasses import replace
from typing import Any

from judges.strategies.combining import combine
from judges.strategies.errors import StrategyError
from judges.strategies.types import (
    ItemView,
    Sent,
    Steps,
    StrategyConfig,
    StrategyWalk,
    Verdict,
    Yielded,
    several,
)

ALL_OTHERS = "*"


def composite(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask the member of the item's category, or of its subset; its verdict is the verdict, and `value` names it.

    Of the category ``Coding/Python`` that is the member of this name, else ``Coding``, else ``*``.

    Raises
    ------
    StrategyError
        No member judges this category or subset.
    """
    key = _member_for(item, config)
    verdict = yield from config.members[key](item)
    return replace(verdict, value={**(verdict.value or {}), "member": key})


def jury(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask all members side by side and combine their verdicts; see `judges.strategies.combining`."""
    verdicts = yield from together({key: start(item) for key, start in config.members.items()})
    weights = member_weights(config.params, config.members)
    return combine(item, verdicts, config.params, weights)


def member_weights(params: Mapping[str, Any], members: Collection[str]) -> dict[str, float]:
    """Return how much each member's vote counts, by its name; empty where votes are not weighted.

    Raises
    ------
    ValueError
        Says what was expected: a number for each member, and for nobody else.
    """
    if params.get("combine") != "weights":
        if params.get("weights") or params.get("tie_margin"):
            raise ValueError('only votes combined by "weights" have weights and a tie margin.')
        return {}
    names = ", ".join(sorted(members))
    try:
        given = json.loads(params.get("weights") or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict) or set(given) != set(members):
        raise ValueError(f"expected a JSON object with a weight for each member ({names}).")
    for name, weight in given.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
            raise ValueError(f"expected a number as the weight of '{name}', found {weight!r}.")
    if not any(given.values()):
        raise ValueError("expected a weight other than 0.")
    return {name: float(weight) for name, weight in given.items()}


def together(members: Mapping[str, Steps]) -> Generator[Yielded, Sent, dict[str, Verdict]]:
    """Advance several generators in step: each tuple yielded holds what all of them want now.

    Members may have different numbers of steps; one that asks nothing has its verdict at once.

    Returns
    -------
    dict
        The verdicts, in the order of `members`.
    """
    walks = {key: StrategyWalk(steps) for key, steps in members.items()}
    going = [walk for walk in walks.values() if walk.advance()]
    while going:
        requests = tuple(request for walk in going for request in walk.asked)
        answers = iter(several((yield requests)) if requests else ())
        going = [walk for walk in going if walk.advance([next(answers) for _ in walk.asked])]
    return {key: walk.verdict for key, walk in walks.items() if walk.verdict is not None}


def _member_for(item: ItemView, config: StrategyConfig) -> str:
    by = str(config.params.get("by", "category"))
    whole = path = item.subset if by == "subset" else item.category
    while path:
        if path in config.members:
            return path
        path = path.rpartition("/")[0]
    if ALL_OTHERS in config.members:
        return ALL_OTHERS
    known = ", ".join(config.members)
    what = f"the {by} '{whole}'" if whole else f"no {by}"
    raise StrategyError(
        f"Item {item.item_id} has {what}, and the composite has no member for it; it has members for: {known}. "
        f"A member for {ALL_OTHERS} judges all others."
    )


def under(member: str, steps: Steps) -> Steps:
    """Run a member's generator, its requests addressed to ``"member/role"``.

    >>> from judges.strategies.types import Chat
    >>> def asks():
    ...     yield Chat((("user", "?"),))
    >>> next(under("Chat", asks())).role
    'Chat/judge'
    """
    try:
        asked = next(steps)
        while True:
            asked = steps.send((yield _addressed(member, asked)))
    except StopIteration as stop:
        verdict: Verdict = stop.value
        return verdict


def _addressed(member: str, asked: Yielded) -> Yielded:
    if isinstance(asked, tuple):
        return tuple(replace(request, role=f"{member}/{request.role}") for request in asked)
    return replace(asked, role=f"{member}/{asked.role}")
