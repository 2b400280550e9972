"""Where a person stands before the work: the steps of their study, and the test that they take or have passed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from annotation.domain import stages
from annotation.models import Annotator, Enrollment, QualificationAttempt, Study


def steps_of(study: Study) -> list[str]:
    """The steps that the study has before its work, in order, and the work."""
    present = {
        stages.CONSENT: bool(study.consent.strip()),
        stages.ELIGIBILITY: bool(study.eligibility),
        stages.GUIDELINES: bool(study.guidelines.strip()),
        stages.TRAINING: study.training_size > 0,
        stages.QUALIFICATION: study.test_study.qualification_size > 0,
        stages.WORK: True,
    }
    return [step for step in stages.STEPS if present[step]]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a person stands with a test, over all studies that share it.

    `failed` counts the attempts since the last pass; `retry_at` is when the next one may begin.
    """

    passed: bool
    failed: int
    begun: QualificationAttempt | None
    retry_at: datetime | None
    total: int

    def attempts_left(self, study: Study) -> int:
        return max(0, study.test_study.qualification_attempts - self.failed)


def standing_get(annotator: Annotator, study: Study, *, now: datetime) -> Standing:
    """Read the attempts of a person at the test of the study. A pass that has expired opens a new round."""
    test = study.test_study
    attempts = list(
        QualificationAttempt.objects.filter(test=test, enrollment__annotator=annotator)
        .select_related("enrollment__study")
        .order_by("started_at", "pk")
    )
    passed, failed, begun, retry_at = False, 0, None, None
    for attempt in attempts:
        if attempt.finished_at is None:
            begun = attempt
        elif attempt.passed:
            passed = not _is_expired(attempt.finished_at, test.qualification_valid_days, now)
            failed, retry_at = 0, None
        else:
            failed += 1
            retry_at = attempt.finished_at + timedelta(minutes=test.qualification_cooldown_minutes)
    return Standing(passed=passed, failed=failed, begun=begun, retry_at=retry_at, total=len(attempts))


def _is_expired(finished_at: datetime, valid_days: int | None, now: datetime) -> bool:
    return valid_days is not None and finished_at + timedelta(days=valid_days) <= now


def annotator_sharing_test(tokens: Iterable[str], study: Study) -> Annotator | None:
    """Who is behind the enrollments with these tokens, if one of them is in a study that shares its test with `study`."""
    test = study.test_study.pk
    sharing = Q(study=test) | Q(study__qualification_from=test)
    held = Enrollment.objects.filter(sharing, resume_token__in=list(tokens)).exclude(study=study)
    known = held.select_related("annotator").order_by("-pk").first()
    return known and known.annotator
