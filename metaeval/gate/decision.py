"""Trusted, not trusted, or not yet known: a judge's figure and its interval, held against thresholds.

A threshold is passed where the whole interval is beyond it, and failed where the whole interval is on the other side.
Where the threshold is inside, more labels are needed, and the decision says how many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.figure import Figure, KindFigures, Unit
from metaeval.figures.graded import GradedSample
from metaeval.figures.sample import item_means
from metaeval.gate.gold import GoldFile
from metaeval.inputs import GOLD, PEOPLE, Against, Inputs, JudgeAnswers, Options
from metaeval.reports.content import build
from metaeval.selection.verdict import Annotators
from metaeval.stats import InvalidInputError, correlation_difference, paired_difference
from metaeval.stats.crossed_sums import Linear
from metaeval.stats.errors import quiet

GRADED: Mapping[str, Linear] = MappingProxyType({"grade_spearman": "spearman", "grade_pearson": "pearson"})
"""The figures of graded preferences that a judge may be held to, each a correlation."""
LONGEST_PLAN = 1_000_000
"""More items than that are no plan: the figure is at the threshold."""


class GateOutcome(StrEnum):
    """What a gate says; `code` is the exit code of the command."""

    TRUSTED = "trusted"
    NOT_TRUSTED = "not trusted"
    INCONCLUSIVE = "inconclusive"

    @property
    def code(self) -> int:
        return {GateOutcome.TRUSTED: 0, GateOutcome.NOT_TRUSTED: 1, GateOutcome.INCONCLUSIVE: 2}[self]


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What is asked of a judge.

    Attributes
    ----------
    min_agreement : float or None
        The least value of the figure that ranks judges of the kind (agreement with annotators, accuracy against gold,
        closeness of ratings, a correlation): in its own unit, such as 0.8 for 80%.
    max_drop : float or None
        By how much the figure may be below that of the baseline's verdicts on the same items, in points: 2 is two
        percentage points, or 0.02 of a correlation.
    figure : str
        By which figure it is held: one that ranks judges of the kind, or a correlation of graded preferences
        (`GRADED`). Empty: the one that ranks judges in a report.
    against : {"people", "gold"} or None
        What the judge is held against; None: what more items have.
    annotators : {"these", "alike"}
        Whether thresholds have to hold with these annotators, or with new annotators like these as well.
    confidence : float
        Level of the intervals.
    seed : int
        Of resamples, where the figure has any.
    """

    min_agreement: float | None = None
    max_drop: float | None = None
    figure: str = ""
    against: Against | None = None
    annotators: Annotators = "these"
    confidence: float = 0.95
    n_resamples: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.min_agreement is None and self.max_drop is None:
            raise InvalidInputError(
                "expected --min-agreement, --max-drop or both: there is nothing to hold the judge to."
            )
        if self.min_agreement is not None and not -1 <= self.min_agreement <= 1:
            raise InvalidInputError(
                f"--min-agreement: expected a value up to 1, such as 0.8, got {self.min_agreement:g}."
            )
        if self.max_drop is not None and not 0 <= self.max_drop <= 100:
            raise InvalidInputError(
                f"--max-drop: expected points from 0 to 100, such as 2, got {self.max_drop:g}."
            )


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One thing that was asked, and what came out.

    Attributes
    ----------
    name : {"agreement", "drop"}
    label : str
        What the figure is called.
    value, low, high : float
        NaN where there is none.
    threshold : float
        In the unit of the value.
    n : int
        Items that count.
    outcome : GateOutcome
    needed : int or None
        Sample size that is needed, in items, if the value stays; None where none is, or where none would do.
    reason : str
        Why nothing can be said.
    """

    name: str
    label: str
    unit: Unit
    value: float
    low: float
    high: float
    threshold: float
    n: int
    outcome: GateOutcome
    needed: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate decided, on which items, and why."""

    outcome: GateOutcome
    checks: tuple[GateCheck, ...]
    judge: str
    fingerprint: str
    gold: str
    kind: str
    against: Against
    annotators: Annotators
    confidence: float
    n_items: int
    n_labels: int
    n_unparsed: int
    baseline: str = ""
    n_baseline_left_out: int = 0
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values; NaN is null."""
        found = {"schema": "touchstone.gate/1"} | asdict(self)
        found["checks"] = [_plain(asdict(check)) for check in self.checks]
        return found | {"remarks": list(self.remarks)}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def decide(
    gold: GoldFile,
    judge: JudgeAnswers,
    options: GateOptions,
    *,
    baseline: JudgeAnswers | None = None,
    n_left_out: int = 0,
) -> GateResult:
    """Hold a judge against what is asked of it.

    Parameters
    ----------
    judge : JudgeAnswers
        Its verdicts on the items of the gold file.
    baseline : JudgeAnswers, optional
        Verdicts that were accepted before, of this judge or another one, on the same items.
    n_left_out : int
        Items of the baseline that are not those of the gold file.

    Raises
    ------
    InvalidInputError
        There is nothing to hold the judge against, or the two have no item in common.
    """
    kind = FIGURES[gold.kind].on(gold.scales)
    if options.figure and options.figure not in (offered := figures_offered(kind)):
        raise InvalidInputError(f"--figure: expected one of {', '.join(offered)}, got {options.figure}.")
    against, primary = _graded_target(gold, options) if options.figure in GRADED else _target(gold, options)
    if primary in GRADED and against == GOLD:
        assert gold.graded_gold is not None
        gold = replace(gold, labels=gold.graded_gold)
    inputs = gold.inputs(judge)
    asked = Options(
        against=against,
        confidence=options.confidence,
        n_resamples=options.n_resamples,
        seed=options.seed,
        annotators=options.annotators,
    )
    figure = kind.of_judges(primary)
    remarks = []
    with quiet():
        checks = []
        if options.min_agreement is not None:
            checks.append(_agreement(inputs, asked, figure, options))
        if options.max_drop is not None and baseline is None:
            remarks.append("There is no baseline yet: nothing says whether the figure dropped.")
        elif options.max_drop is not None and baseline is not None:
            # It may be the same judge, of an earlier day.
            before = replace(baseline, fingerprint=f"{baseline.fingerprint} before")
            checks.append(_drop(gold.inputs(judge, before), asked, figure, options.max_drop / 100))
    if against == PEOPLE and gold.labels.simulated.any():
        remarks.append("Some labels come from simulated annotators, not from people.")
    return GateResult(
        outcome=_worst([check.outcome for check in checks]),
        checks=tuple(checks),
        judge=judge.name,
        fingerprint=judge.fingerprint,
        gold=gold.path.name,
        kind=gold.kind,
        against=against,
        annotators=options.annotators,
        confidence=options.confidence,
        n_items=len(gold.items),
        n_labels=len(gold.labels),
        n_unparsed=int((judge.unparsed & ~judge.failed).sum()),
        baseline="" if baseline is None else baseline.name,
        n_baseline_left_out=n_left_out,
        remarks=tuple(remarks),
    )


def _worst(outcomes: list[GateOutcome]) -> GateOutcome:
    for outcome in (GateOutcome.NOT_TRUSTED, GateOutcome.INCONCLUSIVE):
        if outcome in outcomes:
            return outcome
    return GateOutcome.TRUSTED if outcomes else GateOutcome.INCONCLUSIVE


def figures_offered(kind: KindFigures) -> tuple[str, ...]:
    """Return the figures that a judge of a kind may be held to: those that rank judges, and those of grades."""
    graded = (figure.name for figure in kind.judges if figure.name in GRADED)
    return tuple(dict.fromkeys([*kind.primaries, *graded]))


def _graded_target(gold: GoldFile, options: GateOptions) -> tuple[Against, str]:
    """Whose grades the judge's are held against: those of more items."""
    known = {
        PEOPLE: gold.labels.grades is not None and len(np.unique(gold.labels.item)),
        GOLD: gold.graded_gold is not None and len(gold.graded_gold.item),
    }
    wanted: list[Against] = [options.against] if options.against else [PEOPLE, GOLD]
    best = max(wanted, key=lambda against: int(known[against]))
    if not known[best]:
        raise InvalidInputError(
            f"{gold.path.name}: --figure {options.figure}: expected labels or gold answers that say how strong a "
            'preference is, such as {"choice": 1, "strength": "much"}, found none.'
        )
    return best, options.figure


