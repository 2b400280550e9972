"""A session of the engine: claims runs while there are any, lets the engine drive them, gives them back.

Any number of sessions, in any number of processes and machines, may work at the same time. Each keeps every
endpoint of its runs busy: when the works of an endpoint's run are all started, it claims the next run for
that endpoint, so that the server never runs dry between two judges.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import Error as DatabaseError
from django.db import connection

from judges.backends.base import Backend
from judges.backends.errors import BackendError
from judges.engine import leases, store
from judges.engine.core import Engine
from judges.engine.options import EngineOptions
from judges.engine.transport import Transport
from judges.engine.works import ActiveRun, Gate, Route
from judges.models import IN_WORKER, Endpoint, Judgment, SweepRun, SweepState
from judges.selectors.items import item_views, presented
from judges.selectors.sweeps import orders_wanted
from judges.services.checks import judge_endpoints, judge_spec, private_refusal
from judges.services.endpoints import backend_for
from judges.services.sweep_states import sweep_stop
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import ModelRef
from judges.strategies.spec import build_strategy
from judges.strategies.types import ItemView

logger = logging.getLogger(__name__)

BackendFactory = Callable[[Endpoint, ModelRef], Backend]
CACHED_ITEMS = 5000
"""Items of the last dataset that are kept for the next judge."""


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a session did: runs brought to their end, and whether it was told to stop."""

    n_runs: int
    was_stopped: bool


def run_pending(
    *,
    sweep_id: int | None = None,
    options: EngineOptions | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_more: Callable[[], None] = lambda: None,
    on_tick: Callable[[], None] = lambda: None,
    backends: BackendFactory | None = None,
) -> SessionReport:
    """Work until no run is left that this worker could take up.

    Parameters
    ----------
    sweep_id : int, optional
        Work for this sweep only.
    stop : callable
        Asked often; once it returns True the session ends as soon as it can, and gives back what it has.
    on_more : callable
        Called when there are more runs than this session takes up at once: to wake up another worker.
    on_tick : callable
        Called about once a second.
    backends : callable, optional
        Builds the backend for an endpoint and specification, in place of the configured one.
    """
    session = _Session(
        sweep_id=sweep_id,
        options=options or EngineOptions(),
        stop=stop,
        on_more=on_more,
        on_tick=on_tick,
        backends=backends or (lambda endpoint, model: backend_for(endpoint=endpoint, model=model)),
    )
    return session.run()


def worker_name() -> str:
    """Return a name that no other session has, of at most 64 characters."""
    return f"{socket.gethostname()[:30]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


