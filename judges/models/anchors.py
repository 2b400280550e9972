"""Anchors: items that a judge is asked about again and again, to see whether it is still the same judge."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from judges.models.configurations import Judge
from judges.models.judgments import Order, ParseStatus
from judges.models.sweeps import Sweep


class AnchorSet(models.Model):
    """Items of a dataset, frozen with what a judge said of them. Its checks are sweeps (`Sweep.anchors`).

    The first `repeats` checks are made at freezing: they say how often the judge contradicts itself without having
    moved.
    """

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="anchor_sets")
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.PROTECT, related_name="anchor_sets")
    seed = models.PositiveIntegerField(default=0, help_text="By which the items were drawn.")
    repeats = models.PositiveSmallIntegerField(
        default=3, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    tolerance = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(0.5)],
        help_text="Share of verdicts that may change without its being called a move.",
    )
    budget = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, help_text="US dollars, of each check."
    )
    every_days = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Empty: checked by hand only."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="anchor_sets"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "dataset"], condition=Q(retired_at=None), name="anchor_set_in_use_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"anchors of {self.judge} on {self.dataset}"


class Anchor(models.Model):
    """An item in one presentation order, and the verdict on it that was frozen, in canonical order."""

    anchors = models.ForeignKey(AnchorSet, on_delete=models.CASCADE, related_name="anchors")
    item = models.ForeignKey("annotation.Item", on_delete=models.PROTECT, related_name="anchors")
    order = models.PositiveSmallIntegerField(choices=Order.choices)
    status = models.CharField(max_length=8, choices=ParseStatus.choices)
    choice = models.SmallIntegerField(null=True)
    value = models.JSONField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["anchors", "item", "order"], name="anchor_unique")]

    def __str__(self) -> str:
        return f"anchor {self.pk}"


class AnchorVerdict(models.Model):
    """What the judge said of an anchor in one check. No judgment: it is part of no comparison and no report."""

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="anchor_verdicts")
    item = models.ForeignKey("annotation.Item", on_delete=models.PROTECT, related_name="anchor_verdicts")
    order = models.PositiveSmallIntegerField(choices=Order.choices)
    status = models.CharField(max_length=8, choices=ParseStatus.choices)
    choice = models.SmallIntegerField(null=True)
    probability = models.FloatField(null=True)
    value = models.JSONField(null=True)
    raw_text = models.TextField(blank=True)
    requests = models.PositiveSmallIntegerField(default=0)
    cost = models.FloatField(default=0.0, help_text="US dollars, at the prices of the day.")
    latency_ms = models.FloatField(default=0.0)
    answered_by = models.TextField(blank=True, help_text="As of a judgment.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sweep", "item", "order"], name="anchor_verdict_unique"),
        ]

    def __str__(self) -> str:
        return f"anchor verdict {self.pk}"
