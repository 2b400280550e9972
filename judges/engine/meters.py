"""Limits: what a sweep may spend, and how fast an endpoint may be asked. No I/O, no clock of its own."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeAlias

from judges.backends.wire import CHARACTERS_PER_TOKEN, WireRequest
from judges.strategies.types import Answer

DEFAULT_COMPLETION = 256.0
"""Tokens that a completion without a limit is taken for, until one has come."""
BURST_SECONDS = 0.1
"""How much of an unused allowance is kept: what a loop that is a little late must catch up with."""


Model: TypeAlias = tuple[str, str]
"""The endpoint's name and the model's: what requests of about the same price have in common."""


@dataclass(slots=True)
class ModelUse:
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
    """A worker's part of a sweep's budget in money or in tokens: what it has reserved, and what it used of that.

    Several workers share a budget, and none sees what the others have under way. So each reserves in the database what
    it is about to send, under a lock, and sends no more than that. A request is expected to take the mean of what its
    model's answers took; until there is one, what its length and its limit let expect, and they go one at a time.

    Attributes
    ----------
    is_money : bool
        In US dollars; otherwise in tokens, prompt and completion.
    limit, spent, others : float
        Of the sweep, as of the last look: its budget, what is spent, and what other workers have reserved.
    used, written : float
        What this worker's requests took, and how much of it stands in the database.
    ceiling : float
        What `used` and the requests under way may come to together.
    wanted : float
        What a request that had to wait needs beside them; 0: none waits.
    """

    sweep_id: int
    is_money: bool
    limit: float
    spent: float = 0.0
    others: float = 0.0
    used: float = 0.0
    written: float = 0.0
    ceiling: float = 0.0
    wanted: float = 0.0
    under_way: float = 0.0
    accounts: dict[Model, ModelUse] = field(default_factory=lambda: defaultdict(ModelUse))

    @property
    def n_sent(self) -> int:
        """Requests under way."""
        return sum(account.sent for account in self.accounts.values())

    @property
    def outstanding(self) -> float:
        """What is used or under way and does not stand in the database: the least that has to be reserved.

        A remainder of sums in binary is nothing: workers that kept it reserved waited for each other for ever.
        """
        amount = max(self.used - self.written, 0.0) + self.under_way
        return amount if amount > self.slack else 0.0

    @property
    def slack(self) -> float:
        """What sums of prices may be off by, since they are not exact in binary."""
        return 1e-9 * max(self.limit, 1e-12)

    def expected(self, model: Model, typical: float) -> float:
        """Return what a request is expected to take; `typical` where this sweep has no answer of the model yet."""
        account = self.accounts[model]
        return account.mean if account.n_answers else typical

    def is_open(self, model: Model, typical: float) -> bool:
        """Whether one more request may be sent to a model now; if not, more is wanted."""
        account, expected = self.accounts[model], self.expected(model, typical)
        taken, slack = self.used + self.under_way, self.slack
        # A budget for exactly n requests is one for n.
        if account.n_answers:
            is_open = taken + expected <= self.ceiling + slack
        else:
            # What an unknown model takes may be less than it could: with a budget that is untouched, one is tried.
            untouched = not (self.spent or self.others or taken) and self.ceiling > 0.0
            is_open = account.sent == 0 and (untouched or taken + expected <= self.ceiling + slack)
        self.wanted = 0.0 if is_open else max(expected, slack)
        return is_open

    def sent(self, model: Model, amount: float) -> None:
        """Count a request as under way."""
        self.accounts[model].sent += 1
        self.under_way += amount

    def ended(self, model: Model, amount: float) -> None:
        """Count it as under way no more."""
        self.accounts[model].sent -= 1
        self.under_way = max(self.under_way - amount, 0.0) if self.n_sent else 0.0

    def add(self, model: Model, cost: float, tokens: int) -> None:
        """Count an answer."""
        account, amount = self.accounts[model], cost if self.is_money else tokens
        account.n_answers += 1
        account.amount += amount
        self.used += amount

    def lose(self, cost: float, tokens: float) -> None:
        """Count a request whose answer never came: it may well be on the bill."""
        self.used += cost if self.is_money else tokens

    def wrote(self, cost: float, tokens: int) -> None:
        """So much of it stands in the database now."""
        self.written += cost if self.is_money else tokens

    def reserved(self, amount: float, *, limit: float, spent: float, others: float) -> None:
        """Take over what the database gave; `amount` is beside what it has as spent."""
        self.limit, self.spent, self.others = limit, spent, others
        self.ceiling = self.written + amount

    def message(self, model: Model, typical: float) -> str:
        """Say that it is reached, for requests to this model."""
        spent, mean = self.spent + self.used - self.written, self.expected(model, typical)
        if self.is_money:
            return (
                f"The budget of ${self.limit:.2f} is reached: ${spent:.4f} is spent, and a request costs about "
                f"${mean:.6f}. Resume with a larger budget to continue."
            )
        return (
            f"The budget of {self.limit:,.0f} tokens is reached: {spent:,.0f} are used, and a request takes "
            f"about {mean:,.0f}. Resume with a larger budget to continue."
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
            self._allowed += wire.decoding.limit or DEFAULT_COMPLETION

    def estimate(self, wire: WireRequest) -> float:
        """Return how many tokens a request will take, prompt and completion."""
        prompt, completion = likely_tokens(wire)
        share = self._used / self._allowed if self._allowed else 1.0
        return prompt + share * completion


def likely_tokens(wire: WireRequest) -> tuple[float, float]:
    """Return about how many tokens a prompt has, and the most that its completion is likely to have."""
    completion = (wire.decoding.limit or DEFAULT_COMPLETION) if wire.kind == "chat" else 0.0
    return wire.characters() / CHARACTERS_PER_TOKEN, completion