class _Session:
    def __init__(
        self,
        *,
        sweep_id: int | None,
        options: EngineOptions,
        stop: Callable[[], bool],
        on_more: Callable[[], None],
        on_tick: Callable[[], None],
        backends: BackendFactory,
    ) -> None:
        self.sweep_id = sweep_id
        self.options = options
        self.stop = stop
        self.on_more = on_more
        self.on_tick = on_tick
        self.backends = backends
        self.owner = worker_name()
        self.engine = Engine(owner=self.owner, options=options)
        self.transports: dict[str, Transport] = {}
        self.endpoints: dict[Transport, int] = {}
        self.gates: dict[int, Gate] = {}
        self.items = _Items()
        self.n_runs = 0
        self.claim_at = self.tick_at = self.keep_at = 0.0
        self.is_stopping = False

    def run(self) -> SessionReport:
        _prepare_connection()
        try:
            leases.sweeps_settle()
            while True:
                now = time.monotonic()
                self._stop_if_told()
                if now >= self.tick_at:
                    self._tick(now)
                if not self.is_stopping and now >= self.claim_at:
                    self._claim(now)
                if not self.engine.runs:
                    break
                self.engine.step(longest_wait=min(0.1, self.options.tick))
                self._act_on_troubles()
                self._give_back()
        except BaseException:
            self._release_after_error()
            raise
        finally:
            for transport in self.transports.values():
                transport.close()
        self.engine.release_all()
        return SessionReport(self.n_runs, self.is_stopping)

    # --- what may change meanwhile --------------------------------------------------------------------------

    def _stop_if_told(self) -> None:
        if not self.is_stopping and self.stop():
            self.is_stopping = True
            for run in self.engine.runs:
                self.engine.stop_run(run, grace=self.options.stop_grace)

    def _tick(self, now: float) -> None:
        self.tick_at = now + self.options.tick
        self.on_tick()
        control = leases.runs_control(runs=self.engine.runs)
        for run in self.engine.runs:
            row = control.get(run.run_id)
            if row is None or row.owner != self.owner:
                self.engine.stop_run(run, lost=True)
            elif not row.is_active:
                self.engine.stop_run(run, grace=self.options.cancel_grace)
            elif row.is_private and not row.is_local:
                self.engine.stop_run(run, error="The dataset is private and the endpoint is remote.")
            elif run.gate is not None and row.budget is not None:
                run.gate.budget, run.gate.spent = row.budget, row.spent
        if now >= self.keep_at:
            self.keep_at = now + self.options.heartbeat
            if self.engine.runs:
                leases.runs_keep(owner=self.owner, lease=self.options.lease)
                store.requests_keep(owner=self.owner, lease=self.options.lease)

    # --- runs -----------------------------------------------------------------------------------------------

    def _claim(self, now: float) -> None:
        """Claim runs until every endpoint that there is work for has works to start."""
        self.claim_at = now + self.options.tick
        while True:
            busy = {
                self.endpoints[run.transport] if run.transport is not None else None
                for run in self.engine.runs
                if not run.exhausted
            }
            row = leases.run_claim(
                owner=self.owner, lease=self.options.lease, busy=busy, sweep_id=self.sweep_id
            )
            if row is None:
                break
            try:
                self.engine.add(self._active(row))
            except (SpecError, BackendError, _RefusedError) as error:
                leases.run_release(run_id=row.pk, owner=self.owner, error=str(error))
                leases.sweeps_settle()
        if self.engine.runs and leases.runs_open(sweep_id=self.sweep_id).exists():
            self.on_more()

    def _active(self, row: SweepRun) -> ActiveRun:
        spec, endpoints = judge_spec(row.judge), judge_endpoints(row.judge)
        dataset = str(row.dataset)
        if getattr(row.dataset, "is_private") and (  # noqa: B009 (typed as any model)
            refusal := private_refusal(judge=row.judge, dataset_name=dataset)
        ):
            raise _RefusedError(refusal)
        routes = {
            role: Route(self._transport(endpoints[role], model), model.model, model.revision, model.decoding)
            for role, model in spec.models().items()
        }
        transport = next((route.transport for route in routes.values()), None)
        is_priced = any(route.transport.is_priced for route in routes.values())
        return ActiveRun(
            run_id=row.pk,
            sweep_id=row.sweep_id,
            judge_id=row.judge_id,
            dataset_id=row.dataset_id,
            begin=build_strategy(spec),
            source=self._remaining(row),
            routes=routes,
            transport=transport,
            gate=self._gate(row) if is_priced else None,
        )

    def _transport(self, endpoint: Endpoint, model: ModelRef) -> Transport:
        # An engine in the worker serves one model, a server many.
        own = [model.model, model.revision] if endpoint.kind in IN_WORKER else []
        key = json.dumps(
            [model.backend, endpoint.pk, model.endpoint, dict(model.backend_options), own], sort_keys=True
        )
        if key not in self.transports:
            transport = Transport(
                name=endpoint.name,
                backend=self.backends(endpoint, model),
                options=self.options,
                is_priced=endpoint.is_priced,
            )
            self.transports[key] = transport
            self.endpoints[transport] = endpoint.pk
        return self.transports[key]

    def _gate(self, row: SweepRun) -> Gate | None:
        if row.sweep.budget is None:
            return None
        if row.sweep_id not in self.gates:
            self.gates[row.sweep_id] = Gate(row.sweep_id, float(row.sweep.budget))
        gate = self.gates[row.sweep_id]
        gate.budget = float(row.sweep.budget)
        gate.spent = sum(SweepRun.objects.filter(sweep_id=row.sweep_id).values_list("cost", flat=True))
        return gate

    def _remaining(self, row: SweepRun) -> Iterator[ItemView]:
        """Yield what is to be judged and has not been, both orders of an item side by side."""
        orders = orders_wanted(row.sweep.orders)
        judged = set(
            Judgment.objects.filter(
                judge_id=row.judge_id, item__dataset_id=row.dataset_id, sample=0
            ).values_list("item_id", "order")
        )
        for views in self.items.of(row.dataset_id):
            for order in orders:
                if (views[order].item_id, order) not in judged:
                    yield views[order]

    def _give_back(self) -> None:
        """Return the runs that have come to their end, and look for others for their endpoints."""
        over = self.engine.over()
        for run in over:
            if run.lost:
                continue
            if run.stopping:
                leases.run_release(run_id=run.run_id, owner=self.owner, error=run.error)
            else:
                leases.run_finish(run=run, owner=self.owner)
                self.n_runs += 1
        if over:
            leases.sweeps_settle()
        if over or any(run.exhausted and run.transport is not None for run in self.engine.runs):
            # Something has room for another run: look soon, but not at every step.
            self.claim_at = min(self.claim_at, time.monotonic() + (0.0 if over else 0.1))

    # --- trouble --------------------------------------------------------------------------------------------

    def _act_on_troubles(self) -> None:
        troubles, self.engine.troubles = self.engine.troubles, []
        for transport, message in dict(troubles).items():
            self._stop_endpoint(transport, message)
        for transport in self.engine.transports():
            gate = transport.closed_gate
            if gate is not None and gate.sent == 0 and not gate.is_open():
                self._stop_sweep(gate)

    def _stop_endpoint(self, transport: Transport, message: str) -> None:
        logger.warning("%s", message)
        runs = [run for run in self.engine.runs if transport in run.transports() and not run.stopping]
        message = f"{message.rstrip('.')}. What has arrived is kept; resume the sweep when this is mended."
        for run in runs:
            self.engine.stop_run(run, error=message, grace=self.options.cancel_grace)
        leases.endpoint_runs_stop(
            sweep_ids={run.sweep_id for run in runs}, endpoint_id=self.endpoints[transport], error=message
        )
        # A later run for this endpoint, of a resumed sweep, starts with a fresh view of its health.
        transport.n_refused = transport.n_pauses = 0

    def _stop_sweep(self, gate: Gate) -> None:
        spent = gate.spent + gate.unwritten
        message = (
            f"The budget of ${gate.budget:.2f} is reached: ${spent:.4f} is spent, and a request costs about "
            f"${gate.mean:.6f}. Resume with a larger budget to go on."
        )
        sweep_stop(sweep_id=gate.sweep_id, state=SweepState.FAILED, message=message)
        for run in self.engine.runs:
            if run.sweep_id == gate.sweep_id:
                self.engine.stop_run(run, grace=self.options.cancel_grace)

    def _release_after_error(self) -> None:
        """Try to give back what we have; where that fails too, the leases run out by themselves."""
        try:
            self.engine.release_all()
            for run in self.engine.runs:
                leases.run_release(run_id=run.run_id, owner=self.owner)
        except DatabaseError:
            logger.warning("Leases could not be given back; they run out by themselves.", exc_info=True)


def _prepare_connection() -> None:
    if connection.vendor == "sqlite":
        # The engine's commits are of many pages, and the pages of request rows are written twice, at the claim
        # and at the answer: a checkpoint after 64 MB instead of 4 copies each page into the database once.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint = 16000")


class _RefusedError(Exception):
    """A run that may not be worked on; the message says why."""


class _Items:
    """The items of datasets in both orders; the last dataset is kept if it is not large."""

    def __init__(self) -> None:
        self._dataset_id = 0
        self._views: list[tuple[ItemView, ItemView]] = []

    def of(self, dataset_id: int) -> Iterator[tuple[ItemView, ItemView]]:
        if self._dataset_id == dataset_id:
            yield from self._views
            return
        views: list[tuple[ItemView, ItemView]] = []
        for view in item_views(dataset_id=dataset_id):
            both = (view, presented(view, 1))
            if len(views) <= CACHED_ITEMS:
                views.append(both)
            yield both
        if len(views) <= CACHED_ITEMS:
            self._dataset_id, self._views = dataset_id, views
