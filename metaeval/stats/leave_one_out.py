"""Leave-one-out agreement of people, of a judge, and of the best judge there could be."""

from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.alpaca_convention import alpaca_judge, alpaca_people
from metaeval.stats.arrays import Floats, Integers, Seed, as_verdicts, check_option, generator
from metaeval.stats.counts import LabelCounts, LongLabels, count_labels, pattern_table, read_labels
from metaeval.stats.crossed import crossed_mean_estimate
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.modes import Tops, label_scores, tops
from metaeval.stats.resampling import DEFAULT_RESAMPLES, Resamples

TieBreak: TypeAlias = Literal["expected", "random", "alpaca_eval"]
Unparsed: TypeAlias = Literal["wrong", "omit"]
People: TypeAlias = Literal["fixed", "sampled"]

_TIE_BREAKS = ("expected", "random", "alpaca_eval")
_NO_LABELS = "no item has two labels"


@aligned()
def leave_one_out_agreement(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    clusters: Any = None,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    people: People = "fixed",
    rng: Seed = None,
    confidence: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    resamples: Resamples | None = None,
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """Agreement with the mode of the other people's labels.

    For item *i* with labels ``y1..ym`` leave out each label in turn and take the modes *M* of the others.
    People score ``1[yj in M] / |M|``, the exact expectation when ties are broken at random; a judge scores
    the same with its verdict in place of ``yj``. Mean over *j*, then over the items that have two labels or
    more.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value), see `count_labels`.
    verdicts : array_like of shape (n_items,) or (n_items, 2), optional
        The judge's; NaN is unparsed. Two columns are two presentation orders, and their mean is taken.
        Without verdicts the figure is people's own.
    clusters : array_like of shape (n_items,), optional
        Items of one cluster are resampled together. Default: each item by itself.
    tie_break : {"expected", "random", "alpaca_eval"}
        ``"random"`` draws one mode for every label left out, from ``rng``. ``"alpaca_eval"`` is the published
        convention: labels 0, 1, 2 with a tie (0) halfway between 1 and 2, score 1 - distance, a judge
        compared with the mode of *all* labels, two tied modes broken towards the larger and three towards 1.
    unparsed : {"wrong", "omit"}
        An unparsed verdict never matches and stays in the denominator, or is left out.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of other people too: people are crossed with
        items, and ``"sampled"`` resamples both (see `metaeval.stats.crossed`). The figure is the same.
    rng : int, numpy.random.Generator or None
        Seed of the interval and of ``tie_break="random"``. None is a fixed seed.
    confidence, n_resamples, resamples, where, weights
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has two labels.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm", NeurIPS 2023, and the AlpacaEval repository; X. Lyu et al., "HREF: Human
    Response-Guided Evaluation of Instruction Following in Language Models", 2024.

    Examples
    --------
    >>> labels = [[1, 1, 2], [2, 2, 2]]
    >>> round(leave_one_out_agreement(labels).value, 6)     # (1/3 + 1) / 2
    0.666667
    >>> round(leave_one_out_agreement(labels, [1, 2]).value, 6)     # (2/3 + 1) / 2
    0.833333
    """
    check_option(people, ("fixed", "sampled"), "people")
    options: Sampling = {
        "clusters": clusters,
        "resamples": resamples,
        "where": where,
        "confidence": confidence,
        "n_resamples": n_resamples,
        "rng": rng,
        "weights": weights,
    }
    if people == "fixed":
        contributions = leave_one_out_contributions(
            labels, verdicts, tie_break=tie_break, unparsed=unparsed, rng=rng
        )
        return mean_estimate(contributions, reason=_NO_LABELS, **options)
    read = read_labels(labels, None if verdicts is None else len(as_verdicts(verdicts)))
    scores = leave_one_out_scores(read, verdicts, tie_break=tie_break, unparsed=unparsed, rng=rng)
    counted = ~np.isnan(scores)
    n_labels = np.bincount(read.item[counted], minlength=read.n_items)
    return crossed_mean_estimate(
        scores,
        read.item,
        read.annotator,
        n_items=read.n_items,
        shares=1.0 / np.maximum(n_labels, 1)[read.item],
        reason=_NO_LABELS,
        **options,
    )


def leave_one_out_scores(
    read: LongLabels,
    verdicts: ArrayLike | None = None,
    *,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    rng: Seed = None,
) -> Floats:
    """What each *label* contributes: its own agreement with the mode of the others, or the verdict's in its place.

    Parameters
    ----------
    read : LongLabels
        What `read_labels` gives.
    verdicts, unparsed, rng
        As of `leave_one_out_agreement`.
    tie_break : {"expected", "random"}
        The published convention compares judges with another mode than people, so it has no score of a label.

    Returns
    -------
    ndarray of shape (n_labels,)
        NaN where the item has no other label, and for an unparsed verdict that is left out.

    Examples
    --------
    >>> leave_one_out_scores(read_labels([[1, 1, 2]])).tolist()
    [0.5, 0.5, 0.0]
    """
    check_option(tie_break, ("expected", "random"), "tie_break")
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    if verdicts is None:
        return _drawn(label_scores(read), tie_break, generator(rng, 1))
    columns = as_verdicts(verdicts, read.n_items).T
    parts = []
    for order, column in enumerate(columns):
        scores = _drawn(label_scores(read, column), tie_break, generator(rng, order + 1))
        if unparsed == "omit":
            scores[np.isnan(column)[read.item]] = np.nan
        parts.append(scores)
    return parts[0] if len(parts) == 1 else mean_of_orders(np.stack(parts, axis=1))


def _drawn(scores: Floats, tie_break: TieBreak, rng: np.random.Generator) -> Floats:
    """The scores, or with random tie-breaks 1 with that chance and else 0."""
    if tie_break == "expected":
        return scores
    return np.where(np.isnan(scores), np.nan, rng.random(len(scores)) < scores)


@aligned()
def leave_one_out_contributions(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    rng: Seed = None,
) -> Floats:
    """What each item contributes to `leave_one_out_agreement`: shape (n_items,), NaN where it has none.

    Examples
    --------
    >>> leave_one_out_contributions([[1, 1, 2, 2], [1, 2, 2, 2], [1, float("nan")] * 2][:2], [1, 2]).tolist()
    [0.5, 1.0]
    """
    check_option(tie_break, _TIE_BREAKS, "tie_break")
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    judged = None if verdicts is None else as_verdicts(verdicts)
    counts = count_labels(labels, None if judged is None else len(judged))
    if judged is None:
        return _people(counts, tie_break, rng)
    scores = [
        _judge(counts, column, tie_break, generator(rng, order + 1)) for order, column in enumerate(judged.T)
    ]
    for score, column in zip(scores, judged.T, strict=True):
        missing = np.isnan(column)
        if missing.any():
            score[missing & ~np.isnan(score)] = 0.0 if unparsed == "wrong" else np.nan
    return scores[0] if len(scores) == 1 else mean_of_orders(np.stack(scores, axis=1))


@aligned()
def best_reachable_agreement(
    labels: Any,
    *,
    clusters: Any = None,
    rng: Seed = None,
    confidence: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    resamples: Resamples | None = None,
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The leave-one-out agreement of a judge that always predicts the mode of all labels.

    No verdict scores more on any item, so no judge scores more; people score less, as each of them is
    compared with a mode that their own label had no part in. Which of several modes is predicted makes no
    difference.

    Examples
    --------
    >>> round(best_reachable_agreement([[1, 1, 2], [2, 2, 2]]).value, 6)
    0.833333
    """
    counts = count_labels(labels)
    top = tops(counts.matrix)
    scores = _judge_expected(top.first, top)[counts.row]
    return mean_estimate(
        scores,
        reason=_NO_LABELS,
        clusters=clusters,
        resamples=resamples,
        where=where,
        confidence=confidence,
        n_resamples=n_resamples,
        rng=rng,
        weights=weights,
    )


def mean_of_orders(scores: Floats) -> Floats:
    """Mean over presentation orders, (n_items, n_orders) to (n_items,); NaN takes no part, all NaN is NaN."""
    missing = np.isnan(scores)
    if scores.shape[1] and not missing.any():
        mean: Floats = scores.mean(axis=1)
        return mean
    counted = (~missing).sum(axis=1)
    total = np.where(missing, 0.0, scores).sum(axis=1)
    return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)


def _people_terms(top: Tops) -> tuple[Integers, Floats]:
    """(how many labels can match at all, the chance that each does); the others never match.

    A label matches only if its value still is a mode when it is taken away: it must be the sole mode, and
    then it stays alone if it was two ahead, and is level with the runners-up if it was one ahead.
    """
    ahead = top.first - top.second
    chance = np.where(ahead >= 2, 1.0, 1.0 / (1 + top.n_second))
    return np.where(top.n_first == 1, top.first, 0), chance


def _judge_terms(own: Integers, top: Tops) -> list[tuple[Integers, Floats]]:
    """Labels left out, by what their absence does for a verdict: [(how many, the chance of a match)].

    ``own`` is how often the verdict's value was given; its strongest rivals have ``rival`` labels each and
    are ``n_rivals``. Leaving out one of its own labels weakens the verdict, leaving out a rival's
    strengthens it.
    """
    is_first = own == top.first
    sole = is_first & (top.n_first == 1)
    rival = np.where(sole, top.second, top.first)
    n_rivals = np.where(sole, top.n_second, top.n_first - is_first)
    ahead, level = own > rival, (own == rival) & (own > 0)
    # One behind a single rival: level with it, and with others of the same count, when the rival loses a
    # label.
    behind = (own == rival - 1) & (n_rivals == 1) & (own > 0)
    others = top.total - own
    weakened = np.where(ahead, own, 0)
    strengthened = np.where(level, rival * n_rivals, np.where(behind, rival, 0))
    chance_weakened = np.where(own - 1 > rival, 1.0, 1.0 / (1 + n_rivals))
    chance_strengthened = np.where(level, 1.0 / np.maximum(n_rivals, 1), 1.0 / (1 + top.n_second))
    rest = np.where(ahead, others, np.where(level, others - rival * n_rivals, 0))
    chance_rest = np.where(ahead, 1.0, 1.0 / (1 + n_rivals))
    return [(weakened, chance_weakened), (strengthened, chance_strengthened), (rest, chance_rest)]


def _over_labels(matches: Floats, total: Integers) -> Floats:
    """Matches as a share of the labels left out; undefined where no label would be left."""
    return np.where(total >= 2, matches / np.maximum(total, 1), np.nan)


def _people_expected(top: Tops) -> Floats:
    how_many, chance = _people_terms(top)
    return _over_labels(how_many * chance, top.total)


def _judge_expected(own: Integers, top: Tops) -> Floats:
    matches = np.zeros(len(own))
    for how_many, chance in _judge_terms(own, top):
        matches += how_many * chance
    return _over_labels(matches, top.total)


@lru_cache(maxsize=32)
def _people_table(n_annotators: int, n_values: int) -> Floats:
    return _people_expected(tops(pattern_table(n_annotators, n_values)))


@lru_cache(maxsize=32)
def _judge_table(n_annotators: int, n_values: int) -> Floats:
    """Scores of every pattern and verdict, flattened; the last verdict is a value that nobody gave."""
    matrix = pattern_table(n_annotators, n_values)
    top = tops(matrix)
    nobody = np.zeros(len(matrix), dtype=np.intp)
    return np.stack([_judge_expected(own, top) for own in [*matrix.T, nobody]], axis=1).ravel()


def _table_key(counts: LabelCounts) -> tuple[int, int]:
    """(annotators, values) of a table of patterns: its last row is all annotators on every value."""
    return int(counts.matrix[-1, 0]), len(counts.values)


def _people(counts: LabelCounts, tie_break: TieBreak, rng: Seed) -> Floats:
    if tie_break == "alpaca_eval":
        return alpaca_people(counts)[counts.row]
    if tie_break == "expected":
        scores = (
            _people_table(*_table_key(counts)) if counts.tabular else _people_expected(tops(counts.matrix))
        )
        return scores.take(counts.row)
    top = tops(counts.matrix).of(counts.row)
    how_many, chance = _people_terms(top)
    return _over_labels(generator(rng, 1).binomial(how_many, chance).astype(np.float64), top.total)


def _judge(counts: LabelCounts, verdict: Floats, tie_break: TieBreak, rng: np.random.Generator) -> Floats:
    if tie_break == "alpaca_eval":
        return alpaca_judge(counts, verdict)
    column = counts.columns(verdict)
    if tie_break == "expected" and counts.tabular:
        return _judge_table(*_table_key(counts)).take(counts.row * (len(counts.values) + 1) + column)
    padded = np.concatenate([counts.matrix, np.zeros((len(counts.matrix), 1), dtype=np.intp)], axis=1)
    own, top = padded[counts.row, column], tops(counts.matrix).of(counts.row)
    if tie_break == "expected":
        return _judge_expected(own, top)
    matches = np.zeros(len(own))
    for how_many, chance in _judge_terms(own, top):
        matches += rng.binomial(how_many, chance)
    return _over_labels(matches, top.total)
