"""Annotators and their way through a study."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_noop

from annotation.domain.pseudonyms import SHORT, pseudonym
from annotation.models.entry import PlatformLink
from annotation.models.studies import Invitation, Study


class Annotator(models.Model):
    """A person who labels: one who came in here, one known from an imported file, or a simulated one.

    Outside the database they have a name in each study, made of `public_id` (`domain.pseudonyms`).
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    source = models.CharField(max_length=100, default="invitation", help_text="Where they come from.")
    external_id = models.CharField(max_length=200, help_text="Their identifier there.")
    is_simulated = models.BooleanField(default=False)
    language = models.CharField(
        max_length=16, blank=True, db_default="", help_text="The one that they chose; empty: none yet."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "external_id"], name="annotator_unique_in_source"),
        ]

    def __str__(self) -> str:
        return f"annotator {str(self.public_id)[:8]}"


class Stage(models.TextChoices):
    CONSENT = "consent", gettext_noop("Consent")
    ELIGIBILITY = "eligibility", gettext_noop("Questions about you")
    GUIDELINES = "guidelines", gettext_noop("Guidelines")
    TRAINING = "training", gettext_noop("Training")
    QUALIFICATION = "qualification", gettext_noop("Qualification")
    WORK = "work", gettext_noop("Work")
    DONE = "done", gettext_noop("Done")
    DECLINED = "declined", gettext_noop("Declined")
    SCREENED_OUT = "screened_out", gettext_noop("Screened out")
    LEFT = "left", gettext_noop("Returned or timed out")


# Who is there has no place of the study: they did not take part, or not to the end.
WITHOUT_A_PLACE = (Stage.DECLINED, Stage.SCREENED_OUT, Stage.LEFT)


class Enrollment(models.Model):
    """One annotator in one study. `resume_token` is their own link, to go on from another device.

    `stage` is how far they are; `suspended_at` holds them where they are, whatever the stage.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="enrollments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="enrollments")
    invitation = models.ForeignKey(
        Invitation, on_delete=models.SET_NULL, null=True, blank=True, related_name="enrollments"
    )
    platform_link = models.ForeignKey(
        PlatformLink, on_delete=models.SET_NULL, null=True, blank=True, related_name="enrollments"
    )
    platform_session = models.CharField(max_length=200, blank=True, help_text="The submission's id there.")
    platform_status = models.CharField(
        max_length=40, blank=True, help_text="As last reconciled, in its words."
    )
    platform_data = models.JSONField(default=dict, blank=True, help_text="Screeners and parameters kept.")
    device = models.CharField(
        max_length=64, blank=True, db_index=True, help_text="Hash of the browser's mark."
    )
    stage = models.CharField(max_length=16, choices=Stage.choices, default=Stage.CONSENT)
    resume_token = models.CharField(max_length=64, unique=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the text that was agreed to.")
    eligibility = models.JSONField(
        default=dict, blank=True, help_text="Key of a question to the chosen text."
    )
    guidelines_read_at = models.DateTimeField(null=True, blank=True)
    guidelines_read_version = models.PositiveIntegerField(null=True, blank=True)
    screened_out_by = models.CharField(max_length=16, blank=True, help_text="eligibility or qualification.")
    retry_at = models.DateTimeField(null=True, blank=True, help_text="No attempt at the test before.")
    qualification_score = models.PositiveSmallIntegerField(null=True, blank=True)
    completion_code = models.CharField(max_length=64, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    n_accepted = models.PositiveIntegerField(default=0, help_text="Labels of theirs that were accepted.")
    n_claimed = models.PositiveIntegerField(default=0, help_text="Items of any role given to them.")
    cursor = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Position of the item taken last: the search for the next starts there.",
    )
    warned_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    suspended_because = models.CharField(max_length=200, blank=True)
    anonymized_on = models.DateField(
        null=True, blank=True, help_text="From then on, nothing says who this is; times are those of days."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "annotator"], name="enrollment_unique"),
            models.CheckConstraint(condition=Q(stage__in=Stage.values), name="enrollment_stage_known"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.study_id}"

    @property
    def pseudonym(self) -> str:
        """What this person is called in this study."""
        return str(pseudonym(self.annotator.public_id, study=self.study_id))

    @property
    def short_pseudonym(self) -> str:
        return self.pseudonym[:SHORT]
