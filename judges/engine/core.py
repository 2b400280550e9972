"""The engine: generators in, judgments out, with every answer stored before it is used.

One thread owns the database and all that stands here; backends do their I/O in threads of their own. A step
of the loop starts works while there is room, writes what has piled up in short transactions, sends, and
takes in what has arrived. One transaction carries the answers that came, the judgments that earlier answers
led to and the runs' counters, a second one the claims of new requests; only then are the answers fed to their
generators and the claimed requests sent. So a killed worker has used no answer that is not stored, and sent
no request that is not claimed.
"""

from __future__ import annotations

import time

from django.db import transaction

from judges.backends.base import storable
from judges.backends.errors import BackendError, EndpointError, TransientBackendError
from judges.engine import store
from judges.engine.codec import answer_to_json, storable_answer
from judges.engine.desk import Desk
from judges.engine.leases import counts_write
from judges.engine.options import EngineOptions
from judges.engine.sinks import SINKS
from judges.engine.transport import Transport
from judges.engine.works import ActiveRun, Flight
from judges.models import RequestState
from judges.strategies.types import Answer

MAX_LATENCY_SLICE = 0.01
"""Seconds to wait on one backend while others have requests in flight too."""


class Engine(Desk):
    """Drives the works of the active runs. See the module's text for what it promises.

    Attributes
    ----------
    troubles : list of (Transport, str, str)
        Endpoints that are of no use any more, why, and with which model (empty: with any); for the session to act on.
    """

    def __init__(self, *, owner: str, options: EngineOptions) -> None:
        super().__init__(options=options)
        self.owner = owner
        self.troubles: list[tuple[Transport, str, str]] = []
        self._flushed_at = 0.0
        self._gap = options.commit_gap[0]
        self._polled_at = 0.0

    def transports(self) -> list[Transport]:
        """Return the endpoints of the active runs, each once."""
        return list({route.transport: None for run in self.runs for route in run.routes.values()})

    def step(self, *, longest_wait: float = 0.1) -> None:
        """Do what can be done now, then wait a moment for what is under way."""
        now = time.monotonic()
        self._start_works()
        if self._should_write(now):
            self.write()
        self._drop_unwanted()
        transports = self.transports()
        now = time.monotonic()
        for transport in transports:
            transport.dispatch(now)
        self._poll_foreign(now)
        for run in self.runs:
            if run.stopping and (run.n_open or run.n_sent) and now >= run.deadline:
                self._abandon(run)
        self._take_in(transports, self._patience(transports, now, longest_wait))
        for transport in transports:
            self._examine(transport)

    # --- the database -------------------------------------------------------------------------------------

    def _should_write(self, now: float) -> bool:
        pending = len(self.arrived) + len(self.new) + len(self.results)
        if not pending and not self.refused and not self.released:
            return False
        if pending >= self.options.group_size or now - self._flushed_at >= self._gap:
            return True
        # With nothing in flight there is nothing to be gained by waiting.
        return not any(transport.sent for transport in self.transports())

    def write(self) -> None:
        """Write all that has piled up, then act on it."""
        started = time.monotonic()
        arrived, self.arrived = self.arrived, []
        refused, self.refused = self.refused, []
        results, self.results = self.results, []
        new = [flight for flight in self.new if not flight.dropped]
        self.new = []
        released, self.released = self.released, []
        with transaction.atomic():
            if arrived:
                arrived = self._save_answers(arrived)
            if refused:
                store.refusals_save((flight.hash, error, flight.attempts) for flight, error in refused)
            for sink in SINKS:
                if rows := [row for each, row in results if each is sink]:
                    sink.save(rows)
            counts_write(self.runs)
            if released:
                store.requests_release(released, owner=self.owner)
        # Claims wait for rows that another worker is just writing, so they hold nothing that it could wait for:
        # in one transaction with the answers, two workers could deadlock on PostgreSQL.
        claimed = self._claim(new) if new else 0
        for flight, answer in arrived:
            self._deliver(flight, answer)
        for flight, error in refused:
            self._refuse_waiters(flight, error)
        if claimed == len(new):
            for flight in new:
                self._own(flight)
        else:
            self._resolve({flight.hash: flight for flight in new})
        self._flushed_at = time.monotonic()
        low, high = self.options.commit_gap
        self._gap = min(max(10 * (self._flushed_at - started), low), high)

    def _claim(self, new: list[Flight]) -> int:
        rows = [
            (
                flight.hash,
                flight.wire.kind,
                flight.transport.backend.identity[:300],
                flight.wire.model,
                flight.canonical,
            )
            for flight in new
        ]
        with transaction.atomic():
            return store.requests_claim(rows, owner=self.owner, lease=self.options.lease)

    def _save_answers(self, arrived: list[tuple[Flight, Answer]]) -> list[tuple[Flight, Answer]]:
        rows = [(answer_to_json(answer), flight.attempts, flight.hash) for flight, answer in arrived]
        if store.answers_save(rows) == len(rows):
            return arrived
        # Another worker took over a claim that had run out, and was quicker: what it stored is the answer.
        stored = store.requests_look_up(flight.hash for flight, _ in arrived)
        return [
            (flight, (row.answer or answer) if (row := stored.get(flight.hash)) else answer)
            for flight, answer in arrived
        ]

    def _resolve(self, flights: dict[str, Flight]) -> None:
        """Find out what became of requests that others had claimed, or that were answered before."""
        stored = store.requests_look_up(flights)
        for key, flight in flights.items():
            row = stored.get(key)
            if row is None:  # given up by its worker since: try to claim it again
                self._foreign.pop(key, None)
                self.new.append(flight)
            elif row.state == RequestState.DONE and row.answer is not None:
                self._deliver(flight, row.answer, shared=True)
            elif row.state == RequestState.FAILED:
                self._refuse_waiters(flight, row.error)
            elif row.owner == self.owner:
                flight.earlier = flight.attempts = row.attempts
                self._own(flight)
            else:
                self._foreign[key] = flight

    def _own(self, flight: Flight) -> None:
        self._foreign.pop(flight.hash, None)
        flight.is_ours = True
        if flight.is_wanted():
            flight.transport.ready.append(flight)
        else:
            self._drop(flight)

    def _poll_foreign(self, now: float) -> None:
        if not self._foreign or now - self._polled_at < self.options.poll:
            return
        self._polled_at = now
        store.requests_take_over(self._foreign, owner=self.owner, lease=self.options.lease)
        self._resolve(dict(self._foreign))

    # --- arrivals -----------------------------------------------------------------------------------------

    def _patience(self, transports: list[Transport], now: float, longest: float) -> float:
        wait = longest
        if self.arrived or self.new or self.results or self.refused or self.released:
            wait = min(wait, max(self._flushed_at + self._gap - now, 0.0))
        if self._foreign:
            wait = min(wait, max(self._polled_at + self.options.poll - now, 0.0))
        return min([wait, *(transport.next_due(now) for transport in transports)])

    def _take_in(self, transports: list[Transport], wait: float) -> None:
        active = [transport for transport in transports if transport.sent]
        if not active:
            # Whatever can go on at once does: works that need no model, and what is to be written.
            if wait > 0 and self._is_idle():
                time.sleep(wait)
            return
        if len(active) == 1:
            self._receive(active[0], wait)
            return
        arrived = [self._receive(transport, 0.0) for transport in active]
        if not any(arrived):
            busiest = max(active, key=lambda transport: len(transport.sent))
            self._receive(busiest, min(wait, MAX_LATENCY_SLICE))

    def _is_idle(self) -> bool:
        if self.arrived or self.new or self.results or self.refused or self.released:
            return False
        return not any(run.is_over or self._has_room(run) for run in self.runs)

    @staticmethod
    def _has_room(run: ActiveRun) -> bool:
        if run.exhausted or run.stopping:
            return False
        return run.transport is None or run.transport.n_works < run.transport.target

    def _receive(self, transport: Transport, wait: float) -> bool:
        arrivals = transport.drain(wait)
        now = time.monotonic()
        for flight, outcome in arrivals:
            if isinstance(outcome, Answer):
                flight.has_landed = True
                self.arrived.append((flight, storable_answer(outcome)))
                payer, tokens = flight.payer, outcome.prompt_tokens + outcome.completion_tokens
                payer.counts.cost += outcome.cost
                payer.counts.tokens += tokens
                for meter in payer.meters:
                    meter.add(flight.asked, outcome.cost, tokens)
                for blamed in transport.answered():
                    self.refused.append((blamed, storable(str(blamed.error))))
            else:
                self._receive_error(transport, flight, outcome, now)
        return bool(arrivals)

    def _receive_error(self, transport: Transport, flight: Flight, error: BackendError, now: float) -> None:
        if isinstance(error, TransientBackendError):
            if error.was_sent:
                flight.lost()
            transport.failed(flight, error, now)
            if (error.retry_after or 0.0) > self.options.longest_pause:
                self.troubles.append(
                    (transport, f"The endpoint '{transport.name}' asks for a pause of "
                     f"{error.retry_after:.0f} s: {error}", "")
                )  # fmt: skip
            if not flight.is_wanted():
                self._drop(flight)
            return
        if isinstance(error, EndpointError):
            transport.ready.appendleft(flight)
            model = (
                flight.wire.model if error.status == 404 else ""
            )  # an unknown model says nothing of others
            self.troubles.append(
                (transport, f"The endpoint '{transport.name}' cannot be used: {error}", model)
            )
            if not flight.is_wanted():
                self._drop(flight)
            return
        self.refused.append((flight, storable(str(error))))
        transport.n_refused += 1
        if not transport.n_answers and transport.n_refused >= self.options.refused_after:
            self.troubles.append(
                (transport, f"The endpoint '{transport.name}' refuses every request: {error}", "")
            )

    def _examine(self, transport: Transport) -> None:
        if not transport.suspended:
            return
        more = any(
            not run.exhausted and not run.stopping for run in self.runs if transport in run.transports()
        )
        elsewhere = sum(flight.transport is transport for flight in self._foreign.values())
        if trouble := transport.trouble(more_to_come=more, n_elsewhere=elsewhere):
            self.troubles.append((transport, trouble, transport.troubled_model()))
        for flight in transport.poison(more_to_come=more, n_elsewhere=elsewhere):
            self.refused.append((flight, storable(str(flight.error))))

    def release_all(self) -> None:
        """Give up every claim, at the end of a session."""
        rows = [(flight.hash, flight.attempts) for flight in self._flights.values() if flight.is_ours]
        store.requests_release([*self.released, *rows], owner=self.owner)
        self.released = []
