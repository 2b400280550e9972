"""The kinds of items, each in a module of its own. Whoever needs what differs by kind asks `kind_of(name)`.

A new kind is a subclass of `ItemKind` that is registered here, and a template `kinds/NAME.html`;
`docs/architecture.md` shows how.
"""

from collections.abc import Mapping, Sequence

from annotation.domain.errors import LabelValueError
from annotation.domain.wording import gettext
from annotation.kinds.answer_ranking import AnswerRanking
from annotation.kinds.base import AnswerError, ItemKind, from_shown
from annotation.kinds.checklist import Checklist
from annotation.kinds.classification import Classification
from annotation.kinds.importance import Importance
from annotation.kinds.pairwise import Pairwise
from annotation.kinds.reasons import (
    REASONS,
    field_of_reason,
    reason_fields,
    reasons_checked,
    with_reasons,
    without_reasons,
)
from annotation.kinds.rubric import Rubric
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import DEFAULT_KIND, Stored, Value, ValueRules

KINDS: dict[str, ItemKind] = {}
"""All kinds by name, in the order in which they are offered."""


def register(kind: ItemKind) -> ItemKind:
    """Add a kind. Its name is stored in rows, so it is never changed and never given to another."""
    if KINDS.setdefault(kind.name, kind) is not kind:
        raise ValueError(f"there is a kind {kind.name!r} already")
    return kind


PAIRWISE = Pairwise()
for each in (PAIRWISE, Rubric(), Importance(), Checklist(), AnswerRanking(), Classification()):
    register(each)


def kind_of(name: str) -> ItemKind:
    """The kind of this name; `LabelValueError` where there is none."""
    if name not in KINDS:
        raise LabelValueError("kind", f"expected one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]


def kind_choices() -> list[tuple[str, str]]:
    """Names and labels, for model fields and forms."""
    return [(kind.name, kind.label) for kind in KINDS.values()]


def kinds_with(rule: str) -> list[str]:
    """The kinds for which a rule of a study has a meaning."""
    return [kind.name for kind in KINDS.values() if rule in kind.study_rules]


def validate_value(value: object, rules: ValueRules) -> Value:
    """Return the value in its canonical form, or raise `LabelValueError` that names the field at fault.

    Examples
    --------
    >>> validate_value({"choice": 1}, ValueRules())
    {'choice': 1}
    >>> validate_value({"choice": 3}, ValueRules())
    Traceback (most recent call last):
    ...
    annotation.domain.errors.LabelValueError: choice: expected 0, 1 or 2, found 3.
    """
    given, reasons = without_reasons(value, rules)
    found = kind_of(rules.kind).validate(given, rules)
    return with_reasons(found, reasons_checked(reasons, rules))


def raw_value(value: object, rules: ValueRules) -> object:
    """A value as files have it, in the form that `validate_value` checks (`ItemKind.raw`)."""
    given, reasons = without_reasons(value, rules)
    found = kind_of(rules.kind).raw(given, rules)
    return {**found, REASONS: reasons} if reasons is not None and isinstance(found, Mapping) else found


def answer_fields(kind: str, value: Stored) -> dict[str, str]:
    """A value in the order shown as the fields of the work form, with what was picked beside it."""
    return kind_of(kind).fields(value) | reason_fields(value)


def answer_words(item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
    """An answer, given as form fields, in words, with the reasons that were picked beside it."""
    found = kind_of(item.kind).words(item, fields)
    reasons = [reason.words for reason in item.reasons if fields.get(field_of_reason(reason.key))]
    return (*found, AnswerPart(gettext("Reasons"), ", ".join(reasons))) if reasons else found


def to_canonical(kind: str, value: Stored, shown_order: Sequence[int]) -> Value:
    """Undo the order in which parts were shown: ``shown_order[k]`` is the position of the k-th shown.

    Examples
    --------
    >>> to_canonical("pairwise", {"choice": 1}, [1, 0])
    {'choice': 2}
    """
    return kind_of(kind).to_canonical(value, shown_order)


def from_canonical(kind: str, value: Stored, shown_order: Sequence[int]) -> Value:
    """The other way: a stored value as it looks in the order shown."""
    return from_shown(kind_of(kind), value, shown_order)
