"""The choice of a judge as it is written down: frozen, and the same as JSON in the schema `touchstone.selection/1`.

Field by field it is a `metaeval.selection.Selection` with the names of what was compared; figures are JSON values, so
that a stored choice reads like a new one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, kind_of
from metaeval.reports.anytime import AnytimeEntry, anytime_row
from metaeval.reports.json_values import json_of, read_as
from metaeval.reports.selection.inputs import SCHEMA, DatasetInputs, JudgeFacts, SelectionInputs
from metaeval.selection.choosing import choose
from metaeval.selection.types import Constraints, Selection
from metaeval.selection.verdict import VerdictKind
from metaeval.stats.errors import quiet
from web.version import software_version

FigureJson = Mapping[str, Any]
"""An estimate as JSON: value, low and high, null with a reason where undefined."""


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset of the choice."""

    name: str
    title: str
    version: int
    licence: str
    role: str
    weight: float
    n_items: int
    n_instructions: int
    n_instructions_shared: int
    n_gold: int
    n_labels: int
    n_annotators: int
    simulated_share: float | None
    is_weighted: bool
    composed_by: str
    n_categories: int


@dataclass(frozen=True, slots=True)
class JudgeEntry:
    """A judge that may be chosen, or a baseline; ``n_judged`` are its items by dataset."""

    key: str
    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    baseline: bool
    is_open: bool | None
    is_local: bool | None
    n_judged: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ViolationEntry:
    """A constraint that a judge does not satisfy; ``of`` is what a limit on gold answers is a limit of."""

    name: str
    limit: float | None
    value: float | None
    dataset: str
    of: str = "accuracy"

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """From JSON values."""
        return read_as(cls, content)


@dataclass(frozen=True, slots=True)
class StandingEntry:
    """How one judge stands, as `metaeval.selection.Standing`."""

    judge: str
    objective: FigureJson
    scores: Mapping[str, FigureJson]
    positional_agreement: FigureJson
    unparsed: FigureJson
    cost_per_1000: FigureJson
    seconds: FigureJson
    violations: tuple[ViolationEntry, ...]
    chosen_share: float | None
    behind: FigureJson | None
    in_confidence_set: bool
    on_front: bool
    is_ranked: bool
    practical: FigureJson | None = None
    alike: FigureJson | None = None
    practical_alike: FigureJson | None = None


@dataclass(frozen=True, slots=True)
class CompositeEntry:
    """Whether a composite is worth it, as `metaeval.selection.CompositeFinding`."""

    parts: Mapping[str, str]
    naive: float | None
    held_out: FigureJson
    gain: FigureJson
    worth_it: bool


