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
from collections import deque
from collections.abc import Iterable

from judges.backends.base import storable
from judges.backends.errors import BackendError, EndpointError, NotSentError, TransientBackendError
from judges.backends.wire import UnstorableError, build_wire, hash_and_shown
from judges.engine.codec import (
    UNPARSED,
    Result,
    failure_result,
    storable_answer,
    verdict_result,
)
from judges.engine.options import EngineOptions
from judges.engine.request_store import DONE, FAILED, BatchMaker, RequestStore
from judges.engine.works import ActiveRun, InFlightRequest, Row, Sink, Transport, Work
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
    over_budget : list of (Transport, InFlightRequest)
        Requests that no batch can take because of a budget that nothing will give back; for the session, too.
    """

    def __init__(
        self,
        *,
        owner: str,
        options: EngineOptions,
        store: RequestStore,
        batches: BatchMaker | None = None,
    ) -> None:
        self.batches = batches
        self.over_budget: list[tuple[Transport, InFlightRequest]] = []
        self.options = options
        self.store = store
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
        if self.batches is not None:
            self._fill_batches(self.batches, transports)
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
        with self.store.atomic():
            if arrived:
                arrived = self._save_answers(arrived)
            if refused:
                self.store.save_refusals(
                    (request.hash, error, request.attempts) for request, error in refused
                )
            self.store.save_results(results)
            self.store.save_counts(self.runs)
            if released:
                self.store.release(released, owner=self.owner)
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
            (request.hash, request.transport.backend.identity, request.wire, request.shown) for request in new
        ]
        with self.store.atomic():
            return self.store.claim(rows, owner=self.owner)

    def _save_answers(
        self, arrived: list[tuple[InFlightRequest, Answer]]
    ) -> list[tuple[InFlightRequest, Answer]]:
        rows = [(request.hash, request.attempts, answer, request.wire) for request, answer in arrived]
        if self.store.save_answers(rows) == len(rows):
            return arrived
        # Another worker took over a claim that had run out, and was quicker: what it stored is the answer.
        stored = self.store.look_up(request.hash for request, _ in arrived)
        return [
            (request, (row.answer or answer) if (row := stored.get(request.hash)) else answer)
            for request, answer in arrived
        ]

    def _resolve(self, requests: dict[str, InFlightRequest]) -> None:
        """Find out what became of requests that others had claimed, or that were answered before."""
        stored = self.store.look_up(requests)
        for key, request in requests.items():
            row = stored.get(key)
            if row is None:  # given up by its worker since: try to claim it again
                self._foreign.pop(key, None)
                self.new.append(request)
            elif row.state == DONE and row.answer is not None:
                self._deliver(request, row.answer, shared=True, owner=row.owner)
            elif row.state == FAILED:
                self._refuse_waiters(request, row.error)
            elif row.batch:
                self._hold(request, row.batch)
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
        self.store.take_over(self._foreign, owner=self.owner)
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
        if isinstance(error, NotSentError):
            transport.ready.appendleft(request)
            if not request.is_wanted():
                self._drop(request)
            return
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
        transport.refuse(error)

    def _examine(self, transport: Transport) -> None:
        if refusal := transport.refusal():
            self.troubles.append((transport, refusal, ""))
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
        self.store.release([*self.released, *rows], owner=self.owner)
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
        for transport in run.transports():
            transport.recall()
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
            logger.exception("Strategy failed on item %s", work.item.item_id, extra=_ids(work))
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
                key, shown = hash_and_shown(wire, route.transport.backend.identity + run.asked_anew)
            except UnstorableError as error:
                self._fail(work, str(error))
                return
            except (TypeError, ValueError) as error:
                self._fail(work, f"The strategy's request cannot be sent: {error}")
                return
            wanted.append((key, wire, route.transport, shown))
        # Nothing is asked before all of it is known to be right.
        for index, each in enumerate(wanted):
            request_made = self._in_flight.get(each[0])
            if request_made is None:
                request_made = self._in_flight[each[0]] = InFlightRequest(*each)
                each[2].n_in_flight += 1
                self.new.append(request_made)
            request_made.waiters.append((work, index))

    def _conclude(self, work: Work, verdict: Verdict) -> None:
        try:
            result = verdict_result(verdict, work.item.order)
        except (AttributeError, TypeError, ValueError) as error:
            logger.exception("Verdict on item %s", work.item.item_id, extra=_ids(work))
            self._fail(work, f"The strategy's verdict cannot be stored: {error}.")
            return
        run = work.run
        run.n_answered += 1
        if result[0] == UNPARSED:
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

    # --- batches ------------------------------------------------------------------------------------------

    def _fill_batches(self, make: BatchMaker, transports: list[Transport]) -> None:
        """Put what is ready into batches, where nothing more can join it or a batch is full."""
        for transport in transports:
            full = len(transport.ready) >= self.options.batch_requests
            if transport.in_batches and transport.ready and (full or not self._more_may_come(transport)):
                ready, transport.ready = transport.ready, deque()
                groups: dict[tuple[ActiveRun, str], list[InFlightRequest]] = {}
                for request in ready:
                    if not request.dropped:
                        request.payer = request.payer_chosen()
                        groups.setdefault((request.payer, request.wire.model), []).append(request)
                for (run, _), requests in groups.items():
                    self._fill_batch(make, transport, run, requests)

    def _more_may_come(self, transport: Transport) -> bool:
        if self.new or self.arrived or self.refused:
            return True
        runs = [run for run in self.runs if run.asks(transport)]
        if any(run.n_sent or self._has_room(run) for run in runs):
            return True
        others = {other for run in runs for other in run.transports() if not other.in_batches}
        return any(other.ready or other.delayed for other in others)

    def _fill_batch(
        self, make: BatchMaker, transport: Transport, run: ActiveRun, requests: list[InFlightRequest]
    ) -> None:
        while requests:
            size = n = 0
            while n < min(len(requests), self.options.batch_requests) and size < self.options.batch_bytes:
                size += len(requests[n].wire.canonical_json())
                n += 1
            made = make(transport, run, requests[:n])
            left = requests[n:]
            for request in requests[:n]:
                if request.hash in made.held:
                    self._hold(request, made.key)
                elif request.hash in made.lost:
                    request.is_ours = False
                    self.new.append(request)
                else:
                    left.append(request)
            requests = left
            if (made.key or made.lost) and not made.is_over_budget:
                continue
            transport.ready.extend(requests)
            if made.waits:
                run.waits |= made.waits
                self.stop_run(run)
            elif made.is_over_budget:
                self.over_budget.append((transport, requests[0]))
            return

    def _hold(self, request: InFlightRequest, key: str) -> None:
        """Leave a request to the batch that has it; works that wait for nothing else are begun again after its end."""
        self._forget(request)
        for work, _ in request.waiters:
            if work.closed:
                continue
            work.n_held += 1
            work.run.waits.add(key)
            if work.is_held:
                self._close(work)

    # --- answered, refused, given up ----------------------------------------------------------------------------------

    def _forget(self, request: InFlightRequest) -> None:
        if self._in_flight.pop(request.hash, None) is not None:
            request.transport.n_in_flight -= 1
        self._foreign.pop(request.hash, None)

    def _deliver(
        self, request: InFlightRequest, answer: Answer, *, shared: bool = False, owner: str = ""
    ) -> None:
        self._forget(request)
        for work, index in request.waiters:
            if work.closed:
                continue
            if shared and owner not in work.run.batches:
                work.run.counts.shared += 1
            shared, owner = True, ""  # the first waiter's request was sent, the others share it
            if work.take(index, answer, request.wire.model):
                self._advance(work)
            elif work.is_held:
                self._close(work)

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


def _ids(work: Work) -> dict[str, int]:
    """What a log line names."""
    return {"sweep": work.run.sweep_id, "run": work.run.run_id}
