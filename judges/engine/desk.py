"""Works and flights in memory: generators advanced, requests gathered, judgments made. No I/O at all.

`Engine` in `judges.engine.core` adds the loop, the database and the backends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from judges.backends.wire import WireRequest, build_wire, canonical_hash
from judges.engine.codec import Result, failure_result, is_storable, verdict_result
from judges.engine.options import EngineOptions
from judges.engine.sinks import Sink
from judges.engine.store import Row
from judges.engine.works import ActiveRun, Flight, Route, Work
from judges.models import ParseStatus
from judges.strategies.errors import StrategyError
from judges.strategies.types import Answer, ItemView, Request, Verdict, Yielded

logger = logging.getLogger(__name__)


class Desk:
    """What is open, and what waits to be written.

    Attributes
    ----------
    runs : list of ActiveRun
    new : list of Flight
        Requests to be claimed.
    arrived : list of (Flight, Answer)
        Answers to be stored, and only then used.
    refused : list of (Flight, str)
        Requests that failed for good, and how.
    results : list of (Sink, row)
        Judgments and generations to be stored.
    released : list of (str, int)
        Claims to be given up: hash and attempts.
    """

    def __init__(self, *, options: EngineOptions) -> None:
        self.options = options
        self.runs: list[ActiveRun] = []
        self.new: list[Flight] = []
        self.arrived: list[tuple[Flight, Answer]] = []
        self.refused: list[tuple[Flight, str]] = []
        self.results: list[tuple[Sink, Row]] = []
        self.released: list[tuple[str, int]] = []
        self._flights: dict[str, Flight] = {}
        self._foreign: dict[str, Flight] = {}
        self._has_unwanted = False

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
        for place, (route, wire, canonical) in enumerate(wanted):
            self._join(work, place, route, wire, canonical)

    def _join(self, work: Work, place: int, route: Route, wire: WireRequest, canonical: str) -> None:
        """Wait for a request, which is a new one if nobody waits for it yet."""
        key = canonical_hash(canonical, route.transport.backend.identity)
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = Flight(key, wire, canonical, route.transport)
            route.transport.n_flights += 1
            self.new.append(flight)
        flight.waiters.append((work, place))

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
                # What else it waited for need not be sent any more. Not here: some of it is just being claimed.
                self._has_unwanted = self._has_unwanted or len(work.answers) > 1

    def _drop(self, flight: Flight) -> None:
        """Give up a request that nobody who goes on waits for, and that is not with the backend."""
        if flight.dropped:
            return
        flight.dropped = True
        self._forget(flight)
        if flight in flight.transport.suspended:
            flight.transport.suspended.remove(flight)
        if flight.is_ours:
            self.released.append((flight.hash, flight.attempts))
        self._close_all(work for work, _ in flight.waiters)

    def _drop_unwanted(self) -> None:
        """Give up the requests that nobody who goes on waits for; those that are with the backend may arrive."""
        if not self._has_unwanted:
            return
        self._has_unwanted = False
        for flight in list(self._flights.values()):
            if not flight.is_sent and not flight.has_landed and not flight.is_wanted():
                self._drop(flight)

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
                if flight.is_sent and flight.payer is run:
                    flight.pass_on()

    def _close_all(self, works: Iterable[Work]) -> None:
        for work in works:
            self._close(work)