@dataclass(frozen=True, slots=True)
class SettlingEntry:
    """The sample size that would show the lead over a rival, as `metaeval.selection.Settling`."""

    rival: str
    difference: float | None
    dataset: str
    n_now: int
    n_needed: int
    power: float
    together: bool


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """How the figures were computed."""

    n_resamples: int
    n_folds: int
    n_repeats: int
    seed: int
    confidence: float
    epsilon: float = 0.1


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """All that a choice says; see `metaeval.selection.Selection` for what its figures are.

    ``promoted`` is there in what a decision keeps: which judge was promoted, and what its figures were. ``planned`` is
    there where a preregistration was named: what was planned, and what was kept of it. ``scales`` are those of the
    criteria of all datasets, each once, where one is not 1 to 5.
    """

    inputs_hash: str
    software: Mapping[str, str]
    sweep: Mapping[str, Any]
    options: MethodEntry
    constraints: Constraints
    datasets: tuple[DatasetEntry, ...]
    judges: tuple[JudgeEntry, ...]
    verdict: VerdictKind
    winner: str | None
    leader: str | None
    chosen: str | None
    standings: tuple[StandingEntry, ...]
    held_out: FigureJson
    naive: float | None
    optimism: FigureJson | None
    confidence_set: tuple[str, ...]
    confidence: float
    front: tuple[str, ...]
    composite: CompositeEntry | None
    replaces: Mapping[str, Mapping[str, Any]]
    settling: tuple[SettlingEntry, ...]
    notes: tuple[str, ...]
    # A choice that was stored before there were other kinds is of pairs.
    kind: str = DEFAULT_KIND
    margin: float = 0.0
    annotators: str = "alike"
    figure: str = ""
    minus_people: Mapping[str, FigureJson] = field(default_factory=dict)
    minus_people_alike: Mapping[str, FigureJson] = field(default_factory=dict)
    below_best: Mapping[str, FigureJson] = field(default_factory=dict)
    below_best_alike: Mapping[str, FigureJson] = field(default_factory=dict)
    anytime: tuple[AnytimeEntry, ...] = ()
    promoted: Mapping[str, Any] | None = None
    planned: Mapping[str, Any] | None = None
    scales: tuple[Mapping[str, Any], ...] = ()
    by_key: Mapping[str, JudgeEntry] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {judge.key: judge for judge in self.judges})

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """The report that JSON holds, of this version or an earlier one."""
        return read_as(cls, content)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        found: dict[str, Any] = {"schema": SCHEMA, **json_of(self)}
        for name in ("promoted", "planned"):
            if getattr(self, name) is None:
                del found[name]
        for name in ("anytime", "scales"):
            if not getattr(self, name):
                del found[name]
        return found

    @property
    def rated_on(self) -> tuple[Scale, ...]:
        """Of rubrics the scales of the criteria of all datasets; none where all are 1 to 5."""
        return tuple(map(Scale.of_json, self.scales))

    @property
    def of_pairs(self) -> bool:
        """Whether judges were chosen by pairs, which have two orders and only right or wrong verdicts."""
        return kind_of(self.kind).presented

    @property
    def deciding(self) -> tuple[DatasetEntry, ...]:
        """The datasets that have a share in the objective."""
        return tuple(row for row in self.datasets if row.weight > 0)

    @property
    def candidates(self) -> tuple[StandingEntry, ...]:
        """The standings of judges, best first; without baselines."""
        return tuple(row for row in self.standings if not self.is_baseline(row.judge))

    @property
    def eligible(self) -> list[str]:
        """Keys of the judges that may be chosen, best first."""
        return [row.judge for row in self.candidates if row.is_ranked and not row.violations]

    def is_baseline(self, key: str) -> bool:
        """Whether there is such a baseline."""
        return key in self.by_key and self.by_key[key].baseline

    def standing(self, key: str) -> StandingEntry:
        """How a judge stands. Raises KeyError."""
        for row in self.standings:
            if row.judge == key:
                return row
        raise KeyError(key)

    @property
    def leading(self) -> StandingEntry | None:
        """How the leader stands."""
        return None if self.leader is None else self.standing(self.leader)

    def name(self, key: str | None) -> str:
        """The name of a judge."""
        judge = self.by_key.get(key or "")
        return judge.name if judge else key or ""

    def dataset(self, name: str) -> DatasetEntry:
        """One of the datasets. Raises StopIteration where it is none."""
        return next(row for row in self.datasets if row.name == name)


# --- from a choice -------------------------------------------------------------------------------------------------


def selection_report(inputs: SelectionInputs, *, inputs_hash: str | None = None) -> SelectionReport:
    """Choose, and write the choice down. The same inputs give the same report."""
    criteria, options = inputs.criteria, inputs.options
    with quiet():  # the reason is kept with each figure
        found = choose(
            [part.judged for part in inputs.parts],
            list(inputs.candidates),
            criteria.constraints,
            confidence=criteria.confidence,
            n_resamples=options.n_resamples,
            n_folds=options.n_folds,
            n_repeats=options.n_repeats,
            epsilon=criteria.epsilon,
            margin=criteria.margin,
            annotators=criteria.annotators,
            rng=options.seed,
        )
    return selection_report_of(inputs, found, inputs_hash=inputs_hash or inputs.hash())


