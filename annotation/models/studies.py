"""Studies: a dataset offered to annotators under rules."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from annotation.domain import wording
from annotation.domain.machine_text import machine_request, reader_word
from annotation.domain.rights import Rights
from annotation.kinds import DEFAULT_KIND, KINDS, ItemKind, kind_choices, kind_of
from annotation.models.datasets import Dataset, Item
from annotation.models.names import NameField
from annotation.models.rules import (
    CheckRules,
    EntryRules,
    EvidenceRule,
    ItemSampling,
    PayBasis,
    PayRules,
    PreferencePoints,
    PrivacyRules,
    QualificationRule,
    QualificationRules,
    RetentionAction,
    SliceRules,
    TiePolicy,
    WorkRules,
)

USUAL_QUESTIONS = frozenset(kind.question for kind in KINDS.values())


class StudyState(models.TextChoices):
    DRAFT = "draft", "Draft"
    OPEN = "open", "Open"
    PAUSED = "paused", "Paused"
    CLOSED = "closed", "Closed"


class Study(SliceRules, WorkRules, QualificationRules, CheckRules, EntryRules, PayRules, PrivacyRules):
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    dataset_version = models.PositiveIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text="The version of the dataset that its items are of, since it opened.",
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="studies"
    )
    slug = models.SlugField(max_length=64, unique=True)
    title = NameField(max_length=200)
    kind = models.CharField(max_length=16, choices=kind_choices, default=DEFAULT_KIND)
    state = models.CharField(max_length=8, choices=StudyState.choices, default=StudyState.DRAFT)
    consent = models.TextField(blank=True, help_text="Markdown. Empty: no consent page.")
    guidelines = models.TextField(blank=True, help_text="Markdown.")
    guidelines_version = models.PositiveIntegerField(default=1, editable=False)
    is_simulated = models.BooleanField(default=False, help_text="Its labels come from simulated annotators.")
    closed_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When it was closed: retention counts from then."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    # What the person may do whom it was fetched for; none where it was fetched for nobody.
    rights = Rights()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            *(
                models.CheckConstraint(condition=Q(**{f"{field}__in": choices.values}), name=name)
                for field, choices, name in [
                    ("state", StudyState, "study_state_known"),
                    ("tie_policy", TiePolicy, "study_tie_policy_known"),
                    ("sampling", ItemSampling, "study_sampling_known"),
                    ("qualification_rule", QualificationRule, "study_qualification_rule_known"),
                    ("pay_basis", PayBasis, "study_pay_basis_known"),
                    ("preference_points", PreferencePoints, "study_preference_points_known"),
                    ("evidence", EvidenceRule, "study_evidence_known"),
                    ("retention_action", RetentionAction, "study_retention_action_known"),
                ]
            ),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="study_overlap_positive"),
            models.CheckConstraint(
                condition=Q(qualification_pass__lte=F("qualification_size")),
                name="study_qualification_can_be_passed",
                violation_error_message="More right answers are needed than there are questions.",
            ),
            models.CheckConstraint(
                condition=Q(check_rate__gte=0, repeat_rate__gte=0, check_rate__lte=1 - F("repeat_rate")),
                name="study_hidden_rates_leave_work",
                violation_error_message="Checks and repeats together cannot be more than all of the work.",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def kind_info(self) -> ItemKind:
        return kind_of(self.kind)

    @property
    def question_shown(self) -> str:
        """What people are asked: the usual question of the kind in the reader's language, or the study's own words."""
        return self.question if self.asks_in_own_words else wording.gettext(self.question)

    @property
    def asks_in_own_words(self) -> bool:
        """Whether the question is the study's own, in whatever language that is."""
        return self.question not in USUAL_QUESTIONS

    @property
    def lease_seconds(self) -> int:
        """How long an item is kept for the person who has it."""
        return self.lease_minutes * 60

    @property
    def signals_collected(self) -> bool:
        """Whether the work page collects signals: never where a study has no page that could tell people about them."""
        return self.collect_signals and bool(self.consent or self.guidelines)

    @property
    def reader_word(self) -> str:
        """What automated readers are asked to write, if `machine_text` says so. It never changes."""
        return reader_word(f"{self.pk} {self.created_at.isoformat()}")

    @property
    def machine_request(self) -> str:
        """What the page of an item asks of automated readers."""
        return machine_request(self.reader_word, has_comment=self.ask_comment)

    @property
    def test_study(self) -> "Study":
        """The study whose qualification test is taken here: its own, or the one that it shares."""
        return self.qualification_from or self


class GuidelinesRevision(models.Model):
    """The guidelines as they were in one version; a label remembers the number."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="guidelines_revisions")
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["version"]
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="guidelines_revision_unique")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.version}"


class ItemRole(models.TextChoices):
    WORK = "work", "Work"
    CHECK = "check", "Hidden check"


class StudyItem(models.Model):
    """An item in a study, with its places. A place is taken by an open lease or by an accepted label.

    `n_open + n_accepted <= overlap` is kept by a database constraint: whatever the concurrency, an item cannot be
    given away more often than it may be labelled. A hidden check has no places (`overlap` 0): everybody may be given
    it, and what they say of it does not count as a label of the study.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="study_items")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="study_items")
    role = models.CharField(max_length=5, choices=ItemRole.choices, default=ItemRole.WORK)
    position = models.IntegerField(help_text="Order of giving out; prioritized items come before all others.")
    overlap = models.PositiveSmallIntegerField()
    n_open = models.PositiveSmallIntegerField(default=0)
    n_accepted = models.PositiveSmallIntegerField(default=0)
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="Taken out: broken, or no longer wanted."
    )
    probability = models.FloatField(
        default=1.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="The chance with which this item was picked for labeling.",
    )

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "item"], name="study_item_unique"),
            models.CheckConstraint(
                condition=Q(overlap__gte=F("n_open") + F("n_accepted")), name="study_item_overlap_kept"
            ),
            models.CheckConstraint(
                condition=Q(role=ItemRole.WORK) | Q(role=ItemRole.CHECK, overlap=0),
                name="study_item_check_has_no_places",
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
            models.Index(fields=["study"], condition=Q(role=ItemRole.CHECK), name="study_item_check"),
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
