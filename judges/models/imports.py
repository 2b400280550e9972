"""Files that somebody sent, of verdicts, of a dataset or of judges: looked at first, and stored once they say so."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models import Split


class ImportState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    CHECKED = "checked", "Checked"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"
    DONE = "done", "Imported"


OPEN_IMPORT = (ImportState.QUEUED, ImportState.RUNNING)
WAITING_IMPORT = (*OPEN_IMPORT, ImportState.CHECKED)
"""Of these the file is still wanted."""
KEPT_IMPORT = (*WAITING_IMPORT, ImportState.FAILED)
"""Of these the file is still on disk: one that failed for no reason in the file can be read on."""
_WAITING = [state.value for state in WAITING_IMPORT]


class FileImport(models.Model):
    """What a worker takes, with a lease that it keeps alive.

    The row is the truth. The file waits on disk until it is stored, refused or deleted; what it says and the state
    `done` are stored in one transaction.
    """

    name = models.CharField(max_length=200, help_text="The name of the file that was sent.")
    file = models.CharField(max_length=100, help_text="Its name in the folder of imports.")
    size = models.PositiveBigIntegerField(default=0)
    key = models.CharField(max_length=64, help_text="Hash of the file, its format and its dataset.")
    state = models.CharField(max_length=10, choices=ImportState.choices, default=ImportState.QUEUED)
    is_confirmed = models.BooleanField(
        default=False, help_text="Whether it is to be stored, not only checked."
    )
    step = models.CharField(max_length=60, blank=True)
    n_done = models.PositiveBigIntegerField(default=0)
    n_total = models.PositiveBigIntegerField(default=0)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    found = models.JSONField(
        default=dict, blank=True, help_text="What is in the file: counts, and what comes first."
    )
    errors = models.JSONField(default=list, blank=True, help_text="What is wrong, by row and field.")
    notes = models.JSONField(default=list, blank=True, help_text="What was left out, and why.")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in OPEN_IMPORT

    @property
    def is_lost(self) -> bool:
        """Whether its worker has given no sign of life for the length of a lease; the next one takes it up."""
        lease = self.lease_until
        return self.state == ImportState.RUNNING and lease is not None and lease < timezone.now()


class VerdictImport(FileImport):
    """A file of verdicts on a dataset's items."""

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="verdict_imports"
    )
    dataset = models.ForeignKey(
        "annotation.Dataset", on_delete=models.CASCADE, related_name="verdict_imports"
    )
    format = models.CharField(max_length=20)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # A form that is sent twice sends one file.
            models.UniqueConstraint(
                fields=["requested_by", "key"], condition=Q(state__in=_WAITING), name="verdict_import_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=ImportState.values), name="verdict_import_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.dataset}"


class DatasetImport(FileImport):
    """A file of items: what its columns are is asked, and its items are shown, before they become a dataset.

    Beside the file lie the errors of its rows and the items of its preview (`judges.services.dataset_imports`).
    """

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="dataset_imports"
    )
    dataset = models.ForeignKey(
        "annotation.Dataset", on_delete=models.CASCADE, null=True, related_name="dataset_imports"
    )
    dataset_name = models.SlugField(max_length=64)
    title = models.CharField(max_length=200, blank=True)
    split = models.CharField(max_length=16, choices=Split.choices, default=Split.PRIVATE)
    licence = models.CharField(max_length=100, blank=True)
    criteria = models.CharField(max_length=64, blank=True, help_text="A ready-made set of criteria.")
    mapping = models.JSONField(default=dict, blank=True, help_text="What the columns of the file are.")
    skip_bad_rows = models.BooleanField(default=False)
    is_new_version = models.BooleanField(
        default=False, help_text="The file replaces what the dataset has, instead of adding to it."
    )
    n_errors = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["requested_by", "key"], condition=Q(state__in=_WAITING), name="dataset_import_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=ImportState.values), name="dataset_import_state_known"
            ),
            models.CheckConstraint(condition=Q(split__in=Split.values), name="dataset_import_split_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} as {self.dataset_name}"


class FileUpload(models.Model):
    """A file that goes up in chunks: what it is, and how much of it is stored (`judges.services.uploads`).

    Once it is whole an import takes it; the row stays for a while, so that the end can be sent twice.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="file_uploads")
    dataset = models.ForeignKey(
        "annotation.Dataset",
        on_delete=models.CASCADE,
        null=True,
        related_name="file_uploads",
        help_text="Of a file of verdicts or labels, what they are on; none of a file of items.",
    )
    name = models.CharField(max_length=200, help_text="The name of the file that is sent.")
    file = models.CharField(max_length=100, help_text="Its name in the folder of imports.")
    size = models.PositiveBigIntegerField(help_text="Bytes of the whole file.")
    chunk = models.PositiveIntegerField(help_text="Bytes of each chunk but the last.")
    n_stored = models.PositiveBigIntegerField(default=0, help_text="Bytes that are stored.")
    digest = models.CharField(
        max_length=64,
        blank=True,
        help_text="SHA-256 over the digest that was stored before the last chunk and the SHA-256 of that chunk.",
    )
    key = models.CharField(
        max_length=64, help_text="Hash by which the file is known again: name, size, time and first bytes."
    )
    said = models.JSONField(default=dict, help_text="What the form says of it.")
    is_taken = models.BooleanField(default=False, help_text="Whether the import of the whole file began.")
    import_pk = models.PositiveBigIntegerField(
        null=True, help_text="The import that has the file; none where it was imported at once."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(
        default=timezone.now, help_text="When it was begun, or its last chunk came."
    )

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # Tabs that send the same file at once send it together.
            models.UniqueConstraint(
                fields=["user", "key"], condition=Q(is_taken=False), name="file_upload_once"
            ),
            models.CheckConstraint(condition=Q(n_stored__lte=F("size")), name="file_upload_within_its_size"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_whole(self) -> bool:
        return self.n_stored == self.size


class JudgeUpload(models.Model):
    """Files of a judge that somebody sent, and the judges that they defined from them.

    Anyone who sent a judge's whole content may see the judge that has it. Once the files are removed, a row with judges
    stays for that.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="judge_uploads")
    name = models.CharField(max_length=200, help_text="What was sent, to show it in a list.")
    files = models.JSONField(default=dict, blank=True, help_text="The text of each file by its path.")
    found = models.JSONField(
        default=list,
        blank=True,
        help_text="The judges that they hold: name, format, path and evaluator of each.",
    )
    key = models.CharField(
        max_length=64, blank=True, help_text="Hash of the files; empty once they are gone."
    )
    judges = models.ManyToManyField("judges.Judge", blank=True, related_name="uploads")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # A form that is sent twice sends its files once.
            models.UniqueConstraint(fields=["user", "key"], condition=~Q(key=""), name="judge_upload_once")
        ]

    def __str__(self) -> str:
        return self.name
