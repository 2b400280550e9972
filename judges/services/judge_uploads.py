"""Files of a judge that somebody sends: kept, looked at, and made a judge once they say so.

Nothing of a file is run or sent. The files are texts in a row, so any process shows them; they are written into a
folder of their own for as long as they are read.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from annotation.importers.archives import MAX_PATH, SUFFIX, unpacked
from annotation.importers.errors import ImportFileError
from annotation.models import User
from judges.models import Judge, JudgeUpload
from judges.services.judge_files import OWN, FileJudge, FoundJudge, judge_read, judges_found
from judges.services.judge_imports import ImportedJudge, judge_define, spec_here
from judges.services.plans import PlanError
from judges.strategies.errors import SpecError
from judges.strategies.spec import JudgeSpec

READ = (".json", ".jsonl", ".yaml", ".yml", ".txt")
"""Files of an archive that may belong to a judge; others in it are left out."""
MOST_BYTES = 8 * 2**20
"""Of the files of one upload, as they are sent."""
MOST_TEXT = 4_000_000
"""Bytes of the texts of one upload, unpacked."""
MOST_YAML = 300_000
"""Bytes of YAML among them, which takes seconds to read."""
MOST_FILES = 2_000
MOST_KEPT = 10
"""Uploads of one person that are kept; the oldest one gives way."""


class JudgeUploadError(Exception):
    """Files are no judge that can be defined. Names the file or the field."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


class ChangedJudgeError(JudgeUploadError):
    """What would be defined is not what was shown."""


@dataclass(frozen=True, slots=True)
class UploadChoice:
    """Which judge of an upload, and what is said of it beside its files.

    Attributes
    ----------
    evaluator : str
        Its name among those of the files; may be empty where there is one.
    endpoint : str
        Where its models are asked; empty: at those of this site that have the address and settings of the file.
    model : str
        In place of the one in the files.
    name : str
        Empty: that of the files.
    drawn_order, seed : bool, int
        Of AlpacaEval's: show each pair once, in the order that its run with this seed draws.
    """

    evaluator: str = ""
    endpoint: str = ""
    model: str = ""
    name: str = ""
    drawn_order: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class UploadedJudge:
    """What files would become.

    Attributes
    ----------
    evaluators : tuple of FoundJudge
        All that the files hold.
    chosen : FoundJudge or None
        None where there are several and none was chosen.
    read : FileJudge or None
        None where it is refused; `problem` says why, and `field` which field says it.
    spec : JudgeSpec or None
        Of the judge that would be defined here. None where it is refused, or no endpoint fits.
    existing : Judge or None
        The judge of this site that has exactly this specification.
    """

    evaluators: tuple[FoundJudge, ...]
    chosen: FoundJudge | None = None
    read: FileJudge | None = None
    spec: JudgeSpec | None = None
    existing: Judge | None = None
    field: str = ""
    problem: str = ""

    @property
    def shown(self) -> JudgeSpec | None:
        """What can be shown of it: as it would be here, or else as the file has it."""
        return self.spec or (None if self.read is None else self.read.document.spec)


def upload_texts(files: Iterable[tuple[str, IO[bytes]]]) -> dict[str, str]:
    """Return the texts of files by their paths, those of ZIP archives too.

    Raises
    ------
    JudgeUploadError
        A file is no text, one of too many, or an archive that cannot be unpacked; nothing is kept.
    """
    found: dict[str, bytes] = {}
    for name, content in files:
        if Path(name).suffix.lower() == SUFFIX:
            members = _members(name, content)
        else:
            members = {name: content.read(MOST_TEXT + 1)}
        for path, body in members.items():
            if path in found:
                raise JudgeUploadError(path, "was sent twice.")
            found[path] = body
    return upload_texts_checked({path: _decoded(path, body) for path, body in found.items()})


