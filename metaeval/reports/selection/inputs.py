"""What a choice of a judge is computed from, and the hash that names it. The same for every kind of items."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import Any

import numpy as np

from annotation.kinds import DEFAULT_KIND, kind_of
from metaeval.figures import FIGURES
from metaeval.figures.item_scores import item_scores
from metaeval.inputs import Inputs, Items, JudgeAnswers, Options
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import Candidate, Constraints, Floats, JudgedDataset, Role
from metaeval.selection.verdict import Annotators
from metaeval.stats.arrays import slots_of

SCHEMA = "touchstone.selection/1"
# Labels are a matrix of items and people; beyond this many cells (400 MB) who gave a label is forgotten.
MOST_CELLS = 50_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """A dataset, in which role it takes part, and its share in the objective (0: reported only)."""

    dataset: str
    role: Role
    weight: float


@dataclass(frozen=True, slots=True)
class Criteria:
    """Selection criteria: which datasets in which roles, under which constraints, with which confidence.

    ``kind`` is that of the items that judges are chosen by: a judge of rubrics judges nothing else. ``epsilon`` is that
    of the alternative annotator test. ``margin`` is how much better is better in practice, and ``annotators`` whether a
    winner must win with new annotators like these as well ("alike") or with these alone ("these"). ``figure`` is what
    judges are ranked by where people decide; empty: the first of the kind. Gold answers are always compared by the
    first of the kind.
    """

    parts: tuple[Part, ...]
    constraints: Constraints = field(default_factory=Constraints)
    confidence: float = 0.95
    kind: str = DEFAULT_KIND
    epsilon: float = EPSILON
    margin: float = 0.0
    annotators: Annotators = "alike"
    figure: str = ""

    @property
    def deciding(self) -> tuple[str, ...]:
        """Names of the datasets that have a share in the objective."""
        return tuple(part.dataset for part in self.parts if part.weight > 0)


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """How the figures of a choice are computed; part of its hash."""

    n_resamples: int = 2000
    n_folds: int = 5
    n_repeats: int = 5
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """A judge of one dataset: who it is, and how many items it judged."""

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    baseline: bool
    n_judged: int


@dataclass(frozen=True, slots=True)
class DatasetInputs:
    """One dataset of a choice.

    Attributes
    ----------
    judged : JudgedDataset
        As the library reads it: verdicts of pairs, or scores of items of other kinds.
    about : mapping
        What a header says of the dataset: title, version, licence.
    external_id : tuple of str
        The items.
    judges : tuple of JudgeFacts
        Who judged, baselines too.
    composed_by : {"category", "subset"}
        What the categories of ``judged`` are.
    n_gold, n_labels, n_annotators, n_simulated : int
        How much there is to compare judges with.
    is_weighted : bool
        Whether items count by one over the chance with which they were drawn for labelling.
    keeps_people_apart : bool
        Whether the labels of each person have a column of their own.
    arrival : tuple of int
        By item when its labels were all there, as `metaeval.selection.anytime` reads it; empty where no study asks.
    most : tuple of float
        By item the most that it can weigh, whatever is labeled; empty where items weigh the same.
    scales : tuple of mapping
        Of rubrics, the scale of each criterion as JSON; empty where all are 1 to 5.
    """

    judged: JudgedDataset
    about: Mapping[str, Any]
    external_id: tuple[str, ...]
    judges: tuple[JudgeFacts, ...]
    composed_by: str
    n_gold: int
    n_labels: int
    n_annotators: int
    n_simulated: int
    is_weighted: bool
    keeps_people_apart: bool = False
    arrival: tuple[int, ...] = ()
    most: tuple[float, ...] = ()
    scales: tuple[Mapping[str, Any], ...] = ()

    def rows(self) -> list[object]:
        """What the hash of a choice covers of it."""
        whole = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "judged"}
        whole["judges"] = [asdict(judge) for judge in self.judges]
        if not self.arrival:  # as before there was such a thing
            del whole["arrival"]
        if not self.arrival or not self.most:
            del whole["most"]
        if not self.scales:
            del whole["scales"]
        judged = {
            each.name: _digest(getattr(self.judged, each.name))
            for each in fields(self.judged)
            if each.name not in ("people_apart", "scored_labels")
        }
        if self.judged.scored_labels is not None:
            people = self.judged.scored_labels.crossing
            judged["people"] = [_digest(people.item), _digest(people.person)]
        return [whole, judged]


def _digest(value: Any) -> object:
    """A value as JSON has it; of an array a hash, without the last bits, which depend on the machine."""
    if isinstance(value, Mapping):
        return {key: _digest(one) for key, one in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind != "f":
        return value.tolist()
    rounded = np.where(np.isnan(value), np.nan, np.round(value, 12) + 0.0).astype("<f8")
    return [list(value.shape), sha256(rounded.tobytes()).hexdigest()]


@dataclass(frozen=True, slots=True)
class SelectionInputs:
    """All that a choice depends on. ``sweep`` is what its header says of the sweep."""

    sweep: Mapping[str, Any]
    parts: tuple[DatasetInputs, ...]
    candidates: tuple[Candidate, ...]
    criteria: Criteria
    options: SelectionOptions = SelectionOptions()

    @property
    def n_items(self) -> int:
        """Items of all datasets."""
        return sum(len(part.external_id) for part in self.parts)

    @property
    def size(self) -> int:
        """Items times judges."""
        return self.n_items * len(self.candidates)

    def hash(self) -> str:
        """SHA-256 of what is judged, the criteria and the options, in hexadecimal."""
        # What came later counts where it is not as it was before.
        before = {"margin": 0.0, "annotators": "alike", "figure": ""}
        criteria = {name: one for name, one in asdict(self.criteria).items() if before.get(name) != one}
        head = [SCHEMA, criteria, asdict(self.options), [_candidate(one) for one in self.candidates]]
        digest = sha256()
        for row in (head, *(part.rows() for part in self.parts)):
            digest.update(json.dumps(row, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")
        return digest.hexdigest()


def _candidate(one: Candidate) -> dict[str, Any]:
    facts = asdict(one)
    return (
        facts if one.takes_no_llm else {name: fact for name, fact in facts.items() if name != "takes_no_llm"}
    )


# --- from rows of each kind ----------------------------------------------------------------------------------------


def dataset_inputs(
    part: Part, inputs: Inputs, instructions: Sequence[str], figure: str = ""
) -> DatasetInputs:
    """One dataset of a choice: the verdicts of judges on pairs, or how good each is on each item of another kind.

    Pairs have their baselines among their judges; those of other kinds follow from the target. ``instructions`` are
    names that are the same in every dataset, by item; ``figure`` is as of `Criteria`.
    """
    items, labels = inputs.items, inputs.labels
    if not kind_of(inputs.kind).presented:
        sample = FIGURES[inputs.kind].sample(inputs, Options(against=part.role, n_resamples=0))
        inputs = replace(inputs, judges=(*inputs.judges, *sample.baselines()))
    figure = _figure_of(part, inputs, figure)
    n_annotators = int(labels.annotator.max(initial=-1)) + 1
    apart = len(items) * n_annotators <= MOST_CELLS
    by, categories = _categories(items)
    judges = {judge.fingerprint: judge for judge in inputs.judges}
    return DatasetInputs(
        JudgedDataset(
            name=part.dataset,
            role=part.role,
            clusters=np.array(instructions, dtype=np.str_),
            categories=categories,
            costs={key: _amounts(judge.cost, inputs, figure) for key, judge in judges.items()},
            seconds={key: _amounts(judge.seconds, inputs, figure) for key, judge in judges.items()},
            weight=part.weight,
            **_judged(part, inputs, n_annotators, figure, apart=apart),
        ),
        about=inputs.facts["dataset"],
        external_id=items.external_id,
        judges=tuple(_facts(judge) for judge in inputs.judges),
        composed_by=by,
        n_gold=int(items.has_gold.sum()),
        n_labels=len(labels),
        n_annotators=n_annotators,
        n_simulated=int(labels.simulated.sum()),
        is_weighted=part.role == "people" and inputs.weights is not None,
        keeps_people_apart=apart,
        most=_most(inputs, part.role),
        scales=tuple(inputs.scales_json()),
    )


def _figure_of(part: Part, inputs: Inputs, figure: str) -> str:
    """What ranks judges on this dataset: response sets are people's, so gold answers are compared as usual."""
    return "" if part.role != "people" and figure in FIGURES[inputs.kind].further else figure


