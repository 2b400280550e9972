"""Retention by study: some days after it closed, its people are anonymized or deleted, a few at a time."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Enrollment, RetentionAction, Study, StudyState
from annotation.services.erasure import enrollment_erase
from annotation.services.erasure_log import RETENTION

logger = logging.getLogger(__name__)

AT_ONCE = 20
"""People erased at one wake-up of a worker, so that other work waits for seconds at most."""


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What will happen to the people of a closed study, and when."""

    study: Study
    due_at: datetime
    n_people: int
    """Those who are still known."""

    @property
    def deletes(self) -> bool:
        """Whether they are deleted with their labels, rather than anonymized."""
        return self.study.retention_action == RetentionAction.DELETE


def retention_of(study: Study) -> RetentionPlan | None:
    """The plan of a study; None where it is open, or keeps people."""
    if study.state != StudyState.CLOSED or study.closed_at is None or study.retention_days is None:
        return None
    due_at = study.closed_at + timedelta(days=study.retention_days)
    return RetentionPlan(study, due_at, people_known(study).count())


def people_known(study: Study) -> QuerySet[Enrollment]:
    """People of a study who were not anonymized."""
    return Enrollment.objects.filter(study=study, anonymized_on=None)


def retention_due(*, now: datetime | None = None, study: Study | None = None) -> Iterator[RetentionPlan]:
    """Yield the plans whose time has come and that have people left."""
    now = now or timezone.now()
    closed = Study.objects.filter(
        state=StudyState.CLOSED, closed_at__isnull=False, retention_days__isnull=False
    )
    if study is not None:
        closed = closed.filter(pk=study.pk)
    for one in closed.order_by("pk"):
        plan = retention_of(one)
        if plan is not None and plan.due_at <= now and plan.n_people:
            yield plan


def retention_apply(
    *,
    now: datetime | None = None,
    study: Study | None = None,
    limit: int | None = AT_ONCE,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Erase people whose time is over, each in a transaction of its own; returns how many.

    Ended at any moment, it continues where it was. A person whose erasure fails is logged and doesn't hold up others,
    however many there are of them.
    """
    now = now or timezone.now()
    done = 0
    for plan in retention_due(now=now, study=study):
        people = people_known(plan.study).select_related("study", "annotator")
        for pk in list(people.order_by("pk").values_list("pk", flat=True)):
            if stop() or (limit is not None and done >= limit):
                return done
            person = people.filter(pk=pk).first()
            if person is None:
                continue
            try:
                done += bool(
                    enrollment_erase(enrollment=person, why=RETENTION, with_labels=plan.deletes, now=now)
                )
            except Exception:
                logger.exception("Retention of study %s failed for one person", plan.study.slug)
    return done
