"""Prompts that are written in the admin: checked and saved as new versions, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from judges.models import PromptText
from judges.selectors.prompts import prompt_get, prompt_kinds, prompt_versions
from judges.strategies.prompt_language import prompt_check
from judges.strategies.prompts import prompt_fingerprint

if TYPE_CHECKING:
    from annotation.models import User

ATTEMPTS = 20
"""How often a version number that somebody else took at the same moment is followed by the next one."""


def prompt_save(
    *,
    kind: str,
    name: str,
    source: str,
    based_on: str = "",
    notes: str = "",
    user: User | None = None,
) -> PromptText:
    """Save a text as the next version of a prompt; the same text again is the version there is.

    Parameters
    ----------
    name : str
        Without a version, such as ``"my_rules"``. Versions of files and of rows are counted together.
    based_on : str
        The prompt that it was made from, with its version.

    Raises
    ------
    ValidationError
        By field: an unknown kind, a name that is none, a text that cannot be used, or the text of a file.
    """
    source = source_normalized(source)
    if kind not in prompt_kinds():
        raise ValidationError({"kind": f"There are no prompts for '{kind}'."})
    base = prompt_get(kind, based_on) if based_on else None
    problems = prompt_check(kind, source, base=base.source if base is not None else "")
    if problems.errors:
        raise ValidationError({"source": list(problems.errors)})
    sha = prompt_fingerprint(source)
    for _ in range(ATTEMPTS):
        versions = prompt_versions(kind, name)
        for version in versions:
            if version.sha == sha and version.is_file:
                raise ValidationError({"source": f"This is '{version.name}' unchanged: change something."})
            if version.sha == sha:
                return PromptText.objects.get(kind=kind, name=name, version=version.version)
        row = PromptText(
            kind=kind,
            name=name,
            version=1 + max((version.version for version in versions), default=0),
            source=source,
            sha=sha,
            based_on=base.name if base is not None else "",
            notes=notes.strip(),
            created_by=user,
        )
        row.full_clean(validate_unique=False, validate_constraints=False)
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError:
            continue  # somebody else took the number: look again
        return row
    raise ValidationError("Others saved versions at the same moment. Try again.")


def source_normalized(source: str) -> str:
    """Return a text as it is stored: its lines end with a line feed, and so does the last one.

    >>> source_normalized("# user\\r\\nHello")
    '# user\\nHello\\n'
    """
    return source.replace("\r\n", "\n").replace("\r", "\n").strip("\n") + "\n"
