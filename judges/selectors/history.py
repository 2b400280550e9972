"""How long a model's prompts and answers were so far, and how long it took: from what is stored."""

from dataclasses import dataclass

from judges.backends.wire import CHARACTERS_PER_TOKEN, WireRequest
from judges.models import RequestForm

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
        most = wire.decoding.limit
        if wire.choices:
            length = CHOICE if self.choice_tokens is None else self.choice_tokens
        else:
            length = FREE_TEXT if self.text_tokens is None else self.text_tokens
        return float(length if most is None else min(length, most))


def model_history(model: str) -> ModelHistory:
    """Return what the stored answers of a model tell; one query, whatever there is of them."""
    n_answers = 0
    latency = 0.0
    prompts = [0, 0]
    lengths = {True: [0, 0], False: [0, 0]}
    for form in RequestForm.objects.filter(model=model, n_answers__gt=0):
        n_answers += form.n_answers
        latency += form.latency_ms
        _add(prompts, form.characters, form.prompt_tokens)
        _add(lengths[form.has_choices], form.completion_tokens, form.n_completions)
    return ModelHistory(
        characters_per_token=_mean(prompts) or CHARACTERS_PER_TOKEN,
        choice_tokens=_mean(lengths[True]),
        text_tokens=_mean(lengths[False]),
        latency_ms=latency / n_answers if n_answers else None,
    )


def _add(sums: list[int], total: int, n: int) -> None:
    sums[0] += total
    sums[1] += n


def _mean(sums: list[int]) -> float | None:
    return sums[0] / sums[1] if sums[1] else None
