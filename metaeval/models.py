"""Reports, which are snapshots; decisions, which say which judge to use and why; ratings from elsewhere."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from annotation.kinds import DEFAULT_KIND, kind_choices
from annotation.models.names import NameField


class Preregistration(models.Model):
    """What was planned before a study, frozen: a new version is a new row, and the database refuses a change."""

    dataset = models.ForeignKey(
        "annotation.Dataset", on_delete=models.CASCADE, related_name="preregistrations"
    )
    title = NameField(max_length=200)
    content = models.JSONField(help_text="The plan itself, in the documented JSON schema.")
    sha256 = models.CharField(max_length=64, help_text="Of its canonical JSON.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="preregistrations"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # A form that is sent twice makes one.
            models.UniqueConstraint(
                fields=["dataset", "created_by", "sha256"], name="preregistration_content_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sha256[:8]})"


class Report(models.Model):
    """A snapshot of the statistics of a dataset, reproducible from its inputs, whose hash it carries."""

    name = NameField(max_length=200)
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.CASCADE, related_name="reports")
    study = models.ForeignKey(
        "annotation.Study", on_delete=models.CASCADE, null=True, blank=True, related_name="reports"
    )
    sweep = models.ForeignKey(
        "judges.Sweep", on_delete=models.SET_NULL, null=True, blank=True, related_name="reports"
    )
    preregistration = models.ForeignKey(
        Preregistration, on_delete=models.SET_NULL, null=True, blank=True, related_name="reports"
    )
    inputs_hash = models.CharField(max_length=64)
    options = models.JSONField(default=dict)
    content = models.JSONField(help_text="The report itself, in the documented JSON schema.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="reports"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.inputs_hash[:8]})"


class JobState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"
    DONE = "done", "Finished"


class JobPage(models.TextChoices):
    COMPARISON = "comparison", "Comparison"
    DECISION = "decision", "Judge selection"
    SYSTEMS = "systems", "Systems"
    CONFIDENCE = "confidence", "Errors and confidence"
    VERIFICATION = "verification", "Verification of a report"
    PAPER = "paper", "Tables of a paper"


class ReportJob(models.Model):
    """A report, or what a page shows, that is to be made: what a worker takes, with a lease that it keeps alive.

    A page has `asked`, what its figures depend on beside the rows, and `content`, what the worker found. `key` is the
    hash of what was asked for, of reports too: margin, epsilon and the like.

    The row is the truth. A worker that dies leaves a lease that runs out, and the next one begins anew; only who holds
    the row stores what it made.
    """

    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.CASCADE, related_name="report_jobs")
    study = models.ForeignKey(
        "annotation.Study", on_delete=models.CASCADE, null=True, blank=True, related_name="report_jobs"
    )
    kind = models.CharField(max_length=16, choices=kind_choices)
    epsilon = models.FloatField(help_text="Of the alternative annotator test.")
    margin = models.FloatField(default=0.0, help_text="How much better is better in practice.")
    annotators = models.CharField(
        max_length=5, default="alike", help_text="Over which annotators a winner must win."
    )
    preregistration = models.ForeignKey(
        Preregistration, on_delete=models.SET_NULL, null=True, blank=True, related_name="report_jobs"
    )
    pass_mark = models.FloatField(
        null=True, blank=True, help_text="Of rubrics: from which rating on one passes."
    )
    preset = models.CharField(
        max_length=40, blank=True, help_text="The paper whose figures stand beside the others."
    )
    dimension = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Of pairs: the key of the dimension, empty for the overall one.",
    )
    page = models.CharField(max_length=12, choices=JobPage.choices, blank=True)
    asked = models.JSONField(default=dict, blank=True)
    key = models.CharField(max_length=64, blank=True)
    address = models.TextField(blank=True, help_text="Where a page stands.")
    content = models.JSONField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="report_jobs"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    step = models.CharField(max_length=60, blank=True)
    n_done = models.PositiveIntegerField(default=0)
    n_total = models.PositiveIntegerField(default=0)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    report = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="jobs")
    started_at = models.DateTimeField(null=True, help_text="When rows were read; later ones don't count.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            # A form that is sent twice asks for one report.
            models.UniqueConstraint(
                fields=["requested_by", "dataset", "kind", "key"],
                condition=Q(state__in=["queued", "running"], study__isnull=True),
                name="report_job_dataset_once",
            ),
            models.UniqueConstraint(
                fields=["requested_by", "study", "kind", "key"],
                condition=Q(state__in=["queued", "running"], study__isnull=False),
                name="report_job_study_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.page or 'report'} on {self.study or self.dataset}"

    @property
    def result_url(self) -> str | None:
        """Where what it made can be read; None before."""
        if self.state != JobState.DONE:
            return None
        if self.page:
            return self.address
        return None if self.report_id is None else reverse("metaeval:report-detail", args=[self.report_id])

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in (JobState.QUEUED, JobState.RUNNING)


class Decision(models.Model):
    """The judge chosen from a sweep for a dataset's items of one kind, with the reason. A later one replaces it."""

    sweep = models.ForeignKey(
        "judges.Sweep",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="decisions",
        help_text="Empty: it rests on all judgments of the dataset, imported or run.",
    )
    dataset = models.ForeignKey("annotation.Dataset", on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=16, choices=kind_choices, default=DEFAULT_KIND)
    judge = models.ForeignKey("judges.Judge", on_delete=models.PROTECT, related_name="decisions")
    reason = models.TextField()
    evidence = models.JSONField(help_text="The judge's row of the comparison at the time of the decision.")
    selection = models.JSONField(
        null=True,
        blank=True,
        help_text="The choice over several datasets that it rests on: roles, constraints, held-out estimate.",
    )
    inputs_hash = models.CharField(max_length=64)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    replaced_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="replaces"
    )

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "kind"],
                condition=Q(replaced_by__isnull=True),
                name="decision_one_in_force",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judge} for {self.dataset}"


class OutsideRatings(models.Model):
    """A table of scores of systems from elsewhere (an arena, a leaderboard), to be correlated with ours."""

    name = models.SlugField(max_length=80, unique=True)
    title = NameField(max_length=200)
    source = models.CharField(
        max_length=300, blank=True, help_text="Where it comes from: an address, a paper."
    )
    licence = NameField(max_length=100, blank=True)
    column = models.CharField(max_length=100, help_text="What was imported: the name of the column.")
    scores = models.JSONField(help_text="{system: score}; more is better.")
    inputs_hash = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="outside_ratings",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "outside ratings"

    def __str__(self) -> str:
        return self.title