def _target(gold: GoldFile, options: GateOptions) -> tuple[Against, str]:
    """What the judge is held against, and by which figure: the one that ranks judges in a report, or is asked for."""
    inputs = gold.inputs()
    kind = FIGURES[inputs.kind].on(inputs.scales)
    wanted: list[Against] = [options.against] if options.against else list(inputs.targets())
    best: tuple[int, Against, str] | None = None
    for against in wanted:
        sample = kind.sample(inputs, Options(against=against, n_resamples=0))
        # Figures of gold alone count for gold, the others for what the option says, where the kind has the option.
        names = [name for name in kind.primaries if kind.of_judges(name).of_gold == (against == GOLD)]
        if "against" in kind.options:
            names = list(kind.primaries)
        if options.figure:
            names = [name for name in names if name == options.figure]
        for name in names[:1]:
            n = int(sample.has_target(name).sum())
            if n and (best is None or n > best[0]):
                best = n, against, name
    if best is None:
        what = "gold answers" if options.against == GOLD else "items with two labels or more"
        raise InvalidInputError(f"{inputs.name}: expected {what} to hold the judge against, found none.")
    return best[1], best[2]


def _agreement(inputs: Inputs, asked: Options, figure: Figure, options: GateOptions) -> GateCheck:
    assert options.min_agreement is not None
    found: Mapping[str, Any] | None = build(inputs, asked).judges[0].overall(figure.name)
    reason = "there is no such figure of these items"
    if found is not None and asked.annotators == "alike" and asked.against == PEOPLE:
        alike = found.get("alike")
        n = found["n"]
        found = {**alike, "n": n} if alike is not None else None
        reason = "there is no interval for annotators like these; hold it against these annotators"
    check = GateCheck(
        name="agreement",
        label=figure.label,
        unit=figure.unit,
        value=_number(found, "value"),
        low=_number(found, "low"),
        high=_number(found, "high"),
        threshold=options.min_agreement,
        n=0 if found is None else int(found.get("n") or 0),
        outcome=GateOutcome.INCONCLUSIVE,
        reason=str((found or {}).get("reason") or ("" if found else reason)),
    )
    return _settled(check, is_least=True)


