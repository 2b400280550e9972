"""Pairs: which of two responses is better.

A value is ``{"choice": 1 | 2 | 0}``: the first response is better, the second, a tie; beside 1 and 2 optionally
``"strength": "slightly" | "better" | "much"`` or ``"grade"``, a number (`annotation.kinds.grades`); beside 0 optionally
``"both_bad": true``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale
from annotation.domain.simulation import SimulatedAnnotator, draw_choice, draw_strength
from annotation.kinds.base import NO_ANSWER, NOTHING, AnswerError, ItemKind, Text, from_shown
from annotation.kinds.grades import (
    BETWEEN,
    BOTH_BAD,
    PreferencePoint,
    graded_value,
    joined,
    number_checked,
    point_words,
    pressed,
)
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import (
    TIE,
    Stored,
    Value,
    ValueRules,
    field_of,
    is_integer,
    quoted_short,
)

CHOICES = ("tie", "first response", "second response")
SIDES = {1.0: "Answer A", 0.0: "Tie", 2.0: "Answer B"}


class Pairwise(ItemKind):
    name = "pairwise"
    label = "Pairwise comparison"
    noun = ("pair", "pairs")
    hint = "Two answers: which is better?"
    question = "Which answer follows the instruction better?"
    work = "Compare answers"
    invitation = "compare answers"
    task = "and two answers to it, and say which answer is better"
    answered = "You answered this pair:"
    seconds = 72
    responses = (2, 2)
    ordered = "responses"
    scale = "preference"
    study_rules = frozenset(["tie_policy", "both_bad", "preference_points", "sampling_baseline"])
    column = "choice"
    presented = True
    bar = "pairwise"

    def validate(self, value: object, rules: ValueRules) -> Value:
        extras = [
            *(["strength"] if rules.strengths else []),
            *(["grade"] if rules.graded else []),
            *(["both_bad"] if rules.both_bad else []),
        ]
        given = field_of(value, "choice", extras)
        pair: Value = {"choice": _choice(given["choice"], ties=rules.ties)}
        pair |= _strength_given(pair["choice"], given.get("strength"), rules.strengths)
        if (grade := given.get("grade")) is not None:
            pair |= _grade_given(pair, number_checked("grade", grade))
        if (both_bad := given.get("both_bad")) not in (None, False):
            if both_bad is not True:
                raise LabelValueError("both_bad", f"expected true or false, found {quoted_short(both_bad)}.")
            if pair["choice"] != TIE:
                raise LabelValueError("both_bad", "goes with a tie alone.")
            pair["both_bad"] = True
        return pair

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:
        choice = value["choice"]
        if choice == TIE:
            return dict(value)
        turned: Value = dict(value) | {"choice": shown_order[choice - 1] + 1}
        if "grade" in value and turned["choice"] != choice:
            turned["grade"] = -value["grade"]
        return turned

    def numbers(self, value: Stored) -> dict[str, float | None]:
        return {"": float(value["choice"])} if is_integer(value.get("choice")) else {}

    def said_of_parts(self, value: Stored) -> dict[str, Any]:
        return {"": value["choice"]}

    def raw(self, value: object, rules: ValueRules) -> object:
        """A bare number will do, and so will one number between the two responses, under its name."""
        if not isinstance(value, dict):
            return {"choice": value}
        if rules.graded and len(value) == 1 and (name := next(iter(value))) in BETWEEN:
            return graded_value(name, value[name])
        return value

    def of_scores(self, scores: Sequence[float]) -> Value:
        """The higher score is better; equal ones are a hedge."""
        first, second = scores
        if first == second:
            return {"choice": TIE, "hedge": True}
        return {"choice": 1 if first > second else 2}

    def choice(self, value: Stored) -> int | None:
        return value.get("choice")

    def of_column(self, stored: Any) -> Value:
        return {"choice": stored}

    def stored(self, choice: int | None, value: Stored | None) -> Value:
        return dict(value or {}) | ({} if choice is None else {"choice": choice})

    def as_shown(self, value: Stored, order: Sequence[int], aspects: Sequence[str]) -> str:  # noqa: ARG002
        shown = from_shown(self, value, order)
        return " ".join([str(shown["choice"]), *([shown["strength"]] if "strength" in shown else [])])

    def has_field(self, name: str) -> bool:
        return name in ("choice", "strength")

    def fields(self, value: Stored) -> dict[str, str]:
        return {
            "choice": BOTH_BAD if value.get("both_bad") else pressed(value["choice"], value.get("strength"))
        }

    def read(self, text: Text, rules: ValueRules) -> Value:
        given = joined(text("choice"), text("strength") if rules.strengths else "")
        point = next((point for point in self.points(rules) if point.value == given), None)
        if point is None:
            side = {"1": "A", "2": "B"}.get(given[:1]) if rules.strengths else None
            words = f"Say how much better {side} is." if side else "Choose an answer first."
            raise AnswerError(words, field="choice", anchor="choice-a")
        if point.both_bad:
            return {"choice": TIE, "both_bad": True}
        return {"choice": point.choice} | ({"strength": point.strength} if point.strength else {})

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:  # noqa: ARG002
        chosen = joined(fields.get("choice", ""), fields.get("strength", ""))
        return (AnswerPart("", point_words(chosen) or NO_ANSWER),)

    def points(self, rules: ValueRules) -> tuple[PreferencePoint, ...]:
        strengths = rules.strengths or ("",)
        found = [
            *(PreferencePoint(1, strength) for strength in reversed(strengths)),
            *([PreferencePoint(TIE)] if rules.ties else []),
            *(PreferencePoint(2, strength) for strength in strengths),
        ]
        return (*found, *([PreferencePoint(TIE, both_bad=True)] if rules.both_bad else []))

    def number_words(self, number: float | None) -> str:
        return SIDES[number or 0.0]

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:  # noqa: ARG002
        return [side for side in SIDES if side in seen or side]

    def summary(self, numbers: Mapping[str, float]) -> str:
        return CHOICES[round(numbers[""])] if numbers else NOTHING

    def remark(self, value: Stored) -> str:
        if "grade" in value:
            return f"grade {value['grade']:+.3g}"
        return "both are bad" if value.get("both_bad") else str(value.get("strength") or "")

    def draw(
        self,
        person: SimulatedAnnotator,
        *,
        item: str,
        metadata: Mapping[str, Any],
        lengths: Sequence[int],
        rules: ValueRules | None = None,
    ) -> tuple[Value, float]:
        """The difference that is seen is `metadata["margin"]` (0 where there is none), and the lengths."""
        seen: dict[str, Any] = {
            "item_key": item,
            "margin": float(metadata.get("margin", 0)),
            "length_1": lengths[0],
            "length_2": lengths[1],
        }
        choice, seconds = draw_choice(person, **seen)
        value: Value = {"choice": choice}
        if rules is not None and rules.strengths and choice != TIE:
            value["strength"] = draw_strength(person, choice=choice, strengths=rules.strengths, **seen)
        return value, seconds


def _choice(value: object, *, ties: bool) -> int:
    allowed = (TIE, 1, 2) if ties else (1, 2)
    if not is_integer(value) or value not in allowed:
        expected = "0, 1 or 2" if ties else "1 or 2"
        raise LabelValueError("choice", f"expected {expected}, found {quoted_short(value)}.")
    return int(value)  # type: ignore[call-overload,no-any-return]


def _strength_given(choice: int, strength: object, offered: Sequence[str]) -> Value:
    if strength is None:
        return {}
    if choice == TIE:
        raise LabelValueError("strength", "is of a preference, and a tie is none.")
    if strength not in offered:
        expected = f"{', '.join(offered[:-1])} or {offered[-1]}"
        raise LabelValueError("strength", f"expected {expected}, found {quoted_short(strength)}.")
    return {"strength": strength}


def _grade_given(pair: Stored, grade: float) -> Value:
    """A grade that says the same as the choice; that of a tie is 0 and is not stored."""
    if "strength" in pair:
        raise LabelValueError("grade", "expected a strength or a grade, found both.")
    if pair["choice"] != (TIE if not grade else 1 if grade > 0 else 2):
        raise LabelValueError(
            "grade",
            f"expected a number {('of 0', 'above 0', 'below 0')[pair['choice']]} beside choice {pair['choice']}, "
            f"found {quoted_short(grade)}.",
        )
    return {"grade": grade} if grade else {}
