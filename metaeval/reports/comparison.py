"""The table of a comparison: its columns, its order, its rows. A pure function of a report."""

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.pictures.palette import heat_step
from metaeval.reports.figures import alike_of, full_text, range_text, value_text
from metaeval.reports.report import EstimateJson, JudgeFigures, ReportContent, known
from metaeval.reports.tables import (
    OVERALL,
    Slice,
    axis_of,
    heat_scale,
    mark_of,
    slice_find,
    slices_of,
    subset_columns,
)

MOST_SUBSET_COLUMNS = 8
# Key in the URL, short head, figure, and whether smaller is better (what a first click sorts to the top).
EXTRAS = (
    ("human", "Judge − human", "minus_people", False),
    ("positional", "Positional agreement", "positional_agreement", False),
    ("retest", "Test-retest", "test_retest", False),
    ("unparsed", "Unparsed", "unparsed_rate", True),
    ("length", "Length bias", "length_bias", True),
    ("cost", "$ / 1,000", "cost_per_1000", True),
    ("time", "Time each", "seconds_each", True),
)
# Their heads say that they are in points.
_POINTS = ("length_bias", "minus_people")
DEFAULT_SORT = "-value"


@dataclass(frozen=True, slots=True)
class Column:
    """A head of the table.

    ``sort`` is what its link asks for; ``aria`` says how the table is sorted by it now; ``title`` is the long name.
    """

    key: str
    label: str
    title: str
    sort: str
    aria: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure in a row; bare where the head of the column says the unit.

    `name`, `label` and `place` say what it is of.

    `step` is its color among the columns of groups, as in the heat map: 0 (low) to 6, 3 in the middle; or None.
    """

    estimate: EstimateJson | None
    unit: str
    name: str
    label: str
    place: Slice
    bare: bool = False
    step: int | None = None


@dataclass(frozen=True, slots=True)
class ComparedJudge:
    """A judge as a row. ``n_left`` are the items that it did not judge."""

    judge: JudgeFigures
    estimate: EstimateJson | None
    cells: tuple[ComparedFigure, ...]
    status: str  # "leads", "tied", "behind", "incomplete", "baseline"
    n_left: int = 0

    @property
    def is_partial(self) -> bool:
        """Whether it judged a part of the items only; baselines are computed for all."""
        return self.status != "baseline" and self.n_left > 0

    def fits(self, low: float, high: float) -> bool:
        """Whether the figure lies on the axis of the plots."""
        value = None if self.estimate is None else self.estimate["value"]
        return value is not None and low <= value <= high


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """All that the table of a comparison shows."""

    primary: str
    label: str
    primaries: tuple[tuple[str, str], ...]  # names and labels
    chosen: Slice
    choices: tuple[Slice, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[ComparedJudge, bool], ...]  # and whether it is drawn
    low: float
    high: float
    mark: float | None
    sort: str


def table_of(report: ReportContent, *, measure: str = "", group: str = "", sort: str = "") -> ComparisonTable:
    """Lay out the judges by one figure in one group of items.

    Unknown names fall back to the report's own figure, all items, and best first: a URL may be old.

    Parameters
    ----------
    measure : str
        One of the figures by which judges of the kind may be ranked.
    group : str
        Key of a `Slice`.
    sort : str
        Key of a column, with "-" before it for largest first.
    """
    primaries = primaries_of(report)
    primary = measure if measure in primaries else report.primary
    chosen = slice_find(report, group)
    subsets = subset_columns(report) if chosen == OVERALL else []
    if len(subsets) > MOST_SUBSET_COLUMNS:
        subsets = []
    rows = [_row(report, index, primary, chosen, subsets) for index in range(len(report.judges))]
    keys = ["value", *(place.key for place in subsets), *(key for key, *_ in _extras(report))]
    if sort.removeprefix("-") not in {"name", *keys}:
        sort = DEFAULT_SORT
    low, high = axis_of(_on_axis(rows))
    mark = mark_of(report, primary, chosen)
    return ComparisonTable(
        primary=primary,
        label=report.figures.of_judges(primary).label,
        primaries=tuple((name, report.figures.of_judges(name).label) for name in primaries),
        chosen=chosen,
        choices=tuple(slices_of(report)),
        columns=tuple(_columns(report, primary, subsets, sort)),
        rows=tuple((row, row.fits(low, high)) for row in _sorted(rows, sort, keys)),
        low=low,
        high=high,
        mark=mark if mark is not None and low <= mark <= high else None,
        sort=sort,
    )


def _on_axis(rows: Sequence[ComparedJudge]) -> list[EstimateJson | None]:
    """Baselines below all judges would stretch the axis until real judges look alike: they are not drawn."""
    real = [row for row in rows if row.status != "baseline"] or list(rows)
    values = [row.estimate["value"] for row in real if row.estimate and row.estimate["value"] is not None]
    least = min(values, default=0)
    worth = [
        row
        for row in rows
        if row.estimate and row.estimate["value"] is not None and row.estimate["value"] >= least
    ]
    return [row.estimate for row in {id(row): row for row in (*real, *worth)}.values()]


def primaries_of(report: ReportContent) -> tuple[str, ...]:
    """The figures by which judges may be ranked that any judge has; at least the report's own."""
    found = tuple(
        name for name in report.selections if any(known(judge.overall(name)) for judge in report.judges)
    )
    ordered = tuple(name for name in report.figures.ranking if name in found)
    return ordered or (report.primary,)


