"""Consent, requests of people about their data, and what was erased."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.people import Enrollment
from annotation.models.studies import Study


class ConsentText(models.Model):
    """A text that people of a study were asked to agree to, with what the page beside it promised. Kept once a version.

    `labels_kept` and the retention are empty for texts from before the pages said anything about either.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField(help_text="1, 2, … in each study.")
    text = models.TextField(help_text="Markdown, as it was shown.")
    sha256 = models.CharField(max_length=64, help_text="Of the text.")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the text and the promises beside it.")
    labels_kept = models.BooleanField(
        null=True,
        blank=True,
        help_text="Promised: after a deletion, labels stay without a link to the person.",
    )
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Promised: days after the study closes; empty: no promise."
    )
    retention_action = models.CharField(max_length=9, blank=True, help_text="What happens then.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "version"]
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="consent_text_version_unique"),
            models.UniqueConstraint(fields=["study", "fingerprint"], name="consent_text_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}, version {self.version}"


class ConsentEvent(models.TextChoices):
    GIVEN = "given", "Given"
    DECLINED = "declined", "Declined"
    WITHDRAWN = "withdrawn", "Withdrawn"


class ConsentRecord(models.Model):
    """A person gave, declined or withdrew consent. The database refuses to change a row."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="consents")
    event = models.CharField(max_length=9, choices=ConsentEvent.choices)
    text = models.ForeignKey(
        ConsentText,
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="records",
        help_text="Empty: an earlier text that wasn't kept.",
    )
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the text.")
    language = models.CharField(max_length=16, blank=True, help_text="Of the page around the text.")
    at = models.DateTimeField()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(condition=Q(event__in=ConsentEvent.values), name="consent_event_known"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.enrollment_id}"


class ErasureRequestState(models.TextChoices):
    OPEN = "open", "Open"
    WITHDRAWN = "withdrawn", "Withdrawn"
    REFUSED = "refused", "Refused"


class ErasureRequest(models.Model):
    """A person asks for the deletion of their data. It goes with what it asks for: only one that was not carried out
    stays.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="erasure_requests")
    state = models.CharField(
        max_length=9, choices=ErasureRequestState.choices, default=ErasureRequestState.OPEN
    )
    asked_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    answer = models.CharField(
        max_length=300, blank=True, help_text="Why it was refused; shown to the person."
    )

    class Meta:
        ordering = ["asked_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=ErasureRequestState.values), name="erasure_request_state_known"
            ),
            models.UniqueConstraint(
                fields=["enrollment"], condition=Q(state="open"), name="erasure_request_one_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.enrollment_id}"


class ErasureKind(models.TextChoices):
    ANONYMIZED = "anonymized", "Anonymized"
    DELETED = "deleted", "Deleted"


class Erasure(models.Model):
    """A person was anonymized or deleted: a hash of who it was, so that a restored backup can be brought up to date.

    `person` is the hash of 122 random bits (`services.erasure_log.person_hash`), another one in each study.
    """

    person = models.CharField(max_length=64, help_text="Hash of the identifier that is gone.")
    study_key = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Primary key of the study; empty: what was in no study."
    )
    kind = models.CharField(max_length=10, choices=ErasureKind.choices)
    texts_kept = models.BooleanField(default=False, help_text="Comments and marked passages stayed.")
    why = models.CharField(max_length=10, help_text="request, retention or restore.")
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=ErasureKind.values), name="erasure_kind_known"),
            models.UniqueConstraint(fields=["person"], name="erasure_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.person[:8]}"
