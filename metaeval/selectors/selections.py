"""From rows to what a choice of a judge is computed from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, OuterRef, Q

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.kinds.reasonable import KEY
from annotation.models import Dataset, Study, User
from annotation.selectors.anytime import items_finished
from annotation.selectors.datasets import (
    datasets_by_name,
    items_of,
    scales_rated,
    version_condition,
)
from annotation.selectors.instructions import instruction_names
from annotation.selectors.overview import labels_visible_to
from judges.models import BackendKind, Judge
from judges.selectors.stored import judges_known, judgments_on
from metaeval.figures import KIND_LABELS
from metaeval.reports.errors import NothingJudgedError, UnknownNameError
from metaeval.reports.selection.inputs import (
    Criteria,
    JudgeFacts,
    Part,
    SelectionInputs,
    dataset_inputs,
)
from metaeval.selection.anytime import NEVER, NOT_ASKED, TO_COME
from metaeval.selection.types import Candidate, Role
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import SweepView

# Kinds whose judges can be chosen between, in the order in which a page offers them.
CHOSEN_KINDS = tuple(KIND_LABELS)


@dataclass(frozen=True, slots=True)
class SweptDataset:
    """A dataset of a sweep with items of a kind, and in which roles it could take part in a choice.

    Attributes
    ----------
    n_labelled : int
        Items with labels of enough people to compare judges with: two of pairs, as agreement leaves one out, else one.
    is_judged : bool
        Whether a judge of the sweep has judged any item of the kind.
    scales : tuple of Scale
        Of rubrics, those of the criteria.
    has_sets : bool
        Whether any label has a response set.
    """

    pk: int
    name: str
    title: str
    n_items: int
    n_gold: int
    n_labelled: int
    is_judged: bool
    scales: tuple[Scale, ...] = ()
    has_sets: bool = False

    @property
    def is_full(self) -> bool:
        """Whether people have labelled every item, so that none is left to draw."""
        return self.n_labelled >= self.n_items

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that it could have, the likelier first; none where no judge has judged it."""
        found: list[Role] = []
        if self.is_judged and self.n_labelled:
            found.append("people")
        if self.is_judged and self.n_gold:
            # What more items have comes first, as in reports.
            found.insert(0 if self.n_gold > self.n_labelled else 1, "gold")
        return tuple(found)


def kinds_judged(sweep: SweepView) -> tuple[str, ...]:
    """The kinds of items that a judge of the sweep has judged, pairs first; a query, and one more for each kind."""
    there = set(items_of(sweep.datasets).values_list("kind", flat=True).distinct())
    judged = judgments_on(sweep.datasets, judge_ids=sweep.judge_ids)
    return tuple(kind for kind in CHOSEN_KINDS if kind in there and judged.filter(item__kind=kind).exists())


def swept_datasets(sweep: SweepView, kind: str = DEFAULT_KIND) -> list[SweptDataset]:
    """The datasets of the sweep with items of a kind, by name; two queries, and one more for each dataset."""
    judged = judgments_on(sweep.datasets, kind, judge_ids=sweep.judge_ids).filter(
        item__dataset=OuterRef("pk")
    )
    items = items_of(sweep.datasets, kind).order_by("dataset")
    gold = Count("pk", filter=Q(gold__isnull=False) | _has_votes(kind))
    sizes = {
        pk: (n, n_gold) for pk, n, n_gold in items.values_list("dataset").annotate(n=Count("pk"), gold=gold)
    }
    sets = labels_visible_to(sweep.reader).current().filter(kind=kind, item__dataset=OuterRef("pk"))
    datasets = (
        datasets_by_name()
        .filter(pk__in=list(sizes))
        .annotate(is_judged=Exists(judged), has_sets=Exists(sets.filter(value__has_key=KEY)))
    )
    return [
        SweptDataset(
            row.pk,
            row.name,
            row.title,
            *sizes[row.pk],
            _n_labelled(row.pk, kind, sweep.reader),
            row.is_judged,
            scales_rated(row, kind),
            row.has_sets,
        )
        for row in datasets
    ]


def _has_votes(kind: str) -> Q:
    """People's votes for the answers stand in for gold ranks."""
    return Q(metadata__has_key="votes") if _ranks_responses(kind) else Q()


def _ranks_responses(kind: str) -> bool:
    """Whether a value of the kind ranks the responses of an item, which may have people's votes."""
    return kind_of(kind).ordered == "responses" and not kind_of(kind).presented


def _n_labelled(dataset_id: int, kind: str, reader: User | None) -> int:
    visible = labels_visible_to(reader)
    labels = visible.current().filter(
        version_condition(prefix="item__"), kind=kind, item__dataset_id=dataset_id
    )
    labels = labels.order_by()
    people = labels.values("item").annotate(n=Count("annotator", distinct=True))
    return people.filter(n__gte=2 if kind_of(kind).presented else 1).count()


