"""Agreement so far: the labels of a study as the inputs of `metaeval.figures`, and what the figures of their kind are.

Which figures there are, what they are called and how they are computed stands in `metaeval.figures`, as for reports.
What is said of labels is never changed, so their number, how many of them count and the latest of them say whether
anything is new: figures are kept in the cache until then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from django.db.models import Count, Max, Q, Subquery

from annotation.domain.pseudonyms import SHORT, pseudonym
from annotation.domain.scales import Scale, Scales
from annotation.kinds import ItemKind, kind_of
from annotation.kinds.classification import UNORDERED, CategoryScheme
from annotation.kinds.dimensions import on_dimension
from annotation.kinds.grades import grade_of
from annotation.kinds.values import NO_SCALES
from annotation.models import Intervention, Label, Study, WorkRole
from annotation.selectors.anytime import ItemPlace, Look, places_of, ratio_over_time
from annotation.selectors.costly import MOST_AT_ONCE, counted_once, is_counted, study_key
from annotation.selectors.datasets import scales_of
from annotation.selectors.instructions import instruction_clusters
from metaeval.figures import FIGURES, Figure, KindFigures, Sample
from metaeval.figures.measures import annotator_agreements, people_measures
from metaeval.figures.sample import Ratio
from metaeval.inputs import Floats, Inputs, Items, Labels, Options, Stored, columns_of, sets_of, weights_drawn
from metaeval.stats import Estimate

# Primary key of an annotator to (pseudonym, simulated?).
People: TypeAlias = dict[int, tuple[str, bool]]

# Part of the cache key: goes up when what is computed changes.
VERSION = 12
# Below this many items with two labels, the page says that it is early.
FEW_ITEMS = 20


class LabelRow(NamedTuple):
    """A label that counts; `stored` is what the column says that its kind reads, `number` its place in time, `grade`
    how strong a preference is, and `whole` its value with its response set, where the study asks for these.
    """

    item: int
    instruction: int
    category: str
    annotator: int
    seconds: float
    probability: float
    shown_order: Sequence[int] | None
    stored: Any
    number: int = 0
    grade: float | None = None
    whole: Stored | None = None


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """One annotator: their agreement with the others, on items that others labelled too."""

    annotator: int
    pseudonym: str
    is_simulated: bool
    labels: int
    seconds: float | None
    agreement: Estimate

    @property
    def short_id(self) -> str:
        return self.pseudonym[:SHORT]


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A criterion or a category: how much there is of it, and its figures in the order of the columns."""

    name: str
    items: int
    labels: int
    estimates: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the labels of a study say so far."""

    kind: str
    labels: int = 0
    items: int = 0
    items_with_two: int = 0
    annotators: int = 0
    simulated: int = 0
    seconds: float | None = None
    measures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: tuple[AgreementRow, ...] = ()
    by_annotator: tuple[AnnotatorRow, ...] = ()
    remarks: tuple[str, ...] = ()
    # The figure of everyone with an interval for looking at any time; which figures have none; why none has.
    anytime: Estimate | None = None
    # The same after each look back.
    over_time: tuple[Look, ...] = ()
    without_anytime: tuple[str, ...] = ()
    why_no_anytime: str = ""
    scales: tuple[Scale, ...] = ()

    @property
    def own(self) -> KindFigures:
        """The figures of its kind, on the scales of its criteria."""
        return FIGURES[self.kind].on(self.scales)

    @property
    def is_early(self) -> bool:
        return self.items_with_two < FEW_ITEMS

    def overall(self, name: str) -> Mapping[str, Any]:
        """A figure of all labels."""
        found: Mapping[str, Any] = self.measures[name]["overall"]
        return found

    @property
    def figures(self) -> list[tuple[Figure, Mapping[str, Any]]]:
        """What is known, each figure with its estimate over all labels."""
        return [
            (figure, self.overall(figure.name))
            for figure in (_figures(self.own, self.measures) if self.measures else ())
        ]

    @property
    def tables(self) -> dict[str, list[tuple[Figure, Mapping[str, Any]]]]:
        """The same by the heading of each table of a report, that of the first ones being empty."""
        found: dict[str, list[tuple[Figure, Mapping[str, Any]]]] = {}
        for figure, estimate in self.figures:
            found.setdefault(figure.table, []).append((figure, estimate))
        return found

    @property
    def _alike(self) -> list[Mapping[str, Any]]:
        """The second intervals, of annotators like these on new items."""
        return [found for _, estimate in self.figures if (found := estimate.get("alike")) is not None]

    @property
    def has_alike(self) -> bool:
        """Whether any figure has an interval of annotators like these."""
        return any(found["low"] is not None for found in self._alike)

    @property
    def why_not_alike(self) -> str:
        """Why none has; empty where one does, or where no figure could."""
        return "" if self.has_alike else next((str(found.get("reason", "")) for found in self._alike), "")

    @property
    def columns(self) -> list[Figure]:
        """The figures that stand in the table of criteria or categories."""
        return _columns(self.own, self.kind, self.measures) if self.measures else []

    @property
    def table(self) -> list[tuple[AgreementRow, list[tuple[Figure, Mapping[str, Any], Mapping[str, Any]]]]]:
        """Each row with its cells: the figure, its estimate in the row, and over all labels."""
        columns = self.columns
        whole = [self.overall(figure.name) for figure in columns]
        return [(row, list(zip(columns, row.estimates, whole, strict=True))) for row in self.rows]

    @property
    def axis(self) -> str:
        """What the rows of the table are: criteria or categories."""
        return _axis(kind_of(self.kind))

    @property
    def of_one_person(self) -> Figure:
        """What the agreement of each annotator is."""
        return self.own.of_one_person

    @property
    def figure_of_everyone(self) -> Figure:
        """The figure that the annotators' own are parts of."""
        return self.own.of_people(self.own.of_everyone)

    @property
    def of_everyone(self) -> Mapping[str, Any]:
        """What it is over all labels."""
        return self.overall(self.own.of_everyone)


