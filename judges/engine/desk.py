"""Works and flights in memory: generators advanced, requests gathered, judgments made. No I/O at all.

`Engine` in `judges.engine.core` adds the loop, the database and the backends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from judges.backends.base import storable
from judges.backends.wire import build_wire, canonical_hash
from judges.engine.codec import verdict_fields
from judges.engine.options import EngineOptions
from judges.engine.store import Row
from judges.engine.works import ActiveRun, Flight, Work
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
    judgments : list of row
        To be stored; see `store.judgments_save`.
    released : list of (str, int)
        Claims to be given up: hash and attempts.
    """

    def __init__(self, *, options: EngineOptions) -> None:
        self.options = options
        self.runs: list[ActiveRun] = []
        self.new: list[Flight] = []
        self.arrived: list[tuple[Flight, Answer]] = []
        self.refused: list[tuple[Flight, str]] = []
        self.judgments: list[Row] = []
        self.released: list[tuple[str, int]] = []
        self._flights: dict[str, Flight] = {}
        self._foreign: dict[str, Flight] = {}

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

    # --- works --------------------------------------------------------------------------------------------

    def _start_works(self) -> None:
        for run in self.runs:
            transport = run.transport
            while not run.exhausted and not run.stopping:
                if transport is None:
                    if len(self.judgments) >= self.options.group_size:
                        return
                elif transport.n_works >= transport.target:
                    break
                item = next(run.source, None)
                if item is None:
                    run.exhausted = True
                    break
                self._start(run, item)

    def _start(self, run: ActiveRun, item: ItemView) -> None:
        work = Work(run, item, run.begin(item))
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
        run = work.run
        work.single = not isinstance(asked, tuple)
        requests: tuple[Request, ...] = asked if isinstance(asked, tuple) else (asked,)
        for request in requests:
            if request.role not in run.routes:
                self._fail(
                    work, f"The strategy asks the model '{request.role}', which this judge does not name."
                )
                return
        work.answers = [None] * len(requests)
        work.missing = len(requests)
        for place, request in enumerate(requests):
            route = run.routes[request.role]
            wire = build_wire(request, model=route.model, revision=route.revision, decoding=route.decoding)
            canonical = wire.canonical_json()
            key = canonical_hash(canonical, route.transport.backend.identity)
            flight = self._flights.get(key)
            if flight is None:
                flight = self._flights[key] = Flight(key, wire, canonical, route.transport)
                route.transport.n_flights += 1
                self.new.append(flight)
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
        self.judgments.append(
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
            self.released.append((flight.hash, flight.attempts))
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
