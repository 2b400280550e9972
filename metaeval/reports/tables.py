"""The tables of a report: which columns there are, and what stands in them. Pages and files render them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.kinds import kind_of
from metaeval.figures import Figure
from metaeval.figures.groups import AVERAGE, CATEGORIES
from metaeval.reports.figures import alike_of
from metaeval.reports.report import (
    Breakdown,
    EstimateJson,
    JudgeFigures,
    Measures,
    ReportContent,
    known,
    overall,
)
from web.csv_text import csv_text as csv_document

_CSV_COLUMNS = (
    *("kind", "against", "who", "fingerprint", "measure", "group_kind", "group"),
    *("value", "low", "high", "n", "reason", "alike_low", "alike_high"),
)
_OF_A_PERSON = "agreement_with_others"


@dataclass(frozen=True, slots=True)
class Slice:
    """One place of a breakdown: all items, a criterion, a category, a subset, or a mean over subsets.

    ``key`` is how a URL names it: "overall", "category:Rewrite", "subset:Adversarial/Manual", "macro:average".
    """

    kind: str
    name: str

    @property
    def key(self) -> str:
        """As a URL names it."""
        return self.kind if self.kind == "overall" else f"{self.kind}:{self.name}"

    @property
    def label(self) -> str:
        """In full: "Adversarial/Manual", "Adversarial (mean of subsets)"."""
        if self.kind == "overall":
            return "All items"
        if self.kind == "macro":
            means = {AVERAGE: "Mean of all subsets", CATEGORIES: "Mean of all categories"}
            return means.get(self.name, f"{self.name}, mean of subsets")
        return self.name

    @property
    def short(self) -> str:
        """For a column head: "Manual", "Adversarial mean"."""
        if self.kind == "macro":
            plain = self.name in (AVERAGE, CATEGORIES)
            return "Mean" if plain else f"{self.name.rpartition('/')[2]} mean"
        if self.kind == "overall":
            return "All"
        # Only the name of a subset is a path.
        return self.name.rpartition("/")[2] if self.kind == "subset" else self.name

    @property
    def title(self) -> str:
        """For a choice among all places."""
        return f"{self.kind.title()}: {self.name}" if self.kind in ("category", "subset") else self.label

    def of(self, breakdown: Mapping[str, Any] | None) -> EstimateJson | None:
        """The estimate at this place, or None where the breakdown does not have it."""
        part = (breakdown or {}).get(self.kind)
        found: EstimateJson | None = part if self.kind == "overall" else (part or {}).get(self.name)
        return found


OVERALL = Slice("overall", "")


def slices_of(report: ReportContent) -> list[Slice]:
    """Every place of the report's breakdowns, in the order of the dataset: that of stored members means nothing."""
    return [
        OVERALL,
        *(Slice("criterion", name) for name in report.criteria),
        *(Slice("subset", row["name"]) for row in report.items.subsets),
        *macros_of(report),
        *(Slice("category", row["name"]) for row in report.items.categories),
    ]


def macros_of(report: ReportContent) -> list[Slice]:
    """The means over subsets that the report has: those of a prefix first, the average last."""
    names = {
        name
        for _, _, measures in _everybody(report)
        for breakdown in measures.values()
        for name in breakdown.get("macro", {})
    }
    last = (AVERAGE, CATEGORIES)
    return [Slice("macro", name) for name in sorted(names, key=lambda name: (name in last, name))]


def subset_columns(report: ReportContent) -> list[Slice]:
    """Columns of a table by subset: the subsets at the ends of their paths, then the means."""
    names = [row["name"] for row in report.items.subsets]
    ends = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    means = [place for place in macros_of(report) if place.name != CATEGORIES]
    return [*(Slice("subset", name) for name in ends), *means] if ends else []


def axis_slices(report: ReportContent, axis: str) -> list[Slice]:
    """The groups of an axis: "criterion", "subset" or "category"."""
    if axis == "subset":
        return subset_columns(report)
    if axis == "criterion":
        return [Slice("criterion", name) for name in report.criteria]
    means = [place for place in macros_of(report) if place.name == CATEGORIES]
    return [*(Slice("category", row["name"]) for row in report.items.categories), *means]