@dataclass(frozen=True, slots=True)
class LabelStamp:
    """Identifies the labels of a study at a moment: new ones raise `latest`, set aside ones lower `counted`.

    As many may be taken back as are set aside of somebody else; `changed`, the latest time that labels were, tells.
    """

    count: int
    counted: int
    latest: int
    changed: int

    @property
    def is_of_many(self) -> bool:
        """Whether counting them is nothing that a page can wait for."""
        return self.count > MOST_AT_ONCE

    def __str__(self) -> str:
        return f"{self.count}-{self.counted}-{self.latest}-{self.changed}"


def label_stamp(study: Study) -> LabelStamp:
    """One query."""
    counted = Count("pk", filter=Q(is_surplus=False, is_set_aside=False, role=WorkRole.WORK))
    interventions = Intervention.objects.filter(enrollment__study=study, n_labels__gt=0).order_by("-pk")
    row = Label.objects.filter(study=study).aggregate(
        count=Count("pk"),
        counted=counted,
        latest=Max("pk"),
        changed=Max(Subquery(interventions.values("pk")[:1])),
    )
    return LabelStamp(row["count"], row["counted"], row["latest"] or 0, row["changed"] or 0)


def agreement_so_far(study: Study, stamp: LabelStamp | None = None, dimension: str = "") -> Agreement:
    """What the labels of a study say so far of how far its people agree, overall or on one other dimension of its
    pairs, by key. No query where nothing is new; of a large study, not each label counts at once (`counted_once`).
    """
    stamp = stamp or label_stamp(study)
    key = _key(study, stamp, dimension)
    return counted_once(key, stamp, lambda: _agreement(study, dimension), may_lag=stamp.is_of_many)


def is_agreement_counted(study: Study, stamp: LabelStamp, dimension: str = "") -> bool:
    """Whether `agreement_so_far` would answer at once: it's known, or there are few labels."""
    return not stamp.is_of_many or is_counted(_key(study, stamp, dimension), stamp, may_lag=True)


def _key(study: Study, stamp: LabelStamp, dimension: str) -> str:
    # What was set aside is gone at once, however long counting takes.
    return f"{study_key(study, 'agreement')}:{VERSION}:{stamp.changed}:{dimension}"


def _agreement(study: Study, dimension: str) -> Agreement:
    people: People = {}
    rows = list(_labels_read(study, people, dimension))
    has_criteria = kind_of(study.kind).parts == "criteria"
    criteria = scales_of(study.dataset_id) if has_criteria else NO_SCALES
    return agreement_compute(
        study.kind, rows, people, criteria, places_of(study), study.dataset.category_scheme
    )


