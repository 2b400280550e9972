"""Pairs: which of two responses is better.

A value is ``{"choice": 1 | 2 | 0}``: the first response is better, the second, a tie; beside 1 and 2 optionally
``"strength": "slightly" | "much"``, beside 0 optionally ``"both_bad": true``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale, Scales
from annotation.domain.simulation import SimulatedAnnotator, draw_choice
from annotation.kinds.base import NO_ANSWER, NOTHING, AnswerError, ItemKind, Text, from_shown
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import (
    NO_SCALES,
    STRENGTHS,
    TIE,
    Stored,
    Value,
    ValueRules,
    field_of,
    is_integer,
    quoted_short,
)

BOTH_BAD = "bad"
WORDS = {"1": "A is better", "2": "B is better", "0": "Tie", BOTH_BAD: "Both are bad"}
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
    study_rules = frozenset(["tie_policy", "both_bad", "ask_strength", "sampling_baseline"])
    column = "choice"
    presented = True
    bar = "pairwise"

    def validate(self, value: object, rules: ValueRules) -> Value:
        extras = [name for name in ("strength", "both_bad") if getattr(rules, name)]
        given = field_of(value, "choice", extras)
        pair: Value = {"choice": _choice(given["choice"], ties=rules.ties)}
        if (strength := given.get("strength")) is not None:
            if pair["choice"] == TIE:
                raise LabelValueError("strength", "is of a preference, and a tie is none.")
            if strength not in STRENGTHS:
                raise LabelValueError(
                    "strength", f"expected slightly or much, found {quoted_short(strength)}."
                )
            pair["strength"] = strength
        if (both_bad := given.get("both_bad")) not in (None, False):
            if both_bad is not True:
                raise LabelValueError("both_bad", f"expected true or false, found {quoted_short(both_bad)}.")
            if pair["choice"] != TIE:
                raise LabelValueError("both_bad", "goes with a tie alone.")
            pair["both_bad"] = True
        return pair

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:
        choice = value["choice"]
        return dict(value) | {"choice": choice if choice == TIE else shown_order[choice - 1] + 1}

    def numbers(self, value: Stored) -> dict[str, float | None]:
        return {"": float(value["choice"])} if is_integer(value.get("choice")) else {}

    def said_of_parts(self, value: Stored) -> dict[str, Any]:
        return {"": value["choice"]}

    def raw(self, value: object, rules: ValueRules) -> object:  # noqa: ARG002
        """A bare number will do."""
        return value if isinstance(value, dict) else {"choice": value}

    def choice(self, value: Stored) -> int | None:
        return value.get("choice")

    def of_column(self, stored: Any) -> Value:
        return {"choice": stored}

    def stored(self, choice: int | None, value: Stored | None) -> Value:
        return dict(value or {}) | ({} if choice is None else {"choice": choice})

    def as_shown(self, value: Stored, order: Sequence[int], aspects: Sequence[str]) -> str:  # noqa: ARG002
        return str(from_shown(self, value, order)["choice"])

    def has_field(self, name: str) -> bool:
        return name in ("choice", "strength")

    def fields(self, value: Stored) -> dict[str, str]:
        choice = BOTH_BAD if value.get("both_bad") else str(value["choice"])
        strength = value.get("strength")
        return {"choice": choice} | ({"strength": str(strength)} if strength else {})

    def read(self, text: Text, rules: ValueRules) -> Value:
        chosen = text("choice")
        offered = ["1", "2", *(["0"] if rules.ties else []), *([BOTH_BAD] if rules.both_bad else [])]
        if chosen not in offered:
            raise AnswerError("Choose an answer first.", field="choice", anchor="choice-a")
        if chosen == BOTH_BAD:
            return {"choice": TIE, "both_bad": True}
        value: Value = {"choice": int(chosen)}
        if rules.strength and value["choice"] != TIE:
            value["strength"] = _strength(text("strength"), "AB"[value["choice"] - 1])
        return value

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:  # noqa: ARG002
        strength = fields.get("strength", "")
        chosen = WORDS.get(fields.get("choice", ""), NO_ANSWER)
        return (AnswerPart("", f"{chosen}, {strength}" if strength else chosen),)

    def number_words(self, number: float | None) -> str:
        return SIDES[number or 0.0]

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:  # noqa: ARG002
        return [side for side in SIDES if side in seen or side]

    def summary(self, numbers: Mapping[str, float]) -> str:
        return CHOICES[round(numbers[""])] if numbers else NOTHING

    def remark(self, value: Stored) -> str:
        return "both are bad" if value.get("both_bad") else str(value.get("strength") or "")

    def draw(
        self,
        person: SimulatedAnnotator,
        *,
        item: str,
        metadata: Mapping[str, Any],
        lengths: Sequence[int],
        scales: Scales = NO_SCALES,  # noqa: ARG002
    ) -> tuple[Value, float]:
        """The difference that is seen is `metadata["margin"]` (0 where there is none), and the lengths."""
        margin = float(metadata.get("margin", 0))
        choice, seconds = draw_choice(
            person, item_key=item, margin=margin, length_1=lengths[0], length_2=lengths[1]
        )
        return {"choice": choice}, seconds


def _choice(value: object, *, ties: bool) -> int:
    allowed = (TIE, 1, 2) if ties else (1, 2)
    if not is_integer(value) or value not in allowed:
        expected = "0, 1 or 2" if ties else "1 or 2"
        raise LabelValueError("choice", f"expected {expected}, found {quoted_short(value)}.")
    return int(value)  # type: ignore[call-overload,no-any-return]


def _strength(strength: str, better: str) -> str:
    if strength not in STRENGTHS:
        words = f"Say how much better {better} is: slightly, or much."
        raise AnswerError(words, field="strength", anchor="strength-slightly")
    return strength