def _by_verdicts(inputs: Inputs, figure: str) -> bool:
    """Whether verdicts on pairs are scored, and not how good each judge is on each item."""
    return kind_of(inputs.kind).presented and figure not in FIGURES[inputs.kind].further


def _amounts(amounts: Floats, inputs: Inputs, figure: str) -> Floats:
    """By presentation order; of pairs that are scored by item the mean of both orders, as one."""
    if kind_of(inputs.kind).presented and not _by_verdicts(inputs, figure):
        known = ~np.isnan(amounts)
        total, n = np.where(known, amounts, 0.0).sum(axis=1), known.sum(axis=1)
        amounts = np.where(n > 0, total / np.maximum(n, 1), np.nan)[:, np.newaxis]
    return np.asarray(_both_orders(amounts, np.nan))


def _most(inputs: Inputs, role: Role) -> tuple[float, ...]:
    """What items weigh at most, of a kind whose items weigh as much as they have parts that count."""
    if kind_of(inputs.kind).presented or role != "people":
        return ()
    sample = FIGURES[inputs.kind].sample(inputs, Options(against=role, n_resamples=0))
    return () if sample.size is None else tuple(sample.most.tolist())


def _judged(part: Part, inputs: Inputs, n_annotators: int, figure: str, *, apart: bool) -> dict[str, Any]:
    """What is scored: verdicts with what they are compared with, or scores of items."""
    judges, people = {judge.fingerprint: judge for judge in inputs.judges}, part.role == "people"
    if _by_verdicts(inputs, figure):
        return {
            "verdicts": {key: judge.verdicts for key, judge in judges.items()},
            "judged": {key: judge.judged for key, judge in judges.items()},
            "labels": _label_matrix(inputs, n_annotators, apart=apart) if people else None,
            "gold": None if people else inputs.items.gold[:, 0],
            "people_apart": apart,
            "weights": inputs.weights if people else None,
        }
    found = item_scores(inputs, part.role, figure)
    return {
        "verdicts": {},
        "judged": {
            key: _both_orders(column[:, np.newaxis], fill=False) for key, column in found.judged.items()
        },
        "weights": found.weights,
        "scores": found.scores,
        "unparsed": found.unparsed,
        "scorable": found.scorable,
        "scored_labels": found.labels,
    }


