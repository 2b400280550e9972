"""Sweeps: many judge configurations over one or several datasets."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from annotation.models.names import NameField
from judges.models.configurations import Judge, Queue


class SweepState(models.TextChoices):
    DRAFT = "draft", "Draft"
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Stopped"
    FINISHED = "finished", "Finished"


class Orders(models.TextChoices):
    BOTH = "both", "Both presentation orders"
    ORIGINAL = "original", "Original order only"
    RANDOM = "random", "One order an item, drawn at random"


class Sweep(models.Model):
    name = NameField(max_length=200)
    judges: models.ManyToManyField[Judge, models.Model] = models.ManyToManyField(Judge, related_name="sweeps")
    datasets: models.ManyToManyField[models.Model, models.Model] = models.ManyToManyField(
        "annotation.Dataset", related_name="sweeps"
    )
    orders = models.CharField(max_length=8, choices=Orders.choices, default=Orders.BOTH)
    seed = models.PositiveIntegerField(default=0, help_text="Of random orders and of the sample.")
    samples = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Responses of a contestant to each instruction.",
    )
    categories = models.JSONField(default=list, blank=True, help_text="Only items of these; empty: of all.")
    subsets = models.JSONField(
        default=list, blank=True, help_text="Only items whose subset is one of these paths, or below one."
    )
    sample_size = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Items drawn at random from each dataset; empty: all.",
    )
    budget = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, help_text="US dollars; the sweep stops there."
    )
    budget_tokens = models.PositiveBigIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Prompt and completion tokens."
    )
    budget_minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Time at work; pauses do not count.",
    )
    priority = models.SmallIntegerField(default=0, help_text="Sweeps with a higher one go first.")
    stop_unparsed = models.FloatField(
        null=True,
        blank=True,
        default=0.5,
        validators=[MinValueValidator(0.05), MaxValueValidator(1.0)],
        help_text="A judge stops when more than this share of its answers cannot be read; empty: never.",
    )
    anchors = models.ForeignKey(
        "judges.AnchorSet",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="checks",
        help_text="Of a check: what is asked again. Such a sweep is in no list, and judges nothing else.",
    )
    state = models.CharField(
        max_length=10, choices=SweepState.choices, default=SweepState.DRAFT, editable=False
    )
    message = models.TextField(blank=True, editable=False, help_text="Why it stopped, in plain words.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="sweeps"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    queued_at = models.DateTimeField(
        null=True, editable=False, help_text="When it was last queued; empty: by an earlier version."
    )
    started_at = models.DateTimeField(null=True, editable=False)
    resumed_at = models.DateTimeField(null=True, editable=False, help_text="When it last began to work.")
    worked_seconds = models.FloatField(default=0.0, editable=False, help_text="At work before `resumed_at`.")
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=SweepState.values), name="sweep_state_known"),
            models.CheckConstraint(
                condition=Q(stop_unparsed__isnull=True) | Q(stop_unparsed__gte=0.05, stop_unparsed__lte=1.0),
                name="sweep_stop_unparsed_bounded",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SweepRun(models.Model):
    """One judge over one dataset. Workers take it range by range (`RunRange`), several at the same time.

    `owner` is one of the workers that are at it, `lease_until` until when any of them surely is. The counters are for
    the eye. What remains to be done is always items times orders without a judgment.
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="runs")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.PROTECT, related_name="runs")
    queue = models.CharField(
        max_length=8,
        choices=Queue.choices,
        blank=True,
        help_text="Of the judge's endpoint; empty where any worker will do.",
    )
    n_total = models.PositiveIntegerField(default=0)
    n_done = models.PositiveIntegerField(
        default=0, help_text="Judgments that there are, reused ones included."
    )
    n_reused = models.PositiveIntegerField(default=0, help_text="Judgments that were there before the sweep.")
    n_unparsed = models.PositiveIntegerField(default=0)
    n_failed = models.PositiveIntegerField(default=0)
    n_requests = models.PositiveIntegerField(default=0, help_text="Requests sent.")
    n_shared = models.PositiveIntegerField(default=0, help_text="Requests answered from what was there.")
    n_tokens = models.PositiveBigIntegerField(
        default=0, help_text="Prompt and completion tokens of those sent."
    )
    n_started = models.PositiveBigIntegerField(
        default=0, help_text="Works started since the run was last cut into ranges."
    )
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


class RunRange(models.Model):
    """Items of a run that are still to be judged, by their primary keys: what a worker takes at a time.

    A run begins as one range. Who takes a long one leaves the rest of it as another; who is through with one deletes
    it. It is held for as long as its worker gives signs of life (`Worker`).
    """

    run = models.ForeignKey(SweepRun, on_delete=models.CASCADE, related_name="ranges")
    first = models.BigIntegerField(default=0)
    last = models.BigIntegerField(null=True, help_text="Empty: to the end.")
    owner = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "first"], name="run_range_unique")]

    def __str__(self) -> str:
        return f"{self.first} to {'the end' if self.last is None else self.last}"


class BudgetReservation(models.Model):
    """What a worker is about to spend of a sweep's budget: others may not count on it.

    Kept alive like the worker's other leases. It says nothing once it has run out.
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="reservations")
    owner = models.CharField(max_length=64, help_text="The worker.")
    is_money = models.BooleanField(help_text="In US dollars; otherwise in tokens.")
    amount = models.FloatField()
    lease_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sweep", "owner", "is_money"], name="budget_reservation_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.amount} of {self.sweep_id}"
