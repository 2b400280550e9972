"""A session of the engine: claims runs while there are any, lets the engine drive them, gives them back.

Any number of sessions, in any number of processes and machines, may work at the same time. Each keeps every
endpoint of its runs busy: when the works of an endpoint's run are all started, it claims the next run for
that endpoint, so that the server never runs dry between two judges.
"""

import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from django.db import Error as DatabaseError
from django.db import connection

from annotation.selectors.judging import GENERATION
from judges.backends.base import Backend
from judges.backends.errors import BackendError
from judges.engine import leases, store
from judges.engine.batches import batch_make, batches_of_run, batches_waiting
from judges.engine.core import Engine
from judges.engine.database_store import DatabaseStore
from judges.engine.garbage import present_frozen
from judges.engine.meters import Meter, Pace
from judges.engine.options import EngineOptions
from judges.engine.request_store import BatchMade
from judges.engine.sinks import ANCHORS, GENERATIONS, JUDGMENTS
from judges.engine.supply import Supply
from judges.engine.works import ActiveRun, InFlightRequest, Route, Sink, Transport
from judges.models import IN_WORKER, Endpoint, RunRange, SweepRun, SweepState
from judges.services.checks import judge_endpoints, judge_spec, private_refusal
from judges.services.endpoints import backend_for
from judges.services.sweep_states import sweep_stop
from judges.strategies.errors import SpecError
from judges.strategies.model_ref import ModelRef
from judges.strategies.spec import build_strategy

logger = logging.getLogger(__name__)

