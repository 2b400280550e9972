"""What the engine has in hand: runs, their works, the requests that these wait for, and the ways to the endpoints."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from judges.backends.base import Backend, WaitingBackend
from judges.backends.errors import BackendError, NotSentError, TransientBackendError
from judges.backends.wire import WireRequest
from judges.engine.bounds import Bound
from judges.engine.codec import Result
from judges.engine.meters import Meter, Model, Pace, likely_tokens
from judges.engine.options import EngineOptions
from judges.strategies.types import Answer, Decoding, ItemView, Sent, Steps, Yielded

Row: TypeAlias = tuple[Any, ...]
"""A row of a table, as it is stored."""


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
        changes = (self.done, self.unparsed, self.failed, self.requests, self.shared)
        return (*changes, self.tokens, self.cost)

    def __bool__(self) -> bool:
        return any(self.row())


@dataclass(frozen=True, slots=True, eq=False)
class Sink:
    """A table of results: how a row of it is made, and how rows are stored."""

    row: Callable[[Work, Result], Row]
    save: Callable[[Sequence[Row]], int]


@dataclass(frozen=True, slots=True)
class Route:
    """Which model answers the requests of a role, and how it samples."""

    transport: Transport
    model: str
    revision: str = ""
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)


@dataclass(slots=True, eq=False)
class ActiveRun:
    """A range of a run that this worker has claimed: one judge, or contestant, over items of one dataset.

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
    asked_anew : str
        Of a check of anchors: what makes its requests other ones than those that were answered before.
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
    batches : frozenset of str
        Batches that were made for it: what they answered is its own, not shared.
    waits : set of str
        Open batches that works of it wait for. These are closed, and begun again when the batches are over.
    """

    run_id: int
    sweep_id: int
    judge_id: int
    dataset_id: int
    begin: Callable[[ItemView], Steps]
    source: Iterator[ItemView]
    sink: Sink
    routes: dict[str, Route] = field(default_factory=dict)
    transport: Transport | None = None
    meters: tuple[Meter, ...] = ()
    priority: int = 0
    asked_anew: str = ""
    stop_unparsed: float | None = None
    n_answered: int = 0
    n_unread: int = 0
    unread: str = ""
    exhausted: bool = False
    stopping: bool = False
    lost: bool = False
    error: str = ""
    deadline: float = 0.0
    range_id: int = 0
    n_open: int = 0
    n_sent: int = 0
    n_started: int = 0
    batches: frozenset[str] = frozenset()
    waits: set[str] = field(default_factory=set)
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


@dataclass(slots=True, eq=False)
class Work:
    """One item in one presentation order, on its way through a strategy."""

    run: ActiveRun
    item: ItemView
    steps: Steps | None = None
    answers: list[Answer | None] = field(default_factory=list)
    missing: int = 0
    n_held: int = 0
    single: bool = True
    requests: int = 0
    cost: float = 0.0
    latency: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    closed: bool = False
    answerers: set[tuple[str, str, str]] = field(default_factory=set)

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
        self.n_held = 0

    def take(self, index: int, answer: Answer, asked: str) -> bool:
        """Keep the answer to one of the requests it waits for; True when that was the last one."""
        self.answers[index] = answer
        if answer.model:
            self.answerers.add((asked, answer.model, answer.system_fingerprint))
        self.missing -= 1
        self.requests += 1
        self.cost += answer.cost
        self.latency += answer.latency_ms
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens
        self.reasoning_tokens += answer.reasoning_tokens
        return not self.missing

    @property
    def is_held(self) -> bool:
        """Whether all that it waits for is in batches."""
        return 0 < self.n_held >= self.missing

    def sent(self) -> Sent:
        """Return what the strategy is to be sent: one answer, or as many as it asked for."""
        if self.single and (only := self.answers[0]) is not None:
            return only
        return tuple(answer for answer in self.answers if answer is not None)


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """One request, from the first work that wants it to its answer; works that want the same one join it.

    Attributes
    ----------
    shown : bytes
        `WireRequest.shown`, which is stored when it is claimed.
    waiters : list of (Work, int)
        Who waits, and for which of its requests.
    payer : ActiveRun
        The run that the request is counted for: the first that goes on when it is sent.
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

    hash: str
    wire: WireRequest
    transport: Transport
    shown: bytes = b""
    waiters: list[tuple[Work, int]] = field(default_factory=list)
    payer: ActiveRun = field(init=False)
    booked: list[tuple[Meter, float]] = field(default_factory=list)
    attempts: int = 0
    earlier: int = 0
    failures: int = 0
    pauses: int = 0
    estimate: float = 0.0
    error: BackendError | None = None
    is_sent: bool = False
    is_ours: bool = False
    is_answered: bool = False
    dropped: bool = False

    @property
    def asked(self) -> Model:
        """Whom it is sent to, as budgets tell models apart."""
        return self.transport.name, self.wire.model

    def payer_chosen(self) -> ActiveRun:
        """Return who pays if it is sent now: a run whose budget is spent must not hold up another that waits too."""
        for work, _ in self.waiters:
            if not work.closed and not work.run.stopping:
                return work.run
        return self.waiters[0][0].run

    def sent(self) -> None:
        """Note that it is with the backend."""
        self.is_sent = True
        self.payer.n_sent += 1
        if not self.payer.meters:
            return
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
        if self.booked:
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
        for work, _ in self.waiters:  # noqa: SIM110 (a generator costs as much as the look)
            if not work.closed and not work.run.stopping:
                return True
        return False


