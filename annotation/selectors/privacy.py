"""What the privacy page of a study shows: requests that wait, and the texts that people agreed to."""

from datetime import datetime

from django.db.models import Count, Q, QuerySet

from annotation.models import (
    ConsentEvent,
    ConsentText,
    Dataset,
    Enrollment,
    Erasure,
    ErasureRequest,
    RequestState,
    Study,
)


def erasure_requests_open(study: Study) -> QuerySet[ErasureRequest]:
    """Requests for deletion that nobody has decided, the oldest first."""
    return (
        ErasureRequest.objects.filter(enrollment__study=study, state=RequestState.OPEN)
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
