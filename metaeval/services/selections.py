"""The choice of a judge over several datasets of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.report import software_version
from metaeval.reports.selection_content import selection_build
from metaeval.reports.selection_inputs import PAIRWISE, Choice
from metaeval.selectors.selection_inputs import selection_inputs
from metaeval.selectors.sweeps import SweepView
from metaeval.services.comparisons import CONTESTANTS_ONLY
from metaeval.services.reports import CACHE_SECONDS
from metaeval.stats import InvalidInputError

# Items times judges that are computed while a page waits: about two seconds, pairs and others.
QUICK, QUICK_OF_KINDS = 40_000, 10_000


@dataclass(frozen=True, slots=True)
class Choosing:
    """The content of the choice, or None while it would take so long that the page says so first."""

    content: dict[str, Any] | None
    n_items: int
    n_judges: int


def selection_get(*, sweep: SweepView, choice: Choice, wait: bool = False) -> Choosing:
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
    inputs = selection_inputs(sweep=sweep, choice=choice)
    inputs_hash = inputs.hash()
    content = _cached(inputs_hash)
    quick = QUICK if choice.kind == PAIRWISE else QUICK_OF_KINDS
    if content is None and (wait or inputs.size <= quick):
        try:
            content = selection_build(inputs, inputs_hash=inputs_hash)
        except InvalidInputError as error:
            raise ReportError(f"No choice can be made from this: {error}.") from None
        cache.set(_key(inputs_hash), content, CACHE_SECONDS)
    n_judges = sum(not candidate.is_baseline for candidate in inputs.candidates)
    return Choosing(content, inputs.n_items, n_judges)


def _cached(inputs_hash: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = cache.get(_key(inputs_hash))
    return found


def _key(inputs_hash: str) -> str:
    return f"selection:{software_version()}:{inputs_hash}"
