"""Labels, gold and verdicts in files: `annotation.domain.values` decides, errors name the row and the field."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.domain.errors import LabelValueError
from annotation.domain.values import KINDS, MAX_RATING, ValueRules, validate_value
from annotation.importers.records import Value
from annotation.importers.rows import Row, whole

PAIRWISE, RUBRIC, IMPORTANCE, CHECKLIST, ANSWER_RANKING = KINDS
CHOICES = (0, 1, 2)
POINTS = tuple(range(1, MAX_RATING + 1))

RESPONSES: Mapping[str, tuple[int, int | None]] = {
    PAIRWISE: (2, 2),
    RUBRIC: (1, 1),
    IMPORTANCE: (0, 0),
    CHECKLIST: (1, 1),
    ANSWER_RANKING: (2, None),
}
"""Least and most responses of an item of each kind."""


ANSWERS: Mapping[str, bool | None] = {
    **dict.fromkeys(("yes", "true"), True),
    **dict.fromkeys(("no", "false"), False),
    **dict.fromkeys(("unsure", "not sure", "cannot tell", "can't tell", "unknown"), None),
}
"""What checklists say in words; a data set's "Unsure" is "cannot tell"."""


def in_words(answer: object) -> object:
    """Return what an answer to an aspect says; what is no such word as it is.

    >>> [in_words(answer) for answer in ("Yes", " no ", "Unsure", True, "maybe")]
    [True, False, None, True, 'maybe']
    """
    if not isinstance(answer, str):
        return answer
    return ANSWERS.get(" ".join(answer.replace("’", "'").split()).casefold(), answer)


def read_value(row: Row, field: str, raw: object, rules: ValueRules) -> Value:
    """The canonical value of a label, a verdict or gold.

    Parameters
    ----------
    raw
        ``{"choice": 1}``, ``{"ratings": {...}}``, ``{"ranks": {...}}`` or ``{"answers": {...}}`` by kind;
        a bare number will do for a pair. 1.0, as tables write it beside gaps, is the number 1. Answers to aspects
        may be words ("Yes", "No", "Unsure").

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    bare = rules.kind == PAIRWISE and not isinstance(raw, dict)
    if rules.kind == CHECKLIST and isinstance(raw, dict) and isinstance(answers := raw.get("answers"), dict):
        said = {name: in_words(answer) for name, answer in answers.items()}
        # A Parquet struct has a null for each aspect of any other row.
        raw = raw | {"answers": {k: v for k, v in said.items() if v is not None or k in rules.aspects}}
    try:
        return validate_value(_whole_numbers({"choice": raw} if bare else raw), rules)
    except LabelValueError as error:
        row.fail(field if bare or error.field == "value" else f"{field}.{error.field}", error.message)


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    number = whole(value)
    return value if number is None else number
