"""What reports, comparisons and decisions are computed from, as arrays, and the hash that names it.

A value is a row of numbers, one for each part of its item: the one choice between a pair's responses (1, 2, 0 for a
tie), a rating for each criterion, 1 or 0 for each question, a rank for each aspect or response (lower is better). NaN
is what was not said, `UNSURE` where somebody said that they cannot tell, `NOT_APPLICABLE` where a criterion does not
apply. Rows are known by their external names, never
by database keys, so the same files imported on another machine have the same hash.
"""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from annotation.domain.scales import STANDARD, Scale
from annotation.kinds import ItemKind
from annotation.kinds.classification import UNORDERED, CategoryScheme
from annotation.kinds.reasonable import KEY
from metaeval.selection.replacement import EPSILON
from metaeval.selection.verdict import ANNOTATORS, Annotators
from metaeval.stats import PRESETS, InvalidInputError

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]
Against = Literal["people", "gold"]
TieBreak = Literal["expected", "random", "alpaca_eval"]
Unparsed = Literal["wrong", "omit"]
GradeScale = Literal["grade", "scores"]
Stored = Mapping[str, Any]
Parts = Sequence[Sequence[str]]

SCHEMA = "touchstone.inputs/1"
PEOPLE: Against = "people"
GOLD: Against = "gold"
CONVENTIONS: tuple[TieBreak, ...] = ("expected", "random", "alpaca_eval")
UNPARSED: tuple[Unparsed, ...] = ("wrong", "omit")
MOST_RESAMPLES = 200_000
GRADES: GradeScale = "grade"
SCORE_DIFFERENCES: GradeScale = "scores"
UNSURE = -1.0
NOT_APPLICABLE = math.inf
"""No rating on any scale: -1 may be one."""


@dataclass(frozen=True, slots=True)
class Options:
    """How figures are computed; part of the inputs, hence of their hash.

    Attributes
    ----------
    against : {"people", "gold"}
        What judges are compared with.
    tie_break : {"expected", "random", "alpaca_eval"}
        Convention of the leave-one-out agreement: the exact expectation, a seeded random choice among tied modes,
        or AlpacaEval's published one.
    unparsed : {"wrong", "omit"}
        Whether an unparsed verdict counts as wrong or is left out of agreement and accuracy.
    confidence : float
        Level of every interval, between 0 and 1.
    n_resamples : int
        Bootstrap resamples over instructions; 0 leaves the intervals out.
    seed : int
        Of the resamples, of ``tie_break="random"`` and of what is held out.
    epsilon : float
        Of the alternative annotator test: how much worse than an annotator a judge may be. The authors advise 0.1 in
        place of crowdworkers, 0.15 of skilled annotators, 0.2 of experts.
    margin : float
        How much better is better in practice, as a share of the scale that judges are ranked on: 0.02 is 2 points.
    annotators : {"alike", "these"}
        Whether a winner must win with new annotators like these as well, or with these alone.
    pass_mark : float or None
        Of rubrics: a rating at or above it passes, which makes errors of the two sides out of ratings. None: there are
        no such errors to speak of.
    preset : str
        The paper whose figures are computed beside the others, by its own convention; empty: none.
    """

    against: Against = PEOPLE
    tie_break: TieBreak = "expected"
    unparsed: Unparsed = "wrong"
    confidence: float = 0.95
    n_resamples: int = 10_000
    seed: int = 0
    epsilon: float = EPSILON
    margin: float = 0.0
    annotators: Annotators = "alike"
    pass_mark: float | None = None
    preset: str = ""

    def __post_init__(self) -> None:
        _one_of("against", self.against, (PEOPLE, GOLD))
        _one_of("tie_break", self.tie_break, CONVENTIONS)
        _one_of("unparsed", self.unparsed, UNPARSED)
        if not 0 < self.confidence < 1:
            raise InvalidInputError(f"confidence: expected a level between 0 and 1, got {self.confidence}.")
        if not 0 <= self.n_resamples <= MOST_RESAMPLES:
            raise InvalidInputError(f"resamples: expected 0 to {MOST_RESAMPLES:,}, got {self.n_resamples}.")
        if self.seed < 0:
            raise InvalidInputError(f"seed: expected 0 or more, got {self.seed}.")
        if not 0 <= self.epsilon < 1:
            raise InvalidInputError(f"epsilon: expected 0 or more and below 1, got {self.epsilon}.")
        if not 0 <= self.margin < 1:
            raise InvalidInputError(f"margin: expected 0 or more and below 1, got {self.margin}.")
        _one_of("annotators", self.annotators, ANNOTATORS)
        if self.pass_mark is not None and not math.isfinite(self.pass_mark):
            raise InvalidInputError(f"pass mark: expected a rating, got {self.pass_mark}.")
        if self.preset:
            _one_of("preset", self.preset, tuple(PRESETS))

    def as_dict(self, names: Collection[str]) -> dict[str, Any]:
        """Those of these names, as plain JSON values; a preset only where there is one."""
        found = {name: value for name, value in asdict(self).items() if name in names}
        return found if found.get("preset", "") else {n: v for n, v in found.items() if n != "preset"}

    def hashed(self) -> dict[str, Any]:
        """What the hash of the inputs covers: what came later counts where it is not as it was before."""
        before = {"margin": 0.0, "annotators": "alike", "pass_mark": None, "preset": ""}
        return {
            name: value for name, value in asdict(self).items() if name not in before or before[name] != value
        }


