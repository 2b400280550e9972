"""What the comparison page of a sweep shows."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Dataset
from metaeval.reports.errors import ReportError
from metaeval.reports.report import Report
from metaeval.selectors.sweeps import SweepView
from metaeval.services.reports import DEFAULTS, content_cached, content_get, inputs_read, is_quick

CONTESTANTS_ONLY = (
    "This sweep has contestants only: they write responses, and judges compare them in another sweep."
)


@dataclass(frozen=True, slots=True)
class Comparing:
    """The content of the comparison, or None while it would take so long that the page says so first."""

    content: Report | None
    n_items: int
    n_judges: int


def comparison_get(*, sweep: SweepView, dataset: Dataset, wait: bool = False) -> Comparing:
    """Compare the judges of a sweep on one dataset, from the cache where the same inputs were computed lately.

    Parameters
    ----------
    wait : bool
        Compute however long it takes.

    Raises
    ------
    ReportError
        There is nothing to compare.
    """
    if sweep.n_contestants and not sweep.judge_ids:
        raise ReportError(CONTESTANTS_ONLY)
    inputs = inputs_read(dataset=dataset, sweep=sweep)
    ready = wait or is_quick(inputs) or content_cached(inputs.hash(DEFAULTS)) is not None
    content = content_get(inputs, DEFAULTS) if ready else None
    return Comparing(content, len(inputs.items), len(inputs.judges))


def comparison_cached(*, inputs_hash: str, sweep: SweepView, dataset: Dataset) -> Report | None:
    """The comparison with this hash, if it was computed lately and is of this sweep and dataset.

    Sorting a table need not read a hundred thousand rows again.
    """
    content = content_cached(inputs_hash)
    if content is None or content.dataset["name"] != dataset.name:
        return None
    about = content.sweep
    return content if about is not None and about["name"] == sweep.name else None
