"""Labels, gold and verdicts in files: the kind decides, errors name the row and the field."""

from __future__ import annotations

from annotation.domain.errors import LabelValueError
from annotation.importers.records import Value
from annotation.importers.rows import Row, whole
from annotation.kinds import ValueRules, kind_of, validate_value
from annotation.kinds.values import MAX_RATING

CHOICES = (0, 1, 2)
POINTS = tuple(range(1, MAX_RATING + 1))


def read_value(row: Row, field: str, raw: object, rules: ValueRules) -> Value:
    """The canonical value of a label, a verdict or gold.

    Parameters
    ----------
    raw
        A value of the kind, or what it reads as one (`ItemKind.raw`): a bare number of a pair, words ("Yes", "Unsure")
        of a checklist. 1.0, as tables write it beside gaps, is the number 1.

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    bare = not isinstance(raw, dict)
    try:
        return validate_value(_whole_numbers(kind_of(rules.kind).raw(raw, rules)), rules)
    except LabelValueError as error:
        row.fail(field if bare or error.field == "value" else f"{field}.{error.field}", error.message)


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    number = whole(value)
    return value if number is None else number
