"""What one person's label does to the leave-one-out agreement of its item: people's, a judge's, the best judge's.

An interval that speaks of other people has to know how far each person moves the figure, with the modes taken anew. So
each label is replaced by those of the others of its item, one after another, which leaves the number of labels of the
item as it is: the score minus the mean of the scores after that is the label's effect. (Leaving the label out instead
would change the number of labels, and a majority of two moves otherwise than one of three.)

All of it depends on how often the values of an item were given, not on which they are, so an item is reduced to its
counts in descending order, and everything is looked up in a table of the few distinct ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.counts import LabelCounts, LongLabels
from metaeval.stats.modes import judge_score, people_score, tops

# A score of rows of counts; the first column is how often the verdict's value was given.
Score = Callable[[Integers], Floats]


def people_of(states: Integers) -> Floats:
    """People's own score."""
    return people_score(tops(states))


def judge_of(states: Integers) -> Floats:
    """A judge's."""
    return judge_score(states[:, 0], tops(states))


def best_of(states: Integers) -> Floats:
    """That of a judge that always predicts the mode."""
    top = tops(states)
    return judge_score(top.first, top)


def at_overlap(states: Integers, score: Score, n_labels: int) -> Floats:
    """The score's expectation over all ways to keep this many labels of the item: NaN where it has fewer.

    Labels are taken away one at a time, each with the same chance. Which values they are matters no more than the
    order of the columns, so few distinct rows are left at every step.

    Examples
    --------
    >>> at_overlap(np.array([[0, 2, 1]]), people_of, 2).round(3).tolist()     # one pair of three agrees
    [0.333]
    """
    total = states.sum(axis=1)
    result = np.full(len(states), np.nan)
    exact = total == n_labels
    if exact.any():
        result[exact] = score(states[exact])
    more = np.flatnonzero(total > n_labels)
    if not len(more):
        return result
    parent, column = np.nonzero(states[more])
    fewer = states[more][parent]
    chance = fewer[np.arange(len(parent)), column] / total[more][parent]
    fewer[np.arange(len(parent)), column] -= 1
    fewer[:, 1:] = -np.sort(-fewer[:, 1:], axis=1)
    distinct, place = distinct_rows(fewer)
    found = at_overlap(distinct, score, n_labels)[place]
    result[more] = np.bincount(parent, weights=chance * found, minlength=len(more))
    return result


def distinct_rows(rows: Integers) -> tuple[Integers, Integers]:
    """(the distinct rows of a table of counts, the place of each row among them)."""
    base = int(rows.max(initial=0)) + 1
    if rows.shape[1] * np.log2(base) < 62:
        codes = rows @ base ** np.arange(rows.shape[1])
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        return rows[first], place
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.reshape(-1)


def others_part(size: Integers, n_labels: int | None, of: str) -> Floats:
    """What the others of an item do to the effect of one label, per unit of what its own person does.

    Exact where two or three labels are compared: a judge is compared with single labels or pairs of them, whose mean
    is linear, and the effects of an item add up to 0; two people agree or not, so both have the whole effect. With
    more labels it depends on how divided people are, and these are values in between (worked out for two values and
    55 to 85% on one side). They matter with a handful of people only.
    """
    compared = size if n_labels is None else np.minimum(size, n_labels)
    few = compared <= 3
    if of == "judge":
        return np.where(few, -1.0, -0.5)
    pairs = (3 - size) / np.maximum(size - 1, 1)
    return np.where(few, pairs, np.where(size > compared, -0.3, 1.0 if of == "best" else 0.3))


