"""The rules of a study, by theme. Each class is a part of `Study`'s columns and says what they mean."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from annotation.kinds.dimensions import Dimension, dimensions_read
from annotation.kinds.grades import POINTS
from annotation.kinds.reasons import Reason, reasons_read
from annotation.models.datasets import Dataset

SHARE = [MinValueValidator(0.0), MaxValueValidator(1.0)]
MONEY = [MinValueValidator(0)]
BROWSERS_LANGUAGE = "auto"
"""In place of a language: that of the browser, of those that we have."""
MAX_AHEAD = 5
"""Items that a browser may have beside the one in hand."""


class ItemSampling(models.TextChoices):
    ALL = "all", "All items"
    RANDOM = "random", "A random sample"
    LENGTH_BALANCED = "length_balanced", "As many longer as shorter than a baseline"


class SliceRules(models.Model):
    """Which items of the dataset are offered, and in what mixture."""

    categories = models.JSONField(default=list, blank=True, help_text="Names of categories; empty: all.")
    subset = models.CharField(max_length=200, blank=True, help_text="A path such as Adversarial; empty: all.")
    sampling = models.CharField(max_length=16, choices=ItemSampling.choices, default=ItemSampling.ALL)
    sample_size = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    sample_seed = models.PositiveIntegerField(default=0)
    sampling_baseline = models.CharField(
        max_length=200, blank=True, help_text="The system whose responses are the baseline of lengths."
    )
    balance_categories = models.BooleanField(
        default=True,
        help_text="Give out items so that at any time the categories are labeled in proportion.",
    )

    class Meta:
        abstract = True


class TiePolicy(models.TextChoices):
    OFF = "off", "No ties"
    TIE = "tie", "Ties allowed"
    BOTH_BAD = "both_bad", "Ties, and both bad"


class PreferencePoints(models.IntegerChoices):
    THREE = 3, "3 points: which one is better"
    FIVE = 5, "5 points: slightly or much better"
    SEVEN = 7, "7 points: slightly better, better or much better"


class EvidenceRule(models.TextChoices):
    OFF = "off", "Not asked"
    OPTIONAL = "optional", "Optional"
    REQUIRED = "required", "Required: at least one passage"


class WorkRules(models.Model):
    """How an item is asked and how long it is kept for a person."""

    question = models.CharField(max_length=200, default="Which answer follows the instruction better?")
    language = models.CharField(
        max_length=16,
        choices=[*settings.LANGUAGES, (BROWSERS_LANGUAGE, "The annotator's browser decides")],
        default=settings.LANGUAGE_CODE,
        db_default=settings.LANGUAGE_CODE,
        help_text="Of its pages, for people who haven't chosen another.",
    )
    criteria = models.JSONField(
        default=list, blank=True, help_text="Keys of the rubric's criteria; empty: all."
    )
    tie_policy = models.CharField(max_length=8, choices=TiePolicy.choices, default=TiePolicy.TIE)
    preference_points = models.PositiveSmallIntegerField(
        choices=PreferencePoints.choices,
        default=PreferencePoints.THREE,
        help_text="Of pairs: the points of the scale, one fewer where there are no ties.",
    )
    response_sets = models.BooleanField(
        default=False, db_default=False, help_text="Ask also for every answer that is reasonable."
    )
    dimensions = models.JSONField(
        default=list,
        blank=True,
        db_default=models.Value([], models.JSONField()),
        help_text="Of pairs: the dimensions that are compared, one of them the overall one; empty: one question.",
    )
    reasons = models.JSONField(
        default=list,
        blank=True,
        db_default=models.Value([], models.JSONField()),
        help_text="Short reasons to pick from with every answer; empty: none.",
    )
    require_reason = models.BooleanField(
        default=False, db_default=False, help_text="At least one reason has to be picked."
    )
    ask_comment = models.BooleanField(default=False, help_text="An optional comment with every answer.")
    require_comment = models.BooleanField(
        default=False, db_default=False, help_text="The comment with every answer is required."
    )
    submit_on_choice = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Of pairs: a choice submits the answer, and can be undone.",
    )
    show_differences = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Of pairs: people can mark the words in which the two answers differ.",
    )
    show_word_counts = models.BooleanField(
        default=False,
        db_default=False,
        help_text="People see how many words each answer has, which biases them toward long ones.",
    )
    evidence = models.CharField(
        max_length=8,
        choices=EvidenceRule.choices,
        default=EvidenceRule.OFF,
        db_default=EvidenceRule.OFF,
        help_text="Whether people mark the passages of an answer that are their reasons.",
    )
    collect_signals = models.BooleanField(
        default=True,
        db_default=False,
        help_text="The browser summarizes how each answer is given: paste, hidden tab, events, typing rhythm.",
    )
    machine_text = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The page of an item has a request to automated readers, and a field, that people don't see.",
    )
    allow_cannot_tell = models.BooleanField(default=True, help_text="In checklists, beside yes and no.")
    allow_changes = models.BooleanField(default=True, help_text="People may change their earlier answers.")
    overlap = models.PositiveSmallIntegerField(
        default=4,
        validators=[MinValueValidator(1)],
        help_text="Labels wanted per item, each from another person.",
    )
    items_per_annotator = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="The most that one person may label; empty: no limit.",
    )
    lease_minutes = models.PositiveIntegerField(
        default=30, validators=[MinValueValidator(1)], help_text="How long an item is kept for who opened it."
    )
    fetch_ahead = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        validators=[MaxValueValidator(MAX_AHEAD)],
        help_text="Items leased to a person beside the one in hand, for their browser to show without a connection.",
    )
    idle_seconds = models.PositiveIntegerField(
        default=30,
        validators=[MinValueValidator(5)],
        help_text="Time without input that still counts as active.",
    )
    closes_at = models.DateTimeField(null=True, blank=True, help_text="The deadline; empty: none.")

    class Meta:
        abstract = True

    @property
    def strengths(self) -> tuple[str, ...]:
        """The words that say how strong a preference is, the weakest first; none on a scale of 3 points."""
        return POINTS.get(self.preference_points, ())

    @property
    def dimensions_asked(self) -> tuple[Dimension, ...]:
        """The dimensions that are compared, in their order; none where there is one question."""
        return dimensions_read(self.dimensions) if self.dimensions else ()

    @property
    def reasons_offered(self) -> tuple[Reason, ...]:
        """The reasons that can be picked with an answer."""
        return reasons_read(self.reasons) if self.reasons else ()


class QualificationRule(models.TextChoices):
    EXACT = "exact", "At least k of n exactly right"
    TOLERANT = "tolerant", "Accuracy within a distance"


class QualificationRules(models.Model):
    """Who may work: questions about the person, a training round, and a test with gold."""

    eligibility = models.JSONField(
        default=list,
        blank=True,
        help_text='[{"key": "native", "question": "...", "options": [{"text": "Yes", "eligible": true}, ...]}]',
    )
    training_size = models.PositiveSmallIntegerField(
        default=0, help_text="Items with feedback and explanation before the test; 0: none."
    )
    training_dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    qualification_size = models.PositiveSmallIntegerField(
        default=10, help_text="Questions in the qualification test; 0: none."
    )
    qualification_rule = models.CharField(
        max_length=8, choices=QualificationRule.choices, default=QualificationRule.EXACT
    )
    qualification_pass = models.PositiveSmallIntegerField(
        default=9, help_text="Exactly right answers needed to pass."
    )
    qualification_threshold = models.FloatField(
        default=0.85, validators=SHARE, help_text="Tolerant accuracy that has to be exceeded."
    )
    qualification_tolerance = models.FloatField(
        default=1.0, validators=[MinValueValidator(0.0)], help_text="Distance from gold that is still right."
    )
    qualification_attempts = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    qualification_cooldown_minutes = models.PositiveIntegerField(
        default=0, help_text="To wait before another attempt."
    )
    qualification_valid_days = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Empty: a pass never expires."
    )
    qualification_dataset = models.ForeignKey(
        Dataset,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Where its questions come from; empty: items with gold of the study's own dataset.",
    )
    qualification_from = models.ForeignKey(
        "annotation.Study",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="qualification_users",
        help_text="Share the test of this study: its questions, its rules, and who passed it.",
    )

    class Meta:
        abstract = True


class CheckRules(models.Model):
    """Hidden checks: gold items and repeats mixed into the work."""

    check_rate = models.FloatField(default=0.0, validators=SHARE, help_text="Share of the work that is gold.")
    check_size = models.PositiveIntegerField(default=0, help_text="Gold items kept for checks; 0: none.")
    check_dataset = models.ForeignKey(
        Dataset, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    repeat_rate = models.FloatField(
        default=0.0,
        validators=SHARE,
        help_text="Share of the work that repeats an earlier item of the person.",
    )
    check_window = models.PositiveSmallIntegerField(
        default=10, validators=[MinValueValidator(1)], help_text="The latest checks that are looked at."
    )
    check_minimum = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1)], help_text="Checks before anything follows from them."
    )
    check_warn_below = models.FloatField(null=True, blank=True, validators=SHARE)
    check_suspend_below = models.FloatField(null=True, blank=True, validators=SHARE)
    set_aside_on_suspend = models.BooleanField(
        default=False, help_text="Set the labels since the first failed check of the window aside."
    )

    class Meta:
        abstract = True


class EntryRules(models.Model):
    """Who gets in, and once."""

    open_signup = models.BooleanField(
        default=False, help_text="People with an account may join by themselves."
    )
    one_per_device = models.BooleanField(
        default=True, help_text="One person a browser; off where people share a computer."
    )
    max_annotators = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Over all entry points; empty: no limit.",
    )
    passthrough = models.JSONField(
        default=list, blank=True, help_text="Further URL parameters of a platform that are kept."
    )
    completion_code = models.CharField(
        max_length=64, blank=True, help_text="Empty: one is made for each person."
    )

    class Meta:
        abstract = True


class PayBasis(models.TextChoices):
    ITEM = "item", "Per item"
    TIME = "time", "Per hour of active time"


class PayRules(models.Model):
    pay_basis = models.CharField(max_length=4, choices=PayBasis.choices, default=PayBasis.ITEM)
    pay_per_item = models.DecimalField(max_digits=8, decimal_places=4, default=0, validators=MONEY)
    pay_per_hour = models.DecimalField(max_digits=8, decimal_places=2, default=0, validators=MONEY)
    pay_for_test = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=0,
        validators=MONEY,
        help_text="To everyone who finished the test.",
    )
    pay_floor_per_hour = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=MONEY,
        help_text="Warn when an annotator earns less.",
    )
    pay_currency = models.CharField(max_length=3, default="USD")

    class Meta:
        abstract = True


class RetentionAction(models.TextChoices):
    ANONYMIZE = "anonymize", "Anonymize people, keep their labels"
    DELETE = "delete", "Delete people and their labels"


class PrivacyRules(models.Model):
    """How long it is known who a person is, and what stays of them afterwards."""

    labels_kept = models.BooleanField(
        default=True,
        db_default=True,
        help_text="After a deletion, labels stay without a link to the person. Said on the consent page.",
    )
    texts_kept = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Comments and marked passages stay with labels that stay.",
    )
    erase_at_once = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A person's request for deletion is carried out at once, without a researcher.",
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Days after the study closed, from which people are erased; empty: never by themselves.",
    )
    retention_action = models.CharField(
        max_length=9,
        choices=RetentionAction.choices,
        default=RetentionAction.ANONYMIZE,
        db_default=RetentionAction.ANONYMIZE,
        help_text="What happens to people then.",
    )

    class Meta:
        abstract = True
