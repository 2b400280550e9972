"""Agreement of single votes: of a judge with each vote of a person, and of the votes of people with one another."""

from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_verdicts, check_choices, check_option
from metaeval.stats.counts import count_labels
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, ratio_estimate

TiedVotes: TypeAlias = Literal["count", "omit"]


@aligned()
def vote_agreement(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    ties: TiedVotes = "count",
    **options: Unpack[Sampling],
) -> Estimate:
    """How often a judge and a vote of a person are the same, all votes together; without a judge, two votes of people.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Votes of people: 1, 2, 0 (tie), NaN where missing; or a tuple (item, annotator, value).
    verdicts : array_like of shape (n_items,) or (n_items, 2), optional
        The judge's: 1, 2, 0 (tie) or NaN (unparsed). Two presentation orders that differ are a tie. An item of which
        no order could be read is left out.
    ties : {"count", "omit"}
        A tie is a vote like any other, so that two ties agree and a tie and a choice do not ("setup S1" of MT-bench);
        or every tie, of people and of the judge, is left out ("setup S2").
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts items. NaN with a `StatisticsWarning` where no item has two votes to compare. An item
        with many votes weighs more; `pairwise_agreement` weighs items alike.

    Raises
    ------
    InvalidInputError
        For a vote or a verdict other than 0, 1, 2 and NaN.

    References
    ----------
    L. Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023, table 5.

    Examples
    --------
    >>> votes = [[1, 1, 2], [2, 0, float("nan")]]
    >>> vote_agreement(votes, [[1, 1], [2, 1]]).value     # 2 of 3 votes, and 1 of 2: the second verdict is a tie
    0.6
    >>> round(vote_agreement(votes, [[1, 1], [2, 1]], ties="omit").value, 6)     # 2 of 3
    0.666667
    >>> vote_agreement(votes).value     # 1 of 3 pairs of votes, and 0 of 1
    0.25
    """
    check_option(ties, ("count", "omit"), "ties")
    judged = None if verdicts is None else _one_verdict(as_verdicts(verdicts))
    counts = count_labels(labels, None if judged is None else len(judged))
    votes = counts.per_item().astype(np.float64)
    given = counts.values[votes.any(axis=0)] if len(votes) else counts.values[:0]
    check_choices(given, "labels")
    if ties == "omit":
        votes = votes * (counts.values != 0)
        if judged is not None:
            judged = np.where(judged == 0, np.nan, judged)
    if judged is None:
        n = votes.sum(axis=1)
        return ratio_estimate(
            (votes * (votes - 1)).sum(axis=1) / 2, n * (n - 1) / 2, reason="no item has two votes", **options
        )
    counted: Booleans = ~np.isnan(judged)
    same = votes * (counts.values == judged[:, np.newaxis])
    return ratio_estimate(
        np.where(counted, same.sum(axis=1), 0.0),
        np.where(counted, votes.sum(axis=1), 0.0),
        reason="no item has a verdict and a vote",
        **options,
    )


def _one_verdict(judged: Floats) -> Floats:
    """Of two orders what both say, a tie where they differ; NaN where neither could be read."""
    check_choices(judged, "verdicts")
    first, last = judged[:, 0], judged[:, -1]
    unread = np.isnan(first) & np.isnan(last)
    verdict: Floats = np.where(first == last, first, 0.0)
    return np.where(unread, np.nan, verdict)
