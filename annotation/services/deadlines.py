"""Studies end by themselves at their deadline."""

from datetime import datetime

from django.utils import timezone

from annotation.domain.errors import StudyRuleError
from annotation.models import Study, StudyState
from annotation.services.studies import study_close


def studies_close_due(*, now: datetime | None = None) -> int:
    """Close the studies whose deadline has passed; returns how many.

    Nothing is given out and nothing counts from the deadline on, closed or not; this makes it visible.
    """
    due = Study.objects.filter(
        state__in=[StudyState.OPEN, StudyState.PAUSED], closes_at__lte=now or timezone.now()
    )
    closed = 0
    for study in due:
        try:
            study_close(study=study)
        except StudyRuleError:  # somebody was faster, or has put it off
            continue
        closed += 1
    return closed