BackendFactory = Callable[[Endpoint, ModelRef], Backend]


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a session did: ranges of runs brought to their end, and whether it was told to stop."""

    n_runs: int
    was_stopped: bool


def run_pending(
    *,
    sweep_id: int | None = None,
    queues: Collection[str] | None = None,
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
    queues : collection of str, optional
        Take up only runs of these queues, and those that any worker may do; None: all.
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
        queues=queues,
        options=options or EngineOptions(),
        stop=stop,
        on_more=on_more,
        on_tick=on_tick,
        backends=backends or (lambda endpoint, model: backend_for(endpoint=endpoint, model=model)),
    )
    with present_frozen():
        return session.run()


def worker_name() -> str:
    """Return a name that no other session has: short, since each request that it sends keeps it."""
    return uuid.uuid4().hex[:16]


@dataclass(frozen=True, slots=True)
class _TooDear:
    """A run whose next request is expected to cost more than its sweep has left."""

    sweep_id: int
    amount: float
    message: str


@dataclass(slots=True, eq=False)
class _Session:
    sweep_id: int | None
    queues: Collection[str] | None
    options: EngineOptions
    stop: Callable[[], bool]
    on_more: Callable[[], None]
    on_tick: Callable[[], None]
    backends: BackendFactory
    owner: str = field(default_factory=worker_name)
    store: DatabaseStore = field(default_factory=DatabaseStore)
    engine: Engine = field(init=False)
    transports: dict[str, Transport] = field(default_factory=dict)
    endpoints: dict[Transport, int] = field(default_factory=dict)
    in_worker: dict[Transport, tuple[int, str]] = field(default_factory=dict)
    asked: dict[Transport, ModelRef] = field(default_factory=dict)
    meters: dict[tuple[int, bool], Meter] = field(default_factory=dict)
    afford_at: dict[Meter, float] = field(default_factory=dict)
    too_dear: dict[int, _TooDear] = field(default_factory=dict)
    supply: Supply = field(default_factory=Supply)
    n_runs: int = 0
    claim_at: float = 0.0
    tick_at: float = 0.0
    keep_at: float = 0.0
    is_stopping: bool = False

    def __post_init__(self) -> None:
        self.engine = Engine(
            owner=self.owner, options=self.options, store=self.store, batches=self._make_batch
        )

    def run(self) -> SessionReport:
        _prepare_connection()
        try:
            self._keep()
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
                self._stop_unreadable()
                self._give_back()
        except BaseException:
            self._release_after_error()
            raise
        finally:
            for transport in self.transports.values():
                transport.close()
        self.engine.release_all()
        leases.budgets_release(owner=self.owner)
        self.store.save_lengths()
        store.worker_end(owner=self.owner)
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
        control = leases.ranges_control(runs=self.engine.runs)
        for run in self.engine.runs:
            row = control.get(run.range_id)
            if row is None or row.owner != self.owner:
                self.engine.stop_run(run, lost=True)
                continue
            if not row.is_active:
                self.engine.stop_run(run, grace=self.options.cancel_grace)
            elif row.is_private and not row.is_local:
                self.engine.stop_run(run, error="The dataset is private and the endpoint is remote.")
            elif row.minutes_used is not None:
                self._stop_sweep(
                    run.sweep_id,
                    f"The budget of {row.minutes_used:,} min is used up. Resume with a larger budget to continue.",
                    state=SweepState.PAUSED,
                )
        # What is not needed is given back for other workers, and what is, is kept.
        for meter in {meter for run in self.engine.runs for meter in run.meters}:
            self._reserve(meter)
        self._share()
        if now >= self.keep_at:
            self.keep_at = now + self.options.heartbeat
            self._keep()

    def _keep(self) -> None:
        store.worker_keep(owner=self.owner, lease=self.options.lease)
        if self.engine.runs:
            leases.runs_keep(run_ids={run.run_id for run in self.engine.runs}, lease=self.options.lease)
        self.store.save_lengths()

    # --- runs -----------------------------------------------------------------------------------------------

    def _claim(self, now: float) -> None:
        """Claim runs until every endpoint that there is work for has works to start."""
        self.claim_at = now + self.options.tick
        claimed = False
        while True:
            row = leases.range_claim(
                owner=self.owner,
                options=self.options,
                busy=self._busy(),
                engines=self._engines(),
                sweep_id=self.sweep_id,
                queues=self.queues,
                without=self.too_dear,
            )
            if row is None:
                break
            claimed = True
            try:
                self.engine.add(self._active(row))
            except (SpecError, BackendError, _RefusedError) as error:
                leases.range_release(range_id=row.pk, run_id=row.run_id, owner=self.owner, error=str(error))
                leases.sweeps_settle()
        if claimed:
            self._share()
        open_to_others = leases.ranges_open(sweep_id=self.sweep_id, queues=self.queues)
        if self.engine.runs and open_to_others.exclude(run__in=self.too_dear).exists():
            self.on_more()
        self._stop_spent()

    def _busy(self) -> dict[int | None, int]:
        """Return the endpoints that have works to start, and the highest priority that these are of."""
        busy: dict[int | None, int] = {}
        for run in self.engine.runs:
            if not run.exhausted and not run.stopping:
                key = self.endpoints[run.transport] if run.transport is not None else None
                busy[key] = max(busy.get(key, run.priority), run.priority)
        return busy

    def _engines(self) -> set[tuple[int, str]]:
        """Return the models at work in this worker: endpoint and name."""
        at_work = self.engine.transports()
        return {named for transport, named in self.in_worker.items() if transport in at_work}

    def _close_idle(self) -> None:
        """Give back the models in this worker that no run uses now: the next one may need their room.

        Each stays warm, and is there at once if the next run asks it too, until another is to be loaded.
        """
        at_work = self.engine.transports()
        for key, transport in list(self.transports.items()):
            if transport in self.in_worker and transport not in at_work:
                transport.close()
                del self.transports[key], self.endpoints[transport], self.in_worker[transport]
                del self.asked[transport]

    def _active(self, taken: RunRange) -> ActiveRun:
        row = taken.run
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
        asked = {(route.transport, route.model) for route in routes.values()}
        if len(asked) == 1:
            ((where, model),) = asked
            where.remember(model, n=row.n_requests, cost=row.cost, tokens=row.n_tokens)
        is_priced = any(route.transport.is_priced for route in routes.values())
        return ActiveRun(
            run_id=row.pk,
            sweep_id=row.sweep_id,
            judge_id=row.judge_id,
            dataset_id=row.dataset_id,
            begin=build_strategy(spec),
            source=self.supply.remaining(row, spec.kind, spec.reference_systems(), (taken.first, taken.last)),
            range_id=taken.pk,
            routes=routes,
            transport=transport,
            sink=_sink(row, spec.kind),
            batches=batches_of_run(row.pk)
            if any(route.transport.in_batches for route in routes.values())
            else frozenset(),
            asked_anew=f" sweep:{row.sweep_id}" if row.sweep.anchors_id is not None else "",
            meters=self._meters(row, is_priced=is_priced) if routes else (),
            priority=row.sweep.priority,
            stop_unparsed=row.sweep.stop_unparsed,
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
                pace=Pace(requests=endpoint.requests_per_minute, tokens=endpoint.tokens_per_minute)
                if endpoint.requests_per_minute or endpoint.tokens_per_minute
                else None,
                price=endpoint.price_of,
                in_batches=endpoint.in_batches,
            )
            self.transports[key] = transport
            self.asked[transport] = model
            self.endpoints[transport] = endpoint.pk
            if endpoint.kind in IN_WORKER:
                self.in_worker[transport] = (endpoint.pk, model.model)
        return self.transports[key]

    def _meters(self, row: SweepRun, *, is_priced: bool) -> tuple[Meter, ...]:
        """Return the sweep's budgets that a run's requests count towards; its runs share them."""
        limits = leases.sweep_limits(row.sweep)
        found = []
        for is_money, limit in zip((True, False), limits, strict=True):
            if limit is not None and (is_priced or not is_money):
                key = (row.sweep_id, is_money)
                found.append(self.meters.setdefault(key, Meter(row.sweep_id, is_money, limit)))
        return tuple(found)

    def _share(self) -> None:
        """Take the part of each endpoint that is ours; what runs in the worker is ours alone."""
        served = {t: pk for t, pk in self.endpoints.items() if t not in self.in_worker}
        n_sessions = leases.sessions_sharing(endpoint_ids=set(served.values()))
        here = Counter(served[transport] for transport in self.engine.transports() if transport in served)
        for transport, pk in served.items():
            transport.share(max(n_sessions.get(pk, 1), 1) * max(here[pk], 1))

    def _give_back(self) -> None:
        """Return the runs that have come to their end, and look for others for their endpoints."""
        over = self.engine.over()
        for run in over:
            if run.lost:
                continue
            if run.stopping or run.waits:
                self._release(run)
            else:
                leases.range_finish(run=run, owner=self.owner)
                self.n_runs += 1
        if over:
            gone = {run.sweep_id for run in over} - {run.sweep_id for run in self.engine.runs}
            if ended := {key for key in self.meters if key[0] in gone}:
                leases.budgets_release(owner=self.owner, sweep_ids=gone)
                for key in ended:
                    self.afford_at.pop(self.meters.pop(key), None)
            leases.sweeps_settle()
            self._close_idle()
        if over or any(run.exhausted and run.transport is not None for run in self.engine.runs):
            # Something has room for another run: look soon, but not at every step.
            self.claim_at = min(self.claim_at, time.monotonic() + (0.0 if over else 0.1))

    def _release(self, run: ActiveRun) -> None:
        leases.range_release(
            range_id=run.range_id, run_id=run.run_id, owner=self.owner, error=run.error, waits=run.waits
        )

    def _make_batch(
        self, transport: Transport, run: ActiveRun, requests: Sequence[InFlightRequest]
    ) -> BatchMade:
        asked = replace(self.asked[transport], model=requests[0].wire.model)
        return batch_make(
            owner=self.owner,
            run_id=run.run_id,
            sweep_id=run.sweep_id,
            endpoint_id=self.endpoints[transport],
            asked=asked.to_dict(),
            requests=[(request.hash, *transport.typical(request.wire)) for request in requests],
            is_priced=transport.is_priced,
        )

    # --- trouble --------------------------------------------------------------------------------------------

    def _act_on_troubles(self) -> None:
        troubles, self.engine.troubles = self.engine.troubles, []
        latest = {(transport, model): message for transport, message, model in troubles}
        for (transport, model), message in latest.items():
            self._stop_endpoint(transport, message, model)
        for transport in self.engine.transports():
            if transport.closed is not None:
                self._afford(transport, transport.closed)
        over, self.engine.over_budget = self.engine.over_budget, []
        for transport, request in over:
            self._over_budget(transport, request)

    def _afford(self, transport: Transport, request: InFlightRequest) -> None:
        """Reserve more of a budget; where there is no more, and no other worker may give some back, leave the run."""
        now = time.monotonic()
        self._learn(transport, request)
        meter = transport.shut(
            request
        )  # asked anew: answers that came since may have changed what is expected
        if meter is None or now < self.afford_at.get(meter, 0.0):
            return
        self._reserve(meter, more=meter.wanted, at_once=transport.ceiling)
        if transport.shut(request) is not meter:
            transport.dispatch(now)  # at once, before the next tick gives back what is not used
            return
        self.afford_at[meter] = now + self.options.tick / 4
        if meter.n_sent == 0 and (waits := batches_waiting(meter.sweep_id)):
            # What batches do not use of the budget is given back when they end: until then nobody waits here.
            for run in self.engine.runs:
                if run.sweep_id == meter.sweep_id:
                    run.waits |= waits
                    self.engine.stop_run(run)
        elif meter.n_sent == 0 and not meter.others:
            self._leave(transport, request, meter)

    def _learn(self, transport: Transport, request: InFlightRequest) -> None:
        """Take over what the requests of a run took that other workers sent since we claimed it."""
        run, model = request.payer, request.wire.model
        if not transport.knows(model) and len({route.model for route in run.routes.values()}) == 1:
            n, cost, tokens = leases.run_requests(run_id=run.run_id)
            transport.remember(model, n=n, cost=cost, tokens=tokens)

    def _over_budget(self, transport: Transport, request: InFlightRequest) -> None:
        """Leave a run whose budget pays for no request of a batch, unless another worker may give some back."""
        cost, tokens = transport.typical(request.wire)
        for meter in request.payer.meters:
            self._reserve(meter)
            free = meter.limit - meter.spent - meter.others
            if not meter.others and free < (cost if meter.is_money else tokens):
                self._leave(transport, request, meter)

    def _leave(self, transport: Transport, request: InFlightRequest, meter: Meter) -> None:
        """Give back a run that is too dear for what is left: other judges of the sweep may be cheaper."""
        cost, tokens = transport.typical(request.wire)
        amount = cost if meter.is_money else tokens
        message = meter.message(request.asked, amount)
        self.too_dear[request.payer.run_id] = _TooDear(meter.sweep_id, amount, message)
        self.engine.stop_run(request.payer, grace=self.options.cancel_grace)

    def _stop_spent(self) -> None:
        """Stop the sweeps of which nothing is left that their budgets pay for."""
        for sweep_id in {run.sweep_id for run in self.too_dear.values()}:
            if leases.others_affordable(sweep_id=sweep_id, queues=self.queues, without=self.too_dear):
                continue
            runs = {pk: run for pk, run in self.too_dear.items() if run.sweep_id == sweep_id}
            cheapest = min(runs.values(), key=lambda run: run.amount)
            self._stop_sweep(sweep_id, cheapest.message, state=SweepState.PAUSED)
            self.too_dear = {pk: run for pk, run in self.too_dear.items() if pk not in runs}

    def _reserve(self, meter: Meter, *, more: float = 0.0, at_once: int = 0) -> None:
        leases.budget_reserve(
            meter=meter, owner=self.owner, lease=self.options.lease, more=more, at_once=at_once
        )

    def _stop_unreadable(self) -> None:
        """Stop the runs whose answers mostly cannot be read; what is under way may still arrive."""
        for run in self.engine.runs:
            if not run.stopping and (error := run.unreadable(self.options.unreadable_after)):
                self.engine.stop_run(run, error=error, grace=self.options.cancel_grace)

    def _stop_endpoint(self, transport: Transport, message: str, model: str) -> None:
        """Stop what asks an endpoint, or one model of it."""
        runs = [run for run in self.engine.runs if run.asks(transport, model) and not run.stopping]
        message = (
            f"{message.rstrip('.')}. Answers received so far are kept; resume the sweep when this is fixed."
        )
        for run in runs:
            logger.warning("A run stopped: %s", message, extra={"sweep": run.sweep_id, "run": run.run_id})
            self.engine.stop_run(run, error=message, grace=self.options.cancel_grace)
        leases.endpoint_runs_stop(
            sweep_ids={run.sweep_id for run in runs},
            endpoint_id=self.endpoints[transport],
            model=model,
            error=message,
        )
        transport.refresh()

    def _stop_sweep(self, sweep_id: int, message: str, *, state: SweepState) -> None:
        sweep_stop(sweep_id=sweep_id, state=state, message=message)
        for run in self.engine.runs:
            if run.sweep_id == sweep_id:
                self.engine.stop_run(run, grace=self.options.cancel_grace)

    def _release_after_error(self) -> None:
        """Try to give back what we have; where that fails too, the leases run out by themselves."""
        try:
            self.engine.release_all()
            leases.budgets_release(owner=self.owner)
            for run in self.engine.runs:
                self._release(run)
            store.worker_end(owner=self.owner)
        except DatabaseError:
            logger.warning("Leases could not be released; they will expire.", exc_info=True)


def _sink(row: SweepRun, kind: str) -> Sink:
    if row.sweep.anchors_id is not None:
        return ANCHORS
    return GENERATIONS if kind == GENERATION else JUDGMENTS


def _prepare_connection() -> None:
    if connection.vendor == "sqlite":
        # The engine's commits are of many pages, and the pages of request rows are written twice, at the claim
        # and at the answer: a checkpoint after 64 MB instead of 4 copies each page into the database once.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint = 16000")


class _RefusedError(Exception):
    """A run that may not be worked on; the message says why."""
