"""The tables and the picture of a choice of a judge. Pure functions of its report."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metaeval.reports.figures import value_text
from metaeval.reports.report import HEURISTIC
from metaeval.reports.selection.report import (
    DatasetEntry,
    FigureJson,
    JudgeEntry,
    SelectionReport,
    StandingEntry,
)
from metaeval.reports.selection.words import violations_words
from metaeval.reports.tables import axis_of

STATUS = {
    "winner": "chosen",
    "leads": "leads",
    "in set": "not significantly different from the leader",
    "behind": "behind",
    "violates": "not eligible",
    "not ranked": "not ranked",
    "baseline": "baseline (no LLM)",
}


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


# --- the picture ---------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 616.0, 16.0, 256.0
_GAP = 48.0  # between what costs nothing and the rest, whose axis is logarithmic


@dataclass(frozen=True, slots=True)
class PicturePoint:
    """A judge in the picture; coordinates as text, as SVG takes them. ``mark`` is its number in the table."""

    mark: int
    name: str
    kind: str  # "front", "eligible", "violates", "baseline"
    x: str
    y: str
    low_y: str
    high_y: str
    text_x: str
    text_anchor: str
    text: str
    cost: FigureJson
    objective: FigureJson


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A mark on an axis."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class CostPicture:
    """Agreement against cost; ``front`` is a path through the judges that no other beats in both."""

    points: tuple[PicturePoint, ...]
    front: str
    x_ticks: tuple[AxisTick, ...]
    y_ticks: tuple[AxisTick, ...]
    without_cost: tuple[str, ...]


def picture_of(report: SelectionReport) -> CostPicture | None:
    """Where each judge stands between score and cost; None where no two known costs differ."""
    scored = [
        (report.by_key[row.judge], row)
        for row in report.standings
        if row.judge in report.by_key and row.objective["value"] is not None
    ]
    placed = [pair for pair in scored if pair[1].cost_per_1000["value"] is not None]
    costs = [row.cost_per_1000["value"] for _, row in placed]
    if len(set(costs)) < 2:
        return None
    x_of, x_ticks = _cost_axis(costs)
    low, high = axis_of(row.objective for _, row in placed)

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (min(high, max(low, value)) - low) / (high - low)

    points = [_point(k, *pair, x_of, y_of, report) for k, pair in enumerate(placed, start=1)]
    by_key = {row.judge: point for (_, row), point in zip(placed, points, strict=True)}
    step = 0.1 if high - low <= 0.6 else 0.2
    ticks = [low + step * k for k in range(round((high - low) / step) + 1)]
    return CostPicture(
        tuple(points),
        _steps([by_key[key] for key in report.front if key in by_key]),
        x_ticks,
        tuple(AxisTick(f"{y_of(value):.1f}", f"{100 * value:.0f}%") for value in ticks),
        tuple(judge.name for judge, row in scored if row.cost_per_1000["value"] is None),
    )


def _point(
    mark: int,
    judge: JudgeEntry,
    standing: StandingEntry,
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    report: SelectionReport,
) -> PicturePoint:
    cost, objective = standing.cost_per_1000, standing.objective
    if judge.baseline:
        kind = "baseline"
    elif standing.violations:
        kind = "violates"
    else:
        kind = "front" if judge.key in report.front else "eligible"
    x = x_of(cost["value"])
    ends = [objective["low"], objective["high"]]
    low_y, high_y = ("", "") if None in ends else (f"{y_of(end):.1f}" for end in ends)
    right = x < _RIGHT - 40
    price = value_text(cost, "money")
    return PicturePoint(
        mark=mark,
        name=judge.name,
        kind=kind,
        x=f"{x:.1f}",
        y=f"{y_of(objective['value']):.1f}",
        low_y=low_y,
        high_y=high_y,
        text_x=f"{x + 8 if right else x - 8:.1f}",
        text_anchor="start" if right else "end",
        text=f"{judge.name}: {value_text(objective)}, {price} per 1,000 judgments",
        cost=cost,
        objective=objective,
    )


def _cost_axis(costs: Sequence[float]) -> tuple[Callable[[float], float], tuple[AxisTick, ...]]:
    """Costs on a logarithmic axis; what costs nothing stands at its left end, apart."""
    paid = [cost for cost in costs if cost > 0]
    start = _LEFT + 16 + (_GAP if len(paid) < len(costs) else 0)
    ticks = [AxisTick(f"{_LEFT + 16:.1f}", "$0")] if len(paid) < len(costs) else []
    if not paid:
        return (lambda _: _LEFT + 16), tuple(ticks)
    low, high = math.floor(math.log10(min(paid)) * 2) / 2, math.ceil(math.log10(max(paid)) * 2) / 2
    if high - low < 1:
        low, high = math.floor(low), math.ceil(high) + (math.floor(low) == math.ceil(high))
    end = _RIGHT - 16

    def x_of(cost: float) -> float:
        if cost <= 0:
            return _LEFT + 16
        return start + (end - start) * (math.log10(cost) - low) / (high - low)

    whole = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    ticks += [
        AxisTick(f"{x_of(cost):.1f}", value_text({"value": cost}, "money").removesuffix(".00"))
        for cost in whole
    ]
    return x_of, tuple(ticks)


def _steps(points: Sequence[PicturePoint]) -> str:
    """A path along the front: to the right at the same height, then up. For what it costs, no judge is better."""
    if len(points) < 2:
        return ""
    path = f"M{points[0].x} {points[0].y}"
    for point in points[1:]:
        path += f"H{point.x}V{point.y}"
    return path
