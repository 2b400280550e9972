"""Exports that a worker makes, and that wait on disk to be downloaded."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class ExportState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FAILED = "failed", "Failed"
    DONE = "done", "Finished"


OPEN_EXPORT = (ExportState.QUEUED, ExportState.RUNNING)


class ExportJob(models.Model):
    """A file that somebody asked for: what a worker takes, with a lease that it keeps alive, and where the file is.

    The row is the truth. A worker that dies leaves a lease that runs out, and the next one begins anew; only the holder
    of the row says that the file is there.
    """

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="export_jobs"
    )
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.CASCADE, related_name="export_jobs")
    study = models.ForeignKey(
        "annotation.Study", on_delete=models.CASCADE, null=True, blank=True, related_name="export_jobs"
    )
    what = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    options = models.JSONField(default=dict, blank=True)
    key = models.CharField(max_length=64, help_text="Hash of what was asked for.")
    state = models.CharField(max_length=10, choices=ExportState.choices, default=ExportState.QUEUED)
    step = models.CharField(max_length=60, blank=True)
    n_done = models.PositiveBigIntegerField(default=0)
    n_total = models.PositiveBigIntegerField(default=0)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    file = models.CharField(max_length=100, blank=True, help_text="Its name in the folder of exports.")
    size = models.PositiveBigIntegerField(default=0)
    notes = models.JSONField(default=list, blank=True, help_text="What the format could not hold.")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # A form that is sent twice asks for one file.
            models.UniqueConstraint(
                fields=["requested_by", "key"],
                condition=Q(state__in=["queued", "running"]),
                name="export_job_once",
            ),
            models.CheckConstraint(condition=Q(state__in=ExportState.values), name="export_job_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.study or self.dataset}"

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in OPEN_EXPORT
