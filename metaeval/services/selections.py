"""The choice of a judge over several datasets of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache

from annotation.kinds import kind_of
from metaeval.reports.decision.inputs import Criteria
from metaeval.reports.decision.report import SelectionReport, selection_report
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.report import software_version
from metaeval.selectors.selection_inputs import selection_inputs
from metaeval.selectors.sweeps import SweepView
from metaeval.services.comparisons import CONTESTANTS_ONLY
from metaeval.services.reports import CACHE_SECONDS
from metaeval.stats import InvalidInputError

# Items times judges that are computed while a page waits: about two seconds, pairs and others.
QUICK, QUICK_OF_KINDS = 40_000, 10_000


@dataclass(frozen=True, slots=True)
class SelectionFound:
    """The report of the choice, or None while it would take so long that the page says so first."""

    report: SelectionReport | None
    n_items: int
    n_judges: int


def selection_get(*, sweep: SweepView, criteria: Criteria, wait: bool = False) -> SelectionFound:
    """Choose a judge of a sweep, from the cache where the same inputs were computed lately.

    Parameters
    ----------
    wait : bool
        Compute however long it takes.

    Raises
    ------
    ReportError
        There is nothing to choose from, or the choice is none that can be made.
    """
    if not sweep.judge_ids:
        raise NothingJudgedError(CONTESTANTS_ONLY if sweep.n_contestants else "This sweep has no judges.")
    inputs = selection_inputs(sweep=sweep, criteria=criteria)
    inputs_hash = inputs.hash()
    content = cache.get(_key(inputs_hash))
    report = None if content is None else SelectionReport.read(content)
    if report is None and (
        wait or inputs.size <= (QUICK if kind_of(criteria.kind).presented else QUICK_OF_KINDS)
    ):
        try:
            report = selection_report(inputs, inputs_hash=inputs_hash)
        except InvalidInputError as error:
            raise ReportError(f"No choice can be made from this: {error}.") from None
        selection_keep(report)
    n_judges = sum(not candidate.is_baseline for candidate in inputs.candidates)
    return SelectionFound(report, inputs.n_items, n_judges)


def selection_keep(report: SelectionReport) -> SelectionReport:
    """Have a choice in the cache."""
    cache.set(_key(report.inputs_hash), report.as_json(), CACHE_SECONDS)
    return report


def _key(inputs_hash: str) -> str:
    return f"selection:{software_version()}:{inputs_hash}"
