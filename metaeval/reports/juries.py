"""What a jury with fitted weights is worth: held out, beside the plain majority and the best member."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.sample import item_means
from metaeval.inputs import GOLD, Booleans, Floats, Inputs, JudgeAnswers, Options, baseline_judge
from metaeval.reports.errors import ReportError, UnknownNameError, near_names
from metaeval.selection.juries import N_FOLDS, CrossFittedJury, Method, cross_fit, majority_verdicts
from metaeval.stats import Estimate, PairedDifference, mean_estimate, paired_difference
from metaeval.stats.errors import quiet
from metaeval.stats.intervals import Sampling

KIND = "pairwise"
FEWEST = 2
"""Members of a jury."""


@dataclass(frozen=True, slots=True)
class JuryReport:
    """A jury with fitted weights, and how it compares.

    Attributes
    ----------
    members : tuple of str
    weights : mapping of str to float
        Of the fit to all labels, by member: those to use.
    tie_margin : float
    spread : mapping of str to (float, float)
        The smallest and the largest weight of each member over the folds.
    figure : str
        "agreement" with human annotators, or "accuracy" on gold answers.
    held_out : Estimate
        Each item judged by weights that were fitted without its instruction.
    in_sample : Estimate
        On the labels that the weights were fitted to: don't quote it.
    optimism : float
        In-sample minus held-out.
    majority, best_member : Estimate
        Of the unweighted vote, and of the member that leads on the other folds.
    beyond_majority, beyond_best : PairedDifference
        Held-out agreement of the jury minus theirs, on the same items.
    """

    members: tuple[str, ...]
    weights: Mapping[str, float]
    tie_margin: float
    spread: Mapping[str, tuple[float, float]]
    figure: str
    held_out: Estimate
    in_sample: Estimate
    optimism: float
    majority: Estimate
    best_member: Estimate
    beyond_majority: PairedDifference
    beyond_best: PairedDifference


def jury_report(
    inputs: Inputs,
    members: Collection[str],
    options: Options,
    *,
    method: Method = "logistic",
    n_folds: int = N_FOLDS,
) -> JuryReport:
    """Fit a jury of some judges of pairs and say what it's worth.

    Agreement is the comparison's own figure: leave-one-out agreement with human annotators, or accuracy where judges
    are compared with gold answers. Folds are drawn by ``options.seed``.

    Raises
    ------
    ReportError
        Other kinds than pairs, fewer than two members, or no labels to fit weights on.
    UnknownNameError
        There is no judge of a name.
    """
    if inputs.kind != KIND:
        raise ReportError("Weights are fitted for juries of pairs only.")
    judges = _members(inputs, members)
    shares = label_shares_of(inputs, gold=options.against == GOLD)
    said = np.stack([np.where(judge.judged, judge.verdicts, np.nan) for judge in judges])
    # Compared are the items that each member judged: one that judged fewer would look weak or strong by these alone.
    complete = np.all([judge.asked for judge in judges], axis=0)
    shares[~complete] = np.nan
    weights = None if options.against == GOLD else inputs.weights

    def fitted(how: Method) -> CrossFittedJury:
        return cross_fit(
            said,
            shares,
            inputs.items.cluster,
            method=how,
            weights=weights,
            n_folds=n_folds,
            rng=options.seed,
        )

    with quiet():
        jury, best = fitted(method), fitted("best_member")
    if np.isnan(jury.fit.tie_margin):
        raise ReportError(
            f"Weights can't be fitted: {inputs.name} needs "
            f"{'gold answers' if options.against == GOLD else 'labels'} and verdicts of all members "
            "on two instructions or more."
        )
    columns = {
        "held_out": jury.verdicts,
        "in_sample": jury.in_sample,
        "majority": majority_verdicts(said),
        "best_member": best.verdicts,
    }
    scores = _scores(inputs, options, columns, np.any([judge.judged for judge in judges], axis=0), complete)
    how: Sampling = {
        "clusters": inputs.items.cluster,
        "n_resamples": options.n_resamples,
        "rng": options.seed,
        "confidence": options.confidence,
        "weights": weights,
    }
    with quiet():
        found = {name: mean_estimate(values, **how) for name, values in scores.items()}
        against = {
            name: paired_difference(scores["held_out"], scores[name], **how)
            for name in ("majority", "best_member")
        }
    names = tuple(judge.name for judge in judges)
    return JuryReport(
        members=names,
        weights=dict(zip(names, jury.fit.weights.tolist(), strict=True)),
        tie_margin=jury.fit.tie_margin,
        spread={
            name: (float(column.min()), float(column.max()))
            for name, column in zip(names, jury.by_fold.T, strict=True)
        },
        figure="accuracy" if options.against == GOLD else "agreement",
        optimism=found["in_sample"].value - found["held_out"].value,
        beyond_majority=against["majority"],
        beyond_best=against["best_member"],
        **found,
    )


def _members(inputs: Inputs, names: Collection[str]) -> list[JudgeAnswers]:
    known = {judge.name: judge for judge in inputs.judges if not judge.baseline}
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"No judge {name!r} is among those compared{near_names(name, list(known))}"
            )
    if len(set(names)) < FEWEST:
        raise ReportError("A jury has two members or more.")
    return [known[name] for name in dict.fromkeys(names)]


def label_shares_of(inputs: Inputs, *, gold: bool) -> Floats:
    """The shares of ties, of the first and of the second response among an item's labels, (n_items, 3); NaN of none."""
    n = len(inputs.items)
    counts = np.zeros((n, 3))
    if gold:
        known = np.flatnonzero(inputs.items.has_gold)
        counts[known, inputs.items.gold[known, 0].astype(np.intp)] = 1.0
    else:
        np.add.at(counts, (inputs.labels.item, inputs.labels.choice.astype(np.intp)), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.nan)


def _scores(
    inputs: Inputs, options: Options, columns: Mapping[str, Floats], judged: Booleans, complete: Booleans
) -> dict[str, Floats]:
    """What each of some columns of verdicts adds to the comparison's figure, by item; NaN where it does not count."""
    judges = tuple(
        replace(
            baseline_judge(name, name, values[:, :, np.newaxis]),
            judged=judged & complete[:, np.newaxis],
            unparsed=judged & complete[:, np.newaxis] & np.isnan(values),
        )
        for name, values in columns.items()
    )
    sample = FIGURES[KIND].sample(replace(inputs, judges=judges), options)
    figure = "accuracy" if options.against == GOLD else "agreement"
    return {
        name: item_means(getattr(judge, figure)) for name, judge in zip(columns, sample.judges, strict=True)
    }
