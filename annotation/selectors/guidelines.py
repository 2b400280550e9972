"""Guidelines over time: their versions, what changed between them, and texts to start from."""

import re
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.db.models import Count

from annotation.kinds import KINDS
from annotation.models import Enrollment, GuidelinesRevision, Label, Study
from web.textdiff import Line, lines_changed


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the guidelines, with the labels given under it and what changed since the one before."""

    number: int
    text: str
    created_at: datetime | None
    labels: int
    changes: tuple[Line, ...]


def guidelines_versions(study: Study) -> list[Version]:
    """Versions whose text is kept, the latest first."""
    labels = dict(
        Label.objects.filter(study=study).order_by().values_list("guidelines_version").annotate(n=Count("pk"))
    )
    kept: list[tuple[int, str, datetime | None]] = [
        (one.version, one.text, one.created_at) for one in study.guidelines_revisions.order_by("version")
    ]
    if study.guidelines_version not in {number for number, *_ in kept}:
        kept.append((study.guidelines_version, study.guidelines, None))
    versions: list[Version] = []
    for number, text, created_at in kept:
        changes = lines_changed(versions[-1].text, text) if versions else ()
        versions.append(Version(number, text, created_at, labels.get(number, 0), changes))
    return versions[::-1]


def starting_text(kind: str) -> str:
    """Guidelines to start from, by kind of work."""
    if kind not in KINDS:
        return ""
    path = Path(settings.BASE_DIR) / "fixtures" / "guidelines" / f"{kind}.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def guidelines_changes(enrollment: Enrollment) -> list[tuple[Literal["+", "-"], str]]:
    """Paragraphs that came (`+`) and went (`-`), in the order of the text."""
    study = enrollment.study
    read = GuidelinesRevision.objects.filter(study=study, version=enrollment.guidelines_read_version or 0)
    before = _paragraphs(read.values_list("text", flat=True).first() or "")
    now = _paragraphs(study.guidelines)
    changes: list[tuple[Literal["+", "-"], str]] = []
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(
        a=before, b=now, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            changes += [("-", text) for text in before[old_from:old_to]]
            changes += [("+", text) for text in now[new_from:new_to]]
    return changes


def _paragraphs(text: str) -> list[str]:
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    return [part.strip() for part in parts if part.strip()]
