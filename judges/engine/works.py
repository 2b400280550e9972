"""What the engine has in hand: runs, their works, and the requests that these wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judges.backends.errors import BackendError
from judges.backends.wire import WireRequest
from judges.engine.meters import Meter, Model
from judges.engine.sinks import JUDGMENTS, Sink
from judges.strategies.types import Answer, Decoding, ItemView, Sent, Steps, Yielded

if TYPE_CHECKING:
    from judges.engine.transport import Transport


@dataclass(slots=True, eq=False)
class Counts:
    """What has happened to a run since its counters were last written."""

    done: int = 0
    unparsed: int = 0
    failed: int = 0
    requests: int = 0
    shared: int = 0
    tokens: int = 0
    cost: float = 0.0

    def row(self) -> tuple[int, int, int, int, int, int, float]:
        """Return them as `store.counts_add` takes them."""
        return (
            self.done,
            self.unparsed,
            self.failed,
            self.requests,
            self.shared,
            self.tokens,
            self.cost,
        )

    def __bool__(self) -> bool:
        return any(self.row())


@dataclass(frozen=True, slots=True)
class Route:
    """Which model answers the requests of a role, and how it samples."""

    transport: Transport
    model: str
    revision: str = ""
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)


@dataclass(slots=True, eq=False)
class ActiveRun:
    """A run that this worker has claimed: one judge, or contestant, over one dataset.

    Attributes
    ----------
    source : iterator of ItemView
        The presented items that remain to be judged, read lazily.
    routes : dict of str to Route
        Where its requests go, by role; empty for judges without a model.
    transport : Transport or None
        That of the first route, whose capacity bounds how many of its works are open; None without a model.
    sink : Sink
        Where its results go.
    meters : tuple of Meter
        The sweep's budgets that its requests count towards.
    priority : int
        The sweep's: works of a run with a higher one are started first.
    stop_unparsed : float or None
        It stops when more than this share of what was answered could not be read.
    n_answered, n_unread, unread : int, int, str
        Verdicts of this session, those of them that could not be read, and the first such answer.
    stopping : bool
        Nothing more is started or sent for it; what is in flight may still arrive, until `deadline`.
    error : str
        Why it was stopped, when that was not a cancellation.
    lost : bool
        Another worker has it: its row is not ours to write.
    n_open, n_sent, n_started : int
        Works under way, requests under way that it pays for, and works in all.
    """

    run_id: int
    sweep_id: int
    judge_id: int
    dataset_id: int
    begin: Callable[[ItemView], Steps]
    source: Iterator[ItemView]
    routes: dict[str, Route] = field(default_factory=dict)
    transport: Transport | None = None
    sink: Sink = JUDGMENTS
    meters: tuple[Meter, ...] = ()
    priority: int = 0
    stop_unparsed: float | None = None
    n_answered: int = 0
    n_unread: int = 0
    unread: str = ""
    exhausted: bool = False
    stopping: bool = False
    lost: bool = False
    error: str = ""
    deadline: float = 0.0
    n_open: int = 0
    n_sent: int = 0
    n_started: int = 0
    counts: Counts = field(default_factory=Counts)

    def transports(self) -> set[Transport]:
        """Return the endpoints that it asks."""
        return {route.transport for route in self.routes.values()}

    def unreadable(self, at_least: int) -> str:
        """Return why it should stop, where most of its answers cannot be read; empty where not."""
        if self.stop_unparsed is None or self.n_answered < at_least:
            return ""
        if self.n_unread <= self.stop_unparsed * self.n_answered:
            return ""
        share = "half" if self.stop_unparsed == 0.5 else f"{self.stop_unparsed:.0%}"
        return (
            f"More than {share} of the first {self.n_answered} answers could not be read, for example: "
            f"{shortened(self.unread)!r}."
        )

    def asks(self, transport: Transport, model: str = "") -> bool:
        """Whether it asks an endpoint; with a model, whether it asks that one there."""
        return any(
            route.transport is transport and (not model or route.model == model)
            for route in self.routes.values()
        )

    @property
    def is_over(self) -> bool:
        """Nothing of it is open any more, and all of it is written."""
        return (self.exhausted or self.stopping) and not (self.n_open or self.n_sent or self.counts)


def shortened(text: str, length: int = 160) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


class Work:
    """One item in one presentation order, on its way through a strategy."""

    __slots__ = (
        "answers",
        "closed",
        "cost",
        "item",
        "latency",
        "missing",
        "requests",
        "run",
        "single",
        "steps",
    )

    def __init__(self, run: ActiveRun, item: ItemView) -> None:
        self.run = run
        self.item = item
        self.steps: Steps | None = None
        self.answers: list[Answer | None] = []
        self.missing = 0
        self.single = True
        self.requests = 0
        self.cost = 0.0
        self.latency = 0.0
        self.closed = False

    def next(self) -> Yielded:
        """Return what the strategy asks first or, now that all is answered, next; raises as a generator does."""
        if self.steps is None:
            self.steps = self.run.begin(self.item)
            return next(self.steps)
        return self.steps.send(self.sent())

    def expect(self, n: int, *, single: bool) -> None:
        """Wait for so many answers, which the strategy is sent as one or as a tuple."""
        self.single = single
        self.answers = [None] * n
        self.missing = n

    def take(self, index: int, answer: Answer) -> bool:
        """Keep the answer to one of the requests it waits for; True when that was the last one."""
        self.answers[index] = answer
        self.missing -= 1
        self.requests += 1
        self.cost += answer.cost
        self.latency += answer.latency_ms
        return not self.missing

    def sent(self) -> Sent:
        """Return what the strategy is to be sent: one answer, or as many as it asked for."""
        if self.single and (only := self.answers[0]) is not None:
            return only
        return tuple(answer for answer in self.answers if answer is not None)


class InFlightRequest:
    """One request, from the first work that wants it to its answer; works that want the same one join it.

    Attributes
    ----------
    waiters : list of (Work, int)
        Who waits, and for which of its requests.
    payer : ActiveRun
        The run that the request is counted for: the first that goes on when it is sent.
    canonical : str
        The request as canonical JSON: what is hashed is what is stored.
    attempts : int
        How often it was sent, in earlier lives of its row too.
    is_sent : bool
        It is with the backend now.
    is_ours : bool
        Its row is claimed by this worker.
    is_answered : bool
        Its answer is here and about to be written.
    estimate : float
        The tokens that it was taken for when it was sent.
    booked : list of (Meter, float)
        What it was taken for in the budgets of its payer, while it is under way.
    """

    __slots__ = (
        "attempts",
        "booked",
        "canonical",
        "dropped",
        "earlier",
        "error",
        "estimate",
        "failures",
        "hash",
        "is_answered",
        "is_ours",
        "is_sent",
        "pauses",
        "payer",
        "transport",
        "waiters",
        "wire",
    )

    def __init__(self, key: str, wire: WireRequest, canonical: str, transport: Transport) -> None:
        self.hash = key
        self.wire = wire
        self.canonical = canonical
        self.transport = transport
        self.waiters: list[tuple[Work, int]] = []
        self.payer: ActiveRun
        self.booked: list[tuple[Meter, float]] = []
        self.attempts = 0
        self.earlier = 0
        self.failures = 0
        self.pauses = 0
        self.estimate = 0.0
        self.error: BackendError | None = None
        self.is_sent = False
        self.is_ours = False
        self.is_answered = False
        self.dropped = False

    @property
    def asked(self) -> Model:
        """Whom it is sent to, as budgets tell models apart."""
        return self.transport.name, self.wire.model

    def payer_chosen(self) -> ActiveRun:
        """Return who pays if it is sent now: a run whose budget is spent must not hold up another that waits too."""
        going = (work.run for work, _ in self.waiters if not work.closed and not work.run.stopping)
        return next(going, self.waiters[0][0].run)

    def sent(self) -> None:
        """Note that it is with the backend."""
        self.is_sent = True
        self.payer.n_sent += 1
        cost, tokens = self.transport.typical(self.wire)
        self.booked = [
            (meter, meter.expected(self.asked, cost if meter.is_money else tokens))
            for meter in self.payer.meters
        ]
        for meter, amount in self.booked:
            meter.sent(self.asked, amount)

    def ended(self) -> None:
        """Note that it is with the backend no more."""
        self.is_sent = False
        self.payer.n_sent -= 1
        for meter, amount in self.booked:
            meter.ended(self.asked, amount)
        self.booked = []

    def pass_on(self) -> None:
        """Let another run that waits pay for it; what it paid for before stays counted there."""
        self.ended()
        self.payer = self.payer_chosen()
        self.sent()

    def lost(self) -> None:
        """Note that its answer will not come although it may be on the bill: its payer is taken to have paid."""
        cost, tokens = self.transport.typical(self.wire)
        self.payer.counts.cost += cost
        self.payer.counts.tokens += round(tokens)
        for meter in self.payer.meters:
            meter.lose(cost, round(tokens))

    def is_wanted(self) -> bool:
        """Whether a run that goes on waits for it."""
        return any(not work.closed and not work.run.stopping for work, _ in self.waiters)
