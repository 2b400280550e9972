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


def read_value(row: Row, field: str, raw: object, rules: ValueRules) -> Value:
    """The canonical value of a label, a verdict or gold.

    Parameters
    ----------
    raw
        ``{"choice": 1}``, ``{"ratings": {...}}``, ``{"ranks": {...}}`` or ``{"answers": {...}}`` by kind;
        a bare number will do for a pair. 1.0, as tables write it beside gaps, is the number 1.

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    bare = rules.kind == PAIRWISE and not isinstance(raw, dict)
    try:
        return validate_value(_whole_numbers({"choice": raw} if bare else raw), rules)
    except LabelValueError as error:
        row.fail(field if bare or error.field == "value" else f"{field}.{error.field}", error.message)


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    number = whole(value)
    return value if number is None else number
