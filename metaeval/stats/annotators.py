"""Leave-one-out agreement taken apart: by category of the items, and by annotator."""

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_mask, as_verdicts, as_weights
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling, mean_estimate, resolve
from metaeval.stats.leave_one_out_scores import (
    TieBreak,
    Unparsed,
    leave_one_out_contributions,
    leave_one_out_scores,
)

_NO_LABELS = "no item has two labels"


@aligned()
def leave_one_out_by(
    labels: Any,
    groups: Any,
    verdicts: ArrayLike | None = None,
    *,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    **options: Unpack[Sampling],
) -> dict[Any, Estimate]:
    """Leave-one-out agreement in each group of items: a category, a subset path, a model pair.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        As of `leave_one_out_agreement`.
    groups : array_like of shape (n_items,)
        The group of each item; None is a group too.
    verdicts : array_like of shape (n_items,) or (n_items, 2), optional
        A judge's, in which case the figures are the judge's.
    tie_break, unparsed
        As of `leave_one_out_agreement`.
    **options
        See `metaeval.stats.intervals.Sampling`; all groups are on the same resamples.

    Returns
    -------
    dict
        Group to `Estimate`, in sorted order; a group without an item of two labels is undefined.

    References
    ----------
    As of `leave_one_out_agreement`.

    Examples
    --------
    >>> found = leave_one_out_by([[1, 1, 2], [2, 2, 2], [2, 2, 2]], ["qa", "chat", "chat"], n_resamples=0)
    >>> {group: round(estimate.value, 3) for group, estimate in found.items()}
    {'chat': 1.0, 'qa': 0.333}
    """
    contributions = leave_one_out_contributions(
        labels, verdicts, tie_break=tie_break, unparsed=unparsed, rng=options.get("rng")
    )
    distinct, codes = as_ids(groups, "groups", len(contributions))
    resamples, mask, confidence = resolve(len(contributions), options, weighted=True)
    wanted = np.ones(len(codes), dtype=bool) if mask is None else mask
    result = {}
    for code in np.unique(codes[wanted]).tolist():
        member = wanted & (codes == code)
        result[distinct[code : code + 1].tolist()[0]] = mean_estimate(
            contributions,
            reason=_NO_LABELS,
            resamples=resamples,
            where=member,
            confidence=confidence,
            weights=options.get("weights"),
        )
    return result


@aligned()
def leave_one_out_by_annotator(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    **options: Unpack[Sampling],
) -> dict[Any, Estimate]:
    """How often each person says what most of the others say of the items that this person labeled.

    Each person's labels are compared with the modes of the *other* labels of the same items, a tie being broken at
    random (its exact expectation), and averaged over the person's items. With verdicts it is the judge that stands in
    the person's place: the same items, the same others.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value).
    verdicts : array_like of shape (n_items,) or (n_items, 2), optional
        A judge's.
    tie_break : {"expected", "random"}
        The exact expectation, or one draw for each label, from ``rng``.
    unparsed : {"wrong", "omit"}
        An unparsed verdict never matches and stays in the denominator, or is left out.
    **options
        See `metaeval.stats.intervals.Sampling`. Intervals speak of other items, each person's by themselves; to
        generalise over people see ``people="sampled"`` of `leave_one_out_agreement`.

    Returns
    -------
    dict
        Annotator to `Estimate`: column number of dense labels, else the identifier; NaN for a person who shares no
        item with others.

    Notes
    -----
    The mean of these figures over people is not people's leave-one-out agreement, which is a mean over items.

    Examples
    --------
    >>> found = leave_one_out_by_annotator([[1, 1, 2], [2, 2, 2]], n_resamples=0)
    >>> {annotator: estimate.value for annotator, estimate in found.items()}
    {0: 0.75, 1: 0.75, 2: 0.5}
    """
    read = read_labels(labels, None if verdicts is None else len(as_verdicts(verdicts)))
    scores = leave_one_out_scores(
        read, verdicts, tie_break=tie_break, unparsed=unparsed, rng=options.get("rng")
    )
    if options.get("resamples") is None:
        resolve(read.n_items, options, weighted=True)
        parts = _own_items(read, scores, options)
    else:
        parts = _all_items(read, scores, options)
    return {
        name: mean_estimate(own, reason=_NO_LABELS, **some)
        for name, (own, some) in zip(read.annotators.tolist(), parts, strict=True)
    }


def _by_person(read: LongLabels) -> list[Any]:
    """The labels of each annotator, as places in ``read``."""
    order = np.argsort(read.annotator, kind="stable")
    sizes = np.bincount(read.annotator, minlength=len(read.annotators))
    return np.split(order, np.cumsum(sizes)[:-1]) if len(sizes) else []


def _own_items(read: LongLabels, scores: Floats, options: Sampling) -> list[tuple[Floats, Sampling]]:
    """Scores and options of each annotator, of the items that they labeled: linear in the labels."""
    mask = as_mask(options.get("where"), read.n_items)
    as_weights(options.get("weights"), read.n_items)
    columns: dict[str, Any] = {
        name: None if options.get(name) is None else np.asarray(options.get(name))
        for name in ("clusters", "weights")
    }
    result = []
    for own in _by_person(read):
        items = read.item[own]
        kept = own if mask is None else own[mask[items]]
        some: Any = {**options, "where": None}
        for name, column in columns.items():
            some[name] = None if column is None else column[read.item[kept]]
        result.append((scores[kept], some))
    return result


def _all_items(read: LongLabels, scores: Floats, options: Sampling) -> list[tuple[Floats, Sampling]]:
    """Scores of each annotator over all items, for resamples that the caller shares among figures."""
    result = []
    for own in _by_person(read):
        column = np.full(read.n_items, np.nan)
        column[read.item[own]] = scores[own]
        result.append((column, options))
    return result
