"""How answers lean to the longer response: one definition for people and for judges, that of `metaeval.stats`."""

import numpy as np

from metaeval.reports.estimates import Measure, mean_of
from metaeval.reports.inputs import Booleans, Floats, ItemColumns
from metaeval.stats import feature_contributions


def length_measures(answers: Floats, asked: Booleans, items: ItemColumns, reason: str) -> list[Measure]:
    """The figures of `length_bias_rate` (a mean over items) and `longer_preference_share` (pooled over answers).

    Parameters
    ----------
    answers : ndarray of shape (n_items, n_answers)
        Labels, or verdicts in the presentation orders; NaN where there is none that can be read.
    asked : ndarray of bool, shape (n_items, n_answers)
        Whether there is an answer, readable or not. One that cannot be read prefers neither response in the length
        bias, and is left out of the share.
    items : ItemColumns
    reason : str
        Said where no item counts.
    """
    first, second = items.lengths[:, 0], items.lengths[:, 1]
    prefers = np.where(asked, np.nan_to_num(answers), np.nan)
    counted = ~np.isnan(answers) & asked & (first != second)[:, np.newaxis]
    longer = np.where(first > second, 1.0, 2.0)[:, np.newaxis]
    return [
        mean_of(
            "length_bias",
            feature_contributions(prefers, first, second, unparsed="omit"),
            bounds=(-1.0, 1.0),
            reason=reason,
        ),
        Measure(
            "prefers_longer",
            (counted & (answers == longer)).sum(axis=1).astype(np.float64),
            counted.sum(axis=1).astype(np.float64),
            reason=reason,
        ),
    ]
