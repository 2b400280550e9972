"""The errors of judges with two-sided verdicts, and how far one of them knows when it is wrong: what the page shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.binary import BinaryAnswers
from metaeval.figures.estimates import plain
from metaeval.inputs import GOLD, Against, Floats, Inputs, Options
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.json_values import json_of
from metaeval.stats import (
    CalibrationError,
    abstention_threshold,
    brier_score,
    calibration_error,
    corrected_rate,
    mean_estimate,
    paired_difference,
    ppi_mean,
    recalibrate,
    risk_coverage,
)
from metaeval.stats.confusion import NO_VERDICT, confusion_of
from metaeval.stats.errors import quiet

KINDS = tuple(name for name, kind in FIGURES.items() if kind.sides)
# The frame of the diagrams in their own units.
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 616.0, 16.0, 256.0


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """A judge in the table of errors; figures as JSON values.

    ``behind`` is how much more its errors cost than those of the first, on the items that both judged; None of the
    first. ``rates`` are those of a `Confusion`.
    """

    key: str
    name: str
    rates: dict[str, Any]
    cost: dict[str, Any]
    n: int
    behind: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a diagram, with an interval, and a tick of an axis; coordinates as text, as SVG takes them."""

    x: str
    y: str
    low_y: str = ""
    high_y: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """A picture of shares against shares. ``line`` and ``guide`` are paths, ``rule`` the x of a vertical line."""

    points: tuple[Mark, ...]
    line: str
    guide: str
    rule: str
    x_ticks: tuple[Mark, ...]
    y_ticks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Certainty:
    """Whether a judge's certainty is worth something.

    Attributes
    ----------
    source : str
        What says how sure it is.
    temperature : float
        Log odds over this are calibrated; above 1 it is too sure.
    brier, calibration, threshold : dict
        A `BrierScore`, a `CalibrationError` and an `AbstentionThreshold` as JSON values.
    recalibrated : dict of str to dict
        The calibration error after calibration out of sample, by method.
    abstained : tuple of str
        Items that it should leave to people and that have no label, the least certain first; with their certainty.
    is_priced : bool
        Whether the costs have the judge's own; imported verdicts have no price.
    """

    source: str
    brier: dict[str, Any]
    calibration: dict[str, Any]
    temperature: float
    recalibrated: dict[str, Any]
    threshold: dict[str, Any]
    reliability: Diagram
    curve: Diagram
    area: float
    cost_per_1000: float
    saved: float
    is_priced: bool
    abstained: tuple[tuple[str, float], ...]
    n_abstained: int