def _row(
    report: ReportContent, index: int, primary: str, chosen: Slice, subsets: Sequence[Slice]
) -> ComparedJudge:
    judge = report.judges[index]
    measures = judge.measures
    cells = [_group_cell(report, subset, subset.of(measures[primary]), primary) for subset in subsets]
    cells += [
        ComparedFigure(
            chosen.of(measures.get(name)),
            report.figures.of_judges(name).unit,
            name,
            report.figures.of_judges(name).label,
            chosen,
            bare=name in _POINTS,
        )
        for _, _, name, _ in _extras(report)
    ]
    n_left = report.items.n_items - judge.n_items_judged
    return ComparedJudge(
        judge, chosen.of(measures[primary]), tuple(cells), report.status(index, primary), n_left
    )


def _group_cell(
    report: ReportContent, group: Slice, estimate: EstimateJson | None, primary: str
) -> ComparedFigure:
    value = None if estimate is None else estimate["value"]
    figure = report.figures.of_judges(primary)
    step = None if value is None else heat_step(value, *heat_scale(figure))
    return ComparedFigure(estimate, "percent", primary, figure.label, group, bare=True, step=step)


def _extras(report: ReportContent) -> list[tuple[str, str, str, bool]]:
    """Those that there can be: without labels no judge stands beside human annotators, nor without samples beside
    itself.
    """
    optional = ("minus_people", "test_retest")
    lacking = [name for name in optional if not any(known(judge.overall(name)) for judge in report.judges)]
    return [extra for extra in EXTRAS if extra[2] not in lacking]


def _columns(report: ReportContent, primary: str, subsets: Sequence[Slice], sort: str) -> list[Column]:
    label = report.figures.of_judges(primary).label
    heads = [("name", "Judge", "Judge", True), ("value", label, label, False)]
    heads += [(subset.key, subset.short, f"{label}: {subset.label}", False) for subset in subsets]
    heads += [
        (key, short, report.figures.of_judges(name).label, small)
        for key, short, name, small in _extras(report)
    ]
    return [_column(key, short, title, ascending, sort) for key, short, title, ascending in heads]


def _column(key: str, label: str, title: str, ascending: bool, sort: str) -> Column:
    first, second = (key, f"-{key}") if ascending else (f"-{key}", key)
    aria = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
    return Column(key, label, title, second if sort == first else first, aria, numeric=key != "name")


def _sorted(rows: Sequence[ComparedJudge], sort: str, keys: Sequence[str]) -> list[ComparedJudge]:
    """Rows by a column; a figure that is undefined comes last, whichever the direction."""
    descending, key = sort.startswith("-"), sort.removeprefix("-")
    if key == "name":
        return sorted(rows, key=lambda row: row.judge.name.casefold(), reverse=descending)
    place = keys.index(key) - 1

    def value(row: ComparedJudge) -> tuple[bool, float]:
        estimate = row.estimate if place < 0 else row.cells[place].estimate
        number = None if estimate is None else estimate["value"]
        if number is None:
            return True, 0.0
        return False, -number if descending else number

    return sorted(rows, key=value)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One of the four figures beside the decision."""

    name: str
    label: str
    estimate: EstimateJson | None
    unit: str
    note: str = ""


_MOST_TILES = 4


def _minus_people(report: ReportContent, primary: str, judge: JudgeFigures) -> list[KeyFigure]:
    """How it compares with human annotators, and with the best that a judge could do."""
    estimate = judge.overall("minus_people")
    if primary != "agreement" or not known(estimate):
        return []
    one = report.figures.of_judges("minus_people")
    notes = []
    if ends := range_text(alike_of(estimate), one.unit):
        notes.append(f"annotators like these {ends}")
    if known(best := judge.overall("below_best")):
        notes.append(f"upper bound minus judge {full_text(best, one.unit)}")
    return [KeyFigure(one.name, one.label, estimate, one.unit, "; ".join(notes))]


def key_figures(report: ReportContent, primary: str, index: int) -> list[KeyFigure]:
    """Four figures of the leading judge, each with its interval."""
    judge, figures = report.judges[index], report.figures

    def tile(name: str, note: str = "") -> KeyFigure:
        one = figures.of_judges(name)
        return KeyFigure(one.name, one.label, judge.overall(name), one.unit, note)

    people = report.people.measures
    note = ""
    if primary == "agreement" and known(people["leave_one_out"]["overall"]):
        own, best = (value_text(people[name]["overall"]) for name in ("leave_one_out", "best_reachable"))
        note = f"human annotators {own}, upper bound {best}"
    found = [tile(primary, note), *_minus_people(report, primary, judge), tile("positional_agreement")]
    gap = judge.measures[primary].get("gap")
    lean = tile("length_bias", "0 is no bias")
    if gap is not None:
        found.append(
            KeyFigure("gap", "Adversarial gap", gap, "points", "other subsets minus adversarial ones")
        )
    else:
        found.append(lean)
    if len(found) > _MOST_TILES - 1:
        return found[:_MOST_TILES]
    seconds = judge.overall("seconds_each")
    if gap is not None and not known(judge.overall("cost_per_1000")):
        return [*found, lean]
    return [*found, tile("cost_per_1000", f"{value_text(seconds, 'seconds')} each" if known(seconds) else "")]