def _drop(inputs: Inputs, asked: Options, figure: Figure, threshold: float) -> GateCheck:
    """The baseline minus the judge, on the items that both judged."""
    sample = FIGURES[inputs.kind].sample(inputs, asked)
    judge, baseline = inputs.judges
    if figure.name in GRADED:
        now, before = (one.grade for one in sample.judges)
    else:
        now, before = (item_means(figure.function(one)) for one in sample.judges)
    shared = ~np.isnan(now) & ~np.isnan(before)
    if not shared.any():
        raise InvalidInputError(
            f"the baseline {baseline.name!r} and the judge {judge.name!r} have no item in common that can be scored."
        )
    if asked.annotators == "alike" and asked.against == PEOPLE:
        found = sample.difference_alike(figure.name, 1, 0, shared, asked.confidence)
    elif figure.name in GRADED:
        assert isinstance(sample, GradedSample)
        found = correlation_difference(
            before,
            now,
            sample.mean_grade,
            method=GRADED[figure.name],
            resamples=sample.resamples,
            confidence=asked.confidence,
            weights=sample.drawn,
        )
    else:
        found = paired_difference(
            before,
            now,
            bounds=figure.bounds,
            clusters=sample.clusters,
            weights=sample.size,
            where=shared,
            confidence=asked.confidence,
        )
    check = GateCheck(
        name="drop",
        label=figure.label,
        unit="points",
        value=math.nan if found is None else found.value,
        low=math.nan if found is None else found.low,
        high=math.nan if found is None else found.high,
        threshold=threshold,
        n=int(shared.sum()) if found is None else found.n,
        outcome=GateOutcome.INCONCLUSIVE,
        reason="" if found is None else found.reason or "",
    )
    return _settled(check, is_least=False)


def _number(found: Mapping[str, Any] | None, name: str) -> float:
    value = None if found is None else found.get(name)
    return math.nan if value is None else float(value)


def _settled(check: GateCheck, *, is_least: bool) -> GateCheck:
    if math.isnan(check.low) or math.isnan(check.high):
        return replace(check, reason=check.reason or "there is no interval")
    below, above = check.high < check.threshold, check.low > check.threshold
    passed = check.low >= check.threshold if is_least else check.high <= check.threshold
    failed = below if is_least else above
    if passed or failed:
        return replace(check, outcome=GateOutcome.TRUSTED if passed else GateOutcome.NOT_TRUSTED)
    return replace(check, needed=_needed(check))


def _needed(check: GateCheck) -> int | None:
    """Items with which the interval would end at the threshold, if the value stays: its width falls with their root."""
    distance = check.value - check.threshold
    if not distance:
        return None
    reach = check.value - check.low if distance > 0 else check.high - check.value
    needed = math.ceil(check.n * (reach / abs(distance)) ** 2)
    return max(needed, check.n + 1) if needed <= LONGEST_PLAN else None
