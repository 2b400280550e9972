"""The errors of judges with two-sided verdicts, and how far one of them knows when it is wrong: what the page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.binary import BinaryAnswers
from metaeval.figures.estimates import plain
from metaeval.figures.rating_scales import RatingScales
from metaeval.inputs import GOLD, Against, Floats, Inputs, Options
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.json_values import json_of
from metaeval.stats import (
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
from metaeval.stats.abstention import RiskCoverage
from metaeval.stats.confusion import NO_VERDICT, RATES, confusion_of
from metaeval.stats.errors import quiet

KINDS = tuple(name for name, kind in FIGURES.items() if kind.sides)
MOST_CURVE_POINTS = 200


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """A judge in the table of errors; figures as JSON values.

    ``behind`` is how much more its errors cost than those of the first, on the items that both judged; None of the
    first. ``rates`` are those of a `Confusion`. ``n_items`` are the items that the cost and each rate count, by name:
    of kinds with parts fewer than these; empty in what an earlier version computed.
    """

    key: str
    name: str
    rates: dict[str, Any]
    cost: dict[str, Any]
    n: int
    behind: dict[str, Any] | None = None
    n_items: dict[str, int] = field(default_factory=dict)


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
    curve : dict
        Coverage, risk, low and high of a `RiskCoverage`.
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
    curve: dict[str, Any]
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
        Nobody judged, nothing says what is right, or ratings have no pass mark on their scale.
    """
    if needs_mark(inputs.kind) and asked.mark is None:
        raise ReportError("Enter a pass mark: a rating at or above it passes.")
    if needs_mark(inputs.kind) and (fault := RatingScales.of(inputs).mark_fault(asked.mark)):
        raise ReportError(fault)
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
            else {"value": None, "low": None, "high": None, "reason": corrected.reason},
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
    counted = {name: read.outcomes.ratio(name)[1] > 0 for name in RATES} | {"cost": ~np.isnan(costs)}
    return JudgeErrors(
        key=one.judge.fingerprint,
        name=one.judge.name,
        rates=rates,
        cost=plain(cost),
        n=int(counted["cost"].sum()),
        n_items={name: len(np.unique(read.item[rows])) for name, rows in counted.items()},
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
        curve=_thinned(curve),
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


def _thinned(curve: RiskCoverage) -> dict[str, Any]:
    """Errors among what is kept, by how much is kept: at most a few hundred points, no drawing shows more."""
    n = len(curve.coverage)
    places = np.unique(np.linspace(0, n - 1, min(n, MOST_CURVE_POINTS)).astype(int)) if n else np.arange(0)
    parts = ("coverage", "risk", "low", "high")
    return {name: json_of(np.asarray(getattr(curve, name))[places]) for name in parts}
