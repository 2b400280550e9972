"""Workers as they were started, with their last sign of life."""

from django.db import models


class WorkerHeartbeat(models.Model):
    """A Celery worker, idle or at work: the process that an operator started, with its pool.

    `Worker` is another thing: a session of the engine, which is there while runs are judged and holds their leases.
    Nothing depends on this row but what operators are shown.
    """

    name = models.CharField(max_length=200, primary_key=True, help_text="The worker's node name.")
    queues = models.JSONField(default=list, help_text="The queues that it takes messages from.")
    n_processes = models.PositiveIntegerField(default=1, help_text="Processes of its pool.")
    version = models.CharField(max_length=40, blank=True, help_text="Of the installed package.")
    started_at = models.DateTimeField()
    beat_at = models.DateTimeField(db_index=True)
    stopped_at = models.DateTimeField(null=True, help_text="When it was shut down; empty: it wasn't.")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
