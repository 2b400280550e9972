"""The engine: generators in, judgments out, with every answer stored before it is used.

One thread owns the database and all that stands here; backends do their I/O in threads of their own. A step
of the loop starts works while there is room, writes what has piled up in short transactions, sends, and
takes in what has arrived. One transaction carries the answers that came, the judgments that earlier answers
led to and the runs' counters, a second one the claims of new requests; only then are the answers fed to their
generators and the claimed requests sent. So a killed worker has used no answer that is not stored, and sent
no request that is not claimed.
"""

import logging
import time
from collections.abc import Iterable

from django.db import transaction

from judges.backends.base import storable
from judges.backends.errors import BackendError, EndpointError, TransientBackendError
from judges.backends.wire import WireRequest, build_wire, canonical_hash
from judges.engine import store
from judges.engine.codec import (
    Result,
    answer_to_json,
    failure_result,
    is_storable,
    storable_answer,
    verdict_result,
)
from judges.engine.leases import counts_write
from judges.engine.options import EngineOptions
from judges.engine.sinks import SINKS
from judges.engine.store import Row
from judges.engine.works import ActiveRun, InFlightRequest, Route, Sink, Transport, Work
from judges.models import ParseStatus, RequestState
from judges.strategies.errors import StrategyError
from judges.strategies.types import Answer, ItemView, Request, Verdict, Yielded

logger = logging.getLogger(__name__)

MAX_LATENCY_SLICE = 0.01
"""Seconds to wait on one backend while others have requests in flight too."""


