"""An import of the command line that isn't finished."""

from annotation.models import StagedImport, User
from annotation.services.staged_imports import staged_begin


def staged_make(owner: User, *, name: str = "large", row: int = 5_000, job: str = "") -> StagedImport:
    """A dataset whose file is stored up to a row."""
    staging = staged_begin(
        name=name,
        key="k",
        file="large.jsonl",
        job=job,
        owner=owner,
        title=name,
        source="generic: large.jsonl",
    )
    StagedImport.objects.filter(pk=staging.row.pk).update(row=row)
    staging.row.refresh_from_db()
    return staging.row