def tie_break(value: str) -> TieBreak:
    """Check the name of a convention that came as text."""
    _one_of("convention", value, CONVENTIONS)
    return cast("TieBreak", value)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidInputError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}.")


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The items of one kind in source order.

    Attributes
    ----------
    external_id, cluster, category, subset : tuple of str
        ``cluster`` is the instruction: items that share one are resampled together.
    parts : tuple of tuple of str
        What a value says something of: criteria, aspects, responses by position; one part without a name of a pair.
    gold : ndarray of shape (n_items, n_parts)
        The gold values; NaN where there is none. People's votes for answers stand in for ranks, their sign changed.
    lengths : ndarray of shape (n_items, n_responses)
        Characters of the responses, of kinds whose items have several; 0 beyond an item's own.
    parents : tuple of tuple of str
        By part, the part that it depends on, empty for none; empty where parts have no tree.
    voted : ndarray of shape (n_items,)
        Whether the gold ranks are people's votes.
    points : ndarray of shape (n_items, n_parts) or None
        What meeting each aspect earns, below 0 for what a response should not do; NaN where an aspect doesn't say.
        None where none does.
    """

    external_id: tuple[str, ...]
    cluster: tuple[str, ...]
    category: tuple[str, ...]
    subset: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    gold: Floats
    lengths: Integers
    parents: tuple[tuple[str, ...], ...]
    voted: Booleans
    points: Floats | None = None

    def __len__(self) -> int:
        return len(self.external_id)

    @property
    def width(self) -> int:
        """Parts of the item that has most."""
        return int(self.gold.shape[1])

    @property
    def has_gold(self) -> Booleans:
        """Whether there is a gold value: (n_items,)."""
        return np.asarray((~np.isnan(self.gold)).any(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels, one row each, ordered by item and then by when they were given.

    Attributes
    ----------
    item : ndarray of shape (n_labels,)
        Row of the item in `Items`.
    annotator : ndarray of shape (n_labels,)
        Number of the annotator, counted by first appearance.
    values : ndarray of shape (n_labels, n_parts)
        In canonical order.
    simulated : ndarray of shape (n_labels,)
        Whether the annotator is a simulated one.
    n_repeated : int
        Labels left out because their annotator had labelled the item before, in another study.
    ties_allowed : bool
        Whether a study that labels come from offers a tie. Labels from elsewhere could be ties if one of them is.
    shown_first : ndarray of shape (n_labels,) or None
        Of pairs, the response (1 or 2) that was shown first, NaN where that is unknown; None where nobody asked.
    group : tuple of str
        The rater group of each: the slug of its study, of imported ones what stands before a slash in the annotator's
        name ("mturk/ann"), or nothing; empty where nobody asked. No figure depends on it, so it is no part of the hash.
    grades : ndarray of shape (n_labels,) or None
        Of pairs, how strong each preference is, from -3 to 3, NaN where it doesn't say; None where no label does.
    sets : ndarray of shape (n_labels, n_parts, n_answers) or None
        1 where the annotator finds an answer reasonable, 0 where not, NaN where they gave no set; None where no label
        has one. The answers are those of `set_answers`; of categories, which are answers to one part, the categories
        of the item.
    """

    item: Integers
    annotator: Integers
    values: Floats
    simulated: Booleans
    n_repeated: int = 0
    ties_allowed: bool = False
    shown_first: Floats | None = None
    group: tuple[str, ...] = ()
    grades: Floats | None = None
    sets: Floats | None = None

    def __len__(self) -> int:
        return len(self.item)

    @property
    def choice(self) -> Floats:
        """The choice of each, of pairs."""
        return self.values[:, 0]

    @property
    def possible(self) -> tuple[float, ...]:
        """All that could be said of a pair, said or not."""
        return (0.0, 1.0, 2.0) if self.ties_allowed or bool((self.choice == 0).any()) else (1.0, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeAnswers:
    """A judge and what it said; arrays are (n_items, n_orders), a column for each presentation order.

    Attributes
    ----------
    values : ndarray of shape (n_items, n_orders, n_parts)
        In the form of labels, in canonical order.
    judged : bool
        Whether there is a judgment.
    unparsed, failed : bool
        Whether it could not be read or never came; whether it never came (a permanent error of the endpoint).
    cost, seconds : float
        US dollars and model time of each judgment; NaN where nothing was measured (imported verdicts).
    finer : ndarray of shape (n_items, n_orders, n_parts) or None
        A finer number than the value, where the judge gives one: an expected rating, a log-likelihood (higher is
        better); NaN where it doesn't.
    probability : ndarray of shape (n_items, n_orders, n_parts) or None
        The judge's probability of a preference for the first response, or of yes, where it is stored or members of a
        jury voted; NaN where nothing says it.
    baseline : bool
        Computed on the fly as a floor; there is no such judge in the database.
    grades : ndarray of shape (n_items, n_orders) or None
        Of pairs, how strong each preference is, NaN where it doesn't say; None where no verdict does, or where nothing
        is compared with it.
    grade_scale : {"grade", "scores"}
        Grades from -3 to 3, or differences of the scores of a judge that scored each response by itself.
    samples : ndarray of shape (n_items, n_orders, n_samples, n_parts) or None
        What each independent sample of a request said, in the form of the values; NaN is unparsed. None where each
        request was sampled once.
    """

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    values: Floats
    judged: Booleans
    unparsed: Booleans
    failed: Booleans
    cost: Floats
    seconds: Floats
    finer: Floats | None = None
    probability: Floats | None = None
    baseline: bool = False
    samples: Floats | None = None
    grades: Floats | None = None
    grade_scale: GradeScale = GRADES

    @property
    def verdicts(self) -> Floats:
        """The choices between a pair's responses: (n_items, n_orders)."""
        return self.values[:, :, 0]

    @property
    def asked(self) -> Booleans:
        """The items with a judgment in any order: (n_items,)."""
        return np.asarray(self.judged.any(axis=1))


def baseline_judge(key: str, name: str, values: Floats) -> JudgeAnswers:
    """A judge that asks no LLM, from its values, (n_items, n_orders, n_parts): a floor that a real judge must beat.

    The last word of the key is its strategy.
    """
    shape = values.shape[:2]
    whole, none = np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    free = np.zeros(shape)
    return JudgeAnswers(
        name=name,
        fingerprint=sha256(f"baseline {key}".encode()).hexdigest(),
        backend="heuristic",
        model="",
        strategy=key.rpartition(" ")[2],
        values=values,
        judged=whole,
        unparsed=none,
        failed=none,
        cost=free,
        seconds=free,
        baseline=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that a report or a comparison of items of one kind depends on.

    Attributes
    ----------
    facts : dict
        What its header says of the dataset, the study and the sweep.
    criteria : tuple of str
        Keys of the dataset's criteria, of kinds whose parts they are.
    weights : ndarray of shape (n_items,) or None
        One over the chance with which each item was drawn for labelling; None where all were certain.
    scheme : CategoryScheme
        How items to classify use their categories.
    scales : tuple of Scale
        By criterion, without their words; empty where all are 1 to 5.
    """

    kind: str
    name: str
    facts: dict[str, Any]
    items: Items
    labels: Labels
    judges: tuple[JudgeAnswers, ...] = ()
    criteria: tuple[str, ...] = ()
    weights: Floats | None = None
    scheme: CategoryScheme = UNORDERED
    scales: tuple[Scale, ...] = ()

    def targets(self) -> tuple[Against, ...]:
        """What judges can be compared with: the one that more items have first, people where both have as many."""
        n_labelled = int(np.count_nonzero(np.bincount(self.labels.item)))
        n_gold = int(self.items.has_gold.sum())
        found: list[tuple[int, Against]] = [(n_labelled, PEOPLE), (n_gold, GOLD)]
        return tuple(name for n, name in sorted(found, key=lambda entry: -entry[0]) if n)

    def scales_json(self) -> list[dict[str, Any]]:
        """The scale of each criterion as JSON; empty where all are 1 to 5."""
        found = [scale.as_json() for scale in self.scales]
        return found if any(found) else []

    def hash(self, options: Options) -> str:
        """SHA-256 of the names, the arrays and the options, in hexadecimal; docs/report-schema.md has its form."""
        items, labels = self.items, self.labels
        digest = _Digest()
        digest.line(SCHEMA, self.kind, self.name, self.facts, options.hashed(), self.criteria)
        digest.line(
            items.external_id, items.cluster, items.category, items.subset, items.parts, items.parents
        )
        digest.line(labels.n_repeated, labels.ties_allowed, self.weights is not None)
        if self.scheme != UNORDERED:
            digest.line(self.scheme.as_json())
        if scales := self.scales_json():
            digest.line("scales", scales)
        digest.arrays(items.gold, items.lengths, *_of_labels(labels))
        if items.points is not None:
            digest.line("points of aspects")
            digest.arrays(items.points)
        if labels.grades is not None:
            digest.line("grades of labels")
            digest.arrays(labels.grades)
        if labels.sets is not None:
            digest.line("response sets of labels")
            digest.arrays(labels.sets)
        if self.weights is not None:
            digest.arrays(self.weights)
        for judge in self.judges:
            _add_judge(digest, judge)
        return digest.text

    def parts(self) -> dict[str, Any]:
        """SHA-256 of each part by itself, so that two reports can tell which of them changed: items, gold answers,
        labels, sampling weights, and each judge by its fingerprint.
        """
        items = _Digest()
        items.line(*(getattr(self.items, name) for name in ("external_id", "cluster", "category", "subset")))
        items.line(self.items.parts, self.items.parents)
        if scales := self.scales_json():
            items.line("scales", scales)
        items.arrays(self.items.lengths)
        if self.items.points is not None:
            items.line("points")
            items.arrays(self.items.points)
        gold, labels, weights = _Digest(), _Digest(), _Digest()
        gold.arrays(self.items.gold)
        labels.line(self.labels.n_repeated, self.labels.ties_allowed)
        labels.arrays(*_of_labels(self.labels))
        if self.labels.grades is not None:
            labels.line("grades")
            labels.arrays(self.labels.grades)
        if self.labels.sets is not None:
            labels.line("response sets")
            labels.arrays(self.labels.sets)
        if self.weights is not None:
            weights.arrays(self.weights)
        judges = {judge.fingerprint: _Digest() for judge in self.judges if not judge.baseline}
        for judge in self.judges:
            if not judge.baseline:
                _add_judge(judges[judge.fingerprint], judge)
        return {
            "items": items.text,
            "gold": gold.text,
            "labels": labels.text,
            "weights": weights.text,
            "judges": {fingerprint: digest.text for fingerprint, digest in judges.items()},
        }


class _Digest:
    """A SHA-256 of lines of JSON and of arrays."""

    def __init__(self) -> None:
        self._sha = sha256()

    @property
    def text(self) -> str:
        return self._sha.hexdigest()

    def line(self, *row: object) -> None:
        # ASCII: a lone surrogate in a name must not stop a report.
        self._sha.update(json.dumps(row, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")

    def arrays(self, *found: Any) -> None:
        for values in found:
            given = np.asarray(values, dtype=np.float64)
            self.line(list(given.shape))
            # One NaN and one zero: their bits are a machine's own.
            self._sha.update(np.where(np.isnan(given), np.nan, given + 0.0).astype("<f8").tobytes())


def _of_labels(labels: Labels) -> tuple[Any, ...]:
    return labels.item, labels.annotator, labels.values, labels.simulated


def _add_judge(digest: _Digest, judge: JudgeAnswers) -> None:
    digest.line(judge.name, judge.fingerprint, judge.backend, judge.model, judge.strategy, judge.baseline)
    digest.arrays(judge.judged, judge.unparsed, judge.failed, judge.values, judge.cost, judge.seconds)
    if judge.finer is not None:
        digest.arrays(judge.finer)
    if judge.probability is not None:
        digest.line("probability")
        digest.arrays(judge.probability)
    if judge.samples is not None:
        digest.line("samples")
        digest.arrays(judge.samples)
    if judge.grades is not None:
        digest.line("grades", judge.grade_scale)
        digest.arrays(judge.grades)


# --- rows of a database as arrays ------------------------------------------------------------------------------------


def columns_of(kind: ItemKind, stored: Sequence[Any], parts: Parts, width: int) -> Floats:
    """What the column of labels or judgments that a kind reads says, as rows of numbers: (n_values, width)."""
    if kind.column == "choice":
        return np.array(stored, dtype=np.float64).reshape(-1, 1)  # None is NaN
    return values_of(kind, stored, parts, width)


def values_of(kind: ItemKind, values: Iterable[Stored | None], parts: Parts, width: int) -> Floats:
    """Values in the form of labels as rows of numbers, (n_values, width), each of the parts of its item."""
    rows = [
        numbers_row(kind, kind.numbers(value or {}), names, width)
        for value, names in zip(values, parts, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def numbers_row(
    kind: ItemKind, numbers: Mapping[str, float | None], parts: Sequence[str], width: int
) -> list[float]:
    """Numbers by part as a row; NaN of a part that has none, and everywhere of a ranking of other parts."""
    nothing = [math.nan] * width
    # A ranking of other parts says nothing of these.
    if kind.scale == "ranks" and (len(numbers) != len(parts) or not all(name in numbers for name in parts)):
        return nothing
    unsure = NOT_APPLICABLE if kind.scale == "ordinal" else UNSURE
    row = [
        math.nan if name not in numbers else unsure if (number := numbers[name]) is None else number
        for name in parts
    ]
    return row + nothing[len(row) :]


def set_answers(kind: ItemKind, scales: Sequence[Scale] = ()) -> tuple[float, ...]:
    """The answers that a response set can have, as values have them: sides of a pair, or all ratings on these scales
    and `NOT_APPLICABLE`; none of categories, which each item has of its own.
    """
    if kind.scale == "preference":
        return (1.0, 0.0, 2.0)
    if kind.scale != "ordinal":
        return ()
    points = {float(point) for scale in scales or (STANDARD,) for point in scale.points}
    return (*sorted(points), NOT_APPLICABLE)


def sets_of(
    kind: ItemKind, values: Sequence[Stored | None], parts: Parts, width: int, scales: Sequence[Scale] = ()
) -> Floats | None:
    """The response sets of labels, as `Labels.sets` has them; None where no value has one.

    Parameters
    ----------
    values : sequence of mapping or None
        None of those that have no set.
    parts : sequence of sequence of str
        Of the item of each.
    """
    given = [(row, kind.set_numbers(value)) for row, value in enumerate(values) if value and KEY in value]
    given = [(row, found) for row, found in given if found]
    if not given:
        return None
    answers = set_answers(kind, scales)
    column = {answer: place for place, answer in enumerate(answers)}
    sets = np.full((len(values), width if answers else 1, len(answers) or width), math.nan)
    for row, found in given:
        if not answers:
            sets[row] = 0.0
            sets[row, 0, [place for place, name in enumerate(parts[row]) if found.get(name)]] = 1.0
            continue
        for place, name in enumerate(parts[row]):
            if name in found:
                sets[row, place] = 0.0
                said = [NOT_APPLICABLE if number is None else number for number in found[name]]
                sets[row, place, [column[number] for number in said if number in column]] = 1.0
    return sets


def weights_drawn(items: Sequence[Any], chances: Iterable[tuple[Any, Any, float]]) -> Floats | None:
    """One over the chance with which each item was drawn for labelling; None where all were certain.

    Parameters
    ----------
    items : sequence of length n_items
        The names of the items.
    chances : iterable of (item, study, chance)
        Of labels, the earlier ones first; items that nobody drew lots for may be left out. An item that several
        studies drew by chance was labelled with the chance that any of them drew it; a label that nobody drew lots for
        (an import, a study of all its items) makes it certain.

    Examples
    --------
    >>> weights_drawn(["a", "b"], [("a", 1, 0.5), ("b", 1, 1.0)]).tolist()
    [2.0, 1.0]
    """
    missed: dict[Any, dict[Any, float]] = defaultdict(dict)
    for item, study, chance in chances:
        missed[item].setdefault(study, 1.0 - min(1.0, chance))
    never = {item: math.prod(of_studies.values()) for item, of_studies in missed.items()}
    if not any(never.values()):
        return None
    return np.array([1.0 / (1.0 - never.get(item, 0.0)) for item in items])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item as it is stored, in a database or in a file.

    Attributes
    ----------
    cluster : str
        The instruction; items that share one are resampled together.
    parts : tuple of str
        What a value says something of.
    gold : mapping or None
        In the form of labels.
    metadata : mapping
        Its ``votes`` are people's votes for the responses of an answer ranking.
    lengths : sequence of int
        Characters of the responses, of kinds whose items have several.
    parents : tuple of str
        By part, the part that it depends on; empty where there is none.
    points : sequence of number or None
        By part, what meeting it earns; empty where none says.
    """

    external_id: str
    cluster: str
    category: str = ""
    subset: str = ""
    parts: tuple[str, ...] = ("",)
    gold: Stored | None = None
    metadata: Stored = field(default_factory=dict)
    lengths: Sequence[int] = ()
    parents: tuple[str, ...] = ()
    points: Sequence[float | None] = ()


def items_make(kind: ItemKind, rows: Sequence[StoredItem]) -> Items:
    """Return items of a kind as arrays, in the order of the rows."""
    parts = [row.parts for row in rows]
    width = max(map(len, parts), default=0)
    votes = [_votes(row.metadata) if kind.parts == "responses" else None for row in rows]
    gold = values_of(kind, [row.gold for row in rows], parts, width)
    voted = [len(own or ()) == len(names) > 0 for own, names in zip(votes, parts, strict=True)]
    for k in np.flatnonzero(voted).tolist():
        gold[k, : len(parts[k])] = [-vote for vote in votes[k] or ()]
    lengths = np.zeros((len(rows), max((len(row.lengths) for row in rows), default=0)), dtype=np.intp)
    for k, row in enumerate(rows):
        lengths[k, : len(row.lengths)] = row.lengths
    return Items(
        external_id=tuple(row.external_id for row in rows),
        cluster=tuple(row.cluster for row in rows),
        category=tuple(row.category for row in rows),
        subset=tuple(row.subset for row in rows),
        parts=tuple(parts),
        gold=gold,
        lengths=lengths,
        parents=tuple(row.parents or ("",) * len(row.parts) for row in rows),
        voted=np.array([each is not None for each in votes], dtype=np.bool_),
        points=_points(rows, width),
    )


def _points(rows: Sequence[StoredItem], width: int) -> Floats | None:
    if not any(row.points for row in rows):
        return None
    found = np.full((len(rows), width), np.nan)
    for k, row in enumerate(rows):
        found[k, : len(row.points)] = [np.nan if one is None else one for one in row.points]
    return found


def _votes(metadata: Any) -> tuple[float, ...] | None:
    votes = metadata.get("votes") if isinstance(metadata, dict) else None
    if not isinstance(votes, list) or not all(type(vote) in (int, float) for vote in votes):
        return None
    return tuple(float(vote) for vote in votes) or None


def _padded(rows: Sequence[Sequence[float]], width: int) -> Floats:
    table = np.zeros((len(rows), width))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    return table