class Engine:
    """Drives the works of the active runs. See the module's text for what it promises.

    Attributes
    ----------
    runs : list of ActiveRun
    new : list of InFlightRequest
        Requests to be claimed.
    arrived : list of (InFlightRequest, Answer)
        Answers to be stored, and only then used.
    refused : list of (InFlightRequest, str)
        Requests that failed for good, and how.
    results : list of (Sink, row)
        Judgments and generations to be stored.
    released : list of (str, int)
        Claims to be given up: hash and attempts.
    troubles : list of (Transport, str, str)
        Endpoints that are of no use any more, why, and with which model (empty: with any); for the session to act on.
    """

    def __init__(self, *, owner: str, options: EngineOptions) -> None:
        self.options = options
        self.runs: list[ActiveRun] = []
        self.new: list[InFlightRequest] = []
        self.arrived: list[tuple[InFlightRequest, Answer]] = []
        self.refused: list[tuple[InFlightRequest, str]] = []
        self.results: list[tuple[Sink, Row]] = []
        self.released: list[tuple[str, int]] = []
        self._in_flight: dict[str, InFlightRequest] = {}
        self._foreign: dict[str, InFlightRequest] = {}
        self._has_unwanted = False
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
        self._take_in(transports, self._longest_wait(transports, now, longest_wait))
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
        new = [request for request in self.new if not request.dropped]
        self.new = []
        released, self.released = self.released, []
        with transaction.atomic():
            if arrived:
                arrived = self._save_answers(arrived)
            if refused:
                store.refusals_save((request.hash, error, request.attempts) for request, error in refused)
            for sink in SINKS:
                if rows := [row for each, row in results if each is sink]:
                    sink.save(rows)
            counts_write(self.runs)
            if released:
                store.requests_release(released, owner=self.owner)
        # Claims wait for rows that another worker is just writing, so they hold nothing that it could wait for:
        # in one transaction with the answers, two workers could deadlock on PostgreSQL.
        claimed = self._claim(new) if new else 0
        for request, answer in arrived:
            self._deliver(request, answer)
        for request, error in refused:
            self._refuse_waiters(request, error)
        if claimed == len(new):
            for request in new:
                self._own(request)
        else:
            self._resolve({request.hash: request for request in new})
        self._flushed_at = time.monotonic()
        low, high = self.options.commit_gap
        self._gap = min(max(10 * (self._flushed_at - started), low), high)

    def _claim(self, new: list[InFlightRequest]) -> int:
        rows = [
            (
                request.hash,
                request.wire.kind,
                request.transport.backend.identity[:300],
                request.wire.model,
                request.canonical,
            )
            for request in new
        ]
        with transaction.atomic():
            return store.requests_claim(rows, owner=self.owner, lease=self.options.lease)

    def _save_answers(
        self, arrived: list[tuple[InFlightRequest, Answer]]
    ) -> list[tuple[InFlightRequest, Answer]]:
        rows = [(answer_to_json(answer), request.attempts, request.hash) for request, answer in arrived]
        if store.answers_save(rows) == len(rows):
            return arrived
        # Another worker took over a claim that had run out, and was quicker: what it stored is the answer.
        stored = store.requests_look_up(request.hash for request, _ in arrived)
        return [
            (request, (row.answer or answer) if (row := stored.get(request.hash)) else answer)
            for request, answer in arrived
        ]

    def _resolve(self, requests: dict[str, InFlightRequest]) -> None:
        """Find out what became of requests that others had claimed, or that were answered before."""
        stored = store.requests_look_up(requests)
        for key, request in requests.items():
            row = stored.get(key)
            if row is None:  # given up by its worker since: try to claim it again
                self._foreign.pop(key, None)
                self.new.append(request)
            elif row.state == RequestState.DONE and row.answer is not None:
                self._deliver(request, row.answer, shared=True)
            elif row.state == RequestState.FAILED:
                self._refuse_waiters(request, row.error)
            elif row.owner == self.owner:
                request.earlier = request.attempts = row.attempts
                self._own(request)
            else:
                self._foreign[key] = request

    def _own(self, request: InFlightRequest) -> None:
        self._foreign.pop(request.hash, None)
        request.is_ours = True
        if request.is_wanted():
            request.transport.ready.append(request)
        else:
            self._drop(request)

    def _poll_foreign(self, now: float) -> None:
        if not self._foreign or now - self._polled_at < self.options.poll:
            return
        self._polled_at = now
        store.requests_take_over(self._foreign, owner=self.owner, lease=self.options.lease)
        self._resolve(dict(self._foreign))

    # --- arrivals -----------------------------------------------------------------------------------------

    def _longest_wait(self, transports: list[Transport], now: float, longest: float) -> float:
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
        for request, outcome in arrivals:
            if isinstance(outcome, Answer):
                request.is_answered = True
                self.arrived.append((request, storable_answer(outcome)))
                payer, tokens = request.payer, outcome.prompt_tokens + outcome.completion_tokens
                payer.counts.cost += outcome.cost
                payer.counts.tokens += tokens
                for meter in payer.meters:
                    meter.add(request.asked, outcome.cost, tokens)
                for blamed in transport.answered():
                    self.refused.append((blamed, storable(str(blamed.error))))
            else:
                self._receive_error(transport, request, outcome, now)
        return bool(arrivals)

    def _receive_error(
        self, transport: Transport, request: InFlightRequest, error: BackendError, now: float
    ) -> None:
        if isinstance(error, TransientBackendError):
            if error.was_sent:
                request.lost()
            transport.failed(request, error, now)
            if (error.retry_after or 0.0) > self.options.longest_pause:
                self.troubles.append(
                    (transport, f"The endpoint '{transport.name}' asks for a pause of "
                     f"{error.retry_after:.0f} s: {error}", "")
                )  # fmt: skip
            if not request.is_wanted():
                self._drop(request)
            return
        if isinstance(error, EndpointError):
            transport.ready.appendleft(request)
            model = (
                request.wire.model if error.status == 404 else ""
            )  # an unknown model says nothing of others
            self.troubles.append(
                (transport, f"The endpoint '{transport.name}' cannot be used: {error}", model)
            )
            if not request.is_wanted():
                self._drop(request)
            return
        self.refused.append((request, storable(str(error))))
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
        elsewhere = sum(request.transport is transport for request in self._foreign.values())
        if trouble := transport.trouble(more_to_come=more, n_elsewhere=elsewhere):
            self.troubles.append((transport, trouble, transport.troubled_model()))
        for request in transport.poison(more_to_come=more, n_elsewhere=elsewhere):
            self.refused.append((request, storable(str(request.error))))

    def release_all(self) -> None:
        """Give up every claim, at the end of a session."""
        rows = [(request.hash, request.attempts) for request in self._in_flight.values() if request.is_ours]
        store.requests_release([*self.released, *rows], owner=self.owner)
        self.released = []

    # --- runs ---------------------------------------------------------------------------------------------

    def add(self, run: ActiveRun) -> None:
        """Take up a run that is claimed; those of a higher priority go first."""
        self.runs.append(run)
        self.runs.sort(key=lambda each: -each.priority)

    def over(self) -> list[ActiveRun]:
        """Take out and return the runs of which nothing is left."""
        done = [run for run in self.runs if run.is_over]
        if done:
            self.runs = [run for run in self.runs if not run.is_over]
        return done

    def stop_run(self, run: ActiveRun, *, error: str = "", grace: float = 0.0, lost: bool = False) -> None:
        """Start and send nothing more for a run; what is in flight may arrive for `grace` seconds."""
        if not run.stopping:
            run.stopping = True
            run.deadline = time.monotonic() + grace
        run.error = run.error or error
        run.lost = run.lost or lost
        self._has_unwanted = True
        self._drop_unwanted()

    # --- works --------------------------------------------------------------------------------------------

    def _start_works(self) -> None:
        for run in self.runs:
            transport = run.transport
            while not run.exhausted and not run.stopping:
                if transport is None:
                    if len(self.results) >= self.options.group_size:
                        return
                elif transport.n_works >= transport.target:
                    break
                item = next(run.source, None)
                if item is None:
                    run.exhausted = True
                    break
                self._start(run, item)

    def _start(self, run: ActiveRun, item: ItemView) -> None:
        work = Work(run, item)
        run.n_open += 1
        run.n_started += 1
        if run.transport is not None:
            run.transport.n_works += 1
        self._advance(work)

    def _advance(self, work: Work) -> None:
        try:
            asked = work.next()
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
        run = work.run
        requests: tuple[Request, ...] = asked if isinstance(asked, tuple) else (asked,)
        work.expect(len(requests), single=not isinstance(asked, tuple))
        if not requests:
            self._advance(work)
            return
        wanted = []
        for request in requests:
            route = run.routes.get(request.role)
            if route is None:
                self._fail(
                    work, f"The strategy asks the model '{request.role}', which this judge does not name."
                )
                return
            try:
                wire = build_wire(
                    request, model=route.model, revision=route.revision, decoding=route.decoding
                )
                canonical = wire.canonical_json()
            except (TypeError, ValueError) as error:
                self._fail(work, f"The strategy's request cannot be sent: {error}")
                return
            if not is_storable(canonical):
                self._fail(work, "The request has a character that no database takes.")
                return
            wanted.append((route, wire, canonical))
        for index, (route, wire, canonical) in enumerate(wanted):
            self._join(work, index, route, wire, canonical)

    def _join(self, work: Work, index: int, route: Route, wire: WireRequest, canonical: str) -> None:
        """Wait for a request, which is a new one if nobody waits for it yet."""
        key = canonical_hash(canonical, route.transport.backend.identity + work.run.asked_anew)
        request = self._in_flight.get(key)
        if request is None:
            request = self._in_flight[key] = InFlightRequest(key, wire, canonical, route.transport)
            route.transport.n_in_flight += 1
            self.new.append(request)
        request.waiters.append((work, index))

    def _conclude(self, work: Work, verdict: Verdict) -> None:
        try:
            result = verdict_result(verdict, work.item.order)
        except (AttributeError, TypeError, ValueError) as error:
            logger.exception("Verdict on item %s", work.item.item_id)
            self._fail(work, f"The strategy's verdict cannot be stored: {error}.")
            return
        run = work.run
        run.n_answered += 1
        if result[0] == ParseStatus.UNPARSED:
            run.counts.unparsed += 1
            run.unread = run.unread or result[-1] or result[-2]
            run.n_unread += 1
        self._settle(work, result)

    def _fail(self, work: Work, error: str) -> None:
        work.run.counts.failed += 1
        self._settle(work, failure_result(error))

    def _settle(self, work: Work, result: Result) -> None:
        sink = work.run.sink
        self.results.append((sink, sink.row(work, result)))
        work.run.counts.done += 1
        self._close(work)

    def _close(self, work: Work) -> None:
        if work.closed:
            return
        work.closed = True
        work.run.n_open -= 1
        if work.run.transport is not None:
            work.run.transport.n_works -= 1

    # --- answered, refused, given up ----------------------------------------------------------------------------------

    def _forget(self, request: InFlightRequest) -> None:
        if self._in_flight.pop(request.hash, None) is not None:
            request.transport.n_in_flight -= 1
        self._foreign.pop(request.hash, None)

    def _deliver(self, request: InFlightRequest, answer: Answer, *, shared: bool = False) -> None:
        self._forget(request)
        for work, index in request.waiters:
            if work.closed:
                continue
            if shared:
                work.run.counts.shared += 1
            shared = True  # the first waiter's request was sent, the others share it
            if work.take(index, answer, request.wire.model):
                self._advance(work)

    def _refuse_waiters(self, request: InFlightRequest, error: str) -> None:
        self._forget(request)
        for work, _ in request.waiters:
            if not work.closed:
                self._fail(work, error)
                # What else it waited for need not be sent any more. Not here: some of it is just being claimed.
                self._has_unwanted = self._has_unwanted or len(work.answers) > 1

    def _drop(self, request: InFlightRequest) -> None:
        """Give up a request that nobody who goes on waits for, and that is not with the backend."""
        if request.dropped:
            return
        request.dropped = True
        self._forget(request)
        if request in request.transport.suspended:
            request.transport.suspended.remove(request)
        if request.is_ours:
            self.released.append((request.hash, request.attempts))
        self._close_all(work for work, _ in request.waiters)

    def _drop_unwanted(self) -> None:
        """Give up the requests that nobody who goes on waits for; those that are with the backend may arrive."""
        if not self._has_unwanted:
            return
        self._has_unwanted = False
        for request in list(self._in_flight.values()):
            if not request.is_sent and not request.is_answered and not request.is_wanted():
                self._drop(request)

    def _abandon(self, run: ActiveRun) -> None:
        """Stop waiting for what is in flight for a run."""
        for request in list(self._in_flight.values()):
            if request.is_answered:
                continue
            if all(work.run is run or work.closed for work, _ in request.waiters):
                request.transport.give_up(request)
                self._drop(request)
            else:
                self._close_all(work for work, _ in request.waiters if work.run is run)
                if request.is_sent and request.payer is run:
                    request.pass_on()

    def _close_all(self, works: Iterable[Work]) -> None:
        for work in works:
            self._close(work)
