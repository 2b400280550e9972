"""The report: what was computed on a dataset's items of one kind, typed, frozen, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NotRequired, TypedDict

from annotation.domain.scales import Scale
from metaeval.figures import FIGURES, Figure, KindFigures, PublishedConvention
from metaeval.reports.upgrade import upgraded
from metaeval.selection.verdict import VerdictKind

SCHEMA = "touchstone.report/2"
HEURISTIC = "heuristic"


class EstimateJson(TypedDict):
    """A figure with its interval; None with a ``reason`` where it is undefined.

    The interval is of these annotators on new items; that of ``alike`` is of annotators like these on new items.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: NotRequired[str]
    method: NotRequired[str]
    share_better: NotRequired[float | None]
    judge: NotRequired[int | None]
    name: NotRequired[str]
    practical: NotRequired[EstimateJson | None]
    alike: NotRequired[EstimateJson | None]
    practical_alike: NotRequired[EstimateJson | None]


Breakdown = Mapping[str, Any]
"""``overall`` and ``gap`` are an `EstimateJson`; ``criterion``, ``category``, ``subset``, ``macro`` one a group."""
Measures = Mapping[str, Breakdown]


@dataclass(frozen=True, slots=True)
class ReportedItems:
    """What was judged. ``n_with_target`` items are those that judges can be compared on, ``n_gold`` have gold."""

    n_items: int
    n_instructions: int
    n_gold: int
    n_with_target: int
    categories: list[dict[str, Any]]
    subsets: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AnnotatorFigures:
    """A person by number, and how far they agree with the others of the same items."""

    number: int
    n_labels: int
    is_simulated: bool
    agreement: EstimateJson