OVERLOADED = (502, 503, 504, 529)
"""Statuses of a server, or of what stands before it, that has too much to do."""

Arrival: TypeAlias = tuple[InFlightRequest, Answer | BackendError]


class Transport:
    """The way to one endpoint.

    Requests wait in `ready` (claimed, to be sent), in `delayed` (to be sent again later) or in `suspended`
    (out of attempts; whether they or the endpoint are to blame shows when another request is answered).

    The endpoint's capacity bounds what is in flight. When it answers "too many" (HTTP 429), the bound is
    lowered and sending pauses for as long as it asks; each answer then raises the bound a little (`Bound`). A
    server that is overloaded without saying so (502 to 504, 529, no answer in time) has the bound lowered too: of
    fewer at a time, it answers more.
    Where other workers ask the same endpoint, capacity and pace are shared in equal parts.

    Of a server that answers well, the backend has as many requests again, which it sends itself as places get free; it
    gives them back where one fails (`WaitingBackend`). Where each request is counted before it is sent, for a budget or
    a pace, it has none.

    Requests are sent in the order in which they were asked for, so that those with a common beginning stay together.

    Of an endpoint that answers in batches nothing is sent here: the engine takes what is ready into a batch.
    """

    def __init__(
        self,
        *,
        name: str,
        backend: Backend,
        options: EngineOptions,
        is_priced: bool = False,
        pace: Pace | None = None,
        price: Callable[[str], tuple[float, float]] = lambda _model: (0.0, 0.0),
        in_batches: bool = False,
    ) -> None:
        self.in_batches = in_batches
        self.name = name
        self.backend = backend
        self._waiting = backend if isinstance(backend, WaitingBackend) and pace is None else None
        self.options = options
        self.is_priced = is_priced
        self.ready: deque[InFlightRequest] = deque()
        self.delayed: list[tuple[float, int, InFlightRequest]] = []
        self.suspended: list[InFlightRequest] = []
        self.sent: dict[int, InFlightRequest] = {}
        self.n_works = 0
        self.n_in_flight = 0
        self.n_answers = 0
        self.n_refused = 0
        self._refused_with: BackendError | None = None
        self.n_pauses = 0
        self.bound = Bound(backend.capacity)
        self.paused_until = 0.0
        self._eased_until = 0.0
        self.pace = pace
        self.price = price
        self.closed: InFlightRequest | None = None
        self._seen: dict[str, tuple[int, float, float]] = {}
        self.share(1)
        self._numbers = count()
        self._random = random.Random()  # noqa: S311 (jitter)

    def share(self, n: int) -> None:
        """Take an n-th of what the endpoint offers, since so many ask it."""
        if self.in_batches:
            self.ceiling = self.target = self.options.batch_requests
            return
        self.ceiling = max(min(self.backend.capacity // max(n, 1), self.options.most_in_flight), 1)
        claimed = self.ceiling // 2 if self._waiting is None else self.ceiling
        self.target = self.ceiling + max(self.options.lookahead, claimed)
        if self._waiting is not None:
            self._waiting.places = self.ceiling
        if self.pace is not None:
            self.pace.share(1.0 / max(n, 1))

    def dispatch(self, now: float) -> None:
        """Send what may be sent now."""
        if self.in_batches:
            return
        while self.delayed and self.delayed[0][0] <= now:
            self.ready.appendleft(heapq.heappop(self.delayed)[2])
        self.closed = None
        if now < self.paused_until:
            return
        held: list[InFlightRequest] = []
        while self.ready and self._has_room():
            if self.pace is not None and self.pace.due(now):
                break
            request = self.ready.popleft()
            if request.dropped:
                continue
            request.payer = request.payer_chosen()
            if request.payer.meters and self._is_full():
                self.ready.appendleft(request)
                break
            if request.payer.meters and self.shut(request) is not None:
                held.append(request)
                self.closed = request
                continue
            self._send(request)
        self.ready.extendleft(reversed(held))

    def shut(self, request: InFlightRequest) -> Meter | None:
        """Return the budget that does not let a request through now."""
        if not request.payer.meters:
            return None
        cost, tokens = self.typical(request.wire)
        for meter in request.payer.meters:
            if not meter.is_open(request.asked, cost if meter.is_money else tokens):
                return meter
        return None

    def typical(self, wire: WireRequest) -> tuple[float, float]:
        """Return what a request takes, in US dollars and in tokens: as answers of its model did, else as it may."""
        if wire.model in self._seen:
            n, cost, tokens = self._seen[wire.model]
            return cost / n, tokens / n
        prompt, completion = likely_tokens(wire)
        price_prompt, price_completion = self.price(wire.model)
        return (prompt * price_prompt + completion * price_completion) / 1e6, prompt + completion

    def knows(self, model: str) -> bool:
        """Whether it is known what requests to a model take."""
        return model in self._seen

    def remember(self, model: str, *, n: int, cost: float, tokens: int) -> None:
        """Take over what requests to a model took in another session, where this one has seen none."""
        if n:
            self._seen.setdefault(model, (n, cost, float(tokens)))

    def _is_full(self) -> bool:
        n_sent = len(self.sent)
        return n_sent >= self.bound.now or n_sent >= self.ceiling

    def _has_room(self) -> bool:
        if not self._is_full():
            return not self._is_doubted()
        if self._waiting is None or not self.n_answers or self.bound.now < self.ceiling:
            return False
        return len(self.sent) < 2 * self.ceiling

    def recall(self) -> None:
        """Take back what the backend has and has not sent: it comes with what is drained next."""
        if self._waiting is not None:
            self._waiting.recall()

    def _send(self, request: InFlightRequest) -> None:
        token = next(self._numbers)
        request.sent()
        request.attempts += 1
        request.payer.counts.requests += 1
        if self.pace is not None:
            request.estimate = self.pace.sent(request.wire)
        self.sent[token] = request
        self.backend.submit(token, request.wire)

    def drain(self, timeout: float) -> list[Arrival]:
        """Return what has arrived, waiting up to `timeout` seconds for the first."""
        arrivals = []
        for token, outcome in self.backend.drain(timeout):
            request = self.sent.pop(token, None)
            if request is None:  # given up before it came
                continue
            request.ended()
            if isinstance(outcome, NotSentError):
                request.attempts -= 1
                request.payer.counts.requests -= 1
            if isinstance(outcome, Answer):
                n, cost, tokens = self._seen.get(request.wire.model, (0, 0.0, 0.0))
                used = outcome.prompt_tokens + outcome.completion_tokens
                self._seen[request.wire.model] = (n + 1, cost + outcome.cost, tokens + used)
                if self.pace is not None:
                    self.pace.answered(request.wire, request.estimate, outcome)
            arrivals.append((request, outcome))
        return arrivals

    def give_up(self, request: InFlightRequest) -> None:
        """Forget a request that is with the backend; what comes of it is ignored."""
        for token, each in list(self.sent.items()):
            if each is request:
                del self.sent[token]
                request.ended()
                request.lost()

    def next_due(self, now: float) -> float:
        """Return the seconds until something may be sent again; infinite if nothing waits for time."""
        if self.in_batches:
            return float("inf")
        due = self.delayed[0][0] if self.delayed else float("inf")
        if self.ready and self.paused_until > now:
            due = min(due, self.paused_until)
        elif self.ready and self.pace is not None and self._has_room():
            due = min(due, now + self.pace.due(now))
        return max(due - now, 0.0)

    def answered(self) -> list[InFlightRequest]:
        """Count an answer; returns the suspended requests, which are to blame themselves as it turns out."""
        self.n_answers += 1
        self.n_pauses = 0
        self.bound.answered(self.ceiling)
        to_blame, self.suspended = self.suspended, []
        return to_blame

    def refuse(self, error: BackendError) -> None:
        """Count a request that was refused for good."""
        self.n_refused += 1
        self._refused_with = error

    def _is_doubted(self) -> bool:
        return not self.n_answers and self.n_refused >= self.options.refused_after

    def refusal(self) -> str:
        """Return why the endpoint seems not to be set up right; empty as long as it may be.

        A server refuses a long prompt at once and takes its time to answer a short one, so nothing more is sent until
        all that is on its way has come back, and only then is it said that none was answered.
        """
        if not self._is_doubted() or self.sent:
            return ""
        return f"The endpoint '{self.name}' refuses every request: {self._refused_with}"

    def failed(self, request: InFlightRequest, error: TransientBackendError, now: float) -> None:
        """Send it again later, or suspend it if its attempts are used up."""
        request.error = error
        pause = error.retry_after
        patient = max(request.pauses, self.n_pauses) < self.options.max_pauses
        if patient and (error.status == 429 or pause is not None):
            request.pauses += 1
            # A pause of nothing, or until a time that our clock has passed, is no reason to come back at once. The
            # first ones are short: of a server that says no time, a lower bound may be all it needs.
            self._slow_down(now, pause or self._backoff(min(request.pauses, 8) - 2))
            self.ready.appendleft(request)
            return
        if error.status in OVERLOADED or (error.status is None and error.was_sent):
            if now >= self._eased_until:
                self._eased_until = now + self.options.backoff
                self.bound.lower(self.ceiling)
            elif error.status is not None:
                self.bound.lower_to(len(self.sent))
        request.failures += 1
        if request.failures >= self.options.max_attempts:
            self.suspended.append(request)
        else:
            due = now + self._backoff(request.failures)
            heapq.heappush(self.delayed, (due, next(self._numbers), request))

    def _slow_down(self, now: float, seconds: float) -> None:
        if now >= self.paused_until:
            self.n_pauses += 1
            self.bound.lower(self.ceiling)
        else:
            self.bound.lower_to(len(self.sent))
        self.paused_until = max(self.paused_until, now + seconds)

    def _backoff(self, failures: int) -> float:
        full = min(self.options.backoff * 2.0 ** (failures - 1), self.options.backoff_max)
        return full * (1.0 - self._random.random() / 2.0)

    def trouble(self, *, more_to_come: bool, n_elsewhere: int = 0) -> str:
        """Return why the endpoint is of no use any more; empty if it is well as far as one can tell.

        Parameters
        ----------
        more_to_come : bool
            There are works not started, whose answers will show more.
        n_elsewhere : int
            Flights that another worker sends: they tell us nothing, and that worker may be waiting for ours.
        """
        if not self.suspended:
            return ""
        alone = not more_to_come and self.n_in_flight - n_elsewhere == len(self.suspended)
        if len(self.suspended) < self.options.down_after and not alone:
            return ""
        if alone and all(self._is_to_blame(request) for request in self.suspended):
            return ""
        error = self.suspended[-1].error
        reached = "gives no usable answer" if error and error.status is not None else "cannot be reached"
        return f"The endpoint '{self.name}' {reached}: {error}"

    def troubled_model(self) -> str:
        """Return the one model that the trouble is with; empty if it is with the endpoint as a whole.

        A server that speaks and fails on one model may do well on others; one that cannot be reached fails on all.
        """
        models = {request.wire.model for request in self.suspended}
        speaks = all(
            request.error is not None and request.error.status is not None for request in self.suspended
        )
        return models.pop() if speaks and len(models) == 1 else ""

    def poison(self, *, more_to_come: bool, n_elsewhere: int = 0) -> list[InFlightRequest]:
        """Return the last requests there are, if they and not the endpoint are to blame; parameters as in `trouble`."""
        if more_to_come or not self.suspended or self.n_in_flight - n_elsewhere != len(self.suspended):
            return []
        if not all(self._is_to_blame(request) for request in self.suspended):
            return []
        to_blame, self.suspended = self.suspended, []
        return to_blame

    def _is_to_blame(self, request: InFlightRequest) -> bool:
        # The server speaks, and it answered others, or has failed on this one in an earlier life.
        speaks = request.error is not None and request.error.status is not None
        return speaks and (self.n_answers > 0 or request.earlier >= self.options.max_attempts)

    def refresh(self) -> None:
        """Forget the troubles that stopped its runs: a later run finds out for itself."""
        self.n_refused = self.n_pauses = 0
        self.paused_until = 0.0

    def close(self) -> None:
        """End the backend's threads."""
        self.backend.close()
