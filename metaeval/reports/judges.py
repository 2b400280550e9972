"""What each judge said: how far it agrees with people and with gold, and what it leans to."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from metaeval.reports.estimates import Breakdown, Measure, breakdowns, mean_of, weighted
from metaeval.reports.groups import Layout
from metaeval.reports.inputs import Booleans, Floats, ItemColumns, JudgeColumns
from metaeval.reports.lengths import length_measures
from metaeval.reports.options import ReportOptions
from metaeval.reports.report import JudgeFigures
from metaeval.stats import (
    Resamples,
    accuracy_contributions,
    leave_one_out_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.intervals import AMOUNT
from metaeval.stats.preference import expected_win_contributions

Primary = Literal["agreement", "accuracy"]
PRIMARIES: tuple[Primary, ...] = ("agreement", "accuracy")

_ONE_ORDER = "judged in one presentation order only"
_NOT_MEASURED = "not measured: the verdicts were imported"


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """What each item contributes to the two figures by which judges are compared; NaN where it does not count.

    ``two_labels``, ``gold`` and ``judged`` say of which items it could have been asked for, and of which it was.
    """

    agreement: Floats
    accuracy: Floats
    two_labels: Booleans
    gold: Booleans
    judged: Booleans

    def of(self, primary: Primary) -> Floats:
        """The contributions to one of them."""
        return self.agreement if primary == "agreement" else self.accuracy

    def covers(self, primary: Primary) -> Booleans:
        """The items that count and were judged, be the verdict readable or not."""
        return self.judged & (self.two_labels if primary == "agreement" else self.gold)


def judge_scores(
    judge: JudgeColumns, items: ItemColumns, slots: Floats, options: ReportOptions
) -> JudgeScores:
    """Score each item by the labels and by the gold answer, as the mean of the orders in which it was judged."""
    nothing = np.full(len(items), np.nan)
    agreement, accuracy = nothing, nothing
    if slots.shape[1]:
        agreement = _over_orders(
            judge,
            lambda verdicts: leave_one_out_contributions(
                slots, verdicts, tie_break=options.tie_break, unparsed=options.unparsed, rng=options.seed
            ),
        )
    if not np.isnan(items.gold).all():
        accuracy = _over_orders(
            judge, lambda verdicts: accuracy_contributions(verdicts, items.gold, unparsed=options.unparsed)
        )
    return JudgeScores(
        agreement,
        accuracy,
        two_labels=(~np.isnan(slots)).sum(axis=1) > 1,
        gold=~np.isnan(items.gold),
        judged=np.asarray(judge.judged.any(axis=1)),
    )


def _over_orders(judge: JudgeColumns, score: Any) -> Floats:
    if judge.judged.all():
        return cast("Floats", score(judge.verdicts))
    # Not judged is not the same as unparsed: what was not judged takes no part.
    scores = np.stack([score(column) for column in judge.verdicts.T], axis=1)
    counted = judge.judged & ~np.isnan(scores)
    n = counted.sum(axis=1)
    return np.where(n > 0, np.where(counted, scores, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)


def judge_section(
    judge: JudgeColumns,
    scores: JudgeScores,
    items: ItemColumns,
    layout: Layout,
    resamples: Resamples,
    options: ReportOptions,
    weights: Floats | None,
    replaces: dict[str, Any],
) -> JudgeFigures:
    """The part of the report that is about one judge. ``weights`` are of what rests on labels."""
    found = _measures(judge, scores, items)
    found = [weighted(one, weights) if one.name == "agreement" else one for one in found]
    measures = breakdowns(found, layout, resamples, options.confidence)
    for primary in PRIMARIES:
        measures[primary] = _with_gap(measures[primary])
    for name, breakdown in measures.items():
        if name not in PRIMARIES:
            breakdown.pop("gap", None)
    return JudgeFigures(
        name=judge.name,
        fingerprint=judge.fingerprint,
        backend=judge.backend,
        model=judge.model,
        strategy=judge.strategy,
        baseline=judge.baseline,
        n_judgments=int(judge.judged.sum()),
        n_items_judged=int(judge.judged.any(axis=1).sum()),
        n_unparsed=int((judge.judged & np.isnan(judge.verdicts)).sum()),
        n_failed=int(judge.failed.sum()),
        orders=_orders(judge.judged),
        measures=measures,
        replaces=replaces,
    )


def _with_gap(breakdown: Breakdown) -> Breakdown:
    gap = breakdown.get("gap")
    if gap is not None and gap["value"] is None:
        breakdown = {name: part for name, part in breakdown.items() if name != "gap"}
    return breakdown


def _orders(judged: Booleans) -> str:
    first, second = bool(judged[:, 0].any()), bool(judged[:, 1].any())
    if first and second and not judged.all(axis=1).any():
        return "random"  # one order an item, not the same one for all
    return {(True, True): "both", (True, False): "original", (False, True): "swapped"}.get(
        (first, second), "none"
    )


def _measures(judge: JudgeColumns, scores: JudgeScores, items: ItemColumns) -> list[Measure]:
    verdicts, judged = judge.verdicts, judge.judged
    parsed = judged & ~np.isnan(verdicts)
    return [
        mean_of("agreement", scores.agreement, reason="no judged item has two labels"),
        mean_of("accuracy", scores.accuracy, reason="no judged item has a gold answer"),
        *_positional(judge, parsed),
        Measure("unparsed_rate", _sum(judged & ~parsed), _sum(judged), reason="nothing was judged"),
        Measure("tie_rate", _sum(verdicts == 0), _sum(parsed), reason="no parsed verdict"),
        _first_shown(verdicts, parsed),
        mean_of("expected_win_rate", expected_win_contributions(verdicts), reason="no parsed verdict"),
        *length_measures(verdicts, judged, items, "no judged pair whose responses differ in length"),
        *_costs(judge),
    ]


def _positional(judge: JudgeColumns, parsed: Booleans) -> list[Measure]:
    both: Booleans = np.all(judge.judged, axis=1)
    # A judge that never gives a readable verdict is not a consistent one.
    readable = bool((parsed & both[:, np.newaxis]).any())
    reason = "no parsed verdict" if both.any() else _ONE_ORDER
    found = []
    for name, agree in (
        ("positional_agreement", False),
        ("positional_agreement_llmbar", True),
    ):
        same = positional_agreement_contributions(judge.verdicts, unparsed_agree=agree)
        # An answer that never came agrees with nothing; it says more of the endpoint than of the judge.
        same[judge.failed.any(axis=1)] = 0.0
        found.append(mean_of(name, np.where(both & readable, same, np.nan), reason=reason))
    return found


def _first_shown(verdicts: Floats, parsed: Booleans) -> Measure:
    decided = parsed & (verdicts != 0)
    first = decided & (verdicts == np.array([1.0, 2.0]))
    both = np.all(parsed, axis=1, keepdims=True)
    return Measure(
        "first_shown_rate",
        _sum(first & both),
        _sum(decided & both),
        reason="no item with a parsed verdict in both orders",
    )


def _costs(judge: JudgeColumns) -> list[Measure]:
    found = []
    for name, amounts, scale in (("cost_per_1000", judge.cost, 1000.0), ("seconds_each", judge.seconds, 1.0)):
        measured = judge.judged & ~np.isnan(amounts)
        top = np.where(measured, amounts, 0.0).sum(axis=1)
        found.append(Measure(name, top, _sum(measured), bounds=AMOUNT, reason=_NOT_MEASURED, scale=scale))
    return found


def _sum(mask: Any) -> Floats:
    return cast("Floats", np.asarray(mask).sum(axis=1).astype(np.float64))
