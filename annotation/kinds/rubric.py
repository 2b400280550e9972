"""Rubrics: one response, rated on each criterion of the dataset, each on the scale of its own.

A value is ``{"ratings": {criterion: 4}}``: a number on its scale, or "not_applicable" where that is an answer.
Its response sets (`annotation.kinds.reasonable`) are by criterion: ``{"reasonable": {criterion: [3, 4]}}``.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale, Scales
from annotation.domain.simulation import SimulatedAnnotator
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.base import NO_ANSWER, NOTHING, Text
from annotation.kinds.evidence import PART
from annotation.kinds.evidence import RULE as EVIDENCE
from annotation.kinds.parts import MISSING, PartsKind
from annotation.kinds.reasonable import (
    KEY,
    RULE,
    SetOption,
    also_words,
    field_of_answer,
    is_set_field,
    marked,
    set_checked,
    set_fields,
    set_of,
    sets_checked,
)
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import (
    NO_SCALES,
    Stored,
    Value,
    ValueRules,
    named,
    quoted_short,
    some,
    spoken,
)

MAX_SUMMARY = 8
"""Ratings that a summary lists."""
MAX_TYPED = 8
"""Characters that a rating can have."""
# What files say in words; a table's "N/A" is an answer.
SPOKEN = dict.fromkeys(
    ("not applicable", "not_applicable", "does not apply", "n/a", "n.a.", "na"), NOT_APPLICABLE
)


class Rubric(PartsKind):
    name = "rubric"
    label = "Rubric rating"
    noun = ("response to rate", "responses to rate")
    hint = "One answer, rated on each criterion."
    question = gettext_noop("How good is this answer?")
    work = gettext_noop("Rate answers")
    invitation = gettext_noop("You're invited to judge answers.")
    task = gettext_noop(
        "You will read an instruction and an answer to it, and rate the answer in several respects."
    )
    part = part_shown = gettext_noop("Criterion")
    parts_heading = "Criteria"
    said = "rating"
    seconds = 120
    parts = "criteria"
    scale = "ordinal"
    tolerant = True
    study_rules = frozenset(["criteria", "qualification_rule", RULE, EVIDENCE])
    evidence = (PART,)
    progress = "rated"
    scripts = ("js/rubric-number.js", "js/rubric.js")
    field = "ratings"
    input = "rating"

    def raw(self, value: object, rules: ValueRules) -> object:
        """Words of points ("Pass"), "N/A", and on a scale of two points true and false are read too."""
        if not isinstance(value, Mapping) or not isinstance(ratings := value.get(self.field), Mapping):
            return value
        found = {
            **value,
            self.field: {key: in_points(said, rules.scale(key)) for key, said in ratings.items()},
        }
        if isinstance(sets := value.get(KEY), Mapping):
            found[KEY] = {
                key: [in_points(each, rules.scale(key)) for each in said] if isinstance(said, list) else said
                for key, said in sets.items()
            }
        return found

    def checked(self, given: object, rules: ValueRules) -> dict[str, int | str]:
        ratings = named(given, self.field, rules.criteria, complete=rules.complete)
        keys = [name for name in rules.criteria if rules.complete or ratings.get(name) is not None]
        if not rules.complete:
            some(keys, self.field)
        for name in keys:
            scale, rating = rules.scale(name), ratings[name]
            if not scale.allows(rating):
                problem = f"expected {scale.expected}, found {quoted_short(rating)}."
                raise LabelValueError(f"ratings.{name}", problem)
        return {name: ratings[name] for name in keys}

    def set_checked(self, given: object, found: Stored, rules: ValueRules) -> dict[str, list[int | str]]:
        offered = {key: _answers(rules.scale(key)) for key in found[self.field]}
        return sets_checked(given, offered, found[self.field])

    def has_field(self, name: str) -> bool:
        return super().has_field(name) or is_set_field(name)

    def fields(self, value: Stored) -> dict[str, str]:
        found = super().fields(value)
        for key in value[self.field]:
            found |= set_fields(set_of(value, key) or (), key)
        return found

    def read(self, text: Text, rules: ValueRules) -> Value:
        found = super().read(text, rules)
        if rules.response_sets:
            found[KEY] = {}
            for key, rating in found[self.field].items():
                offered = _answers(rules.scale(key))
                found[KEY][key] = set_checked(marked(text, offered, key), offered, rating)
        return found

    def set_options(self, item: ShownItem, rules: ValueRules, part: str = "") -> tuple[SetOption, ...]:  # noqa: ARG002
        scale = rules.scale(part)
        return tuple(
            SetOption(
                str(point),
                field_of_answer(point, part),
                rating_words(point, scale),
                scale.word(point) if point == NOT_APPLICABLE else scale.shown(point),
            )
            for point in _answers(scale)
        )

    def set_numbers(self, value: Stored) -> dict[str, list[float | None]]:
        sets = {key: set_of(value, key) for key in value.get(self.field, ())}
        return {
            key: [self.number(each) for each in found] for key, found in sets.items() if found is not None
        }

    def sets_refused(self, scales: Scales, *, several: bool) -> str:
        for key, scale in scales.items():
            if scale.is_number:
                return (
                    f"the ratings of {key!r} are typed ({scale}); a response set needs points to choose from"
                )
        return super().sets_refused(scales, several=several)

    def distances(self, value: Stored, gold: Stored, scales: Scales = NO_SCALES) -> list[float]:
        """In multiples of what is near on each scale; whether a criterion applies is right or wrong."""
        ratings = value["ratings"]
        return [
            _distance(ratings[key], right, scales.get(key, STANDARD))
            for key, right in gold["ratings"].items()
            if key in ratings
        ]

    def understood(self, typed: str, rules: ValueRules, key: str) -> Any:
        rating = rating_typed(typed)
        return rating if rules.scale(key).allows(rating) else MISSING

    def missing(self, number: int, key: str, rules: ValueRules) -> str:  # noqa: ARG002
        scale, name = rules.scale(key), spoken(key).lower()
        if scale.is_number:
            words = gettext("Rate %(criterion)s with a whole number, %(scale)s, first.")
            return words % {"criterion": name, "scale": scale.words_of_range}
        return gettext("Rate %(criterion)s first.") % {"criterion": name}

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        parts = []
        for criterion in item.criteria:
            rating = rating_typed(fields.get(f"rating-{criterion.key}", ""))
            words = (
                rating_words(rating, criterion.scale)
                if criterion.scale.allows(rating)
                else gettext(NO_ANSWER)
            )
            also = [
                rating_words(point, criterion.scale)
                for point in _answers(criterion.scale)
                if point != rating and fields.get(field_of_answer(point, criterion.key))
            ]
            parts.append(AnswerPart(spoken(criterion.key), words, also=also_words(also)))
        return tuple(parts)

    def number_words(self, number: float | None) -> str:
        return "Not applicable" if number is None else f"{number:g}"

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:
        """All points that are offered, said or not; of a number those that were said."""
        if scale.is_number:
            return super().tally(seen)
        found: list[float | None] = [float(point) for point in scale.points]
        return [*found, None] if scale.not_applicable else found

    def summary(self, numbers: Mapping[str, float]) -> str:
        """Listed, and not averaged: criteria may have different scales."""
        listed = [f"{number:.1f}".removesuffix(".0") for number in list(numbers.values())[:MAX_SUMMARY]]
        more = ", …" if len(numbers) > MAX_SUMMARY else ""
        return f"rated {', '.join(listed)}{more}" if listed else NOTHING

    def remark(self, value: Stored) -> str:
        said = []
        for key, rating in value[self.field].items():
            also = [f"{each}".replace("_", " ") for each in set_of(value, key) or () if each != rating]
            said += [f"{spoken(key).lower()} {' or '.join(also)}"] if also else []
        return also_words(said)

    def missed(
        self, person: SimulatedAnnotator, truth: Stored, chance: random.Random, scales: Scales = NO_SCALES
    ) -> Value:
        ratings = truth["ratings"].items()
        return {
            "ratings": {key: _miss(person, said, chance, scales.get(key, STANDARD)) for key, said in ratings}
        }


def rating_typed(typed: str) -> int | str | None:
    """The rating that a form field says, whatever its scale; None where it is no whole number.

    >>> rating_typed("-2"), rating_typed("not_applicable"), rating_typed("2.5")
    (-2, 'not_applicable', None)
    """
    typed = typed.strip()
    if typed == NOT_APPLICABLE:
        return NOT_APPLICABLE
    try:
        return int(typed.replace("−", "-")) if len(typed) <= MAX_TYPED and "_" not in typed else None
    except ValueError:
        return None


def rating_words(rating: int | str | None, scale: Scale) -> str:
    """A rating with its words.

    >>> rating_words(1, Scale(-1, 1, words=((1, "Better"),)))
    '+1: Better'
    """
    if rating == NOT_APPLICABLE:
        return scale.word(rating)
    words = scale.word(rating)
    return f"{scale.shown(rating)}: {words}" if words else scale.shown(rating)


def in_points(said: object, scale: Scale) -> object:
    """What a file says of a criterion as a rating; what is none as it is.

    >>> [in_points(said, Scale(0, 1, words=((1, "Pass"),))) for said in ("pass", True, "N/A", 3)]
    [1, 1, 'not_applicable', 3]
    """
    if isinstance(said, bool) and scale.n_points == 2:
        return scale.high if said else scale.low
    if not isinstance(said, str):
        return said
    words = " ".join(said.split()).casefold()
    for point, text in scale.words:
        if " ".join(text.split()).casefold() == words:
            return point
    if words in SPOKEN:
        return NOT_APPLICABLE
    return said


def _answers(scale: Scale) -> list[int | str]:
    """All ratings, the lowest first, "not applicable" last."""
    return [*scale.points, *([NOT_APPLICABLE] if scale.not_applicable else [])]


def _distance(rating: int | str, right: int | str, scale: Scale) -> float:
    if isinstance(rating, str) or isinstance(right, str):
        return 0.0 if rating == right else math.inf
    return abs(rating - right) / scale.near


def _miss(person: SimulatedAnnotator, said: int | str, chance: random.Random, scale: Scale) -> int | str:
    if chance.random() < person.accuracy:
        return said
    if isinstance(said, str):  # rates what does not apply
        return scale.nearest((scale.low + scale.high) / 2)
    if scale.n_points == 2:
        return scale.low + scale.high - said
    far = max(1, round(scale.near / scale.step)) * scale.step
    return min(scale.high, max(scale.low, said + chance.choice([-far, far])))
