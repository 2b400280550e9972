"""Rebuild a strategy's state from the answers that are stored."""

from __future__ import annotations

from collections.abc import Iterable

from judges.strategies.types import Sent, Steps, Verdict, Yielded


def advance(steps: Steps, answers: Iterable[Sent]) -> Yielded | Verdict:
    """Feed a fresh generator the answers so far and return what it asks next, or its verdict.

    Parameters
    ----------
    steps : generator
        Just built by a strategy; not started.
    answers : iterable of (Answer or tuple of Answer)
        One for each yield, in order.

    Raises
    ------
    StrategyError
        The item cannot be judged this way.
    ValueError
        There are more answers than the strategy asked for: they belong to another configuration.
    """
    pending = iter(answers)
    try:
        asked = next(steps)
        for answer in pending:
            asked = steps.send(answer)
    except StopIteration as stop:
        if next(pending, None) is not None:
            raise ValueError("more answers than the strategy asked for") from None
        verdict: Verdict = stop.value
        return verdict
    return asked
