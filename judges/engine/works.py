"""What the engine has in hand: runs, their works, and the requests that these wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judges.backends.errors import BackendError
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding, ItemView, Sent, Steps

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
    cost: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.done or self.requests or self.shared or self.cost)


@dataclass(slots=True, eq=False)
class Gate:
    """A sweep's budget: lets a request through only if it is expected to stay below it.

    The expectation is the mean cost of what was answered; until there is one, requests go one at a time.
    """

    sweep_id: int
    budget: float
    spent: float = 0.0
    unwritten: float = 0.0
    sent: int = 0
    n_priced: int = 0
    priced: float = 0.0

    @property
    def mean(self) -> float:
        """Mean cost of a request, in US dollars; 0 before the first answer."""
        return self.priced / self.n_priced if self.n_priced else 0.0

    def is_open(self) -> bool:
        """Whether one more request may be sent now."""
        if not self.n_priced:
            return self.sent == 0 and self.spent < self.budget
        expected = self.spent + self.unwritten + (self.sent + 1) * self.mean
        # Sums of prices are not exact in binary: a budget for exactly n requests is one for n.
        return expected <= self.budget * (1 + 1e-9)

    def answered(self, cost: float) -> None:
        """Count the cost of an answer."""
        self.n_priced += 1
        self.priced += cost
        self.unwritten += cost


@dataclass(frozen=True, slots=True)
class Route:
    """Which model answers the requests of a role, and how it samples."""

    transport: Transport
    model: str
    revision: str = ""
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)


@dataclass(slots=True, eq=False)
class ActiveRun:
    """A run that this worker has claimed: one judge over one dataset.

    Attributes
    ----------
    source : iterator of ItemView
        The presented items that remain to be judged, read lazily.
    routes : dict of str to Route
        Where its requests go, by role; empty for judges without a model.
    transport : Transport or None
        That of the first route, whose capacity bounds how many of its works are open; None without a model.
    stopping : bool
        Nothing more is started or sent for it; what is in flight may still arrive, until `deadline`.
    error : str
        Why it was stopped, when that was not a cancellation.
    lost : bool
        Another worker has it: its row is not ours to write.
    """

    run_id: int
    sweep_id: int
    judge_id: int
    dataset_id: int
    begin: Callable[[ItemView], Steps]
    source: Iterator[ItemView]
    routes: dict[str, Route] = field(default_factory=dict)
    transport: Transport | None = None
    gate: Gate | None = None
    exhausted: bool = False
    stopping: bool = False
    lost: bool = False
    error: str = ""
    deadline: float = 0.0
    n_open: int = 0
    n_started: int = 0
    counts: Counts = field(default_factory=Counts)

    def transports(self) -> set[Transport]:
        """Return the endpoints that it asks."""
        return {route.transport for route in self.routes.values()}

    @property
    def is_over(self) -> bool:
        """Nothing of it is open any more, and all of it is written."""
        return (self.exhausted or self.stopping) and not self.n_open and not self.counts


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

    def __init__(self, run: ActiveRun, item: ItemView, steps: Steps) -> None:
        self.run = run
        self.item = item
        self.steps = steps
        self.answers: list[Answer | None] = []
        self.missing = 0
        self.single = True
        self.requests = 0
        self.cost = 0.0
        self.latency = 0.0
        self.closed = False

    def take(self, place: int, answer: Answer) -> bool:
        """Keep the answer to one of the requests it waits for; True when that was the last one."""
        self.answers[place] = answer
        self.missing -= 1
        self.requests += 1
        self.cost += answer.cost
        self.latency += answer.latency_ms
        return not self.missing

    def sent(self) -> Sent:
        """Return what the strategy is to be sent: one answer, or as many as it asked for."""
        answers = tuple(answer for answer in self.answers if answer is not None)
        return answers[0] if self.single else answers


class Flight:
    """One request, from the first work that wants it to its answer; works that want the same one join it.

    Attributes
    ----------
    waiters : list of (Work, int)
        Who waits, and for which of its requests. The first one pays.
    canonical : str
        The request as canonical JSON: what is hashed is what is stored.
    attempts : int
        How often it was sent, in earlier lives of its row too.
    is_sent : bool
        It is with the backend now.
    is_ours : bool
        Its row is claimed by this worker.
    has_landed : bool
        Its answer is here and about to be written.
    """

    __slots__ = (
        "attempts",
        "canonical",
        "dropped",
        "earlier",
        "error",
        "failures",
        "has_landed",
        "hash",
        "is_ours",
        "is_sent",
        "pauses",
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
        self.attempts = 0
        self.earlier = 0
        self.failures = 0
        self.pauses = 0
        self.error: BackendError | None = None
        self.is_sent = False
        self.is_ours = False
        self.has_landed = False
        self.dropped = False

    @property
    def payer(self) -> ActiveRun:
        """The run that the request is counted for."""
        return self.waiters[0][0].run

    def is_wanted(self) -> bool:
        """Whether a run that goes on waits for it."""
        return any(not work.closed and not work.run.stopping for work, _ in self.waiters)
