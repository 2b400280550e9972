"""What items and labels contribute to leave-one-out agreement: of people, of a judge."""

from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Seed, as_verdicts, check_option, generator, mean_of_orders
from metaeval.stats.contributions import contributions_of
from metaeval.stats.counts import LabelCounts, LongLabels, count_labels, pattern_table
from metaeval.stats.modes import (
    alpaca_judge,
    alpaca_people,
    judge_score,
    judge_terms,
    label_scores,
    over_labels,
    people_score,
    people_terms,
    tops,
)

TieBreak: TypeAlias = Literal["expected", "random", "alpaca_eval"]
Unparsed: TypeAlias = Literal["wrong", "omit"]

_TIE_BREAKS = ("expected", "random", "alpaca_eval")


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
    >>> from metaeval.stats.counts import read_labels
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
@contributions_of("leave_one_out_agreement")
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


@lru_cache(maxsize=32)
def _people_table(n_annotators: int, n_values: int) -> Floats:
    return people_score(tops(pattern_table(n_annotators, n_values)))


@lru_cache(maxsize=32)
def _judge_table(n_annotators: int, n_values: int) -> Floats:
    """Scores of every pattern and verdict, flattened; the last verdict is a value that nobody gave."""
    matrix = pattern_table(n_annotators, n_values)
    top = tops(matrix)
    nobody = np.zeros(len(matrix), dtype=np.intp)
    return np.stack([judge_score(own, top) for own in [*matrix.T, nobody]], axis=1).ravel()


def _table_key(counts: LabelCounts) -> tuple[int, int]:
    """(annotators, values) of a table of patterns: its last row is all annotators on every value."""
    return int(counts.matrix[-1, 0]), len(counts.values)


def _people(counts: LabelCounts, tie_break: TieBreak, rng: Seed) -> Floats:
    if tie_break == "alpaca_eval":
        return alpaca_people(counts)[counts.row]
    if tie_break == "expected":
        scores = _people_table(*_table_key(counts)) if counts.tabular else people_score(tops(counts.matrix))
        return scores.take(counts.row)
    top = tops(counts.matrix).of(counts.row)
    how_many, chance = people_terms(top)
    return over_labels(generator(rng, 1).binomial(how_many, chance).astype(np.float64), top.total)


def _judge(counts: LabelCounts, verdict: Floats, tie_break: TieBreak, rng: np.random.Generator) -> Floats:
    if tie_break == "alpaca_eval":
        return alpaca_judge(counts, verdict)
    column = counts.columns(verdict)
    if tie_break == "expected" and counts.tabular:
        return _judge_table(*_table_key(counts)).take(counts.row * (len(counts.values) + 1) + column)
    padded = np.concatenate([counts.matrix, np.zeros((len(counts.matrix), 1), dtype=np.intp)], axis=1)
    own, top = padded[counts.row, column], tops(counts.matrix).of(counts.row)
    if tie_break == "expected":
        return judge_score(own, top)
    matches = np.zeros(len(own))
    for how_many, chance in judge_terms(own, top):
        matches += rng.binomial(how_many, chance)
    return over_labels(matches, top.total)
