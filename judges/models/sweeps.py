"""Sweeps: many judge configurations over one or several datasets."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from judges.models.configurations import Judge


class SweepState(models.TextChoices):
    DRAFT = "draft", "Draft"
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Stopped by an error"
    FINISHED = "finished", "Finished"


class Orders(models.TextChoices):
    BOTH = "both", "Both presentation orders"
    ORIGINAL = "original", "Original order only"


class Sweep(models.Model):
    name = models.CharField(max_length=200)
    judges: models.ManyToManyField[Judge, models.Model] = models.ManyToManyField(Judge, related_name="sweeps")
    datasets: models.ManyToManyField[models.Model, models.Model] = models.ManyToManyField(
        "annotation.Dataset", related_name="sweeps"
    )
    orders = models.CharField(max_length=8, choices=Orders.choices, default=Orders.BOTH)
    budget = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, help_text="US dollars; the sweep stops there."
    )
    state = models.CharField(
        max_length=10, choices=SweepState.choices, default=SweepState.DRAFT, editable=False
    )
    message = models.TextField(blank=True, editable=False, help_text="Why it stopped, in plain words.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="sweeps"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=SweepState.values), name="sweep_state_known"),
        ]

    def __str__(self) -> str:
        return self.name


class SweepRun(models.Model):
    """One judge over one dataset: what a worker takes at a time, with a lease that it keeps alive.

    The counters are for the eye. What remains to be done is always items times orders without a judgment.
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="runs")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.PROTECT, related_name="runs")
    n_total = models.PositiveIntegerField(default=0)
    n_done = models.PositiveIntegerField(
        default=0, help_text="Judgments that there are, reused ones included."
    )
    n_reused = models.PositiveIntegerField(default=0, help_text="Judgments that were there before the sweep.")
    n_unparsed = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(default=0)
    n_requests = models.PositiveIntegerField(default=0, help_text="Requests sent.")
    n_shared = models.PositiveIntegerField(default=0, help_text="Requests answered from what was there.")
    cost = models.FloatField(default=0.0)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sweep", "judge", "dataset"], name="sweep_run_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.judge} on {self.dataset}"
