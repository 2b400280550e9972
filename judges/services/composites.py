"""Composites that are found rather than written: one judge for each category or subset, made once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction

from judges.models import Judge
from judges.services.judges import DuplicateJudgeError, free_name, judge_create, spec_build
from judges.strategies.composed import ALL_OTHERS

if TYPE_CHECKING:
    from annotation.models import User

STRATEGY = "composite"
LONGEST_NAME = 180
"""Characters of a name."""
_ATTEMPTS = 5


@transaction.atomic
def composite_ensure(
    *,
    name: str,
    by: str,
    parts: Mapping[str, Judge],
    others: Judge,
    notes: str = "",
    created_by: User | None = None,
) -> Judge:
    """Return the composite of some judges, made if there is none that answers the same.

    Two who ask for it at once get the same one, and an existing one keeps its name.

    Parameters
    ----------
    name : str
        What a new one is called; with a number behind it where the name is taken.
    by : {"category", "subset"}
    parts : mapping of str to Judge
        By category, or path of a subset.
    others : Judge
        Judges everything that the parts do not name.

    Raises
    ------
    ValidationError
        They cannot be a judge: one cannot be asked, they judge different kinds, a name is too long.
    """
    members = {**parts, ALL_OTHERS: others}
    params = {"by": by}
    fingerprint = spec_build(strategy=STRATEGY, members=members, params=params).fingerprint()
    for attempt in range(1, _ATTEMPTS + 1):
        existing = Judge.objects.filter(fingerprint=fingerprint).first()
        if existing is not None:
            return existing
        try:
            return judge_create(
                name=free_name(name[:LONGEST_NAME].strip()),
                strategy=STRATEGY,
                members=members,
                params=params,
                notes=notes,
                created_by=created_by,
            )
        except DuplicateJudgeError as error:
            return error.existing
        except ValidationError as error:
            # Somebody may have made it, or taken the name, since we looked.
            if attempt == _ATTEMPTS or getattr(error, "error_dict", {}).keys().isdisjoint(
                {"name", "fingerprint"}
            ):
                raise
    raise AssertionError("unreachable")
