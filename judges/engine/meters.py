"""Limits: what a sweep may spend, and how fast an endpoint may be asked. No I/O, no clock of its own."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeAlias

from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

CHARACTERS_A_TOKEN = 4.0
DEFAULT_COMPLETION = 256.0
"""Tokens that a completion without a limit is taken for, until one has come."""
BURST_SECONDS = 0.1
"""How much of an unused allowance is kept: what a loop that is a little late must catch up with."""


Model: TypeAlias = tuple[str, str]
"""The endpoint's name and the model's: what requests of about the same price have in common."""


@dataclass(slots=True)
class Account:
    """What a sweep knows of the requests to one model: those under way, those answered, and what these took."""

    sent: int = 0
    n_answers: int = 0
    amount: float = 0.0

    @property
    def mean(self) -> float:
        """Mean amount of a request; 0 before the first answer."""
        return self.amount / self.n_answers if self.n_answers else 0.0


@dataclass(slots=True, eq=False)
class Meter:
    """A sweep's budget in money or in tokens: lets a request through only if it is expected to stay below it.

    The expectation is the mean of what that model answered; until there is one, its requests go one at a time.

    Attributes
    ----------
    is_money : bool
        In US dollars; otherwise in tokens, prompt and completion.
    limit, spent, unwritten : float
        `spent` stands in the database, `unwritten` does not yet.
    """

    sweep_id: int
    is_money: bool
    limit: float
    spent: float = 0.0
    unwritten: float = 0.0
    accounts: dict[Model, Account] = field(default_factory=lambda: defaultdict(Account))

    @property
    def n_sent(self) -> int:
        """Requests under way."""
        return sum(account.sent for account in self.accounts.values())

    def is_open(self, model: Model) -> bool:
        """Whether one more request may be sent to a model now."""
        account = self.accounts[model]
        under_way = sum(each.sent * each.mean for each in self.accounts.values())
        expected = self.spent + self.unwritten + under_way
        if not account.n_answers:
            return account.sent == 0 and expected < self.limit
        # Sums of prices are not exact in binary: a budget for exactly n requests is one for n.
        return expected + account.mean <= self.limit * (1 + 1e-9)

    def sent(self, model: Model, n: int = 1) -> None:
        """Count a request as under way; -1: no more."""
        self.accounts[model].sent += n

    def add(self, model: Model, cost: float, tokens: int) -> None:
        """Count an answer."""
        account, amount = self.accounts[model], cost if self.is_money else tokens
        account.n_answers += 1
        account.amount += amount
        self.unwritten += amount

    def written(self, cost: float, tokens: int) -> None:
        """So much of it stands in the database now."""
        amount = cost if self.is_money else tokens
        self.spent += amount
        self.unwritten -= amount

    def read(self, limits: tuple[float | None, float | None], spent: tuple[float, float]) -> None:
        """Take over what the database says: limits and what is spent, in US dollars and in tokens."""
        place = 0 if self.is_money else 1
        limit = limits[place]
        self.limit = self.limit if limit is None else limit
        self.spent = spent[place]

    def message(self, model: Model) -> str:
        """Say that it is reached, for requests to this model."""
        spent, mean = self.spent + self.unwritten, self.accounts[model].mean
        if self.is_money:
            return (
                f"The budget of ${self.limit:.2f} is reached: ${spent:.4f} is spent, and a request costs about "
                f"${mean:.6f}. Resume with a larger budget to go on."
            )
        return (
            f"The budget of {self.limit:,.0f} tokens is reached: {spent:,.0f} are used, and a request takes "
            f"about {mean:,.0f}. Resume with a larger budget to go on."
        )


class Bucket:
    """An allowance that refills steadily, and may be overdrawn by one request, which is then waited for.

    So in no minute more than the allowance of a minute is taken, but for what `BURST_SECONDS` keep and one request.
    """

    def __init__(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self.share = 1.0
        self._level = 0.0
        self._at: float | None = None

    def due(self, now: float) -> float:
        """Return the seconds until something may be taken."""
        rate = self._rate()
        if self._at is not None:
            self._level = min(self._level + (now - self._at) * rate, BURST_SECONDS * rate)
        self._at = now
        return -self._level / rate if self._level < -1e-9 else 0.0

    def take(self, amount: float) -> None:
        """Take some of it; a negative amount gives back what was taken too much."""
        self._level -= amount

    def _rate(self) -> float:
        return self.per_minute * self.share / 60.0


class Pace:
    """How fast an endpoint may be asked: requests and tokens a minute, shared with other workers.

    What a request will take in tokens is estimated before it is sent, from its length and from how much of their
    `max_tokens` earlier answers used, and put right when the answer says.
    """

    def __init__(self, *, requests: int | None = None, tokens: int | None = None) -> None:
        self.requests = Bucket(requests) if requests else None
        self.tokens = Bucket(tokens) if tokens else None
        self._used = self._allowed = 0.0

    def share(self, share: float) -> None:
        """Take this share, in (0, 1], of what the endpoint allows."""
        for bucket in (self.requests, self.tokens):
            if bucket is not None:
                bucket.share = share

    def due(self, now: float) -> float:
        """Return the seconds until a request may be sent."""
        return max(bucket.due(now) if bucket else 0.0 for bucket in (self.requests, self.tokens))

    def sent(self, wire: WireRequest) -> float:
        """Count a request; returns the tokens that it is taken for."""
        if self.requests is not None:
            self.requests.take(1.0)
        if self.tokens is None:
            return 0.0
        estimate = self.estimate(wire)
        self.tokens.take(estimate)
        return estimate

    def answered(self, wire: WireRequest, estimate: float, answer: Answer) -> None:
        """Put an estimate right."""
        used = answer.prompt_tokens + answer.completion_tokens
        if self.tokens is None or not used:  # a server that does not say
            return
        self.tokens.take(used - estimate)
        if wire.kind == "chat":
            self._used += answer.completion_tokens
            self._allowed += wire.decoding.max_tokens or DEFAULT_COMPLETION

    def estimate(self, wire: WireRequest) -> float:
        """Return how many tokens a request will take, prompt and completion."""
        characters = sum(len(content) for _, content in wire.messages) + len(wire.text) + len(wire.prefix)
        tokens = characters / CHARACTERS_A_TOKEN
        if wire.kind == "chat":
            share = self._used / self._allowed if self._allowed else 1.0
            tokens += share * (wire.decoding.max_tokens or DEFAULT_COMPLETION)
        return tokens
