"""What the workers do for reports: they look at each wake-up whether one is to be made."""

from judges.tasks import HOUSEKEEPING, stop_requested
from metaeval.services.report_jobs import report_jobs_start


def reports_make() -> None:
    """Start making the reports that wait; returns at once."""
    report_jobs_start(stop_requested)


if reports_make not in HOUSEKEEPING:
    HOUSEKEEPING.append(reports_make)
