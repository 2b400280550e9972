"""How a judgment came about: the requests behind it, found again by replaying its strategy.

A judgment does not list its requests. What a strategy asks is a function of the item, the configuration and the
answers so far, and each request is stored under a hash of all that can change its answer. So the strategy is started
again, each request that it makes is hashed and looked up, and the stored answer is fed to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from annotation.selectors.judging import GENERATION
from judges.backends.registry import endpoint_identity
from judges.backends.wire import WireRequest, answer_from_json, build_wire, canonical_hash
from judges.models import BackendKind, Generation, Judge, Judgment, ModelRequest, RequestState
from judges.selectors.items import item_views
from judges.selectors.judges import reference_systems_of
from judges.strategies.errors import StrategyError
from judges.strategies.model_ref import ModelRef
from judges.strategies.presentation import view_presented
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.thoughts import without_thought
from judges.strategies.types import Answer, ItemView, Request, StrategyWalk, Verdict

MISSING = "missing"
"""The state of a request whose row is there no more, or that was never made."""
MOST_ROUNDS = 200
"""Steps after which a strategy is taken to go round in circles."""

IMPORTED = "This verdict was imported: it was made elsewhere, and there are no requests to show."
CHANGED = (
    "The strategy changed since this judge was defined, so its requests can't be reconstructed. "
    "The judgment itself is unchanged."
)


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One request as it was sent, and what came of it.

    Attributes
    ----------
    wire : WireRequest
        Rebuilt; what was sent is the same, by its hash.
    state : str
        "done", "failed", "claimed" (a worker has it now), or "missing".
    shared_with : tuple of Judgment
        Other judgments of the item that rest on the same request: it was sent once for all of them.
    """

    hash: str
    role: str
    wire: WireRequest
    state: str
    attempts: int = 0
    answer: Answer | None = None
    error: str = ""
    created_at: datetime | None = None
    finished_at: datetime | None = None
    shared_with: tuple[Judgment, ...] = ()

    @property
    def heard(self) -> Answer | None:
        """The answer as the strategy received it: its thought apart."""
        return None if self.answer is None else without_thought(self.answer)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """The requests that were made at the same time; the next step follows from their answers."""

    requests: tuple[TraceRequest, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """What was asked, step by step.

    Attributes
    ----------
    verdict : Verdict or None
        What the strategy concludes from the stored answers, in PRESENTED order; None where it cannot.
    problem : str
        Why there is no verdict, in plain words; empty if there is one.
    """

    steps: tuple[TraceStep, ...] = ()
    verdict: Verdict | None = None
    problem: str = ""

    @property
    def requests(self) -> tuple[TraceRequest, ...]:
        return tuple(request for step in self.steps for request in step.requests)


def judgment_trace(judgment: Judgment, *, beside: Sequence[Judgment] = ()) -> Trace:
    """Replay a judgment.

    One query a step, whatever the number of requests and of judgments `beside`, after those that read the item.

    Parameters
    ----------
    beside : sequence of Judgment
        Others of the same item, whose requests are looked at too: see `TraceRequest.shared_with`.
    """
    systems = reference_systems_of([judgment.judge, *(other.judge for other in beside)])
    view = _view(judgment.item.dataset_id, judgment.item.kind, judgment.item_id, systems)
    first = _Replay(judgment.judge, view, judgment.order, judgment.sample)
    others = {
        other.pk: _Replay(other.judge, view, other.order, other.sample)
        for other in beside
        if other.pk != judgment.pk and other.item_id == judgment.item_id
    }
    _replay([first, *others.values()])
    users: dict[str, list[Judgment]] = {}
    for other in beside:
        if (replay := others.get(other.pk)) is not None:
            for key in dict.fromkeys(request.hash for step in replay.steps for request in step):
                users.setdefault(key, []).append(other)
    return first.trace(users)


def generation_trace(generation: Generation) -> Trace:
    """Replay what a contestant was asked."""
    instruction = generation.instruction
    view = _view(instruction.dataset_id, GENERATION, instruction.pk)
    replay = _Replay(generation.contestant, view, 0, generation.sample)
    _replay([replay])
    return replay.trace({})


def _view(dataset_id: int, kind: str, pk: int, systems: Collection[str] = ()) -> ItemView | None:
    views = item_views(dataset_id=dataset_id, kind=kind, item_ids=[pk], reference_systems=systems)
    return next(views, None)


def _replay(replays: Sequence[_Replay]) -> None:
    for replay in replays:
        replay.start()
    for _ in range(MOST_ROUNDS):
        asking = [replay for replay in replays if replay.pending]
        if not asking:
            return
        stored = _stored(key for replay in asking for _, _, key in replay.pending)
        for replay in asking:
            replay.take(stored)


def stored_as(request: Request, model: ModelRef) -> tuple[WireRequest, str]:
    """Return a strategy's request as it goes to a model, and the hash under which it is stored; asks nothing."""
    wire = build_wire(request, model=model.model, revision=model.revision, decoding=model.decoding)
    return wire, canonical_hash(wire.canonical_json(), route_identity(model))


def route_identity(model: ModelRef) -> str:
    """Return the identity of the backend that answers for this model, without building it."""
    return endpoint_identity(model.backend, endpoint=model.endpoint, options=model.backend_options)


def _stored(hashes: Iterable[str]) -> dict[str, ModelRequest]:
    return {row.hash: row for row in ModelRequest.objects.filter(hash__in=set(hashes))}


@dataclass(slots=True)
class _Replay:
    """One judgment or generation on its way through the strategy that made it."""

    judge: Judge
    view: ItemView | None
    order: int
    sample: int
    spec: JudgeSpec | None = None
    problem: str = ""
    verdict: Verdict | None = None
    pending: list[tuple[Request, WireRequest, str]] = field(default_factory=list)
    steps: list[tuple[TraceRequest, ...]] = field(default_factory=list)
    walk: StrategyWalk | None = None

    def start(self) -> None:
        """Build the strategy and take its first requests."""
        if self.judge.backend == BackendKind.IMPORTED:
            self.problem = IMPORTED
            return
        try:
            spec = JudgeSpec.from_dict(self.judge.spec)
        except ValueError as error:  # SpecError among them
            self.problem = f"{CHANGED} ({error})"
            return
        if self.view is None or spec.fingerprint() != self.judge.fingerprint:
            self.problem = CHANGED
            return
        self.spec, self.view = spec, view_presented(replace(self.view, sample=self.sample), self.order)
        self._advance(None)

    def take(self, stored: Mapping[str, ModelRequest]) -> None:
        """Keep what is stored of the pending requests; go on if all of them are answered."""
        asked, self.pending = self.pending, []
        step = tuple(_request(request, wire, stored.get(key), key) for request, wire, key in asked)
        self.steps.append(step)
        answers = tuple(request.answer for request in step if request.answer is not None)
        if len(answers) < len(step):
            self.problem = _unanswered(step)
            return
        self._advance(answers)

    def _advance(self, answers: Sequence[Answer] | None) -> None:
        assert self.spec is not None
        assert self.view is not None
        try:
            self.walk = self.walk or StrategyWalk(build_strategy(self.spec)(self.view))
            if self.walk.advance(answers):
                self._ask(self.walk.asked)
            else:
                self.verdict = self.walk.verdict
        except StrategyError as error:
            self.problem = str(error)
        except Exception as error:
            # The engine records such a mistake as a failed judgment; the page must open for just these.
            self.problem = f"The strategy failed: {type(error).__name__}: {error}"

    def _ask(self, asked: tuple[Request, ...]) -> None:
        assert self.spec is not None
        models = self.spec.models()
        for request in asked:
            model = models.get(request.role)
            if model is None:
                self.problem = (
                    f"The strategy asks the model '{request.role}', which this judge does not name."
                )
                self.pending = []
                return
            self.pending.append((request, *stored_as(request, model)))

    def trace(self, users: Mapping[str, Sequence[Judgment]]) -> Trace:
        problem = self.problem
        if self.pending:
            problem = "The strategy doesn't end."
        steps = tuple(
            TraceStep(tuple(_shared(request, users.get(request.hash, ())) for request in step))
            for step in self.steps
        )
        return Trace(steps, self.verdict, problem)


def _shared(request: TraceRequest, users: Sequence[Judgment]) -> TraceRequest:
    return replace(request, shared_with=tuple(users)) if users else request


def _request(request: Request, wire: WireRequest, row: ModelRequest | None, key: str) -> TraceRequest:
    if row is None:
        return TraceRequest(key, request.role, wire, MISSING)
    return TraceRequest(
        hash=key,
        role=request.role,
        wire=wire,
        state=row.state,
        attempts=row.attempts,
        answer=answer_from_json(row.answer)
        if row.state == RequestState.DONE and row.answer is not None
        else None,
        error=row.error,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _unanswered(step: Sequence[TraceRequest]) -> str:
    failed = next((request for request in step if request.state == RequestState.FAILED), None)
    if failed is not None:
        return f"A request failed for good: {failed.error}"
    if any(request.state == MISSING for request in step):
        return "This request is no longer stored, so the steps after it are unknown."
    return "A worker is running this request."
