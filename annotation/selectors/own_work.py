"""What a person has done and earned, as they read it at work: in this session, in this study, and what is left."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from annotation.domain.pay import Earned
from annotation.models import Enrollment, Label
from annotation.selectors.pay import FEW_ANSWERS, MINUTE_MS, earned_by, work_earned_before
from annotation.selectors.work import Progress, WorkStanding, progress_get

LONG_PAUSE = timedelta(minutes=30)
"""A pause that ends a session: from one answer to the next, without the active time of the next."""


@dataclass(frozen=True, slots=True)
class WorkDone:
    """Answers, their active time and what they earned; `session_began` None before its first answer.

    `session_earned` is what the session has added to what the study's work comes to, so that the sessions of a study
    add up to it.
    """

    session_began: datetime | None
    session_answers: int
    session_active_ms: int
    session_earned: Decimal
    study: Earned
    progress: Progress

    @property
    def session_minutes(self) -> float:
        return self.session_active_ms / MINUTE_MS

    @property
    def study_minutes(self) -> float:
        return self.study.active_ms / MINUTE_MS

    @property
    def left(self) -> int | None:
        """Items that this person can still be given, as it looks now; None where that isn't counted."""
        return None if self.progress.total is None else self.progress.total - self.progress.done

    @property
    def left_minutes(self) -> float | None:
        """At their own pace in this study; None while too little of it is known."""
        if self.left is None or self.study.n_timed < FEW_ANSWERS:
            return None
        return self.left * self.study_minutes / self.study.n_timed


def work_done(enrollment: Enrollment, now: datetime) -> WorkDone:
    """Nine queries at most, however many answers there are in a session."""
    study = earned_by(enrollment)
    began = session_begin(enrollment, now)
    before = study if began is None else work_earned_before(enrollment, began)
    return WorkDone(
        session_began=began,
        session_answers=study.answers - before.answers,
        session_active_ms=study.active_ms - before.active_ms,
        session_earned=study.work - before.work,
        study=study,
        progress=progress_get(enrollment, WorkStanding(n_answers=study.answers, n_unread=0)),
    )


def session_begin(enrollment: Enrollment, now: datetime) -> datetime | None:
    """When the first answer of this session came: since then no pause was as long as `LONG_PAUSE`. One query."""
    began, later, active = None, now, timedelta(0)
    answers = (
        Label.objects.filter(assignment__enrollment=enrollment, supersedes=None)
        .order_by("-assignment__submitted_at", "-pk")
        .values_list("assignment__submitted_at", "active_ms")
    )
    for given, active_ms in answers.iterator(chunk_size=500):
        if given is None or later - given - active >= LONG_PAUSE:
            break
        began = later = given
        active = timedelta(milliseconds=active_ms or 0)
    return began
