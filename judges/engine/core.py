"""The engine: generators in, judgments out, with every answer stored before it is used.

One thread owns the database and all that stands here; backends do their I/O in threads of their own. A step
of the loop starts works while there is room, writes what has piled up in one short transaction, sends, and
takes in what has arrived. One transaction carries, in this order, the answers that came, the judgments that
earlier answers led to, the runs' counters, and the claims of new requests; only when it is committed are
answers fed to their generators and claimed requests sent. So a killed worker has used no answer that is not
stored, and sent no request that is not claimed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from django.db import transaction

from judges.backends.errors import BackendError, EndpointError, TransientBackendError
from judges.backends.wire import build_wire, request_hash
from judges.engine import store
from judges.engine.codec import answer_to_json, encode, storable, verdict_fields
from judges.engine.leases import counts_write
from judges.engine.options import EngineOptions
from judges.engine.transport import Transport
from judges.engine.works import ActiveRun, Flight, Work
from judges.models import ParseStatus, RequestState
from judges.strategies.errors import StrategyError
from judges.strategies.types import Answer, Request, Verdict, Yielded

logger = logging.getLogger(__name__)

MAX_LATENCY_SLICE = 0.01
"""Seconds to wait on one backend while others have requests in flight too."""


class Engine:
    """Drives the works of the active runs. See the module's text for what it promises.

    Attributes
    ----------
    runs : list of ActiveRun
        Add with `add`; take out what `over()` returns.
    troubles : list of (Transport, str)
        Endpoints that are of no use any more, and why; for the session to act on.
    """

    def __init__(self, *, owner: str, options: EngineOptions) -> None:
        self.owner = owner
        self.options = options
        self.runs: list[ActiveRun] = []
        self.troubles: list[tuple[Transport, str]] = []
        self._flights: dict[str, Flight] = {}
        self._new: list[Flight] = []
        self._foreign: dict[str, Flight] = {}
        self._arrived: list[tuple[Flight, Answer]] = []
        self._refused: list[tuple[Flight, str]] = []
        self._judgments: list[store.Row] = []
        self._released: list[tuple[str, int]] = []
        self._flushed_at = 0.0
        self._gap = options.commit_gap[0]
        self._polled_at = 0.0

    # --- runs ---------------------------------------------------------------------------------------------

    def add(self, run: ActiveRun) -> None:
        """Take up a run that is claimed."""
        self.runs.append(run)

    def over(self) -> list[ActiveRun]:
        """Take out and return the runs of which nothing is left."""
        done = [run for run in self.runs if run.is_over]
        if done:
            self.runs = [run for run in self.runs if not run.is_over]
        return done

    def transports(self) -> list[Transport]:
        """Return the endpoints of the active runs, each once."""
        return list({run.transport: None for run in self.runs if run.transport is not None})

    def stop_run(self, run: ActiveRun, *, error: str = "", grace: float = 0.0, lost: bool = False) -> None:
        """Start and send nothing more for a run; what is in flight may arrive for `grace` seconds."""
        if not run.stopping:
            run.stopping = True
            run.deadline = time.monotonic() + grace
        run.error = run.error or error
        run.lost = run.lost or lost
        for flight in list(self._flights.values()):
            if not flight.is_sent and not flight.has_landed and not flight.is_wanted():
                self._drop(flight)

    def step(self, *, longest_wait: float = 0.1) -> None:
        """Do what can be done now, then wait a moment for what is under way."""
        now = time.monotonic()
        self._start_works()
        if self._should_write(now):
            self.write()
        transports = self.transports()
        now = time.monotonic()
        for transport in transports:
            transport.dispatch(now)
        self._poll_foreign(now)
        for run in self.runs:
            if run.stopping and run.n_open and now >= run.deadline:
                self._abandon(run)
        self._take_in(transports, self._patience(transports, now, longest_wait))
        for transport in transports:
            self._examine(transport)

    # --- works --------------------------------------------------------------------------------------------

    def _start_works(self) -> None:
        for run in self.runs:
            transport = run.transport
            while not run.exhausted and not run.stopping:
                if transport is None:
                    if len(self._judgments) >= self.options.group_size:
                        return
                elif transport.n_works >= transport.target:
                    break
                item = next(run.source, None)
                if item is None:
                    run.exhausted = True
                    break
                self._start(run, item)

    def _start(self, run: ActiveRun, item: object) -> None:
        work = Work(run, item, run.begin(item))  # type: ignore[arg-type]
        run.n_open += 1
        run.n_started += 1
        if run.transport is not None:
            run.transport.n_works += 1
        self._advance(work, first=True)

    def _advance(self, work: Work, *, first: bool = False) -> None:
        try:
            asked = next(work.steps) if first else work.steps.send(work.sent())
        except StopIteration as stop:
            self._conclude(work, stop.value)
        except StrategyError as error:
            self._fail(work, str(error))
        except Exception as error:
            # A mistake in a strategy costs the items it meets, not the sweep.
            logger.exception("Strategy failed on item %s", work.item.item_id)
            self._fail(work, f"The strategy failed: {type(error).__name__}: {error}")
        else:
            if work.run.stopping:
                self._close(work)
            else:
                self._ask(work, asked)

    def _ask(self, work: Work, asked: Yielded) -> None:
        run, transport = work.run, work.run.transport
        work.single = not isinstance(asked, tuple)
        requests: tuple[Request, ...] = asked if isinstance(asked, tuple) else (asked,)
        if transport is None:
            self._fail(work, "The strategy asks a model, and this judge has none.")
            return
        if any(request.role not in ("judge", "encoder") for request in requests):
            self._fail(work, "The strategy asks for a model that this judge does not name.")
            return
        work.answers = [None] * len(requests)
        work.missing = len(requests)
        identity = transport.backend.identity
        for place, request in enumerate(requests):
            wire = build_wire(request, model=run.model, revision=run.revision, decoding=run.decoding)
            key = request_hash(wire, identity)
            flight = self._flights.get(key)
            if flight is None:
                flight = self._flights[key] = Flight(key, wire, transport)
                transport.n_flights += 1
                self._new.append(flight)
            flight.waiters.append((work, place))

    def _conclude(self, work: Work, verdict: Verdict) -> None:
        status, choice, value = verdict_fields(verdict, work.item.order)
        if status == ParseStatus.UNPARSED:
            work.run.counts.unparsed += 1
        self._judge(work, status, choice, value, storable(verdict.raw_text))

    def _fail(self, work: Work, error: str) -> None:
        work.run.counts.failed += 1
        self._judge(work, ParseStatus.FAILED.value, None, None, storable(error))

    def _judge(self, work: Work, status: str, choice: int | None, value: str | None, text: str) -> None:
        run, item = work.run, work.item
        self._judgments.append(
            (
                run.judge_id,
                item.item_id,
                item.order,
                status,
                choice,
                value,
                text,
                work.requests,
                work.cost,
                work.latency,
            )
        )
        run.counts.done += 1
        self._close(work)

    def _close(self, work: Work) -> None:
        if work.closed:
            return
        work.closed = True
        work.run.n_open -= 1
        if work.run.transport is not None:
            work.run.transport.n_works -= 1

    # --- the database -------------------------------------------------------------------------------------

    def _should_write(self, now: float) -> bool:
        pending = len(self._arrived) + len(self._new) + len(self._judgments)
        if not pending and not self._refused and not self._released:
            return False
        if pending >= self.options.group_size or now - self._flushed_at >= self._gap:
            return True
        # With nothing in flight there is nothing to be gained by waiting.
        return not any(transport.sent for transport in self.transports())

    def write(self) -> None:
        """Write all that has piled up in one transaction, then act on it."""
        started = time.monotonic()
        arrived, self._arrived = self._arrived, []
        refused, self._refused = self._refused, []
        judgments, self._judgments = self._judgments, []
        new = [flight for flight in self._new if not flight.dropped]
        self._new = []
        released, self._released = self._released, []
        with transaction.atomic():
            if arrived:
                arrived = self._save_answers(arrived)
            if refused:
                store.refusals_save((flight.hash, error, flight.attempts) for flight, error in refused)
            if judgments:
                store.judgments_save(judgments)
            counts_write(self.runs)
            if released:
                store.requests_release(released, owner=self.owner)
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
                encode(flight.wire.payload()),
            )
            for flight in new
        ]
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
                self._new.append(flight)
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
        if self._arrived or self._new or self._judgments or self._refused or self._released:
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
        if self._arrived or self._new or self._judgments or self._refused or self._released:
            return False
        return all(
            run.exhausted or run.stopping or (run.transport and run.transport.n_works >= run.transport.target)
            for run in self.runs
        )

    def _receive(self, transport: Transport, wait: float) -> bool:
        arrivals = transport.drain(wait)
        now = time.monotonic()
        for flight, outcome in arrivals:
            if isinstance(outcome, Answer):
                flight.has_landed = True
                self._arrived.append((flight, outcome))
                counts, gate = flight.payer.counts, flight.payer.gate
                counts.cost += outcome.cost
                if gate is not None:
                    gate.answered(outcome.cost)
                for blamed in transport.answered():
                    self._refused.append((blamed, storable(str(blamed.error))))
            else:
                self._receive_error(transport, flight, outcome, now)
        return bool(arrivals)

    def _receive_error(self, transport: Transport, flight: Flight, error: BackendError, now: float) -> None:
        if isinstance(error, TransientBackendError):
            transport.failed(flight, error, now)
            if (error.retry_after or 0.0) > self.options.longest_pause:
                self.troubles.append(
                    (transport, f"The endpoint '{transport.name}' asks for a pause of "
                     f"{error.retry_after:.0f} s: {error}")
                )  # fmt: skip
            if not flight.is_wanted():
                self._drop(flight)
            return
        if isinstance(error, EndpointError):
            transport.ready.appendleft(flight)
            self.troubles.append((transport, f"The endpoint '{transport.name}' cannot be used: {error}"))
            return
        self._refused.append((flight, storable(str(error))))
        transport.n_refused += 1
        if not transport.n_answers and transport.n_refused >= self.options.refused_after:
            self.troubles.append(
                (transport, f"The endpoint '{transport.name}' refuses every request: {error}")
            )

    def _examine(self, transport: Transport) -> None:
        if not transport.suspended:
            return
        more = any(not run.exhausted and not run.stopping for run in self.runs if run.transport is transport)
        if trouble := transport.trouble(more_to_come=more):
            self.troubles.append((transport, trouble))
        for flight in transport.poison(more_to_come=more):
            self._refused.append((flight, storable(str(flight.error))))

    # --- ends of flights ----------------------------------------------------------------------------------

    def _forget(self, flight: Flight) -> None:
        if self._flights.pop(flight.hash, None) is not None:
            flight.transport.n_flights -= 1
        self._foreign.pop(flight.hash, None)

    def _deliver(self, flight: Flight, answer: Answer, *, shared: bool = False) -> None:
        self._forget(flight)
        for work, place in flight.waiters:
            if work.closed:
                continue
            if shared:
                work.run.counts.shared += 1
            shared = True  # the first waiter's request was sent, the others share it
            if work.take(place, answer):
                self._advance(work)

    def _refuse_waiters(self, flight: Flight, error: str) -> None:
        self._forget(flight)
        for work, _ in flight.waiters:
            if not work.closed:
                self._fail(work, error)

    def _drop(self, flight: Flight) -> None:
        """Give up a request that nobody who goes on waits for, and that is not with the backend."""
        if flight.dropped:
            return
        flight.dropped = True
        self._forget(flight)
        if flight in flight.transport.suspended:
            flight.transport.suspended.remove(flight)
        if flight.is_ours:
            self._released.append((flight.hash, flight.attempts))
        self._close_all(work for work, _ in flight.waiters)

    def _abandon(self, run: ActiveRun) -> None:
        """Stop waiting for what is in flight for a run."""
        for flight in list(self._flights.values()):
            if flight.has_landed:
                continue
            if all(work.run is run or work.closed for work, _ in flight.waiters):
                flight.transport.give_up(flight)
                self._drop(flight)
            else:
                self._close_all(work for work, _ in flight.waiters if work.run is run)

    def _close_all(self, works: Iterable[Work]) -> None:
        for work in works:
            self._close(work)

    def release_all(self) -> None:
        """Give up every claim, at the end of a session."""
        rows = [(flight.hash, flight.attempts) for flight in self._flights.values() if flight.is_ours]
        store.requests_release([*self._released, *rows], owner=self.owner)
        self._released = []
