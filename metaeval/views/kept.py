"""Figures of a page with too many rows to wait for: what a worker left of them, or the job that makes them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Dataset
from annotation.selectors.datasets import items_of
from annotation.selectors.overview import labels_visible_to
from judges.selectors.stored import judgments_on, judgments_since
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
    n_items, n_judges : int
        Of all datasets, and the judges that are asked about.
    n_labels, n_judgments : int
        That came after the figures were computed.
    """

    job: ReportJob | None
    n_items: int
    n_judges: int
    n_labels: int = 0
    n_judgments: int = 0

    @property
    def content(self) -> dict[str, Any] | None:
        """The figures, as JSON values; None while there are none."""
        return self.job.content if self.job is not None and self.job.state == JobState.DONE else None

    @property
    def n_new(self) -> int:
        """Labels and judgments that the figures don't count."""
        return self.n_labels + self.n_judgments

    @property
    def waits(self) -> bool:
        """Whether there is a job to be seen instead of figures."""
        return self.job is not None and self.content is None


def kept_of(
    request: ResearcherRequest,
    datasets: Sequence[Dataset],
    asked: PageAsked,
    judge_ids: Collection[int] | None = None,
) -> Kept | None:
    """Look for the figures, and ask for them where the address says ``now``; None where the page computes itself.

    It does so too where none of these judges has judged anything: there is no more than that to say.
    """
    if is_small(datasets, asked.kind):
        return None
    if judge_ids is not None and not judgments_on(datasets, asked.kind, judge_ids=judge_ids).exists():
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
    sizes = items_of(datasets, asked.kind).count(), len(judge_ids or ())
    if job is None or job.state != JobState.DONE:
        return Kept(job, *sizes)
    # Of jobs that were done before their start was kept, what came since they were asked for.
    began = job.started_at or job.created_at
    labels = labels_visible_to(request.user).current().order_by()
    new_labels = labels.filter(item__dataset__in=datasets, kind=asked.kind, created_at__gt=began).count()
    new_judgments = judgments_since(began, datasets, asked.kind, judge_ids=judge_ids)
    return Kept(job, *sizes, new_labels, new_judgments)
