"""What follows from hidden checks: a warning, then a suspension, by the rules of the study."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import F, Max, Q
from django.utils.translation import gettext_noop

from annotation.compiled import CompiledRows, Parameter
from annotation.models import Action, Annotator, Enrollment, Intervention, Label, Study, WorkRole
from annotation.services.quality import enrollment_suspend, enrollment_warn

WARNING = gettext_noop(
    "Several of your recent answers differ from answers that are known to be right. Please read the guidelines "
    "again and take your time. Everything you’ve done so far is saved."
)
SUSPENSION = gettext_noop(
    "Your work in this study has been stopped: too many of your recent answers differ from answers that are known to "
    "be right. Your earnings are recorded. If you think this is a mistake, please write to the researchers."
)


@dataclass(frozen=True, slots=True)
class Check:
    """A hidden check that a person has answered: how right, 0 to 1, and when."""

    score: float
    at: datetime


def checks_may_follow(study: Study) -> bool:
    """Whether the study has a rule by which an answer to a check has consequences."""
    return study.check_warn_below is not None or study.check_suspend_below is not None


def checks_follow(*, enrollment: Enrollment, now: datetime, answered: bool) -> None:
    """Look at a person's latest checks and, if one was `answered` just now, warn or suspend by the study's rules.

    They are looked at after every answer, lest the time that one takes tell whether it was a check. In the transaction
    of the submit, which holds its assignment and study item, has recorded the label and the assignment as submitted,
    and has not locked the enrollment yet (the order of locks of `services.quality`). `enrollment.study` is fetched.
    One query where nothing follows.
    """
    study = enrollment.study
    if not checks_may_follow(study):
        return
    if enrollment.suspended_at is not None or not (answered or study.check_rate):
        return
    window = _window(enrollment)
    if not answered or len(window) < min(study.check_minimum, study.check_window):
        return
    accuracy = sum(check.score for check in window) / len(window)
    reason = f"{accuracy:.0%} right in the latest {len(window)} hidden checks"
    if study.check_suspend_below is not None and accuracy < study.check_suspend_below:
        enrollment_suspend(
            enrollment=enrollment,
            by=None,
            reason=reason,
            text=SUSPENSION,
            set_aside=study.set_aside_on_suspend,
            since=_first_failed(window, study.check_suspend_below),
            now=now,
        )
    elif study.check_warn_below is not None:
        _warn(enrollment, study, window, accuracy < study.check_warn_below, reason, now)


@lru_cache(maxsize=64)
def _latest(size: int) -> CompiledRows:
    """Score and time of so many checks, latest first, since the person was last restored."""
    restored = (
        Intervention.objects.filter(
            enrollment=Parameter.of(Enrollment, "id", "enrollment"), action=Action.RESTORE
        )
        .order_by()
        .values("enrollment")
        .annotate(at=Max("created_at"))
        .values("at")
    )
    return CompiledRows(
        lambda: (
            Label.objects.standing()
            .filter(
                study_id=Parameter.of(Study, "id", "study"),
                annotator_id=Parameter.of(Annotator, "id", "annotator"),
                role=WorkRole.CHECK,
                check_score__isnull=False,
            )
            .annotate(restored_at=restored)
            .filter(Q(restored_at=None) | Q(created_at__gt=F("restored_at")))
            .order_by("-pk")
            .values_list("check_score", "created_at")[:size]
        )
    )


def _window(enrollment: Enrollment) -> list[Check]:
    """The latest checks since the person was last restored, oldest first. One query."""
    rows = _latest(enrollment.study.check_window).all(
        enrollment=enrollment.pk, study=enrollment.study_id, annotator=enrollment.annotator_id
    )
    return [Check(score, at) for score, at in reversed(rows) if score is not None]


def _first_failed(window: Sequence[Check], below: float) -> datetime:
    """When the first check of the window was answered that is below the line; their mean is, so one is."""
    return next(check.at for check in window if check.score < below)


def _warn(
    enrollment: Enrollment, study: Study, window: Sequence[Check], low: bool, reason: str, now: datetime
) -> None:
    """One warning, and another only when they had recovered in between or after a whole new window."""
    warned = enrollment.warned_at
    if not low:
        if warned is not None:
            Enrollment.objects.filter(pk=enrollment.pk).update(warned_at=None)
        return
    renewed = warned is not None and len(window) == study.check_window and window[0].at > warned
    if warned is None or renewed:
        # The label was written a moment after `now`; it belongs to what the warning is about.
        enrollment_warn(enrollment=enrollment, reason=reason, text=WARNING, now=max(now, window[-1].at))
