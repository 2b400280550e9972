"""Judges inside judges: the requests of a member name their role behind the member's name."""

from __future__ import annotations

from dataclasses import replace

from judges.strategies.types import Steps, Verdict, Yielded


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
