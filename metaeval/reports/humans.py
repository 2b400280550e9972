"""What people said: how far they agree, and what they lean to."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from metaeval.reports.estimates import Measure, breakdowns, mean_of, plain, undefined, weighted
from metaeval.reports.groups import Layout
from metaeval.reports.inputs import Floats, ItemColumns, ReportInputs
from metaeval.reports.lengths import length_measures
from metaeval.reports.options import ReportOptions
from metaeval.reports.report import PeopleFigures
from metaeval.stats import (
    Estimate,
    Resamples,
    StatisticsWarning,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    leave_one_out_contributions,
    pairwise_agreement_contributions,
)

_NO_PAIR = "no item has two labels"
_NO_LABELS = "no labels"
# AlpacaEval compares lengths only where they differ by more than this many characters.
ALPACA_LENGTH_DIFFERENCE = 30


def _beyond_chance(inputs: ReportInputs) -> dict[str, Callable[..., Estimate]]:
    """Agreement beyond chance, by what chance is. Gwet's depends on all that could be said, said or not."""
    return {
        "krippendorff_alpha": partial(krippendorff_alpha, weights=inputs.weights),
        "fleiss_kappa": partial(fleiss_kappa, weights=inputs.weights),
        "gwet_ac1": partial(gwet_ac, sampling_weights=inputs.weights, values=inputs.labels.values),
    }


def humans_section(
    inputs: ReportInputs, slots: Floats, layout: Layout, resamples: Resamples, options: ReportOptions
) -> PeopleFigures:
    """The part of the report that is about people."""
    labels = inputs.labels
    per_item = np.bincount(labels.item, minlength=len(inputs.items))
    labelled = per_item[per_item > 0]
    simulated = int(labels.simulated.sum())
    drawn = np.zeros(0) if inputs.weights is None else inputs.weights[(per_item > 0) & (inputs.weights > 1)]
    measures = [weighted(one, inputs.weights) for one in _measures(inputs.items, slots, options)]
    return PeopleFigures(
        n_labels=len(labels),
        n_annotators=len(np.unique(labels.annotator)),
        n_items_labelled=len(labelled),
        n_items_with_two_labels=int((per_item > 1).sum()),
        labels_per_item={
            "min": int(labelled.min()) if len(labelled) else 0,
            "max": int(labelled.max(initial=0)),
        },
        n_repeated_left_out=labels.n_repeated,
        n_drawn_by_chance=len(drawn),
        simulated_share=round(simulated / len(labels), 12) if len(labels) else None,
        measures={
            **breakdowns(measures, layout, resamples, options.confidence),
            **{
                name: _by_group(function, slots, layout, resamples, options)
                for name, function in _beyond_chance(inputs).items()
            },
        },
    )


def _measures(items: ItemColumns, slots: Floats, options: ReportOptions) -> list[Measure]:
    if not slots.shape[1]:
        nothing = np.zeros(len(items))
        names = (
            "leave_one_out",
            "best_reachable",
            "percent_agreement",
            "tie_rate",
            "prefers_first",
            "prefers_longer",
            "length_bias",
        )
        return [
            Measure(name, nothing, nothing, reason=_NO_LABELS)
            for name in (*names, "first_label_prefers_longer")
        ]
    given = ~np.isnan(slots)
    tie = slots == 0
    difference = items.lengths[:, 0] - items.lengths[:, 1]
    longer = np.where(difference > 0, 1.0, 2.0)[:, np.newaxis]
    first = (np.abs(difference) > ALPACA_LENGTH_DIFFERENCE) & given[:, 0]
    return [
        mean_of(
            "leave_one_out",
            leave_one_out_contributions(slots, tie_break=options.tie_break, rng=options.seed),
            reason=_NO_PAIR,
        ),
        mean_of("best_reachable", _best_reachable(slots, options), reason=_NO_PAIR),
        mean_of("percent_agreement", pairwise_agreement_contributions(slots), reason=_NO_PAIR),
        Measure("tie_rate", _sum(tie), _sum(given), reason=_NO_LABELS),
        Measure("prefers_first", _sum(slots == 1) + _sum(tie) / 2, _sum(given), reason=_NO_LABELS),
        *length_measures(slots, given, items, "no labelled pair whose responses differ in length"),
        Measure(
            "first_label_prefers_longer",
            (first & (slots[:, :1] == longer)[:, 0]).astype(np.float64),
            first.astype(np.float64),
            reason=f"no labelled pair whose responses differ by more than {ALPACA_LENGTH_DIFFERENCE} characters",
        ),
    ]


def _best_reachable(slots: Floats, options: ReportOptions) -> Floats:
    """The most that one verdict can score on each item, under the convention of the report.

    With random tie-breaks the best verdict is the one that is best in expectation.
    """
    tie_break = "expected" if options.tie_break == "random" else options.tie_break
    values = np.unique(slots[~np.isnan(slots)])
    scores = np.stack(
        [
            leave_one_out_contributions(slots, np.full(len(slots), value), tie_break=tie_break)
            for value in values
        ]
    )
    return cast("Floats", scores.max(axis=0))


def _by_group(
    function: Callable[..., Estimate],
    slots: Floats,
    layout: Layout,
    resamples: Resamples,
    options: ReportOptions,
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for group in layout.groups:
        if slots.shape[1]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)  # the reason is kept with the estimate
                found = plain(
                    function(slots, where=group.members, resamples=resamples, confidence=options.confidence)
                )
        else:
            found = undefined(_NO_PAIR)
        if group.kind == "overall":
            result["overall"] = found
        else:
            result.setdefault(group.kind, {})[group.name] = found
    return result


def _sum(mask: Any) -> Floats:
    return cast("Floats", mask.sum(axis=1).astype(np.float64))