def _both_orders(columns: Any, fill: Any) -> Any:
    """(n_items, 2), of what has one presentation order too."""
    if columns.shape[1] == 2:
        return columns
    return np.concatenate([columns[:, :1], np.full_like(columns[:, :1], fill)], axis=1)


def _facts(judge: JudgeAnswers) -> JudgeFacts:
    about = judge.name, judge.fingerprint, judge.backend, judge.model, judge.strategy, judge.baseline
    return JudgeFacts(*about, n_judged=int(judge.asked.sum()))


def _categories(items: Items) -> tuple[str, Any]:
    """By what composites are made, and its values: categories, or subsets where there are no two categories."""
    if len(set(items.category)) < 2 and len(set(items.subset)) > 1:
        return "subset", np.array(items.subset, dtype=np.str_)
    return "category", np.array(items.category, dtype=np.str_)


def _label_matrix(inputs: Inputs, n_annotators: int, *, apart: bool) -> Floats:
    """Labels as (n_items, n_annotators), NaN where there is none; without a column a person where they are too many."""
    labels = inputs.labels
    if not apart:
        return slots_of(labels.item, labels.choice, len(inputs.items))
    matrix = np.full((len(inputs.items), n_annotators), np.nan)
    matrix[labels.item, labels.annotator] = labels.choice
    return matrix
