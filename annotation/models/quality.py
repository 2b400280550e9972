"""Keeping watch over the work: what was done about people, reports of items, and the word of experts."""

from django.conf import settings
from django.db import models

from annotation.models.datasets import Item
from annotation.models.people import Enrollment
from annotation.models.studies import Study, StudyItem


class Action(models.TextChoices):
    WARN = "warn", "Warned"
    SUSPEND = "suspend", "Suspended"
    RESTORE = "restore", "Restored"
    SET_ASIDE = "set_aside", "Labels excluded"
    TAKE_BACK = "take_back", "Labels taken back in"
    MESSAGE = "message", "Message"


class Intervention(models.Model):
    """Something done about a person in a study, by a rule or by somebody. Only ever added.

    A `text` is shown to the person until they have read it.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="interventions")
    action = models.CharField(max_length=10, choices=Action.choices)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: a rule of the study.",
    )
    reason = models.CharField(max_length=300, blank=True, help_text="For the researchers.")
    text = models.TextField(blank=True, help_text="For the person.")
    n_labels = models.PositiveIntegerField(default=0, help_text="Labels excluded or included again.")
    nonce = models.CharField(max_length=32, blank=True, help_text="Of the form, so that it acts once.")
    read_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["enrollment", "nonce"],
                condition=~models.Q(nonce=""),
                name="intervention_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["enrollment"],
                condition=models.Q(read_at=None) & ~models.Q(text=""),
                name="intervention_unread",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.enrollment_id}"


class ItemReport(models.Model):
    """Somebody says that an item is broken."""

    study_item = models.ForeignKey(StudyItem, on_delete=models.CASCADE, related_name="reports")
    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="item_reports")
    reason = models.CharField(max_length=20)
    note = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.CharField(max_length=20, blank=True, help_text="withdrawn or kept.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study_item", "enrollment"], name="item_report_unique"),
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"


class Adjudication(models.Model):
    """An expert's word on an item on which people disagree, given without knowing who said what.

    Append-only in practice: the latest of a study and item stands.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="adjudications")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="adjudications")
    expert = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    value = models.JSONField(help_text="In canonical order.")
    shown_order = models.JSONField()
    note = models.TextField(blank=True)
    supersedes = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="superseded_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "item"],
                condition=models.Q(supersedes=None),
                name="adjudication_first_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"adjudication {self.pk}"


class AdjudicationRequest(models.Model):
    """A researcher wants an expert to decide about an item, whether or not people disagree on it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="adjudication_requests")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="adjudication_requests")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "item"], name="adjudication_request_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.item_id}"


class Bonus(models.Model):
    """Money beside the pay for the work."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="bonuses")
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    reason = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    nonce = models.CharField(max_length=32, help_text="Of the form, so that it is granted once.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "bonuses"
        constraints = [
            models.UniqueConstraint(fields=["enrollment", "nonce"], name="bonus_once"),
            models.CheckConstraint(condition=models.Q(amount__gt=0), name="bonus_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} to {self.enrollment_id}"
