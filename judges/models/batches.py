"""Batches of requests: what was sent to a vendor to be answered within a day."""

from django.db import models
from django.db.models import Q

from judges.models.configurations import Endpoint
from judges.models.sweeps import RunRange, SweepRun


class BatchState(models.TextChoices):
    PREPARED = "prepared", "Being submitted"
    SUBMITTING = "submitting", "Being submitted"
    SUBMITTED = "submitted", "Submitted"
    READING = "reading", "Results being read"
    ENDED = "ended", "Ended"


class RequestBatch(models.Model):
    """Requests of a run that one batch of a vendor answers. While it is open it holds them: their `owner` is its key.

    No worker holds anything for it. Whoever finds it due submits it, looks how far it is, or reads its results, under a
    lease of a minute. `SUBMITTING` is written before the vendor is asked to make the batch: where it is found without
    `remote`, the batch is looked for there before it is submitted again.
    """

    key = models.CharField(max_length=64, primary_key=True)
    run = models.ForeignKey(SweepRun, on_delete=models.CASCADE, related_name="batches")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="batches")
    asked = models.JSONField(help_text="The model as the judge's specification names it, with its options.")
    ranges: models.ManyToManyField[RunRange, models.Model] = models.ManyToManyField(
        RunRange, related_name="batches", help_text="What waits for it."
    )
    state = models.CharField(max_length=10, choices=BatchState.choices, default=BatchState.PREPARED)
    remote = models.CharField(max_length=200, blank=True, help_text="The vendor's id of it.")
    is_certain = models.BooleanField(
        default=True, help_text="False: found again, and only its results tell whether it is ours."
    )
    rejected = models.JSONField(default=list, help_text="Ids that turned out to be other batches.")
    n_requests = models.PositiveIntegerField()
    n_done = models.PositiveIntegerField(default=0, help_text="Answered, as the vendor counts.")
    n_failed = models.PositiveIntegerField(default=0, help_text="Failed, as the vendor counts.")
    n_stored = models.PositiveIntegerField(default=0, help_text="Answers that are stored.")
    is_cancelling = models.BooleanField(default=False)
    failures = models.PositiveSmallIntegerField(default=0, help_text="In a row, in asking the vendor.")
    error = models.TextField(blank=True)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    look_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    submitting_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at"]
        verbose_name = "batch"
        verbose_name_plural = "batches"
        indexes = [
            models.Index(fields=["look_at"], condition=~Q(state="ended"), name="request_batch_open"),
        ]

    def __str__(self) -> str:
        return self.remote or self.key