@dataclass(frozen=True, slots=True)
class PeopleFigures:
    """The labels, and the figures of people."""

    n_labels: int
    n_annotators: int
    n_items_labelled: int
    n_items_with_two_labels: int
    labels_per_item: dict[str, int]
    n_repeated_left_out: int
    n_drawn_by_chance: int
    simulated_share: float | None
    measures: Measures
    annotators: tuple[AnnotatorFigures, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """A judge and its figures. ``replaces`` is the alternative annotator test, of pairs; ``abstention`` says from which
    certainty on it may decide by itself, None where nothing says how sure it is."""

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    baseline: bool
    n_judgments: int
    n_items_judged: int
    n_unparsed: int
    n_failed: int
    orders: str
    measures: Measures
    replaces: dict[str, Any] | None = None
    abstention: dict[str, Any] | None = None

    @property
    def needs_no_model(self) -> bool:
        """Whether it is a baseline: computed for every report, or judged in a sweep like any other."""
        return self.baseline or self.backend == HEURISTIC

    def overall(self, name: str) -> EstimateJson | None:
        """A figure of all items."""
        return overall(self.measures, name)


@dataclass(frozen=True, slots=True)
class LeaderRanking:
    """Who leads by one figure; judges are indexes into the report's judges.

    ``verdict`` is of the rule that comparisons and decisions share (`metaeval.selection.verdict`); None in reports
    stored before there was one.
    """

    leader: int | None
    ranking: list[int]
    tied: list[int]
    clear: bool
    incomplete: list[int]
    n_compared: int | None
    differences: list[EstimateJson]
    best_baseline: EstimateJson | None
    verdict: VerdictKind | None = None


@dataclass(frozen=True, slots=True)
class ReportContent:
    """All that a report says, as docs/report-schema.md explains; `as_json` and `report_of` are each other's inverse."""

    kind: str
    name: str
    inputs_hash: str
    software: dict[str, str]
    options: dict[str, Any]
    dataset: dict[str, Any]
    study: dict[str, Any] | None
    sweep: dict[str, Any] | None
    targets: list[str]
    criteria: list[str]
    items: ReportedItems
    people: PeopleFigures
    gold: Measures
    judges: tuple[JudgeFigures, ...]
    primary: str
    selections: dict[str, LeaderRanking]
    replacement: dict[str, Any] | None = None
    remarks: tuple[str, ...] = ()
    planned: dict[str, Any] | None = None
    parts: dict[str, Any] | None = None
    evaluators: dict[str, Any] | None = None
    capacity: dict[str, Any] | None = None
    scales: list[dict[str, Any]] | None = None
    dimension: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values, in the schema `touchstone.report/2`; ``planned`` is there where something was,
        ``parts``, ``evaluators`` and ``capacity`` since they are kept, ``scales`` where one is not 1
        to 5, ``dimension`` where it is not about the overall one.
        """
        plain: dict[str, Any] = {"schema": SCHEMA} | _listed(self)
        for name in ("planned", "parts", "evaluators", "capacity", "scales", "dimension"):
            if plain[name] is None:
                del plain[name]
        return plain

    @property
    def figures(self) -> KindFigures:
        """The figures of its kind, on the scales of its criteria, and those of the preset that it was asked for."""
        figures = FIGURES[self.kind].on([Scale.of_json(scale) for scale in self.scales or ()])
        return figures.under(self.options.get("preset", ""))

    @property
    def about(self) -> str:
        """The title of what it is about: of its study, else of its dataset, and the dimension."""
        title = str((self.study or self.dataset)["title"])
        return f"{title}: {self.dimension['name']}" if self.dimension else title

    @property
    def published(self) -> PublishedConvention | None:
        """The convention of a paper that it was asked for."""
        return FIGURES[self.kind].published.get(self.options.get("preset", ""))

    @property
    def primary_figure(self) -> Figure:
        """By which judges are ranked."""
        return self.figures.of_judges(self.primary)

    @property
    def selection(self) -> LeaderRanking:
        """Who leads by the report's own figure."""
        return self.selections[self.primary]

    @property
    def against(self) -> str:
        """What judges are compared with by the report's own figure: "people" or "gold"."""
        return self.against_of(self.primary)

    def against_of(self, primary: str) -> str:
        """What judges are compared with by one figure."""
        if primary in self.figures.primaries and self.figures.of_judges(primary).of_gold:
            return "gold"
        return str(self.options.get("against", "people"))

    def beside(self, primary: str) -> Breakdown | None:
        """People's own figure beside the one that ranks judges."""
        return self.people.measures.get(self.figures.beside(primary))

    def ranked(self, primary: str = "") -> list[tuple[int, JudgeFigures]]:
        """Judges with their indexes, best first; below them who has hardly begun, and who has no figure."""
        primary = primary or self.primary
        incomplete = self.selections[primary].incomplete

        def order(entry: tuple[int, JudgeFigures]) -> tuple[bool, bool, float]:
            estimate = entry[1].overall(primary)
            value = None if estimate is None else estimate["value"]
            return value is None, entry[0] in incomplete, -(value or 0.0)

        return sorted(enumerate(self.judges), key=order)

    def status(self, index: int, primary: str = "") -> str:
        """How a judge stands: "leads", "tied", "behind", "incomplete" or "baseline"."""
        selection = self.selections[primary or self.primary]
        if self.judges[index].baseline:
            return "baseline"
        if index == selection.leader:
            return "leads"
        if index in selection.tied:
            return "tied"
        return "incomplete" if index in selection.incomplete else "behind"


def overall(measures: Measures, name: str) -> EstimateJson | None:
    """A figure of all items, None where there is none of that name."""
    found: EstimateJson | None = measures.get(name, {}).get("overall")
    return found


def known(estimate: EstimateJson | None) -> bool:
    """Whether it is there and defined."""
    return estimate is not None and estimate["value"] is not None


def report_of(content: Mapping[str, Any]) -> ReportContent:
    """Read a report of this schema or of an earlier one."""
    found = dict(upgraded(content))
    found.pop("schema")
    people = found["people"] | {
        "annotators": tuple(AnnotatorFigures(**row) for row in found["people"]["annotators"])
    }
    return ReportContent(
        **found
        | {
            "items": ReportedItems(**found["items"]),
            "people": PeopleFigures(**people),
            "judges": tuple(JudgeFigures(**judge) for judge in found["judges"]),
            "selections": {name: LeaderRanking(**one) for name, one in found["selections"].items()},
            "remarks": tuple(found["remarks"]),
        }
    )


def canonical_json(content: Mapping[str, Any]) -> str:
    """The one way to write content as JSON: sorted keys, two spaces, a newline at the end."""
    return json.dumps(content, sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _listed(node: Any) -> Any:
    """As plain JSON values, with lists for tuples: what is stored is what was made."""
    if node is None or isinstance(node, str | int | float):
        return node
    if isinstance(node, Mapping):
        return {name: _listed(child) for name, child in node.items()}
    if is_dataclass(node):
        return {each.name: _listed(getattr(node, each.name)) for each in fields(node)}
    return [_listed(child) for child in node] if isinstance(node, Iterable) else node
