"""Label values of the five kinds: validation, and the way between what was shown and what is stored.

Canonical values, as stored:

- pairwise: ``{"choice": 1 | 2 | 0}``: the first response is better, the second, a tie
- rubric: ``{"ratings": {criterion: 1..5}}``
- importance: ``{"ranks": {aspect: rank >= 1}}``, equal ranks being ties
- checklist: ``{"answers": {aspect: true | false | null}}``
- answer_ranking: ``{"ranks": {"0": rank, "1": rank, ...}}`` by the position of the response

Only pairwise and answer ranking name responses, so only these depend on the order in which they were shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.domain.errors import LabelValueError

KINDS = ("pairwise", "rubric", "importance", "checklist", "answer_ranking")
TIE = 0
MAX_RATING = 5

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ValueRules:
    """What a value of an item has to fit: its kind and the names of its parts."""

    kind: str = "pairwise"
    ties: bool = True
    n_responses: int = 2
    criteria: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()


def validate_value(value: object, rules: ValueRules) -> Value:
    """Return the value in its canonical form, or raise `LabelValueError` that names the field at fault.

    Examples
    --------
    >>> validate_value({"choice": 1}, ValueRules())
    {'choice': 1}
    >>> validate_value({"choice": 3}, ValueRules())
    Traceback (most recent call last):
    ...
    annotation.domain.errors.LabelValueError: choice: expected 1, 2 or 0, got 3
    """
    if rules.kind == "pairwise":
        return {"choice": _choice(_only(value, "choice"), ties=rules.ties)}
    if rules.kind == "rubric":
        return {"ratings": _ratings(_only(value, "ratings"), rules.criteria)}
    if rules.kind == "importance":
        return {"ranks": _ranks(_only(value, "ranks"), rules.aspects, ties=rules.ties)}
    if rules.kind == "checklist":
        return {"answers": _answers(_only(value, "answers"), rules.aspects)}
    if rules.kind == "answer_ranking":
        positions = tuple(str(position) for position in range(rules.n_responses))
        return {"ranks": _ranks(_only(value, "ranks"), positions, ties=rules.ties)}
    raise LabelValueError("kind", f"expected one of {', '.join(KINDS)}, got {rules.kind!r}")


def to_canonical(kind: str, value: Mapping[str, Any], shown_order: Sequence[int]) -> Value:
    """Undo the order in which responses were shown: ``shown_order[k]`` is the position of the k-th shown.

    Examples
    --------
    >>> to_canonical("pairwise", {"choice": 1}, [1, 0])
    {'choice': 2}
    """
    if kind == "pairwise":
        choice = value["choice"]
        return {"choice": choice if choice == TIE else shown_order[choice - 1] + 1}
    if kind == "answer_ranking":
        ranks = {str(shown_order[int(shown)]): rank for shown, rank in value["ranks"].items()}
        return {"ranks": dict(sorted(ranks.items(), key=lambda pair: int(pair[0])))}
    return dict(value)


def from_canonical(kind: str, value: Mapping[str, Any], shown_order: Sequence[int]) -> Value:
    """The other way: a stored value as it looks in the order shown."""
    inverse = [0] * len(shown_order)
    for shown, position in enumerate(shown_order):
        inverse[position] = shown
    return to_canonical(kind, value, inverse)


def values_agree(kind: str, value: Mapping[str, Any], gold: Mapping[str, Any]) -> bool:
    """Whether two canonical values say the same; of rankings, whether they order alike."""
    if kind in ("importance", "answer_ranking"):
        return _dense(value["ranks"]) == _dense(gold["ranks"])
    field = {"pairwise": "choice", "rubric": "ratings", "checklist": "answers"}[kind]
    return bool(value[field] == gold[field])


def _dense(ranks: Mapping[str, int]) -> dict[str, int]:
    """Ranks without gaps: 1, 3, 3 becomes 1, 2, 2."""
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    return {key: levels[rank] for key, rank in ranks.items()}


def _only(value: object, field: str) -> object:
    if not isinstance(value, Mapping):
        raise LabelValueError("value", f"expected an object with {field!r}, got {type(value).__name__}")
    if field not in value:
        raise LabelValueError(field, "is missing")
    if unknown := sorted(str(key) for key in value if key != field):
        raise LabelValueError(unknown[0], f"is not expected beside {field!r}")
    return value[field]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _choice(value: object, *, ties: bool) -> int:
    expected = "1, 2 or 0" if ties else "1 or 2"
    allowed = (1, 2, TIE) if ties else (1, 2)
    if not _is_integer(value) or value not in allowed:
        raise LabelValueError("choice", f"expected {expected}, got {value!r}")
    return int(value)  # type: ignore[call-overload,no-any-return]


def _named(value: object, field: str, names: Sequence[str]) -> Mapping[str, Any]:
    """A mapping that has exactly these names."""
    if not isinstance(value, Mapping):
        raise LabelValueError(field, f"expected an object, got {type(value).__name__}")
    for name in names:
        if name not in value:
            raise LabelValueError(f"{field}.{name}", "is missing")
    for name in value:
        if name not in names:
            raise LabelValueError(f"{field}.{name}", "is not a part of this item")
    return value


def _ratings(value: object, criteria: Sequence[str]) -> dict[str, int]:
    ratings = _named(value, "ratings", criteria)
    for name in criteria:
        if not _is_integer(ratings[name]) or not 1 <= ratings[name] <= MAX_RATING:
            raise LabelValueError(f"ratings.{name}", f"expected 1 to {MAX_RATING}, got {ratings[name]!r}")
    return {name: ratings[name] for name in criteria}


def _ranks(value: object, names: Sequence[str], *, ties: bool) -> dict[str, int]:
    ranks = _named(value, "ranks", names)
    for name in names:
        if not _is_integer(ranks[name]) or not 1 <= ranks[name] <= len(names):
            raise LabelValueError(f"ranks.{name}", f"expected 1 to {len(names)}, got {ranks[name]!r}")
    if not ties:
        for place, name in enumerate(names):
            if ranks[name] in [ranks[other] for other in names[:place]]:
                raise LabelValueError(f"ranks.{name}", f"rank {ranks[name]} is given twice, and ties are off")
    return {name: ranks[name] for name in names}


def _answers(value: object, aspects: Sequence[str]) -> dict[str, bool | None]:
    answers = _named(value, "answers", aspects)
    for name in aspects:
        if answers[name] is not None and not isinstance(answers[name], bool):
            raise LabelValueError(f"answers.{name}", f"expected true, false or null, got {answers[name]!r}")
    return {name: answers[name] for name in aspects}
