"""Annotators and their way through a study."""

import uuid

from django.db import models
from django.db.models import Q

from annotation.models.studies import Invitation, QualificationQuestion, Study


class Annotator(models.Model):
    """A person who labels: one who came in here, one known from an imported file, or a simulated one.

    Everywhere outside the database they are known by `public_id` only.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    source = models.CharField(max_length=100, default="invitation", help_text="Where they come from.")
    external_id = models.CharField(max_length=200, help_text="Their identifier there.")
    is_simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "external_id"], name="annotator_unique_in_source"),
        ]

    def __str__(self) -> str:
        return f"annotator {str(self.public_id)[:8]}"


class Stage(models.TextChoices):
    CONSENT = "consent", "Consent"
    GUIDELINES = "guidelines", "Guidelines"
    QUALIFICATION = "qualification", "Qualification"
    WORK = "work", "Work"
    DONE = "done", "Done"
    DECLINED = "declined", "Declined"
    SCREENED_OUT = "screened_out", "Screened out"


class Enrollment(models.Model):
    """One annotator in one study. `resume_token` is their own link, to go on from another device."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="enrollments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="enrollments")
    invitation = models.ForeignKey(
        Invitation, on_delete=models.SET_NULL, null=True, blank=True, related_name="enrollments"
    )
    stage = models.CharField(max_length=16, choices=Stage.choices, default=Stage.CONSENT)
    resume_token = models.CharField(max_length=64, unique=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the text that was agreed to.")
    guidelines_read_at = models.DateTimeField(null=True, blank=True)
    qualification_score = models.PositiveSmallIntegerField(null=True, blank=True)
    completion_code = models.CharField(max_length=64, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    n_accepted = models.PositiveIntegerField(default=0, help_text="Labels of theirs that were accepted.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "annotator"], name="enrollment_unique"),
            models.CheckConstraint(condition=Q(stage__in=Stage.values), name="enrollment_stage_known"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.study_id}"


class QualificationAnswer(models.Model):
    """An answer to a qualification question; given once."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="qualification_answers")
    question = models.ForeignKey(QualificationQuestion, on_delete=models.PROTECT, related_name="answers")
    value = models.JSONField()
    shown_order = models.JSONField()
    is_correct = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["enrollment", "question"], name="qualification_answer_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.enrollment_id}/{self.question_id}"
