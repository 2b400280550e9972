"""Resampled parameters in one step, for rows that are all different: those with covariates.

At the estimate every row pulls the parameters by its score. A resample's parameters are the estimate plus the inverse
of the information times the sum of its rows' scores: the first step of Newton's method, with the information of the
whole data. Its variance is the cluster-robust ("sandwich") variance. What a full fit of each resample would add is of
the order of one over the number of clusters.
"""

import numpy as np
from scipy import sparse

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.bradley_terry_fit import Design, derivatives_at, differences_at
from metaeval.stats.pair_resampling import resampled_totals
from metaeval.stats.resampling import Resamples
from metaeval.stats.tie_models import WITH_PARAMETER, slopes


def one_step_parameters(
    design: Design, counts: Floats, point: Floats, cluster: Integers, resamples: Resamples
) -> Floats:
    """Parameters in each resample, (n_resamples, n_parameters).

    Parameters
    ----------
    design : Design
        One pair a row.
    counts : ndarray of shape (3, n_rows)
    point : ndarray of shape (n_parameters,)
        The estimate.
    cluster : ndarray of shape (n_rows,)
        Cluster number of each row in the resamples.
    """
    table = _scores(design, counts, point, cluster, resamples.n_clusters)
    gradient, information = derivatives_at(design, counts, point)
    # At the estimate the rows' scores and the prior's pull cancel: a resample starts from the prior's part.
    prior = gradient - np.asarray(table.sum(axis=1)).ravel()
    parts = [
        point + np.linalg.solve(information, (totals + prior).T).T
        for totals in resampled_totals(table, resamples)
    ]
    return np.concatenate(parts)


def _scores(
    design: Design, counts: Floats, point: Floats, cluster: Integers, n_clusters: int
) -> sparse.csc_array:
    """Sum of the scores of each cluster, (n_parameters, n_clusters)."""
    size, n_extra = design.n_systems, design.extra.shape[1]
    k = point[-1:] if design.model in WITH_PARAMETER else np.zeros(1)
    by_row = slopes(design.model, differences_at(design, point)[np.newaxis], k[:, np.newaxis], *counts)
    pull = by_row.d[0]
    values = [pull, -pull]
    parameters = [design.first, design.second]
    for place in range(n_extra):
        values.append(pull * design.extra[:, place])
        parameters.append(np.full(len(pull), size + place))
    if by_row.k is not None and counts[2].any():
        values.append(by_row.k[0])
        parameters.append(np.full(len(pull), size + n_extra))
    entries = (np.concatenate(values), (np.concatenate(parameters), np.tile(cluster, len(values))))
    return sparse.csc_array(entries, shape=(len(point), n_clusters))