def _labels_read(study: Study, people: People, dimension: str) -> Iterator[LabelRow]:
    """The labels that count and say something on the dimension, by item; fills `people` on the way. One query, of kinds
    with aspects two.
    """
    same = instruction_clusters(study.dataset, study.kind)
    labels = Label.objects.current().filter(study=study, kind=study.kind)
    about = ("item_id", "item__instruction_id", "item__instruction__category", "annotator_id")
    own = ("active_ms", "supersedes_id", "probability", "shown_order", kind_of(study.kind).column)
    more = ("value",) if study.strengths or study.response_sets or dimension else ()
    names = (*about, *own, "annotator__public_id", "annotator__is_simulated", "pk", *more)
    found = labels.order_by("item__position", "item_id", "pk").values_list(*names)
    row: tuple[Any, ...]
    for row in found.iterator(chunk_size=5_000):
        (
            item,
            instruction,
            category,
            annotator,
            ms,
            earlier,
            chance,
            order,
            stored,
            public_id,
            simulated,
            number,
            *value,
        ) = row
        said = on_dimension(value[0], dimension) if value else None
        if dimension:
            if said is None:
                continue
            stored = said["choice"]
        if annotator not in people:
            people[annotator] = (str(pseudonym(public_id, study=study.pk)), simulated)
        seconds = seconds_of(ms, earlier)
        grade = grade_of(said) if study.strengths and said else None
        whole = said if study.response_sets else None
        cluster = same.get(instruction, instruction)
        yield LabelRow(
            item, cluster, category, annotator, seconds, chance, order, stored, number, grade, whole
        )


def seconds_of(active_ms: int | None, supersedes: int | None) -> float:
    """Active time on an item, NaN where it is unknown. That of a change says nothing of how long the item took."""
    return float("nan") if active_ms is None or supersedes is not None else active_ms / 1000


def agreement_compute(
    kind: str,
    rows: Sequence[LabelRow],
    people: People,
    criteria: Scales = NO_SCALES,
    places: Mapping[int, ItemPlace] = MappingProxyType({}),
    scheme: CategoryScheme = UNORDERED,
) -> Agreement:
    """The figures of these labels, ordered by item; ``criteria`` are the scales of the dataset's, in their order.

    ``scheme`` is how items to classify use their categories. With the ``places`` of the study's items also what is
    valid at any time.
    """
    if kind not in FIGURES or not rows:
        return Agreement(kind)
    scales = tuple(scale.numbers for scale in criteria.values())
    figures = FIGURES[kind].on(scales)
    sample = figures.sample(
        _inputs(kind_of(kind), rows, people, criteria, scheme), Options(n_resamples=figures.n_resamples)
    )
    measures = people_measures(figures.only(*figures.so_far), sample)
    seconds = np.array([row.seconds for row in rows], dtype=np.float64)
    by_annotator = [
        AnnotatorRow(
            key := rows[own[0]].annotator, *people[key], len(own), _median_known(seconds[own]), estimate
        )
        for own, estimate in annotator_agreements(figures, sample)
    ]
    return Agreement(
        kind=kind,
        scales=scales,
        labels=len(rows),
        items=sample.n_items,
        items_with_two=int((np.bincount(sample.labels.item) >= 2).sum()),
        annotators=len(people),
        simulated=sum(simulated for _, simulated in people.values()),
        seconds=_median_known(seconds),
        measures=measures,
        rows=tuple(_rows(figures, kind, sample, measures)),
        by_annotator=tuple(sorted(by_annotator, key=lambda row: (-row.labels, row.short_id))),
        remarks=sample.remarks_on_people(),
        **(_at_any_time(figures, sample, rows, places) if places else {}),
    )


def _at_any_time(
    figures: KindFigures, sample: Sample, rows: Sequence[LabelRow], places: Mapping[int, ItemPlace]
) -> dict[str, Any]:
    """What `Agreement` says of looking at any time."""
    if len({row.probability for row in rows}) > 1:
        why = "items were sampled with unequal probabilities, so the weight of an item isn't known before it is labeled"
        return {"why_no_anytime": why}
    parts = {
        figure.label: figure.function(sample) for figure in figures.people if figure.name in figures.so_far
    }
    one = figures.of_people(figures.of_everyone)
    ratio = one.function(sample)
    if not isinstance(ratio, Ratio) or one.bounds is None:
        return {"why_no_anytime": f"{one.label} isn't a mean over items"}
    labels = [(row.item, row.number) for row in rows]
    looks = ratio_over_time(ratio, one.bounds, list(dict.fromkeys(row.item for row in rows)), labels, places)
    return {
        "anytime": looks[-1].estimate if looks else None,
        "over_time": looks,
        "without_anytime": tuple(
            label for label, part in parts.items() if part is not None and not isinstance(part, Ratio)
        ),
    }