@dataclass(frozen=True, slots=True)
class ConfidencePage:
    """All that the page shows, of JSON values and dataclasses of these, so that it can be kept."""

    kind: str
    sides: tuple[str, ...]
    against: Against
    targets: tuple[str, ...]
    mark: float | None
    rows: tuple[JudgeErrors, ...]
    judge: JudgeErrors
    judged: dict[str, Any]
    corrected: dict[str, Any]
    powered: dict[str, Any]
    n_known: int
    n_rows: int
    certainty: Certainty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the page is asked for; money in US dollars, shares in [0, 1]."""

    judge: str = ""
    against: str = ""
    risk: float = 0.1
    level: float = 0.95
    false_positive: float = 1.0
    false_negative: float = 1.0
    label_price: float = 0.5
    mark: float | None = None


def confidence_page(inputs: Inputs, asked: Asked) -> ConfidencePage:
    """Compute it.

    Raises
    ------
    ReportError
        Nobody judged, nothing says what is right, or ratings have no pass mark.
    """
    if needs_mark(inputs.kind) and asked.mark is None:
        raise ReportError("Enter a pass mark: a rating at or above it passes.")
    against = _against(inputs, asked.against)
    # Baselines err, too, but nobody asks them anything.
    inputs = replace(inputs, judges=tuple(one for one in inputs.judges if not one.baseline))
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged these items yet.")
    sample = FIGURES[inputs.kind].sample(
        inputs, Options(against=against, n_resamples=1, pass_mark=asked.mark)
    )
    answers = {one.judge.fingerprint: (one, _answers(one, against)) for one in sample.judges}
    with quiet():
        rows = _rows(answers, asked)
        chosen = next((row for row in rows if row.key == asked.judge), rows[0])
        judge, read = answers[chosen.key]
        verdict = _verdict_shares(read)
        shares: Any = {"clusters": read.cluster, "weights": read.weights, "confidence": asked.level}
        corrected = corrected_rate(read.shares, verdict, **shares)
        return ConfidencePage(
            kind=inputs.kind,
            sides=FIGURES[inputs.kind].sides,
            against=against,
            targets=tuple(inputs.targets()),
            mark=asked.mark if needs_mark(inputs.kind) else None,
            rows=rows,
            judge=chosen,
            judged=plain(corrected.judged)
            if corrected.judged
            else {"value": None, "reason": corrected.reason},
            corrected=plain(corrected),
            powered=plain(ppi_mean(read.shares, verdict, bounds=(0.0, 1.0), **shares)),
            n_known=int((~np.isnan(read.shares) & read.asked.any(axis=1)).sum()),
            n_rows=int(read.asked.any(axis=1).sum()),
            certainty=_certainty(inputs, judge, read, asked),
        )


def _against(inputs: Inputs, asked: str) -> Against:
    targets = inputs.targets()
    if not targets:
        raise ReportError("There are neither labels nor gold answers to compare verdicts with.")
    return next((one for one in targets if one == asked), targets[0])


def _answers(judge: Any, against: Against) -> BinaryAnswers:
    found: BinaryAnswers | None = judge.binary(gold=against == GOLD)
    if found is None:
        raise ReportError("There are no labels to compare verdicts with.")
    return found


def needs_mark(kind: str) -> bool:
    """Whether its answers have two sides only by a pass mark."""
    return "pass_mark" in FIGURES[kind].options


def _rows(answers: Mapping[str, tuple[Any, BinaryAnswers]], asked: Asked) -> tuple[JudgeErrors, ...]:
    """The table of errors, the cheapest first, with what the others cost more.

    The first was chosen for its cost, so with k others each difference has an interval of level 1 - (1 - level) / k.
    """
    found = {key: _errors(one, read, asked) for key, (one, read) in answers.items()}
    order = sorted(found.values(), key=lambda row: (row.n == 0, row.cost["value"] or 0.0, row.name))
    first, *others = order
    costs = {key: _costs(read, asked) for key, (_, read) in answers.items()}
    most = max(asked.false_positive, asked.false_negative)
    level = 1 - (1 - asked.level) / max(1, len(others))

    def behind(row: JudgeErrors) -> JudgeErrors:
        read = answers[row.key][1]
        more = paired_difference(
            costs[row.key],
            costs[first.key],
            bounds=(0.0, most) if most > 0 else None,
            **_shared(read) | {"confidence": level, "n_resamples": 1},
        )
        return replace(row, behind=plain(more))

    return first, *(behind(row) for row in others)


def _costs(read: BinaryAnswers, asked: Asked) -> Floats:
    return read.outcomes.costs(asked.false_positive, asked.false_negative)


def _shared(read: BinaryAnswers) -> dict[str, Any]:
    return {"clusters": read.cluster, "weights": read.weights}


def _errors(one: Any, read: BinaryAnswers, asked: Asked) -> JudgeErrors:
    costs = _costs(read, asked)
    most = max(asked.false_positive, asked.false_negative)
    # Of bounded means and ratios the ends depend on the data alone; one resample says that they are asked for.
    shared: Any = _shared(read) | {"confidence": asked.level, "n_resamples": 1}
    cost = mean_estimate(costs, bounds=(0.0, most) if most > 0 else None, reason=NO_VERDICT, **shared)
    rates = json_of(confusion_of(read.outcomes, **shared))
    return JudgeErrors(
        one.judge.fingerprint, one.judge.name, rates, plain(cost), int((~np.isnan(costs)).sum())
    )


def _verdict_shares(read: BinaryAnswers) -> Floats:
    """The share of its readable answers that are positive; one half for neither."""
    credit = np.where(read.said == -1, 0.5, read.said)
    known = ~np.isnan(credit) & read.asked
    n = known.sum(axis=1)
    return np.where(n > 0, np.where(known, credit, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)


def _certainty(inputs: Inputs, judge: Any, read: BinaryAnswers, asked: Asked) -> Certainty | None:
    if read.chance is None or np.isnan(read.right).all():
        return None
    sure, right = read.certainty, read.right
    shared: Any = _shared(read)
    level: Any = {**shared, "confidence": asked.level}
    cooled = recalibrate(sure, right, **shared)
    mended = {
        "Temperature scaling": cooled,
        "Isotonic regression": recalibrate(sure, right, method="isotonic", **shared),
    }
    calibration = calibration_error(sure, right, **level)
    given = read.asked.any(axis=1)
    threshold = abstention_threshold(sure, read.wrong, risk=asked.risk, where=given, **level)
    curve = risk_coverage(sure, read.wrong, where=given, **level)
    items = _abstained(inputs, read, threshold.threshold)
    price = float(np.nanmean(judge.judge.cost)) if (~np.isnan(judge.judge.cost)).any() else None
    orders = float(judge.judge.judged.sum(axis=1)[judge.judge.asked].mean())
    kept = threshold.coverage.value if threshold.defined else 0.0
    # What the judge costs, for every item, and people for those that it leaves to them.
    cost = 1000 * ((price or 0.0) * orders + (1 - kept) * asked.label_price)
    return Certainty(
        source="stored probabilities" if judge.judge.probability is not None else "agreement of both orders",
        brier=_with(brier_score(sure, right, **level), "reliability", "resolution", "uncertainty"),
        calibration=_with(calibration, "plain", "bins"),
        temperature=cooled.map.temperature,
        recalibrated={
            name: plain(calibration_error(one.probabilities, right, **level)) for name, one in mended.items()
        },
        threshold=json_of(threshold),
        reliability=_reliability(calibration),
        curve=_curve(
            curve.coverage, curve.risk, curve.low, curve.high, asked.risk, kept if threshold.defined else None
        ),
        area=curve.area,
        cost_per_1000=cost,
        saved=1000 * asked.label_price - cost,
        is_priced=price is not None,
        abstained=items,
        n_abstained=int((given & ~(np.nan_to_num(sure, nan=-1.0) >= threshold.threshold)).sum()),
    )


def _with(found: Any, *names: str) -> dict[str, Any]:
    """An estimate as JSON values, with some of its other attributes."""
    return plain(found) | {name: json_of(getattr(found, name)) for name in names}


def _abstained(inputs: Inputs, read: BinaryAnswers, threshold: float) -> tuple[tuple[str, float], ...]:
    """Items with a row below the threshold and no label, the least certain first; none where there is no threshold."""
    if np.isnan(threshold):
        return ()
    sure = np.where(read.asked.any(axis=1), np.nan_to_num(read.certainty, nan=0.0), np.inf)
    least = np.full(read.n_items, np.inf)
    np.minimum.at(least, read.item, sure)
    labelled = np.isin(np.arange(read.n_items), inputs.labels.item)
    rows = np.flatnonzero((least < threshold) & ~labelled)
    order = rows[np.argsort(least[rows], kind="stable")]
    return tuple((inputs.items.external_id[row], float(least[row])) for row in order.tolist())


# --- diagrams ------------------------------------------------------------------------------------------------------


def _axes(
    low: float, high: float, y_high: float
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    def x_of(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (value - low) / (high - low)

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(value, y_high) / y_high

    return x_of, y_of


def _ticks(of: Callable[[float], float], values: Sequence[float]) -> tuple[Mark, ...]:
    return tuple(Mark(f"{of(value):.1f}", f"{of(value):.1f}", text=f"{100 * value:.0f}%") for value in values)


def _reliability(found: CalibrationError) -> Diagram:
    """How often it is right, by how sure it is; calibrated is the diagonal."""
    x_of, y_of = _axes(0.5, 1.0, 1.0)
    points = tuple(
        Mark(
            f"{x_of(max(0.5, one.probability)):.1f}",
            f"{y_of(one.outcome.value):.1f}",
            f"{y_of(one.outcome.low):.1f}",
            f"{y_of(one.outcome.high):.1f}",
            f"Certainty {100 * one.probability:.0f}%: right in {100 * one.outcome.value:.0f}% of {one.outcome.n:,}",
        )
        for one in found.bins
    )
    guide = f"M{x_of(0.5):.1f} {y_of(0.5):.1f}L{x_of(1.0):.1f} {y_of(1.0):.1f}"
    ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    return Diagram(points, "", guide, "", _ticks(x_of, ticks), _ticks(y_of, [0.0, 0.25, 0.5, 0.75, 1.0]))


def _curve(
    coverage: Floats, risk: Floats, low: Floats, high: Floats, target: float, kept: float | None
) -> Diagram:
    """Errors among what is kept, by how much is kept."""
    step = 0.1 if max(high.max(initial=0.0), target) > 0.25 else 0.05
    most = min(
        1.0, step * (1 + int(max(float(risk.max(initial=0.0)), float(np.median(high)), target) / step))
    )
    x_of, y_of = _axes(0.0, 1.0, most)
    places = [(x_of(x), y_of(y)) for x, y in zip(coverage.tolist(), risk.tolist(), strict=True)]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if len(places) > 1 else ""
    points = tuple(
        Mark(
            f"{x_of(each):.1f}",
            f"{y_of(wrong):.1f}",
            f"{y_of(least):.1f}",
            f"{y_of(largest):.1f}",
            f"Keeping {100 * each:.0f}%: {100 * wrong:.1f}% wrong",
        )
        for each, wrong, least, largest in zip(coverage, risk, low, high, strict=True)
    )
    # A dozen points say what a hundred would; the line has them all.
    shown = (
        points
        if len(points) <= 12
        else tuple(points[k] for k in np.linspace(0, len(points) - 1, 12).astype(int))
    )
    guide = f"M{_LEFT} {y_of(target):.1f}H{_RIGHT}"
    ticks = [step * k for k in range(round(most / step) + 1)]
    rule = "" if kept is None else f"{x_of(kept):.1f}"
    return Diagram(shown, line, guide, rule, _ticks(x_of, [0.0, 0.25, 0.5, 0.75, 1.0]), _ticks(y_of, ticks))