def slice_find(report: ReportContent, key: str) -> Slice:
    """The place that a URL names; all items for a name that there is not."""
    return next((place for place in slices_of(report) if place.key == key), OVERALL)


def axis_of(estimates: Iterable[Mapping[str, Any] | None]) -> tuple[float, float]:
    """A common axis for plots, in whole tenths, that holds all intervals.

    >>> axis_of([{"value": 0.66, "low": 0.62, "high": 0.71}])
    (0.6, 0.8)
    """
    ends = [
        end
        for estimate in estimates
        if estimate is not None
        for end in (estimate["low"], estimate["value"], estimate["high"])
        if end is not None
    ]
    if not ends:
        return 0.0, 1.0
    low = max(-10, int(min(ends) * 10 // 1))
    high = min(10, int(-(-max(ends) * 10 // 1)))
    return low / 10, max(high, low + 1) / 10


# --- tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure; `drawn` on the axis of its table, or on its own. `place` says of which items it is."""

    estimate: EstimateJson | None
    figure: Figure
    drawn: bool = False
    place: Slice = OVERALL


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A line: people, the gold answers, a judge, or a group of items.

    ``status`` is "people", "gold", "group", or how a judge stands (`ReportContent.status`); ``notes`` stand below the
    name; ``fingerprint`` is a judge's that has rows.
    """

    name: str
    status: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table of figures; `first` heads the names, `heads` the cells. Drawn cells share an axis, `mark` is on it."""

    key: str
    title: str
    first: str
    heads: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    low: float = 0.0
    high: float = 1.0
    mark: float | None = None
    figure: Figure | None = None
    """The figure that all cells are of, in a table by group."""
    note: str = ""
    """A sentence below it."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figure of each column."""
        return tuple(cell.figure for cell in self.rows[0].cells) if self.rows else ()

    @property
    def draws(self) -> bool:
        """Whether its first column is drawn."""
        return any(cell.drawn for row in self.rows for cell in row.cells[:1])


def people_table(report: ReportContent) -> list[tuple[Figure, EstimateJson]]:
    """People's figures of all items, in the order of the registry."""
    pairs = [(figure, overall(report.people.measures, figure.name)) for figure in report.figures.people]
    return [(figure, estimate) for figure, estimate in pairs if estimate is not None]


def has_alike(report: ReportContent) -> bool:
    """Whether any figure of people has an interval for annotators like these."""
    return any((alike_of(estimate) or {}).get("low") is not None for _, estimate in people_table(report))


def why_not_alike(report: ReportContent) -> str:
    """Why no interval speaks of annotators like these: empty where one does, and of kinds that have none."""
    found = [alike_of(estimate) for _, estimate in people_table(report)]
    reasons = [str(one["reason"]) for one in found if one is not None and one.get("reason")]
    return reasons[0] if reasons and not has_alike(report) else ""


def only_these(report: ReportContent) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(whose, why, labels) of figures that rest on people's labels and speak of these annotators only."""
    for whose, figures in (
        ("human annotators", [figure for figure, _ in people_table(report)]),
        ("judges", [one for one in report.figures.judges if not one.of_gold and _of_a_judge(report, one)]),
    ):
        found: dict[str, list[str]] = {}
        for figure in figures:
            if figure.only_these:
                found.setdefault(figure.only_these, []).append(figure.label)
        for reason, labels in found.items():
            yield whose, reason, tuple(labels)


def people_tables(report: ReportContent) -> list[FigureTable]:
    """A table for each way to group: a line a group, a column a figure of people."""
    found = []
    measures = report.people.measures
    for axis in ("criterion", "subset", "category"):
        figures = [one for one in report.figures.people if axis in one.axes and one.name in measures]
        places = [
            place
            for place in axis_slices(report, axis)
            if any(known(place.of(measures[figure.name])) for figure in figures)
        ]
        if not figures or not places:
            continue
        drawn = figures[0]
        rows = tuple(
            FigureRow(
                place.label,
                "group",
                tuple(
                    Cell(place.of(measures[one.name]), one, drawn=one is drawn, place=place)
                    for one in figures
                ),
            )
            for place in places
        )
        low, high = _axis(drawn, (place.of(measures[drawn.name]) for place in places))
        heads = tuple(figure.head for figure in figures)
        found.append(
            FigureTable(f"people-{axis}", f"Human annotators by {axis}", axis.title(), heads, rows, low, high)
        )
    return found


def judges_table(report: ReportContent) -> FigureTable:
    """All judges, best first, below people and gold: the figures that any judge has, the one that ranks first."""
    primary = report.primary_figure
    figures = [primary, *(one for one in report.figures.judges if one is not primary)]
    shown = [one for one in figures if one.in_pages and _of_a_judge(report, one)] or [
        one for one in figures if any(one.name in judge.measures for judge in report.judges)
    ]
    rows = []
    if report.people.n_labels and any(report.figures.beside(one.name) for one in shown):
        rows.append(
            FigureRow(
                "Human annotators", "people", _cells_of_people(report, shown, primary), (people_note(report),)
            )
        )
    if report.gold:
        cells = tuple(Cell(overall(report.gold, one.name), one, drawn=one is primary) for one in shown)
        rows.append(FigureRow("Gold answers", "gold", cells))
    rows += [
        FigureRow(
            judge.name,
            report.status(index),
            tuple(Cell(judge.overall(one.name), one, drawn=one is primary) for one in shown),
            notes_of(report, judge),
            "" if judge.baseline else judge.fingerprint,
        )
        for index, judge in report.ranked()
    ]
    low, high = _axis(primary, (cell.estimate for row in rows for cell in row.cells if cell.drawn))
    mark = mark_of(report, report.primary)
    mark = mark if mark is not None and low <= mark <= high else None
    heads = tuple(one.label for one in shown)
    return FigureTable("judges", "All judges", "Judge", heads, tuple(rows), low, high, mark)


BOLD = "Bold: the best judge and every judge that is not significantly different from it."


def significant_best(report: ReportContent, fingerprint: str) -> frozenset[str]:
    """The figures by which a judge is the best, or not significantly different from the best: of those that are
    tested, by which judges are ranked.
    """
    place = next((k for k, judge in enumerate(report.judges) if judge.fingerprint == fingerprint), None)
    return frozenset(
        name
        for name, one in report.selections.items()
        if place is not None and place in (one.leader, *one.tied)
    )


def leading_table(report: ReportContent, most: int) -> FigureTable:
    """The best judges below people, without baselines: the figure that ranks them, that of agreement with people
    where it is another, and judge minus people.
    """
    whole, primary = judges_table(report), report.primary_figure
    names = {primary.name, "minus_people"}
    if primary.of_gold:
        names |= {name for name in report.figures.primaries if not report.figures.of_judges(name).of_gold}
    wanted = [place for place, one in enumerate(whole.figures) if one.name in names]
    people = [row for row in whole.rows if row.status == "people"]
    judges = [row for row in whole.rows if row.status not in ("people", "gold", "baseline")]
    rows = tuple(
        replace(row, cells=tuple(row.cells[place] for place in wanted)) for row in (*people, *judges[:most])
    )
    low, high = _axis(primary, (cell.estimate for row in rows for cell in row.cells if cell.drawn))
    mark = whole.mark if whole.mark is not None and low <= whole.mark <= high else None
    heads = tuple(whole.heads[place] for place in wanted)
    return replace(whole, title="Judges", heads=heads, rows=rows, low=low, high=high, mark=mark)


def group_tables(report: ReportContent) -> list[FigureTable]:
    """The figures of the paper that was asked for. Then a table for each figure and way to group: by criterion, subset,
    category; the figure that ranks first. Then those that several figures share.
    """
    found = published_tables(report)
    primary = report.primary_figure
    for figure in (primary, *(one for one in report.figures.judges if one is not primary and one.in_pages)):
        for axis in figure.axes:
            places = [place for place in axis_slices(report, axis) if _anybody(report, figure, place)]
            if not places or not any(
                known(place.of(judge.measures.get(figure.name)))
                for judge in report.judges
                for place in places
            ):
                continue  # a table of dashes says nothing
            found.append(_group_table(report, figure, axis, [OVERALL, *places]))
    published = report.published
    titles = dict.fromkeys(one.table for one in report.figures.judges if one.table)
    for title in titles:
        shown = [one for one in report.figures.judges if one.table == title and _of_a_judge(report, one)]
        if shown and (published is None or title != published.table):
            found.append(_shared_table(report, title, shown))
    return found


def published_tables(report: ReportContent) -> list[FigureTable]:
    """The table of judges by the convention of the paper that was asked for, undefined figures with their reasons; none
    where there was no such paper, or no judge.
    """
    published = report.published
    if published is None or not report.judges:
        return []
    shown = [one for one in report.figures.judges if one.table == published.table]
    return [replace(_shared_table(report, published.table, shown), note=published.convention)]


def _shared_table(report: ReportContent, title: str, shown: Sequence[Figure]) -> FigureTable:
    """A table that figures name: a row a judge, a column a figure."""
    rows = [
        FigureRow(
            judge.name,
            report.status(index),
            tuple(Cell(judge.overall(one.name), one) for one in shown),
            fingerprint="" if judge.baseline else judge.fingerprint,
        )
        for index, judge in report.ranked()
    ]
    key = f"judges-{title.lower().replace(' ', '-').replace('(', '').replace(')', '')}"
    return FigureTable(key, title, "Judge", tuple(one.head for one in shown), tuple(rows))


def _group_table(report: ReportContent, figure: Figure, axis: str, places: Sequence[Slice]) -> FigureTable:
    def row(name: str, status: str, breakdown: Breakdown | None, fingerprint: str = "") -> FigureRow:
        cells = tuple(Cell(place.of(breakdown), figure, place=place) for place in places)
        return FigureRow(name, status, cells, fingerprint=fingerprint)

    rows = []
    beside = report.beside(figure.name)
    if beside is not None:
        rows.append(row("Human annotators", "people", beside))
    if figure.name in report.gold:
        rows.append(row("Gold answers", "gold", report.gold[figure.name]))
    rows += [
        row(
            judge.name,
            report.status(index),
            judge.measures[figure.name],
            "" if judge.baseline else judge.fingerprint,
        )
        for index, judge in report.ranked()
        if figure.name in judge.measures
    ]
    heads = tuple(place.short for place in places)
    key = f"judges-{figure.name.replace('_', '-')}-{axis}"
    title = f"{figure.label} by {axis}"
    return FigureTable(key, title, "Judge", heads, tuple(rows), figure=figure, note=_means_note(axis, places))


def _means_note(axis: str, places: Sequence[Slice]) -> str:
    """Which column pools items and which are means of groups."""
    if not any(place.kind == "macro" for place in places):
        return ""
    groups = "categories" if axis == "category" else "subsets"
    return f"“All” pools all items; means are unweighted means over {groups}."


def differences(report: ReportContent, primary: str = "") -> list[tuple[JudgeFigures, EstimateJson, bool]]:
    """(judge, how far it is behind the leader, whether it is significantly different) of each other judge."""
    selection = report.selections[primary or report.primary]
    return [
        (report.judges[index], row, index not in selection.tied)
        for row in selection.differences
        if (index := row.get("judge")) is not None
    ]


def difference_unit(report: ReportContent) -> str:
    """In what differences are given: points of a share, or plain numbers of a correlation."""
    return "points" if report.primary_figure.unit == "percent" else "number"


def mark_of(report: ReportContent, primary: str, place: Slice = OVERALL) -> float | None:
    """What the dashed line of the plots stands for: people's own figure, or chance for accuracy."""
    if report.figures.of_judges(primary).of_gold:
        return 0.5
    people = place.of(report.beside(primary))
    return None if people is None else people["value"]


def heat_scale(figure: Figure) -> tuple[float, float]:
    """The middle of a figure's colors, in a table or a heat map, and how far from it the strongest ones begin.

    Examples
    --------
    >>> from metaeval.figures import FIGURES
    >>> heat_scale(FIGURES["pairwise"].of_judges("accuracy"))
    (0.5, 0.4)
    """
    if figure.neutral is not None:
        middle = figure.neutral
    else:
        middle = 0.5 if figure.unit == "percent" else 0.0
    return middle, 0.4 if figure.unit == "percent" else 0.8


def people_note(report: ReportContent) -> str:
    """How many labels of how many people."""
    n = report.people.n_annotators
    return f"{n:,} annotator{'' if n == 1 else 's'}, {report.people.n_labels:,} labels"


def notes_of(report: ReportContent, judge: JudgeFigures) -> tuple[str, ...]:
    """What stands below a judge's name: what it left, what could not be read, who answers."""
    notes = []
    if judge.n_items_judged < report.items.n_items and not judge.baseline:
        notes.append(f"{judge.n_items_judged:,} of {report.items.n_items:,} items")
    if judge.n_unparsed and not kind_of(report.kind).presented:
        notes.append(f"{judge.n_unparsed:,} unparsed")
    if judge.n_failed:
        notes.append(f"{judge.n_failed:,} failed")
    model = judge.model if judge.model != judge.name else ""  # imported, and nothing said of the model
    who = "no LLM" if judge.backend == "heuristic" else model or judge.backend
    return (*notes, "baseline, no LLM" if judge.baseline else who)


def labels_words(report: ReportContent) -> str:
    """How many labels, of whom, on how many items: "24 labels of 2 annotators on 12 items, 2 an item"."""
    people = report.people
    n, persons, items = people.n_labels, people.n_annotators, people.n_items_labelled
    if not n:
        return "no labels"
    low, high = people.labels_per_item["min"], people.labels_per_item["max"]
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"{n:,} label{'' if n == 1 else 's'} of {persons:,} annotator{'' if persons == 1 else 's'} on "
        f"{items:,} item{'' if items == 1 else 's'}, {each} an item"
    )


def report_csv(report: ReportContent) -> str:
    """Every figure in a line of its own: who, figure, group, value, interval, n, reason."""
    return csv_document(_CSV_COLUMNS, _csv_rows(report))


def _csv_rows(report: ReportContent) -> Iterator[list[object]]:
    places = slices_of(report)
    for annotator in report.people.annotators:
        who = (f"annotator {annotator.number}", "")
        yield _csv_row(report, who, _OF_A_PERSON, OVERALL, annotator.agreement)
    for name, fingerprint, measures in _everybody(report):
        for key, breakdown in measures.items():
            for place in places:
                estimate = place.of(breakdown)
                if estimate is not None:
                    yield _csv_row(report, (name, fingerprint), key, place, estimate)


def _csv_row(
    report: ReportContent, who: tuple[str, str], name: str, place: Slice, estimate: EstimateJson
) -> list[object]:
    figures = [estimate["value"], estimate["low"], estimate["high"], estimate["n"]]
    group = [place.kind, place.name]
    alike = alike_of(estimate) or {}
    ends = [alike.get("low"), alike.get("high")]
    return [
        *(report.kind, report.against_of(name), *who, name, *group),
        *(*figures, estimate.get("reason", ""), *ends),
    ]


def _everybody(report: ReportContent) -> Iterator[tuple[str, str, Measures]]:
    yield "people", "", _ordered(report.people.measures, report.figures.people)
    yield "gold", "", report.gold
    for judge in report.judges:
        yield judge.name, judge.fingerprint, _ordered(judge.measures, report.figures.judges)


def _ordered(measures: Measures, figures: Iterable[Figure]) -> Measures:
    """In the order of the registry: that of the members of stored JSON means nothing."""
    return {figure.name: measures[figure.name] for figure in figures if figure.name in measures}


def _cells_of_people(report: ReportContent, shown: Sequence[Figure], primary: Figure) -> tuple[Cell, ...]:
    return tuple(Cell(OVERALL.of(report.beside(one.name)), one, drawn=one is primary) for one in shown)


def _of_a_judge(report: ReportContent, figure: Figure) -> bool:
    return any(known(judge.overall(figure.name)) for judge in report.judges)


def _anybody(report: ReportContent, figure: Figure, place: Slice) -> bool:
    breakdowns = [judge.measures.get(figure.name) for judge in report.judges]
    return any(place.of(one) is not None for one in (*breakdowns, report.beside(figure.name)))


def _axis(figure: Figure, estimates: Iterable[EstimateJson | None]) -> tuple[float, float]:
    return axis_of(estimates) if figure.unit == "percent" else figure.axis
