"""The choice of a judge over several datasets of a sweep."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.cache import cache

from metaeval.models import Preregistration
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.planned import planned_section
from metaeval.reports.preregistration import day_text
from metaeval.reports.selection.inputs import Criteria
from metaeval.reports.selection.planned import done_by_choice
from metaeval.reports.selection.report import SelectionReport, selection_report
from metaeval.selectors.selections import selection_inputs
from metaeval.selectors.sweeps import SweepView
from metaeval.services.comparisons import CONTESTANTS_ONLY
from metaeval.services.reports import CACHE_SECONDS
from metaeval.stats import InvalidInputError
from web.version import software_version


def selection_get(*, sweep: SweepView, criteria: Criteria) -> SelectionReport:
    """Choose a judge of a sweep, from the cache where the same inputs were computed lately.

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
    if content is not None:
        return SelectionReport.read(content)
    try:
        return selection_keep(selection_report(inputs, inputs_hash=inputs_hash))
    except InvalidInputError as error:
        raise ReportError(f"No judge can be chosen: {error}.") from None


def selection_keep(report: SelectionReport) -> SelectionReport:
    """Have a choice in the cache."""
    cache.set(_key(report.inputs_hash), report.as_json(), CACHE_SECONDS)
    return report


def selection_read(content: Mapping[str, Any]) -> SelectionReport:
    """A choice from where it is stored, which is in the cache afterwards; written there once."""
    key = _key(content["inputs_hash"])
    if not cache.touch(key, CACHE_SECONDS):
        cache.set(key, content, CACHE_SECONDS)
    return SelectionReport.read(content)


def selection_with_plan(report: SelectionReport, preregistration: Preregistration) -> SelectionReport:
    """The same with what was planned, and what was kept of it."""
    document, date = preregistration.content, day_text(preregistration.created_at)
    return replace(report, planned=planned_section(document, date, done_by_choice(report, document)))


def _key(inputs_hash: str) -> str:
    return f"selection:{software_version()}:{inputs_hash}"
