"""Figures of a page with too many rows to wait for: what a worker left of them, or the job that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Dataset
from annotation.selectors.datasets import items_of
from metaeval.models import JobState, ReportJob
from metaeval.services.page_contents import PageAsked
from metaeval.services.report_jobs import is_small, page_job_get, page_request
from web.access import ResearcherRequest


@dataclass(frozen=True, slots=True)
class Kept:
    """How such a page stands.

    Attributes
    ----------
    job : ReportJob or None
        The newest for this person; None where nobody asked yet.
    n_items : int
        Items of all datasets, whose figures are asked for.
    """

    job: ReportJob | None
    n_items: int

    @property
    def content(self) -> dict[str, Any] | None:
        """The figures, as JSON values; None while there are none."""
        return self.job.content if self.job is not None and self.job.state == JobState.DONE else None

    @property
    def waits(self) -> bool:
        """Whether there is a job to be seen instead of figures."""
        return self.job is not None and self.content is None


def kept_of(request: ResearcherRequest, datasets: Sequence[Dataset], asked: PageAsked) -> Kept | None:
    """Look for the figures, and ask for them where the address says ``now``; None where the page computes itself."""
    if is_small(datasets, asked.kind):
        return None
    if "now" in request.GET:
        query = request.GET.copy()
        del query["now"]
        address = f"{request.path}?{query.urlencode()}" if query else request.path
        job: ReportJob | None = page_request(
            user=request.user, dataset=datasets[0], asked=asked, address=address
        )
    else:
        job = page_job_get(user=request.user, asked=asked)
    return Kept(job, items_of(datasets, asked.kind).count())
