"""Label values of the five kinds: validation, and the way between what was shown and what is stored.

Canonical values, as stored:

- pairwise: ``{"choice": 1 | 2 | 0}``: the first response is better, the second, a tie; beside 1 and 2 optionally
  ``"strength": "slightly" | "much"``, beside 0 optionally ``"both_bad": true``
- rubric: ``{"ratings": {criterion: 1..5}}``
- importance: ``{"ranks": {aspect: rank}}``
- checklist: ``{"answers": {aspect: true | false | null}}``
- answer_ranking: ``{"ranks": {"0": rank, "1": rank, ...}}`` by the position of the response

Ranks are levels without gaps from 1, the best; equal ranks are ties: 1, 3, 3 is stored as 1, 2, 2.

Only pairwise and answer ranking name responses, so only these depend on the order in which they were shown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.domain.errors import LabelValueError

KINDS = ("pairwise", "rubric", "importance", "checklist", "answer_ranking")
TIE = 0
STRENGTHS = ("slightly", "much")
MAX_RATING = 5
MAX_QUOTED = 60

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ValueRules:
    """What a value of an item has to fit: its kind and the names of its parts."""

    kind: str = "pairwise"
    ties: bool = True
    both_bad: bool = False  # a tie may say that both are bad
    strength: bool = False  # a preference may say how strong it is
    cannot_tell: bool = True  # an aspect may be answered with null
    n_responses: int = 2
    complete: bool = True  # every criterion rated and every aspect answered
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
    annotation.domain.errors.LabelValueError: choice: expected 0, 1 or 2, found 3.
    """
    if rules.kind == "pairwise":
        return _pair(value, rules)
    if rules.kind == "rubric":
        return {"ratings": _ratings(_only(value, "ratings"), rules)}
    if rules.kind == "importance":
        return {"ranks": _ranks(_only(value, "ranks"), rules.aspects, ties=rules.ties)}
    if rules.kind == "checklist":
        return {"answers": _answers(_only(value, "answers"), rules)}
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
        return dict(value) | {"choice": choice if choice == TIE else shown_order[choice - 1] + 1}
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
    """Whether two canonical values say the same: of pairs the choice, however strong; of rankings the order."""
    if kind in ("importance", "answer_ranking"):
        return dense(value["ranks"]) == dense(gold["ranks"])
    field = {"pairwise": "choice", "rubric": "ratings", "checklist": "answers"}[kind]
    return bool(value[field] == gold[field])


def dense(ranks: Mapping[str, int]) -> dict[str, int]:
    """Ranks without gaps.

    Examples
    --------
    >>> dense({"x": 1, "y": 3, "z": 3})
    {'x': 1, 'y': 2, 'z': 2}
    """
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    return {key: levels[rank] for key, rank in ranks.items()}


def _only(value: object, field: str) -> object:
    return _with(value, field, ())[field]


def _with(value: object, field: str, extras: Sequence[str]) -> Mapping[str, Any]:
    """The value, which has the field, and nothing beside it but these extras."""
    if not isinstance(value, Mapping):
        raise LabelValueError("value", f"expected an object {{{field!r}: ...}}, found {_short(value)}.")
    if field not in value:
        raise LabelValueError(field, f"is missing; found {_short(value)}.")
    if unknown := sorted(str(key) for key in value if key != field and key not in extras):
        raise LabelValueError(unknown[0], f"is not expected beside {field!r}.")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pair(value: object, rules: ValueRules) -> Value:
    extras = [name for name in ("strength", "both_bad") if getattr(rules, name)]
    given = _with(value, "choice", extras)
    pair: Value = {"choice": _choice(given["choice"], ties=rules.ties)}
    if (strength := given.get("strength")) is not None:
        if pair["choice"] == TIE:
            raise LabelValueError("strength", "is of a preference, and a tie is none.")
        if strength not in STRENGTHS:
            raise LabelValueError("strength", f"expected slightly or much, found {_short(strength)}.")
        pair["strength"] = strength
    if (both_bad := given.get("both_bad")) not in (None, False):
        if both_bad is not True:
            raise LabelValueError("both_bad", f"expected true or false, found {_short(both_bad)}.")
        if pair["choice"] != TIE:
            raise LabelValueError("both_bad", "goes with a tie alone.")
        pair["both_bad"] = True
    return pair


def _choice(value: object, *, ties: bool) -> int:
    allowed = (TIE, 1, 2) if ties else (1, 2)
    if not _is_integer(value) or value not in allowed:
        expected = "0, 1 or 2" if ties else "1 or 2"
        raise LabelValueError("choice", f"expected {expected}, found {_short(value)}.")
    return int(value)  # type: ignore[call-overload,no-any-return]


def _named(value: object, field: str, names: Sequence[str], *, complete: bool = True) -> Mapping[str, Any]:
    """A mapping with these names and no others: all of them if `complete`."""
    if not isinstance(value, Mapping):
        raise LabelValueError(field, f"expected an object, found {_short(value)}.")
    for name in value:
        if name not in names:
            raise LabelValueError(f"{field}.{name}", f"unknown name, expected {_listed(names)}.")
    for name in names:
        if complete and name not in value:
            raise LabelValueError(f"{field}.{name}", "is missing.")
    return value


def _some(given: Collection[str], field: str) -> None:
    if not given:
        raise LabelValueError(field, "expected at least one, found none.")


def _listed(names: Sequence[str]) -> str:
    return f"one of {', '.join(names)}" if names else "none, since the item has no such parts"


def _ratings(value: object, rules: ValueRules) -> dict[str, int]:
    ratings = _named(value, "ratings", rules.criteria, complete=rules.complete)
    given = [name for name in rules.criteria if rules.complete or ratings.get(name) is not None]
    if not rules.complete:
        _some(given, "ratings")
    for name in given:
        if not _is_integer(ratings[name]) or not 1 <= ratings[name] <= MAX_RATING:
            raise LabelValueError(
                f"ratings.{name}", f"expected 1 to {MAX_RATING}, found {_short(ratings[name])}."
            )
    return {name: ratings[name] for name in given}


def _ranks(value: object, names: Sequence[str], *, ties: bool) -> dict[str, int]:
    ranks = _named(value, "ranks", names)
    for name in names:
        if not _is_integer(ranks[name]) or not 1 <= ranks[name] <= len(names):
            raise LabelValueError(
                f"ranks.{name}", f"expected a rank of 1 to {len(names)}, found {_short(ranks[name])}."
            )
    if not ties:
        for place, name in enumerate(names):
            if ranks[name] in [ranks[other] for other in names[:place]]:
                raise LabelValueError(
                    f"ranks.{name}", f"rank {ranks[name]} is given twice, and ties are off."
                )
    return dense({name: ranks[name] for name in names})


def _answers(value: object, rules: ValueRules) -> dict[str, bool | None]:
    answers = _named(value, "answers", rules.aspects, complete=rules.complete)
    if not rules.complete:
        _some(answers, "answers")  # that none of them can be told is an answer too
    found: dict[str, bool | None] = {}
    for name in rules.aspects:
        answer = answers.get(name)
        if answer is not None and not isinstance(answer, bool):
            raise LabelValueError(f"answers.{name}", f"expected true, false or null, found {_short(answer)}.")
        if answer is None and name in answers and not rules.cannot_tell:
            raise LabelValueError(f"answers.{name}", "expected true or false, found none.")
        found[name] = answer
    return found
