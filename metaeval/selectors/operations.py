"""What operators watch of reports: the jobs that make them, and those that failed."""

from datetime import datetime, timedelta

from django.db.models import Count, Min
from django.utils import timezone

from judges.selectors.operations import FAILED_WITHIN, MOST_FAILED, FailedWork, JobsState
from metaeval.models import JobState, ReportJob


def report_job_states() -> JobsState:
    """Return the jobs of reports and pages by state; one query."""
    rows = ReportJob.objects.order_by().values_list("state").annotate(n=Count("pk"), since=Min("created_at"))
    found = {state: (n, since) for state, n, since in rows}
    counts = {state: found.get(state, (0, None))[0] for state in JobState.values}
    return JobsState("report", counts, found.get(JobState.QUEUED, (0, None))[1])


def report_failures(*, now: datetime | None = None, within: timedelta = FAILED_WITHIN) -> list[FailedWork]:
    """Return reports that couldn't be made lately, the latest first; one query."""
    since = (now or timezone.now()) - within
    rows = ReportJob.objects.filter(state=JobState.FAILED, finished_at__gte=since)
    return [
        FailedWork(
            "Report",
            str(job),
            job.error,
            job.finished_at,
            "annotation:dataset-detail",
            (job.dataset.name,),
        )
        for job in rows.select_related("dataset", "study").order_by("-finished_at")[:MOST_FAILED]
    ]