def preset_parts(datasets: Iterable[SweptDataset]) -> tuple[Part, ...]:
    """How datasets take part unless somebody says otherwise: agreement with people decides, where there is any."""
    roles = [(row, row.roles[0]) for row in datasets if row.roles]
    people = any(role == "people" for _, role in roles)
    return tuple(Part(row.name, role, float(role == "people" or not people)) for row, role in roles)


def selection_inputs(*, sweep: SweepView, criteria: Criteria) -> SelectionInputs:
    """Read everything that a choice depends on; a fixed number of queries for each dataset, whatever the size.

    Raises
    ------
    UnknownNameError
        The sweep has no such dataset, or none that this person may see.
    NothingJudgedError
        No judge of the sweep has judged any of them.
    ReportError
        A dataset has no items of the kind.
    """
    datasets = {dataset.name: dataset for dataset in sweep.datasets}
    for part in criteria.parts:
        if part.dataset not in datasets:
            raise UnknownNameError(f"This sweep has no dataset {part.dataset!r}.")
    parts = []
    for part in criteria.parts:
        dataset = datasets[part.dataset]
        names = _instruction_names(dataset, criteria.kind)
        inputs = inputs_read(dataset=dataset, kind=criteria.kind, sweep=sweep)
        instructions = [names[each] for each in inputs.items.external_id]
        found = dataset_inputs(part, inputs, instructions, criteria.figure)
        if part.role == "people" and part.weight > 0:
            found = replace(
                found, arrival=arrival_of(dataset, criteria.kind, sweep.reader, found.external_id)
            )
        parts.append(found)
    # Baselines are compared with only where every dataset has them.
    baselines = [{judge.fingerprint for judge in part.judges if judge.baseline} for part in parts]
    common = set.intersection(*baselines) if baselines else set()
    judges = [
        judge for part in parts for judge in part.judges if not judge.baseline or judge.fingerprint in common
    ]
    if all(judge.baseline for judge in judges):
        raise NothingJudgedError("No judge has judged these datasets yet.")
    return SelectionInputs(sweep.facts(), tuple(parts), tuple(_candidates(judges)), criteria)


def arrival_of(
    dataset: Dataset, kind: str, reader: User | None, names: Sequence[str], study: Study | None = None
) -> tuple[int, ...]:
    """By item its place in the order in which items were finished; empty where no study, or not this one, asks."""
    asked = items_finished(dataset, kind, reader, study)
    times = sorted(one.last for one in asked.values() if one.last is not None)
    # Places, not keys of rows: another database has the same of the same labels.
    places = {time: place for place, time in enumerate(times, start=1)}

    def place_of(name: str) -> int:
        if (one := asked.get(name)) is None:
            return NOT_ASKED
        if one.last is not None:
            return places[one.last]
        return TO_COME if one.comes else NEVER

    return tuple(map(place_of, names)) if asked else ()


def _candidates(found: Sequence[JudgeFacts]) -> list[Candidate]:
    """All judges of the datasets, by name, baselines last."""
    judges = {judge.fingerprint: judge for judge in found}
    rows = judges_known(judges).prefetch_related("models__endpoint")
    known = {judge.fingerprint: _where(judge) for judge in rows}
    ordered = sorted(judges.values(), key=lambda judge: (judge.baseline, judge.name, judge.fingerprint))
    return [
        # A rule runs anywhere, and there are no weights to publish.
        Candidate(
            judge.fingerprint,
            judge.name,
            *((True, True) if judge.baseline else known[judge.fingerprint]),
            is_baseline=judge.baseline,
            takes_no_llm=judge.backend == BackendKind.HEURISTIC,
        )
        for judge in ordered
    ]


def _where(judge: Judge) -> tuple[bool | None, bool | None]:
    """Whether the weights of all its models are public, and whether all run under our own control."""
    endpoints = [row.endpoint for row in judge.models.all()]
    if not endpoints:
        return (True, True) if judge.backend == BackendKind.HEURISTIC else (None, None)
    weights = [endpoint.has_open_weights for endpoint in endpoints]
    public = False if False in weights else None if None in weights else True
    return public, all(endpoint.keeps_private for endpoint in endpoints)


def _instruction_names(dataset: Dataset, kind: str) -> dict[str, str]:
    """By external id of an item, a name of its instruction, so that items that ask the same are held out together."""
    names = instruction_names(dataset)
    items = items_of([dataset], kind).values_list("external_id", "instruction_id")
    return {external_id: names[instruction_id] for external_id, instruction_id in items}