def upload_texts_checked(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts by their paths if they may be kept; raises JudgeUploadError."""
    if not texts:
        raise JudgeUploadError("files", f"expected a file named {', '.join(READ)}.")
    if len(texts) > MOST_FILES:
        raise JudgeUploadError("files", f"expected at most {MOST_FILES:,} files, found {len(texts):,}.")
    if (size := sum(len(text.encode()) for text in texts.values())) > MOST_TEXT:
        raise JudgeUploadError("files", f"expected at most {MOST_TEXT:,} bytes of text, found {size:,}.")
    yaml = [text for path, text in texts.items() if Path(path).suffix.lower() in (".yaml", ".yml")]
    if (size := sum(len(text.encode()) for text in yaml)) > MOST_YAML:
        raise JudgeUploadError("files", f"expected at most {MOST_YAML:,} bytes of YAML, found {size:,}.")
    paths = {PurePosixPath(path) for path in texts}
    for path, text in texts.items():
        if why := _path_problem(path, paths):
            raise JudgeUploadError(path[:MAX_PATH], why)
        if "\x00" in text:
            raise JudgeUploadError(path, "expected text, found a NUL character.")
    return dict(texts)


def _path_problem(path: str, paths: set[PurePosixPath]) -> str:
    parts = path.split("/")
    if not path or not path.isprintable() or "\\" in path:
        return "expected a name of printable characters, with / between folders."
    if len(path) > MAX_PATH or any(len(part.encode()) > 255 for part in parts):
        return f"expected a name of at most {MAX_PATH} characters."
    if any(part in ("", ".", "..") for part in parts):
        return "expected a path inside the files; this one leads out of them."
    if any(above in paths for above in PurePosixPath(path).parents):
        return "is in a folder that has the name of a file."
    return ""


def _members(name: str, content: IO[bytes]) -> dict[str, bytes]:
    """Return the files of an archive that may belong to a judge."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as scratch:
        path = Path(scratch) / "archive.zip"
        path.write_bytes(content.read(MOST_BYTES + 1))
        try:
            with unpacked(path) as folder:
                members = [
                    each
                    for each in sorted(folder.rglob("*"))
                    if each.is_file() and each.suffix.lower() in READ
                ]
                if sum(each.stat().st_size for each in members) > MOST_TEXT:
                    raise JudgeUploadError(
                        name,
                        f"holds more than {MOST_TEXT:,} bytes of text. Send an archive of the judge's folder alone.",
                    )
                return {each.relative_to(folder).as_posix(): each.read_bytes() for each in members}
        except ImportFileError as error:
            raise JudgeUploadError("", str(error).replace(str(path), name)) from None


def _decoded(path: str, body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise JudgeUploadError(path, "not UTF-8 text.") from None


def judge_upload_create(*, user: User, texts: Mapping[str, str], name: str = "") -> JudgeUpload:
    """Keep files that hold a judge. The same ones again are the same upload.

    Raises
    ------
    JudgeUploadError
        There is no judge in them.
    """
    texts = upload_texts_checked(texts)
    with _folder(texts) as folder:
        try:
            found = [asdict(each) for each in judges_found(folder)]
        except SpecError as error:
            raise JudgeUploadError(error.field, error.problem) from None
    key = sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
    shown = (name or ", ".join(texts))[:200]
    try:
        with transaction.atomic():
            upload = JudgeUpload.objects.create(user=user, name=shown, files=texts, found=found, key=key)
    except IntegrityError:  # it is there already, or was sent twice at once
        return JudgeUpload.objects.get(user=user, key=key)
    for old in judge_uploads_of(user)[MOST_KEPT:]:
        judge_upload_delete(upload=old)
    return upload


def judge_uploads_of(user: User) -> QuerySet[JudgeUpload]:
    """The files that this person sent and that are still there, newest first, without their texts."""
    return JudgeUpload.objects.filter(user=user).exclude(key="").defer("files", "found")


def judge_upload_get_for(user: User, pk: int) -> JudgeUpload:
    """Files that this person sent; else Http404."""
    return get_object_or_404(JudgeUpload.objects.exclude(key=""), pk=pk, user=user)


def judge_upload_delete(*, upload: JudgeUpload) -> None:
    """Forget files. The judges that they defined stay, and whose they are."""
    with transaction.atomic():
        row = JudgeUpload.objects.select_for_update().filter(pk=upload.pk).first()
        if row is not None and row.judges.exists():
            row.files, row.found, row.key = {}, [], ""
            row.save(update_fields=["files", "found", "key"])
        elif row is not None:
            row.delete()


def judge_upload_found(upload: JudgeUpload) -> tuple[FoundJudge, ...]:
    """Return the judges that files hold."""
    return tuple(FoundJudge(**values) for values in upload.found)


def judge_upload_read(*, upload: JudgeUpload, choice: UploadChoice) -> UploadedJudge:
    """Return what files would become; nothing is stored."""
    found = judge_upload_found(upload)
    chosen = _chosen(found, choice.evaluator)
    if chosen is None:
        why = f"There is no judge '{choice.evaluator}' in these files." if choice.evaluator else ""
        return UploadedJudge(found, field="evaluator", problem=why)
    params = {"drawn_order": True, "seed": choice.seed} if choice.drawn_order else {}
    try:
        if params and chosen.form == OWN:
            raise SpecError("drawn_order", "is for published evaluators.")
        with _folder(upload.files) as folder:
            read = judge_read(chosen, folder, model=choice.model, params=params)
    except SpecError as error:
        return UploadedJudge(found, chosen, field=error.field, problem=error.problem)
    try:
        spec = spec_here(read.document.spec, choice.endpoint or read.endpoint)
    except PlanError as error:
        return UploadedJudge(found, chosen, read, field=error.field, problem=error.problem)
    existing = Judge.objects.filter(fingerprint=spec.fingerprint()).first()
    return UploadedJudge(found, chosen, read, spec, existing)


def judge_upload_define(*, upload: JudgeUpload, choice: UploadChoice, fingerprint: str = "") -> ImportedJudge:
    """Make the chosen judge of an upload. Once more, or twice at once, is the same judge.

    Parameters
    ----------
    fingerprint : str
        Of the judge that was shown; empty: whatever the files say now.

    Raises
    ------
    JudgeUploadError
        It is refused; names the field.
    ChangedJudgeError
        It would be another judge than the one that was shown.
    """
    read = judge_upload_read(upload=upload, choice=choice)
    if read.spec is None or read.read is None:
        raise JudgeUploadError(read.field, read.problem or "choose one of the judges in these files.")
    if fingerprint and read.spec.fingerprint() != fingerprint:
        raise ChangedJudgeError(
            "",
            "The site or its endpoints changed since you saw this judge. Look at it again before you add it.",
        )
    try:
        with transaction.atomic():
            made = judge_define(
                document=read.read.document,
                user=upload.user,
                endpoint=choice.endpoint or read.read.endpoint,
                name=choice.name,
                notes=" ".join(read.read.notes),
            )
            # A person who sent the whole content of a judge may see it, even if another defined it first.
            upload.judges.add(made.judge)
    except PlanError as error:
        raise JudgeUploadError(error.field, error.problem) from None
    return made


def _chosen(found: Sequence[FoundJudge], name: str) -> FoundJudge | None:
    if not name:
        return found[0] if len(found) == 1 else None
    return next((each for each in found if each.name == name), None)


@contextmanager
def _folder(texts: Mapping[str, Any]) -> Iterator[Path]:
    """The files in a folder of their own, in one that has nothing else."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as scratch:
        folder = Path(scratch) / "files"
        folder.mkdir()
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text), encoding="utf-8", newline="")
        yield folder
