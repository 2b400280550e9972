"""How long a model's prompts and answers were so far, and how long it took: from what is stored."""

from dataclasses import dataclass

from judges.backends.wire import CHARACTERS_PER_TOKEN, WireRequest
from judges.models import ModelRequest, RequestState

RECENT = 300
"""Answers that are looked at."""
FREE_TEXT = 250
"""Tokens of an answer in free text, where nothing is known; never more than it may have."""
CHOICE = 2
"""Tokens of an answer that is one of a few words."""


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """What is known of a model.

    Attributes
    ----------
    choice_tokens, text_tokens : float or None
        Mean length of its answers to questions with choices, and to others.
    latency_ms : float or None
        Mean time from sending to the whole answer.
    """

    characters_per_token: float = CHARACTERS_PER_TOKEN
    choice_tokens: float | None = None
    text_tokens: float | None = None
    latency_ms: float | None = None

    @property
    def is_guess(self) -> bool:
        """Nothing is known of it yet."""
        return self.latency_ms is None

    def prompt_tokens(self, wire: WireRequest) -> float:
        """Return how many tokens a request has, roughly."""
        return wire.characters() / self.characters_per_token

    def completion_tokens(self, wire: WireRequest) -> float:
        """Return how many tokens its answer may have, roughly; only chats are answered with text."""
        if wire.kind != "chat":
            return 0.0
        most = wire.decoding.max_tokens
        if wire.choices:
            length = CHOICE if self.choice_tokens is None else self.choice_tokens
        else:
            length = FREE_TEXT if self.text_tokens is None else self.text_tokens
        return float(length if most is None else min(length, most))


def model_history(model: str) -> ModelHistory:
    """Return what the latest stored answers of a model tell; one query."""
    rows = (
        ModelRequest.objects.filter(model=model, state=RequestState.DONE, answer__isnull=False)
        .order_by("-created_at")
        .values_list("payload", "answer")[:RECENT]
    )
    n_characters, n_tokens = 0, 0
    lengths: dict[bool, list[int]] = {True: [], False: []}
    times = []
    for payload, stored in rows:
        answer = stored or {}
        wire = WireRequest.from_payload(payload)
        if tokens := answer.get("prompt_tokens"):
            n_characters += wire.characters()
            n_tokens += tokens
        if wire.kind == "chat" and (length := answer.get("completion_tokens")):
            lengths[bool(wire.choices)].append(length)
        times.append(float(answer.get("latency_ms") or 0.0))
    return ModelHistory(
        characters_per_token=n_characters / n_tokens if n_tokens and n_characters else CHARACTERS_PER_TOKEN,
        choice_tokens=_mean(lengths[True]),
        text_tokens=_mean(lengths[False]),
        latency_ms=_mean(times),
    )


def _mean(values: list[int] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None
