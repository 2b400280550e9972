"""Conversations of several turns, as one text for whoever reads texts: judges, lengths, exports."""

from collections.abc import Mapping, Sequence

ROLES = ("user", "assistant")
SPEAKERS = {"user": "User", "assistant": "Assistant"}


def flatten(turns: Sequence[Mapping[str, str]]) -> str:
    """The turns one below the other, each after who speaks.

    Examples
    --------
    >>> print(flatten([{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Yes?"}]))
    User: Hello.
    <BLANKLINE>
    Assistant: Yes?
    """
    return "\n\n".join(f"{SPEAKERS.get(turn['role'], turn['role'])}: {turn['text']}" for turn in turns)


def context_for_judging(context: str, conversation: Sequence[Mapping[str, str]]) -> str:
    """What a judge reads before the instruction: the conversation so far as one text, then the context."""
    return "\n\n".join(part for part in (flatten(conversation), context) if part)