def _inputs(
    kind: ItemKind,
    rows: Sequence[LabelRow],
    people: People,
    criteria: Scales,
    scheme: CategoryScheme,
) -> Inputs:
    """The labels as the inputs of figures; items are those that have one."""
    index: dict[int, int] = {}
    first: list[LabelRow] = []
    for row in rows:
        if row.item not in index:
            index[row.item] = len(first)
            first.append(row)
    item = np.array([index[row.item] for row in rows], dtype=np.intp)
    parts = _parts(kind, rows, item.tolist(), len(first), tuple(criteria))
    width = max(map(len, parts))
    numbers: dict[int, int] = {}
    persons: dict[int, int] = {}
    orders = [row.shown_order for row in rows]
    grades = np.array([row.grade for row in rows], dtype=np.float64)  # None is NaN
    return Inputs(
        kind=kind.name,
        name="",
        facts={},
        items=Items(
            external_id=tuple(str(row.item) for row in first),
            cluster=tuple(str(numbers.setdefault(row.instruction, len(numbers))) for row in first),
            category=tuple(row.category for row in first),
            subset=("",) * len(first),
            parts=tuple(parts),
            gold=np.full((len(first), width), np.nan),
            lengths=np.zeros((len(first), 0), dtype=np.intp),
            parents=tuple(("",) * len(names) for names in parts),
            voted=np.zeros(len(first), dtype=np.bool_),
        ),
        labels=Labels(
            item=item,
            annotator=np.array(
                [persons.setdefault(row.annotator, len(persons)) for row in rows], dtype=np.intp
            ),
            values=columns_of(kind, [row.stored for row in rows], [parts[k] for k in item], width),
            simulated=np.array([people[row.annotator][1] for row in rows], dtype=np.bool_),
            shown_first=np.array([order[0] + 1 if order else np.nan for order in orders], dtype=np.float64),
            grades=None if np.isnan(grades).all() else grades,
            sets=sets_of(
                kind, [row.whole for row in rows], [parts[k] for k in item], width, list(criteria.values())
            ),
        ),
        criteria=tuple(criteria),
        scheme=scheme,
        scales=tuple(scale.numbers for scale in criteria.values()),
        weights=weights_drawn(
            [row.item for row in first], ((row.item, None, row.probability) for row in rows)
        ),
    )


def _parts(
    kind: ItemKind, rows: Sequence[LabelRow], item: Sequence[int], n_items: int, criteria: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """What the values of each item say something of: criteria, else what its labels name; a ranking of other parts
    than the first of its item (the item has changed) is left out.
    """
    if kind.column == "choice" or kind.parts == "criteria":
        return [criteria or ("",)] * n_items
    found: list[dict[str, None]] = [{} for _ in range(n_items)]
    for row, place in zip(rows, item, strict=True):
        if not found[place] or kind.scale != "ranks":
            found[place].update(dict.fromkeys(kind.numbers(row.stored)))
    return [tuple(sorted(names)) for names in found]


def _median_known(seconds: Floats) -> float | None:
    known = seconds[~np.isnan(seconds)]
    return float(np.median(known)) if len(known) else None


def _axis(kind: ItemKind) -> str:
    return "criterion" if kind.parts == "criteria" else "category"


def _figures(figures: KindFigures, measures: Mapping[str, Any]) -> list[Figure]:
    return [figure for figure in figures.people if figure.name in measures]


def _columns(figures: KindFigures, kind: str, measures: Mapping[str, Any]) -> list[Figure]:
    axis = _axis(kind_of(kind))
    return [figure for figure in _figures(figures, measures) if axis in figure.axes and not figure.table]


def _rows(
    figures: KindFigures, kind: str, sample: Sample, measures: Mapping[str, Any]
) -> Iterator[AgreementRow]:
    """The table of criteria or categories: items and labels that say something of each, and its figures."""
    axis, labels = _axis(kind_of(kind)), sample.labels
    if axis == "criterion":
        groups = [
            (name, ~np.isnan(labels.values[:, place])) for place, name in enumerate(sample.inputs.criteria)
        ]
    else:
        groups = [
            (group.name, group.members[labels.item]) for group in sample.layout.groups if group.kind == axis
        ]
    for name, own in groups:
        estimates = tuple(measures[figure.name][axis][name] for figure in _columns(figures, kind, measures))
        yield AgreementRow(name, len(np.unique(labels.item[own])), int(own.sum()), estimates)
