"""The tables and the pictures of a choice of a judge. Pure functions of its report."""

from dataclasses import dataclass
from functools import partial

from metaeval.pictures.intervals import IntervalRow, forest_spec
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.figures import full_text
from metaeval.reports.pictures import MOST_ROWS, Priced, against_cost, cut_words
from metaeval.reports.report import HEURISTIC
from metaeval.reports.selection.report import (
    DatasetEntry,
    FigureJson,
    JudgeEntry,
    SelectionReport,
    StandingEntry,
)
from metaeval.reports.selection.words import objective_short, violations_words
from metaeval.reports.tables import axis_of

STATUS = {
    "winner": "chosen",
    "leads": "leads",
    "in set": "not significantly different from the leader",
    "behind": "behind",
    "baseline": "baseline (no LLM)",
    "violates": "not eligible",
    "not ranked": "not ranked",
}
"""In the order of the colors that reports give to the same standings."""


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge. ``status`` is a key of `STATUS`; ``scores`` has its figure on the dataset of each column."""

    judge: JudgeEntry
    standing: StandingEntry
    status: str
    violations: tuple[str, ...]
    scores: tuple[tuple[DatasetEntry, FigureJson | None], ...]
    drawn: bool


@dataclass(frozen=True, slots=True)
class JudgesTable:
    """All judges, best first, with the axis of their plots.

    Datasets have a column each, but for one that alone decides: its score is the objective, and it is
    ``objective_of``.
    """

    datasets: tuple[DatasetEntry, ...]
    rows: tuple[JudgeRow, ...]
    low: float
    high: float
    objective_of: DatasetEntry | None


def selection_table(report: SelectionReport) -> JudgesTable:
    """All judges as they stand."""
    standings = [row for row in report.standings if row.judge in report.by_key]
    # Baselines far below all judges would stretch the axis until real judges look alike.
    real = [row.objective for row in standings if report.by_key[row.judge].backend != HEURISTIC]
    low, high = axis_of(real or [row.objective for row in standings])
    deciding = report.deciding
    datasets = tuple(row for row in report.datasets if deciding != (row,))
    rows = tuple(
        JudgeRow(
            judge=report.by_key[one.judge],
            standing=one,
            status=_status(report, one),
            violations=violations_words(one.violations),
            scores=tuple((row, one.scores.get(row.name)) for row in datasets),
            drawn=one.objective["value"] is not None and low <= one.objective["value"] <= high,
        )
        for one in standings
    )
    return JudgesTable(datasets, rows, low, high, deciding[0] if len(deciding) == 1 else None)


def _status(report: SelectionReport, standing: StandingEntry) -> str:
    if report.is_baseline(standing.judge):
        return "baseline"
    if standing.violations:
        return "violates"
    if standing.judge == report.winner:
        return "winner"
    if standing.judge == report.leader:
        return "leads"
    if not standing.is_ranked:
        return "not ranked"
    return "in set" if standing.in_confidence_set else "behind"


def decision_pictures(report: SelectionReport) -> tuple[Picture, ...]:
    """The score of each judge, and against its cost with the Pareto front where two known costs differ."""
    label = objective_short(report) or "score"
    label = label[0].upper() + label[1:]
    return tuple(
        picture
        for picture in (_score_picture(report, label), _cost_picture(report, label))
        if picture is not None
    )


def _score_picture(report: SelectionReport, label: str) -> Picture | None:
    rows = [row for row in selection_table(report).rows if row.standing.objective["value"] is not None]
    if not rows:
        return None
    drawn = [
        IntervalRow(
            row.judge.name, *_ends(row.standing.objective), _series(row), full_text(row.standing.objective)
        )
        for row in rows
    ]
    shown = drawn[:MOST_ROWS]
    domain = axis_of(row.standing.objective for row in rows[:MOST_ROWS])
    known = [_words(status) for status in STATUS]
    drawing = partial(forest_spec, shown, unit="percent", axis_title=label, domain=domain, known=known)
    return Picture(
        name="forest-plot",
        title=f"{label} of each judge",
        description=(
            f"{label} of {len(rows):,} judges, each with its interval, best first. {drawn[0].name} has "
            f"{drawn[0].text}.{cut_words(len(shown), len(drawn))}"
        ),
        spec=drawing(),
        narrow=drawing(narrow=True),
        columns=(
            PictureColumn("Judge"),
            PictureColumn("Standing"),
            *(PictureColumn(head, "percent") for head in (label, "Low", "High")),
        ),
        rows=tuple((row.judge.name, _series(row), *_ends(row.standing.objective)) for row in rows),
    )


def _series(row: JudgeRow) -> str:
    return _words(row.status)


def _words(status: str) -> str:
    return STATUS[status][0].upper() + STATUS[status][1:]


def _ends(figure: FigureJson) -> tuple[float | None, float | None, float | None]:
    return figure["value"], figure["low"], figure["high"]


def _cost_picture(report: SelectionReport, label: str) -> Picture | None:
    scored = [
        row for row in report.standings if row.judge in report.by_key and row.objective["value"] is not None
    ]
    placed = [row for row in scored if row.cost_per_1000["value"] is not None]
    found = [
        Priced(report.by_key[row.judge].name, _cost_status(report, row), row.cost_per_1000, row.objective)
        for row in placed
    ]
    front = [place for place, row in enumerate(placed) if row.judge in report.front]
    without = tuple(report.by_key[row.judge].name for row in scored if row not in placed)
    return against_cost(found, label, "percent", front, without)


def _cost_status(report: SelectionReport, row: StandingEntry) -> str:
    if report.by_key[row.judge].baseline:
        return "baseline"
    return "violates" if row.violations else "eligible"
