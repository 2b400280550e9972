"""What the privacy page of a study shows: requests that wait, and the texts that people agreed to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from annotation.models import (
    ConsentEvent,
    ConsentText,
    Dataset,
    Enrollment,
    Erasure,
    ErasureRequest,
    ErasureRequestState,
    PlatformLink,
    Study,
)


def erasure_requests_open(study: Study) -> QuerySet[ErasureRequest]:
    """Requests for deletion that nobody has decided, the oldest first."""
    return (
        ErasureRequest.objects.filter(enrollment__study=study, state=ErasureRequestState.OPEN)
        .select_related("enrollment__annotator")
        .order_by("asked_at", "pk")
    )


def consent_texts_of(study: Study) -> QuerySet[ConsentText]:
    """The versions of the consent text that people were asked about, the latest first, with `n_given`."""
    given = Count("records", filter=Q(records__event=ConsentEvent.GIVEN))
    return ConsentText.objects.filter(study=study).annotate(n_given=given).order_by("-version")


def people_counts(study: Study) -> tuple[int, int]:
    """How many people of a study are known, and how many were anonymized."""
    counts = Enrollment.objects.filter(study=study).aggregate(
        known=Count("pk", filter=Q(anonymized_on=None)),
        anonymized=Count("pk", filter=Q(anonymized_on__isnull=False)),
    )
    return counts["known"], counts["anonymized"]


def erasures_since(dataset: Dataset, study: Study | None, moment: datetime) -> int:
    """How many people of a study, or of all studies of a dataset and its imported labels, were erased since."""
    studies = [study.pk] if study is not None else Study.objects.filter(dataset=dataset).values("pk")
    whose = Q(study_key__in=studies) | (Q(study_key=None) if study is None else Q(pk__in=[]))
    return Erasure.objects.filter(whose, at__gt=moment).count()


@dataclass(frozen=True, slots=True)
class StudyRetention:
    """How long a study knows its people, and how many it knows."""

    slug: str
    title: str
    rule: str
    closed_at: datetime | None
    n_known: int


def studies_retention() -> Iterator[StudyRetention]:
    """Yield the studies that people took part in, the latest first; simulated ones are left out."""
    known = Count("enrollments", filter=Q(enrollments__anonymized_on=None))
    studies = Study.objects.filter(is_simulated=False, enrollments__isnull=False)
    for study in studies.annotate(n_known=known).order_by("-created_at", "-pk"):
        days = study.retention_days
        rule = (
            "on request"
            if days is None
            else f"{study.get_retention_action_display().lower()}, {days} day{'' if days == 1 else 's'} after closing"
        )
        yield StudyRetention(study.slug, study.title, rule, study.closed_at, study.n_known)


def platforms_used() -> list[str]:
    """Names of the crowdsourcing platforms that studies let people in from."""
    return sorted(set(PlatformLink.objects.values_list("platform", flat=True)))
