"""What label values of all kinds are made of: the rules that a value has to fit, and checks that kinds share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale, Scales

DEFAULT_KIND = "pairwise"
TIE = 0
MAX_QUOTED = 60
NO_SCALES: Scales = MappingProxyType({})

Value: TypeAlias = dict[str, Any]
Stored: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ValueRules:
    """What a value of an item has to fit: its kind, what the study allows, and the names of the item's parts."""

    kind: str = DEFAULT_KIND
    ties: bool = True
    both_bad: bool = False  # a tie may say that both are bad
    strengths: tuple[str, ...] = ()  # the words that say how strong a preference is
    graded: bool = False  # a preference may have a grade: a number between the two responses
    cannot_tell: bool = True  # an aspect may be answered with null
    several: bool = False  # more than one category may be chosen
    response_sets: bool = False  # beside the answer, all that are reasonable (`annotation.kinds.reasonable`)
    dimensions: tuple[str, ...] = ()  # keys of those beside the overall one (`annotation.kinds.dimensions`)
    reasons: tuple[str, ...] = ()  # keys of those that can be picked (`annotation.kinds.reasons`)
    open_names: bool = False  # of files: dimensions and reasons of any key
    n_responses: int = 2
    complete: bool = True  # every criterion rated and every aspect answered
    criteria: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    scales: Scales = field(default_factory=lambda: NO_SCALES, hash=False)  # of criteria

    def scale(self, criterion: str) -> Scale:
        """The scale that a criterion is rated on."""
        return self.scales.get(criterion, STANDARD)


def dense(ranks: Mapping[str, int]) -> dict[str, int]:
    """Ranks without gaps.

    Examples
    --------
    >>> dense({"x": 1, "y": 3, "z": 3})
    {'x': 1, 'y': 2, 'z': 2}
    """
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    return {key: levels[rank] for key, rank in ranks.items()}


def field_of(value: object, field: str, extras: Sequence[str] = ()) -> Stored:
    """The value, which is an object with this field, and nothing beside it but these extras."""
    if not isinstance(value, Mapping):
        raise LabelValueError("value", f"expected an object {{{field!r}: ...}}, found {quoted_short(value)}.")
    if field not in value:
        raise LabelValueError(field, f"is missing; found {quoted_short(value)}.")
    if unknown := sorted(str(key) for key in value if key != field and key not in extras):
        raise LabelValueError(unknown[0], f"is not expected beside {field!r}.")
    return value


def named(value: object, field: str, names: Sequence[str], *, complete: bool = True) -> Stored:
    """A mapping with these names and no others: all of them if `complete`."""
    if not isinstance(value, Mapping):
        raise LabelValueError(field, f"expected an object, found {quoted_short(value)}.")
    for name in value:
        if name not in names:
            raise LabelValueError(f"{field}.{name}", f"unknown name, expected {_listed(names)}.")
    for name in names:
        if complete and name not in value:
            raise LabelValueError(f"{field}.{name}", "is missing.")
    return value


def some(given: Collection[str], field: str) -> None:
    if not given:
        raise LabelValueError(field, "expected at least one, found none.")


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def quoted_short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


def spoken(key: str) -> str:
    """The key of a criterion as a heading.

    Examples
    --------
    >>> spoken("instruction_following")
    'Instruction following'
    """
    return key.replace("_", " ").replace("-", " ").capitalize()


def _listed(names: Sequence[str]) -> str:
    return f"one of {', '.join(names)}" if names else "none, since the item has no such parts"