@dataclass(frozen=True)
class LabelEffects:
    """The labels of items as counts in descending order, and what each label does to the score of its item.

    Attributes
    ----------
    read : LongLabels
        The labels.
    n_labels : int or None
        Scores are expectations over all ways to keep this many labels of an item; None: of all labels.
    """

    read: LongLabels
    n_labels: int | None = None

    @cached_property
    def counts(self) -> LabelCounts:
        """How often each value was given to each item."""
        read = self.read
        return LabelCounts(read.values, np.arange(read.n_items), None, read.item, read.code)

    @cached_property
    def _ranks(self) -> Integers:
        """The place of each value among the values of an item, most frequent first: (n_items, n_values)."""
        matrix = self.counts.matrix
        order = np.argsort(-matrix, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(matrix.shape[1])[np.newaxis], axis=1)
        return ranks

    @cached_property
    def _patterns(self) -> tuple[Integers, Integers]:
        """(distinct counts in descending order, the place of each item among them)."""
        ordered = -np.sort(-self.counts.matrix, axis=1)
        width = int((ordered > 0).sum(axis=1).max(initial=1))
        return distinct_rows(ordered[:, :width])

    @cached_property
    def size(self) -> Integers:
        """Labels of each item."""
        return np.bincount(self.read.item, minlength=self.read.n_items)

    def people(self) -> tuple[Floats, Floats]:
        """(score of each item, effect of each label) of people; NaN where an item has too few labels."""
        return self._looked_up(people_of, None)

    def best(self) -> tuple[Floats, Floats]:
        """The same of the best judge that there could be."""
        return self._looked_up(best_of, None)

    def judge(self, verdict: Floats) -> tuple[Floats, Floats]:
        """The same of a judge; a verdict that is NaN matches nothing."""
        counts, n_values = self.counts, len(self.read.values)
        column = counts.columns(verdict)
        known = np.flatnonzero(column < n_values)
        width = self._patterns[0].shape[1]
        rank = np.full(len(column), width)
        given = known[counts.matrix[known, column[known]] > 0]
        rank[given] = self._ranks[given, column[given]]
        return self._looked_up(judge_of, rank)

    def _looked_up(self, score: Score, verdict: Integers | None) -> tuple[Floats, Floats]:
        read = self.read
        patterns, place = self._patterns
        if self.n_labels is not None:
            plain, size = score, self.n_labels
            scores, effects = _tables(
                patterns, lambda rows: at_overlap(rows, plain, size), verdict is not None
            )
        else:
            scores, effects = _tables(patterns, score, verdict is not None)
        state = place if verdict is None else place * (patterns.shape[1] + 1) + verdict
        rank = self._ranks[read.item, read.code]
        return scores.take(state), effects.take(state[read.item] * patterns.shape[1] + rank)


def _tables(patterns: Integers, score: Score, judged: bool) -> tuple[Floats, Floats]:
    """Scores of every pattern and verdict, and the effect of a label by its place in the pattern, flattened.

    The verdict is the value at one place of the pattern, or after the last a value that nobody gave.
    """
    n, width = patterns.shape
    verdicts = range(width + 1) if judged else (width,)
    states = np.zeros((n, len(verdicts), width + 1), dtype=np.intp)
    states[:, :, 1:] = patterns[:, np.newaxis]
    for place, verdict in enumerate(verdicts):
        if verdict < width:
            states[:, place, 0] = patterns[:, verdict]
            states[:, place, verdict + 1] = 0
    flat = states.reshape(-1, width + 1)
    scores = score(flat)
    of_pattern = np.repeat(patterns, len(verdicts), axis=0)
    others = np.maximum(of_pattern.sum(axis=1) - 1, 1)
    own = np.tile(np.array(verdicts), n)
    effects = np.zeros((len(flat), width))
    rows = np.arange(len(flat))
    for taken in range(width):
        after = np.zeros(len(flat))
        for put in range(width):
            weight = (of_pattern[:, put] - (put == taken)) / others
            used = np.flatnonzero((of_pattern[:, taken] > 0) & (weight > 0))
            if not len(used):
                continue
            if put == taken:
                after[used] += weight[used] * scores[used]
                continue
            changed = flat[used]
            changed[rows[: len(used)], np.where(own[used] == taken, 0, taken + 1)] -= 1
            changed[rows[: len(used)], np.where(own[used] == put, 0, put + 1)] += 1
            after[used] += weight[used] * score(changed)
        effects[:, taken] = np.where(of_pattern[:, taken] > 0, scores - after, 0.0)
    return scores, effects.ravel()