def selection_report_of(inputs: SelectionInputs, found: Selection, *, inputs_hash: str) -> SelectionReport:
    """A choice as a report."""
    criteria, written = inputs.criteria, json_of(found)
    of_pairs = kind_of(criteria.kind).presented
    # Only on pairs is it tested whether a judge may replace an annotator.
    crowd = [part.judged.name for part in inputs.parts if of_pairs and not part.keeps_people_apart]
    for row in written["standings"]:
        row["judge"] = row["key"]
        for one in row["violations"]:
            one["of"] = "accuracy" if of_pairs else "score"
    return SelectionReport.read(
        {
            **written,
            "inputs_hash": inputs_hash,
            "software": {"name": "touchstone", "version": software_version()},
            "kind": criteria.kind,
            "figure": criteria.figure,
            "scales": [dict(scale) for scale in _scales(inputs)],
            "sweep": dict(inputs.sweep),
            "options": {
                **asdict(inputs.options),
                "confidence": criteria.confidence,
                "epsilon": criteria.epsilon,
                "n_folds": found.n_folds,
                "n_repeats": found.n_repeats,
            },
            "constraints": asdict(criteria.constraints),
            "datasets": [_dataset(part, inputs) for part in inputs.parts],
            "judges": _judges(inputs),
            "anytime": _anytime(inputs, found),
            "replaces": {name: test for name, test in written["replaces"].items() if name not in crowd},
            "notes": [
                *found.notes,
                *(f"{name} has too many annotators for the alternative annotator test." for name in crowd),
            ],
        }
    )


def _scales(inputs: SelectionInputs) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for scale in (scale for part in inputs.parts for scale in part.scales or [{}]):
        if scale not in found:
            found.append(scale)
    return found if any(found) else []


def _anytime(inputs: SelectionInputs, found: Selection) -> list[dict[str, Any]]:
    """The leader against the runner-up, of each dataset that decides and that studies ask labels of."""
    criteria = inputs.criteria
    judges = {one.key for one in inputs.candidates if not one.is_baseline}
    eligible = [
        row.key for row in found.standings if row.key in judges and row.is_ranked and not row.violations
    ]
    parts = [part for part in inputs.parts if part.arrival]
    if len(eligible) < 2 or not parts:
        return []
    # The pair was chosen on these labels, and may be another tomorrow: the intervals of all pairs hold at once.
    n_sequences = sum(not part.is_weighted for part in parts)
    return [
        anytime_row(
            part.judged,
            part.arrival,
            part.most,
            (eligible[0], eligible[1]),
            confidence=criteria.confidence,
            margin=criteria.margin,
            n_judges=len(judges),
            n_shared=max(1, n_sequences) * len(judges) * (len(judges) - 1) // 2,
            is_weighted=part.is_weighted,
        )
        for part in parts
    ]


def _dataset(part: DatasetInputs, inputs: SelectionInputs) -> dict[str, Any]:
    judged = part.judged
    own = set(judged.clusters.tolist())
    others = {name for other in inputs.parts if other is not part for name in other.judged.clusters.tolist()}
    share = round(part.n_simulated / part.n_labels, 12) if part.n_labels else None
    counts = ("n_gold", "n_labels", "n_annotators", "is_weighted", "composed_by")
    return {
        "name": judged.name,
        **{name: part.about[name] for name in ("title", "version", "licence")},
        "role": judged.role,
        "weight": judged.weight,
        "n_items": len(part.external_id),
        "n_instructions": len(own),
        "n_instructions_shared": len(own & others),
        **{name: getattr(part, name) for name in counts},
        "simulated_share": share,
        "n_categories": len(set(judged.categories.tolist())),
    }


def _judges(inputs: SelectionInputs) -> list[dict[str, Any]]:
    known: dict[str, JudgeFacts] = {}
    judged: dict[str, dict[str, int]] = {candidate.key: {} for candidate in inputs.candidates}
    for part in inputs.parts:
        for judge in part.judges:
            if judge.fingerprint in judged:
                known.setdefault(judge.fingerprint, judge)
                judged[judge.fingerprint][part.judged.name] = judge.n_judged
    return [
        {
            "key": one.key,
            **{
                name: getattr(known[one.key], name)
                for name in ("fingerprint", "backend", "model", "strategy")
            },
            "name": one.name,
            "baseline": one.is_baseline,
            "is_open": one.is_open,
            "is_local": one.is_local,
            "n_judged": judged[one.key],
        }
        for one in inputs.candidates
    ]
