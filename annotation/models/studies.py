"""Studies: a dataset offered to annotators under rules."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from annotation.models.datasets import Dataset, Item, Kind


class StudyState(models.TextChoices):
    DRAFT = "draft", "Draft"
    OPEN = "open", "Open"
    PAUSED = "paused", "Paused"
    CLOSED = "closed", "Closed"


class TiePolicy(models.TextChoices):
    OFF = "off", "No ties"
    TIE = "tie", "Ties allowed"


class Study(models.Model):
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="studies"
    )
    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.PAIRWISE)
    state = models.CharField(max_length=8, choices=StudyState.choices, default=StudyState.DRAFT)
    question = models.CharField(max_length=200, default="Which answer follows the instruction better?")
    consent = models.TextField(blank=True, help_text="Markdown. Empty: no consent page.")
    guidelines = models.TextField(blank=True, help_text="Markdown.")
    guidelines_version = models.PositiveIntegerField(default=1, editable=False)
    overlap = models.PositiveSmallIntegerField(
        default=4,
        validators=[MinValueValidator(1)],
        help_text="Labels wanted per item, each from another person.",
    )
    tie_policy = models.CharField(max_length=8, choices=TiePolicy.choices, default=TiePolicy.TIE)
    items_per_annotator = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="The most that one person may label; empty: no limit.",
    )
    lease_minutes = models.PositiveIntegerField(
        default=30, validators=[MinValueValidator(1)], help_text="How long an item is kept for who opened it."
    )
    qualification_size = models.PositiveSmallIntegerField(
        default=10, help_text="Questions in the qualification test; 0: none."
    )
    qualification_pass = models.PositiveSmallIntegerField(
        default=9, help_text="Right answers needed to pass."
    )
    qualification_dataset = models.ForeignKey(
        Dataset,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Where its questions come from; empty: items with gold of the study's own dataset.",
    )
    completion_code = models.CharField(
        max_length=64, blank=True, help_text="Empty: one is made for each person."
    )
    pay_per_item = models.DecimalField(
        max_digits=8, decimal_places=4, default=0, validators=[MinValueValidator(0)]
    )
    pay_currency = models.CharField(max_length=3, default="USD")
    is_simulated = models.BooleanField(default=False, help_text="Its labels come from simulated annotators.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=StudyState.values), name="study_state_known"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="study_overlap_positive"),
            models.CheckConstraint(
                condition=Q(qualification_pass__lte=F("qualification_size")),
                name="study_qualification_can_be_passed",
                violation_error_message="More right answers are needed than there are questions.",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class StudyItem(models.Model):
    """An item in a study, with its places. A place is taken by an open lease or by an accepted label.

    `n_open + n_accepted <= overlap` is kept by a database constraint: whatever the concurrency, an item cannot be
    given away more often than it may be labelled.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="study_items")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="study_items")
    position = models.PositiveIntegerField()
    overlap = models.PositiveSmallIntegerField()
    n_open = models.PositiveSmallIntegerField(default=0)
    n_accepted = models.PositiveSmallIntegerField(default=0)
    probability = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="The chance with which this item was picked for labelling.",
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "item"], name="study_item_unique"),
            models.CheckConstraint(
                condition=Q(overlap__gte=F("n_open") + F("n_accepted")), name="study_item_overlap_kept"
            ),
            models.CheckConstraint(
                condition=Q(probability__gt=0.0, probability__lte=1.0), name="study_item_probability_valid"
            ),
        ]
        indexes = [
            # What is still wanted, in the order in which it is given out.
            models.Index(
                fields=["study", "position"],
                condition=Q(overlap__gt=F("n_open") + F("n_accepted")),
                name="study_item_free",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.item_id}"


class QualificationQuestion(models.Model):
    """An item with gold that a study asks before work begins."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="qualification_questions")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="qualification_questions")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "item"], name="qualification_question_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.item_id}"


class Invitation(models.Model):
    """A link that lets people into a study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    token = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)
    max_annotators = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no limit.")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"
