"""What changed in the guidelines of a study since a person has read them."""

import re
from difflib import SequenceMatcher
from typing import Literal

from annotation.models import Enrollment, GuidelinesRevision


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
