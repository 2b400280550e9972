"""Pairs: which of two responses is better.

A value is ``{"choice": 1 | 2 | 0}``: the first response is better, the second, a tie; beside 1 and 2 optionally
``"strength": "slightly" | "better" | "much"`` or ``"grade"``, a number (`annotation.kinds.grades`); beside 0 optionally
``"both_bad": true``. Its response set (`annotation.kinds.reasonable`) lists answers as form fields have them: "1", "0",
"2", "bad" (both are bad), "1-much". Other dimensions than the overall one (`annotation.kinds.dimensions`) are in
``"dimensions"``, each with a choice of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale
from annotation.domain.simulation import SimulatedAnnotator, draw_choice, draw_strength
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.base import NO_ANSWER, NOTHING, AnswerError, ItemKind, Text, from_shown
from annotation.kinds.dimensions import (
    DIMENSIONS,
    dimensions_checked,
    field_of_dimension,
    is_dimension_field,
    said_on,
)
from annotation.kinds.dimensions import RULE as DIMENSIONS_RULE
from annotation.kinds.evidence import BAD, GOOD
from annotation.kinds.evidence import RULE as EVIDENCE
from annotation.kinds.grades import (
    BETWEEN,
    BOTH_BAD,
    STRENGTH_SHORT,
    STRENGTHS,
    PreferencePoint,
    graded_value,
    joined,
    number_checked,
    point_words,
    pressed,
)
from annotation.kinds.reasonable import (
    KEY,
    RULE,
    SetOption,
    also_words,
    extras,
    field_of_answer,
    is_set_field,
    marked,
    set_checked,
    set_fields,
    set_of,
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
    spoken,
)

CHOICES = ("tie", "first response", "second response")
SIDES = {1.0: "Answer A", 0.0: "Tie", 2.0: "Answer B"}
# Every answer as a form field has it, from the strongest for the first response to the strongest for the second.
_EVERY = (
    *(pressed(1, strength) for strength in reversed(tuple(STRENGTHS))),
    *("1", "0", "2"),
    *(pressed(2, strength) for strength in STRENGTHS),
    BOTH_BAD,
)
_TURNED = {"1": "2", "2": "1"}


class Pairwise(ItemKind):
    name = "pairwise"
    label = "Pairwise comparison"
    noun = ("pair", "pairs")
    hint = "Two answers: which is better?"
    question = gettext_noop("Which answer follows the instruction better?")
    work = gettext_noop("Compare answers")
    invitation = gettext_noop("You're invited to compare answers.")
    task = gettext_noop("You will read an instruction and two answers to it, and say which answer is better.")
    answered = gettext_noop("You answered this pair:")
    seconds = 72
    responses = (2, 2)
    ordered = "responses"
    kept = True
    scale = "preference"
    study_rules = frozenset(
        [
            *("tie_policy", "both_bad", "preference_points", "sampling_baseline", RULE),
            *("submit_on_choice", "show_differences", DIMENSIONS_RULE, EVIDENCE),
        ]
    )
    evidence = (GOOD, BAD)
    column = "choice"
    bare_field = "choice"
    presented = True
    bar = "pairwise"

    def validate(self, value: object, rules: ValueRules) -> Value:
        asked = rules.dimensions or rules.open_names
        given = field_of(value, "choice", [*_beside(rules), *extras(rules), *([DIMENSIONS] if asked else [])])
        pair = _answer(given, rules)
        if (answers := given.get(KEY)) is not None:
            pair[KEY] = set_checked(_as_fields(answers), self._answers(rules), _field(pair))
        said = given.get(DIMENSIONS)
        if said is None and rules.dimensions and rules.complete:
            raise LabelValueError(DIMENSIONS, f"is missing; found {quoted_short(value)}.")
        if said is not None and (
            found := dimensions_checked(
                said, rules, lambda each: _answer(field_of(each, "choice", _beside(rules)), rules)
            )
        ):
            pair[DIMENSIONS] = found
        return pair

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:
        turned: Value = dict(value)
        if list(shown_order) != [1, 0]:
            return turned
        if value["choice"] != TIE:
            turned["choice"] = 3 - value["choice"]
        if "grade" in value:
            turned["grade"] = -value["grade"]
        if (answers := set_of(value)) is not None:
            turned[KEY] = sorted((_turned(str(answer)) for answer in answers), key=_EVERY.index)
        if said := said_on(value):
            turned[DIMENSIONS] = {key: self.to_canonical(each, shown_order) for key, each in said.items()}
        return turned

    def numbers(self, value: Stored) -> dict[str, float | None]:
        return {"": float(value["choice"])} if is_integer(value.get("choice")) else {}

    def said_of_parts(self, value: Stored) -> dict[str, Any]:
        return {"": value["choice"]} | {key: each["choice"] for key, each in said_on(value).items()}

    def raw(self, value: object, rules: ValueRules) -> object:
        """A bare number will do, and so will one number between the two responses, under its name."""
        if not isinstance(value, dict):
            return {"choice": value}
        if isinstance(said := value.get(DIMENSIONS), dict):
            # A table has a null where a row says nothing.
            known = {key: each for key, each in said.items() if each is not None}
            value = value | {DIMENSIONS: {key: self.raw(each, rules) for key, each in known.items()}}
        beside = {DIMENSIONS, *([KEY] if rules.response_sets else [])}
        names = [name for name in value if name not in beside]
        if rules.graded and len(names) == 1 and names[0] in BETWEEN:
            return {
                **graded_value(names[0], value[names[0]]),
                **{name: value[name] for name in value if name in beside},
            }
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
        pressed = [shown, *said_on(shown).values()]
        return " ".join(
            part for each in pressed for part in (str(each["choice"]), each.get("strength")) if part
        )

    def has_field(self, name: str) -> bool:
        return name in ("choice", "strength") or is_set_field(name) or is_dimension_field(name)

    def fields(self, value: Stored) -> dict[str, str]:
        on_others = {field_of_dimension(key): _field(each) for key, each in said_on(value).items()}
        return {"choice": _field(value)} | set_fields(set_of(value) or ()) | on_others

    def read(self, text: Text, rules: ValueRules) -> Value:
        given = joined(text("choice"), text("strength") if rules.strengths else "")
        found = self._read_point(given, rules, field="choice", anchor="choice-a")
        if rules.response_sets:
            offered = self._answers(rules)
            found[KEY] = set_checked(marked(text, offered), offered, given)
        if rules.dimensions:
            fields = {key: field_of_dimension(key) for key in rules.dimensions}
            found[DIMENSIONS] = {
                key: self._read_point(text(field), rules, field=field, anchor=field)
                for key, field in fields.items()
            }
        return found

    def _read_point(self, given: str, rules: ValueRules, *, field: str, anchor: str) -> Value:
        """The answer that one form field has."""
        point = next((point for point in self.points(rules) if point.value == given), None)
        if point is None:
            side = {"1": "A", "2": "B"}.get(given[:1]) if rules.strengths else None
            how_much = gettext("Say how much better %(answer)s is.") % {"answer": side}
            words = how_much if side else gettext("Choose an answer first.")
            if rules.dimensions:
                words = gettext("Choose an answer on every dimension first.")
                anchor = "part-error"  # said at its dimension
            raise AnswerError(words, field=field, anchor=anchor)
        found: Value = {"choice": point.choice}
        found |= {"both_bad": True} if point.both_bad else {}
        found |= {"strength": point.strength} if point.strength else {}
        return found

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        if item.dimensions:
            # Gold may be of the overall one alone.
            said = [(each, point_words(fields.get(each.field, ""))) for each in item.dimensions]
            return tuple(
                AnswerPart(each.name, words or gettext(NO_ANSWER))
                for each, words in said
                if words or each.overall
            )
        chosen = joined(fields.get("choice", ""), fields.get("strength", ""))
        also = [each for each in _EVERY if each != chosen and fields.get(field_of_answer(each))]
        return (
            AnswerPart(
                "", point_words(chosen) or gettext(NO_ANSWER), also=also_words(map(point_words, also))
            ),
        )

    def set_options(self, item: ShownItem, rules: ValueRules, part: str = "") -> tuple[SetOption, ...]:
        del item, part
        return tuple(
            SetOption(point.value, field_of_answer(point.value), point.words, _short(point))
            for point in self.points(rules)
        )

    def points(self, rules: ValueRules) -> tuple[PreferencePoint, ...]:
        strengths = rules.strengths or ("",)
        found = [
            *(PreferencePoint(1, strength) for strength in reversed(strengths)),
            *([PreferencePoint(TIE)] if rules.ties else []),
            *(PreferencePoint(2, strength) for strength in strengths),
        ]
        return (*found, *([PreferencePoint(TIE, both_bad=True)] if rules.both_bad else []))

    def set_numbers(self, value: Stored) -> dict[str, list[float | None]]:
        answers = set_of(value)
        if answers is None:
            return {}
        return {"": list(dict.fromkeys(_side(str(answer)) for answer in answers))}

    def _answers(self, rules: ValueRules) -> list[str]:
        """What a response set may have; of files also a preference that does not say how strong it is."""
        offered = {point.value for point in self.points(rules)} | ({"1", "2"} if rules.graded else set())
        return [each for each in _EVERY if each in offered]

    def number_words(self, number: float | None) -> str:
        return SIDES[number or 0.0]

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:  # noqa: ARG002
        return [side for side in SIDES if side in seen or side]

    def summary(self, numbers: Mapping[str, float]) -> str:
        return CHOICES[round(numbers[""])] if numbers else NOTHING

    def remark(self, value: Stored) -> str:
        said = "both are bad" if value.get("both_bad") else str(value.get("strength") or "")
        if "grade" in value:
            said = f"grade {value['grade']:+.3g}"
        also = also_words(
            _canonical_words(str(each)) for each in set_of(value) or () if each != _field(value)
        )
        others = [
            f"{spoken(key).lower()}: {_canonical_words(_field(each))}" for key, each in said_on(value).items()
        ]
        return ", ".join(filter(None, (said, also, *others)))

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
        value, seconds = _drawn(person, rules, seen)
        for key in () if rules is None else rules.dimensions:
            margin = float(metadata.get("margins", {}).get(key, seen["margin"]))
            own, more = _drawn(person, rules, seen | {"item_key": f"{item}/{key}", "margin": margin})
            value.setdefault(DIMENSIONS, {})[key] = own
            seconds += more / 4  # the answers are read already
        return value, seconds


def _drawn(
    person: SimulatedAnnotator, rules: ValueRules | None, seen: Mapping[str, Any]
) -> tuple[Value, float]:
    """One answer that a simulated person gives, and the seconds that it takes."""
    choice, seconds = draw_choice(person, **seen)
    value: Value = {"choice": choice}
    if rules is not None and rules.strengths and choice != TIE:
        value["strength"] = draw_strength(person, choice=choice, strengths=rules.strengths, **seen)
    return value, seconds


def _beside(rules: ValueRules) -> list[str]:
    """What one answer may have beside its choice."""
    return [
        *(["strength"] if rules.strengths else []),
        *(["grade"] if rules.graded else []),
        *(["both_bad"] if rules.both_bad else []),
    ]


def _answer(given: Stored, rules: ValueRules) -> Value:
    """One answer, overall or on a dimension."""
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


def _field(value: Stored) -> str:
    """The answer that was picked, as the form field has it."""
    return BOTH_BAD if value.get("both_bad") else pressed(value["choice"], value.get("strength"))


def _side(answer: str) -> float:
    return float(TIE if answer == BOTH_BAD else int(answer[:1]))


def _turned(answer: str) -> str:
    """An answer of the other order."""
    return _TURNED.get(answer[:1], answer[:1]) + answer[1:]


def _as_fields(answers: object) -> object:
    """Answers of a file: numbers are sides."""
    if not isinstance(answers, list | tuple):
        return answers
    return [
        f"{each:g}" if isinstance(each, int | float) and not isinstance(each, bool) else each
        for each in answers
    ]


def _canonical_words(answer: str) -> str:
    side, _, strength = answer.partition("-")
    words = "both are bad" if answer == BOTH_BAD else CHOICES[int(side)]
    return f"{words} ({strength})" if strength else words


def _short(point: PreferencePoint) -> str:
    if point.both_bad:
        return gettext("Both bad")
    short = f"{point.letter} {gettext(STRENGTH_SHORT[point.strength])}" if point.strength else point.letter
    return short or gettext("Tie")


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
