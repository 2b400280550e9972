"""An import of the command line that isn't finished, and an upload of which a part is stored."""

from hashlib import sha256
from io import BytesIO

from annotation.models import StagedImport, User
from annotation.services.staged_imports import staged_begin
from judges.models import FileUpload
from judges.services.uploads import upload_append, upload_begin


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


def upload_make(user: User, *, name: str = "large.jsonl", chunks: int = 3) -> FileUpload:
    """The upload of a file of items, of which the first chunk is stored."""
    chunk = b"x" * 4 * 2**20
    upload = upload_begin(
        user=user,
        dataset=None,
        name=name,
        size=chunks * len(chunk),
        modified=1,
        head="0" * 64,
        said={"name": "large"},
    )
    return upload_append(upload=upload, offset=0, content=BytesIO(chunk), digest=sha256(chunk).digest())
