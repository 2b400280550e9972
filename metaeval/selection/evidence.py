"""What a choice reads: the figures of all judges, in all data and in each resample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.selection.draws import Draws
from metaeval.selection.objective import Objective
from metaeval.selection.requirements import Requirements
from metaeval.selection.table import ItemTable
from metaeval.selection.types import Booleans, Candidate, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Everything that the parts of a `Selection` are computed from.

    Attributes
    ----------
    objective : Objective
    requirements : Requirements
    candidates : tuple of Candidate
        In the order of the table's judges.
    values : ndarray of shape (n_figures, n_judges)
    resampled : ndarray of shape (n_resamples, n_figures, n_judges)
    objectives : ndarray of shape (n_judges,)
        NaN for a judge that judged nothing of some dataset that decides.
    admitted : ndarray of bool, shape (n_judges,)
        The judges that may be chosen.
    """

    objective: Objective
    requirements: Requirements
    candidates: tuple[Candidate, ...]
    values: Floats
    resampled: Floats
    objectives: Floats
    admitted: Booleans

    @property
    def table(self) -> ItemTable:
        """The items."""
        return self.objective.table


def evidence_of(
    table: ItemTable,
    requirements: Requirements,
    candidates: Sequence[Candidate],
    draws: Draws,
    confidence: float,
) -> Evidence:
    """Every figure of every judge, in all data and in every resample."""
    values = table.values(table.tops.sum(axis=0), table.bottoms.sum(axis=0))
    objectives = table.objective(values)
    n_figures, n_judges = values.shape
    columns = np.concatenate([table.tops, table.bottoms], axis=1).reshape(
        table.n_clusters, 2 * n_figures * n_judges
    )
    totals = draws.totals(columns).reshape(draws.n_resamples, 2 * n_figures, n_judges)
    return Evidence(
        Objective(table, draws, confidence),
        requirements,
        tuple(candidates),
        values,
        table.values(totals[:, :n_figures], totals[:, n_figures:]),
        objectives,
        requirements.admitted(values) & ~np.isnan(objectives),
    )
