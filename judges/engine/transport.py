"""One endpoint as the engine sees it: what may be sent when, what to try again, and whether it is well."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from judges.backends.base import Backend
from judges.backends.errors import BackendError, TransientBackendError
from judges.backends.wire import WireRequest
from judges.engine.meters import Meter, Pace, likely_tokens
from judges.engine.options import EngineOptions
from judges.engine.works import InFlightRequest
from judges.strategies.types import Answer

Arrival: TypeAlias = tuple[InFlightRequest, Answer | BackendError]


class Transport:
    """The way to one endpoint.

    Requests wait in `ready` (claimed, to be sent), in `delayed` (to be sent again later) or in `suspended`
    (out of attempts; whether they or the endpoint are to blame shows when another request is answered).

    The endpoint's capacity bounds what is in flight. When it answers "too many" (HTTP 429), the bound is
    halved and sending pauses for as long as it asks; each answer then raises the bound a little, as in TCP.
    Where other workers ask the same endpoint, capacity and pace are shared in equal parts.

    Requests are sent in the order in which they were asked for, so that those with a common beginning stay together.
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
    ) -> None:
        self.name = name
        self.backend = backend
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
        self.n_pauses = 0
        self.limit = float(backend.capacity)
        self.paused_until = 0.0
        self.pace = pace
        self.price = price
        self.closed: InFlightRequest | None = None
        self._seen: dict[str, tuple[int, float, float]] = {}
        self.share(1)
        self._numbers = count()
        self._random = random.Random()  # noqa: S311 (jitter)

    def share(self, n: int) -> None:
        """Take an n-th of what the endpoint offers, since so many ask it."""
        self.ceiling = max(self.backend.capacity // max(n, 1), 1)
        self.target = self.ceiling + max(self.options.lookahead, self.ceiling // 2)
        if self.pace is not None:
            self.pace.share(1.0 / max(n, 1))

    def dispatch(self, now: float) -> None:
        """Send what may be sent now."""
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
            if self.shut(request) is not None:
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

    def remember(self, model: str, *, n: int, cost: float, tokens: int) -> None:
        """Take over what requests to a model took in an earlier session, where this one has seen none."""
        self._seen.setdefault(model, (n, cost, float(tokens)))

    def _has_room(self) -> bool:
        n_sent = len(self.sent)
        return n_sent < self.limit and n_sent < self.ceiling

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
        if self.limit < self.ceiling:
            self.limit = min(self.limit + 1.0 / self.limit, float(self.ceiling))
        to_blame, self.suspended = self.suspended, []
        return to_blame

    def failed(self, request: InFlightRequest, error: TransientBackendError, now: float) -> None:
        """Send it again later, or suspend it if its attempts are used up."""
        request.error = error
        pause = error.retry_after
        patient = max(request.pauses, self.n_pauses) < self.options.max_pauses
        if patient and (error.status == 429 or pause is not None):
            request.pauses += 1
            # A pause of nothing, or until a time that our clock has passed, is no reason to come back at once.
            self._slow_down(now, pause or self._backoff(min(request.pauses, 6)))
            self.ready.appendleft(request)
            return
        request.failures += 1
        if request.failures >= self.options.max_attempts:
            self.suspended.append(request)
        else:
            due = now + self._backoff(request.failures)
            heapq.heappush(self.delayed, (due, next(self._numbers), request))

    def _slow_down(self, now: float, seconds: float) -> None:
        # Those that were sent together are refused together: one halving for all of them.
        if now >= self.paused_until:
            self.n_pauses += 1
            self.limit = max(min(self.limit, self.ceiling) / 2.0, 1.0)
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
