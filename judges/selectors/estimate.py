"""What a sweep will ask and cost, before anything is asked: a dry run of its strategies.

A sample of the items is drawn, the same for all judges, and the strategies are run on it for real: their requests
are built and hashed as the engine does, so that what is shared between judges and orders, and what is stored already,
counts once or not at all. Where a later step needs an answer that nobody has yet, a stand-in is given. Stand-ins
prefer what is shown first, in both orders, so that steps which are asked only on disagreement are counted: the
estimate errs on the dear side.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Sum

from annotation.models import Dataset
from annotation.selectors.judging import GENERATION, slice_names
from judges.backends.wire import WireRequest, answer_from_json
from judges.models import Endpoint, ModelRequest, RequestState, Sweep, SweepRun
from judges.selectors.history import ModelHistory, model_history
from judges.selectors.items import item_views, sweep_slice
from judges.selectors.tallies import Tally, judgment_tallies
from judges.selectors.trace import stored_as
from judges.strategies.errors import SpecError, StrategyError
from judges.strategies.model_ref import ModelRef
from judges.strategies.presentation import orders_of, view_presented
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, ItemView, Request, StrategyWalk

MOST_WORKS = 2_000
"""Items times orders that are tried in all: a page waits for this."""
FEWEST_ITEMS = 4
MOST_STEPS = 200
STAND_IN = "1. It does what was asked.\n2. It is correct.\nVerdict: A"


@dataclass(slots=True)
class RunEstimate:
    """What one judge on one dataset will take.

    Attributes
    ----------
    n_works : int
        Judgments (or generations) that are missing.
    n_requests : float
        To be sent for it; those shared with a judge that comes before it are counted there.
    n_shared : float
        Answered by what is stored, or by a request that another judge, order or step makes.
    cost : float
        US dollars, of endpoints with a price.
    problem : str
        Why the strategy could not be tried.
    n_refused : float
        Judgments that will fail before any model is asked; `refusal` says why of the first.
    """

    judge: str
    dataset: str
    n_works: int = 0
    n_requests: float = 0.0
    n_shared: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    cost: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    n_refused: float = 0.0
    refusal: str = ""

    @property
    def tokens(self) -> float:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class SweepEstimate:
    """What a sweep will take.

    Attributes
    ----------
    is_sampled : bool
        A sample of the items was tried, and the rest reckoned from it.
    is_guessed : bool
        For some model nothing is stored yet from which the length of its answers could be told.
    unpriced : tuple of str
        Endpoints without a price, so that `cost` is less than the whole.
    seconds : float or None
        At the speed at which the models answered before; None where that is not known.
    """

    runs: tuple[RunEstimate, ...]
    is_sampled: bool
    is_guessed: bool
    unpriced: tuple[str, ...]
    seconds: float | None

    n_works: int
    n_requests: int
    n_shared: int
    prompt_tokens: int
    completion_tokens: int
    cost: float

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


COUNTED = ("n_works", "n_requests", "n_shared", "prompt_tokens", "completion_tokens")


def sweep_estimate(sweep: Sweep, *, most_works: int = MOST_WORKS) -> SweepEstimate:
    """Try a sweep without asking anything; nothing is written.

    A few queries a dataset, a judge and a step, on at most `most_works` items times orders.
    """
    dry = _DryRun(sweep, most_works)
    return dry.estimate()


def budget_warnings(sweep: Sweep, estimate: SweepEstimate) -> tuple[str, ...]:
    """Say where what is left of a sweep is estimated at more than is left of its budgets."""
    sums = SweepRun.objects.filter(sweep=sweep).aggregate(cost=Sum("cost"), tokens=Sum("n_tokens"))
    found = []
    if sweep.budget is not None and (left := float(sweep.budget) - (sums["cost"] or 0.0)) < estimate.cost:
        found.append(
            f"The estimated cost is ${estimate.cost:,.2f}, and ${max(left, 0.0):,.2f} of the budget is left: "
            "the sweep will pause when it is spent."
        )
    if (
        sweep.budget_tokens is not None
        and (left := sweep.budget_tokens - (sums["tokens"] or 0)) < estimate.tokens
    ):
        found.append(
            f"The estimate is {estimate.tokens:,} tokens, and {max(left, 0):,.0f} of the budget are left: "
            "the sweep will pause when they are used."
        )
    return tuple(found)


@dataclass(slots=True, eq=False)
class _Work(StrategyWalk):
    """One item in one order, on its way through a strategy that gets stand-ins for answers."""

    weight: float = 1.0
    order: int = 0
    refusal: str = ""

    def goes_on(self, answers: Sequence[Answer] | None) -> bool:
        """Take the next requests; False when there are none."""
        try:
            return self.advance(answers)
        except StrategyError as error:
            # After a stand-in it says nothing of what a model will answer; before, the item alone is to blame.
            self.refusal = str(error) if answers is None else ""
            return False


@dataclass(slots=True)
class _DryRun:
    sweep: Sweep
    most_works: int
    seen: set[str] = field(default_factory=set)
    histories: dict[str, ModelHistory] = field(default_factory=dict)
    endpoint_seconds: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    unpriced: set[str] = field(default_factory=set)
    keys: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    is_sampled: bool = False
    has_speed: bool = True

    def estimate(self) -> SweepEstimate:
        pairs = [(run, tally) for run, tally in self._runs() if tally.n_total > tally.n_done]
        n_pairs = max(len(pairs), 1)
        most_items = max(self.most_works // (2 * n_pairs), FEWEST_ITEMS)
        estimates = [self._run(run, tally, most_items) for run, tally in pairs]
        seconds = max(self.endpoint_seconds.values(), default=0.0) if self.has_speed else None
        return SweepEstimate(
            runs=tuple(estimates),
            is_sampled=self.is_sampled,
            is_guessed=any(history.is_guess for history in self.histories.values()),
            unpriced=tuple(sorted(self.unpriced)),
            seconds=seconds,
            cost=sum(run.cost for run in estimates),
            **{name: round(sum(getattr(run, name) for run in estimates)) for name in COUNTED},
        )

    def _runs(self) -> Iterator[tuple[SweepRun, Tally]]:
        judges = list(self.sweep.judges.prefetch_related("models__endpoint").order_by("name"))
        datasets: Iterable[Dataset] = self.sweep.datasets.order_by("pk")  # type: ignore[assignment]
        runs = [
            SweepRun(sweep=self.sweep, judge=judge, dataset=dataset)
            for dataset in datasets
            for judge in judges
        ]
        return zip(runs, judgment_tallies(runs=runs), strict=True)

    def _run(self, run: SweepRun, tally: Tally, most_items: int) -> RunEstimate:
        estimate = RunEstimate(str(run.judge), str(run.dataset), n_works=tally.n_total - tally.n_done)
        try:
            spec = JudgeSpec.from_dict(run.judge.spec)
            begin = build_strategy(spec)
        except SpecError as error:
            estimate.problem = str(error)
            return estimate
        models = spec.models()
        if not models:
            return estimate
        endpoints = {row.role: row.endpoint for row in run.judge.models.all()}
        views = self._sample(run, spec, most_items)
        if views:
            # What has been judged already is spread like the rest: the sample stands for what is missing.
            weight = estimate.n_works / len(views)
            works = [_Work(begin(view), weight=weight, order=view.order) for view in views]
            self._drive(works, models, endpoints, estimate)
            refused = [work for work in works if work.refusal]
            if refused and not spec.reads_reference:  # the check of the sweep tells of missing references
                estimate.n_refused = sum(work.weight for work in refused)
                estimate.refusal = refused[0].refusal
        return estimate

    def _sample(self, run: SweepRun, spec: JudgeSpec, most_items: int) -> list[ItemView]:
        kind, part = spec.kind, sweep_slice(self.sweep)
        ids = self.keys.get((run.dataset_id, kind))
        if ids is None:
            ids = [pk for pk, _ in slice_names(dataset_id=run.dataset_id, kind=kind, part=part)]
            self.keys[run.dataset_id, kind] = ids
        if len(ids) > most_items:
            self.is_sampled = True
            ids = [ids[k * len(ids) // most_items] for k in range(most_items)]
        # Texts of the sample alone are read: of a million items, they are gigabytes.
        views = list(
            item_views(
                dataset_id=run.dataset_id,
                kind=kind,
                item_ids=ids,
                reference_systems=spec.reference_systems(),
            )
        )
        if kind == GENERATION:
            return [replace(view, sample=sample) for view in views for sample in range(self.sweep.samples)]
        sweep = self.sweep
        return [
            view_presented(view, order)
            for view in views
            for order in orders_of(sweep.orders, kind, sweep.seed, view.external_id)
        ]

    def _drive(
        self,
        works: list[_Work],
        models: Mapping[str, ModelRef],
        endpoints: Mapping[str, Endpoint],
        estimate: RunEstimate,
    ) -> None:
        works = [work for work in works if work.goes_on(None)]
        for _ in range(MOST_STEPS):
            if not works:
                return
            known = [work for work in works if all(request.role in models for request in work.asked)]
            if len(known) < len(works):
                estimate.problem = "It asks a model that the judge does not name."
            built = [[stored_as(request, models[request.role]) for request in work.asked] for work in known]
            stored = _stored(key for row in built for _, key in row)
            going = []
            for work, row in zip(known, built, strict=True):
                answers = []
                for request, (wire, key) in zip(work.asked, row, strict=True):
                    if key in self.seen or key in stored:
                        estimate.n_shared += work.weight
                    else:
                        self._count(wire, endpoints[request.role], work.weight, estimate)
                    self.seen.add(key)
                    answers.append(stored.get(key) or _stand_in(request, work.order))
                if work.goes_on(answers):
                    going.append(work)
            works = going

    def _count(self, wire: WireRequest, endpoint: Endpoint, weight: float, estimate: RunEstimate) -> None:
        if wire.model not in self.histories:
            self.histories[wire.model] = model_history(wire.model)
        history = self.histories[wire.model]
        prompt, completion = history.prompt_tokens(wire), history.completion_tokens(wire)
        estimate.n_requests += weight
        estimate.prompt_tokens += weight * prompt
        estimate.completion_tokens += weight * completion
        if endpoint.is_priced:
            price_prompt, price_completion = endpoint.price_of(wire.model)
            estimate.cost += weight * (prompt * price_prompt + completion * price_completion) / 1e6
        else:
            self.unpriced.add(endpoint.name)
        if history.latency_ms is None:
            self.has_speed = False
        else:
            seconds = weight * history.latency_ms / 1000 / endpoint.max_concurrency
            self.endpoint_seconds[endpoint.pk] += seconds
            estimate.seconds += seconds


def _stand_in(request: Request, order: int) -> Answer:
    """Return an answer that lets a strategy go on; for a choice, what is shown first."""
    choices = getattr(request, "choices", ())
    text = choices[0] if choices else STAND_IN
    return Answer(text=text, logprob=-1.0, completion_tokens=1, vector=(1.0, float(order)), scores=(0.0,))


def _stored(keys: Iterable[str]) -> dict[str, Answer]:
    wanted, found = sorted(set(keys)), {}
    for start in range(0, len(wanted), 500):
        rows = ModelRequest.objects.filter(hash__in=wanted[start : start + 500], state=RequestState.DONE)
        for key, answer in rows.values_list("hash", "answer"):
            if answer is not None:
                found[key] = answer_from_json(answer)
    return found
