"""Rubrics: one response, rated from 1 to 5 on each criterion of the dataset.

A value is ``{"ratings": {criterion: 1..5}}``.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.simulation import SimulatedAnnotator
from annotation.kinds.base import NO_ANSWER
from annotation.kinds.parts import MISSING, PartsKind
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import (
    MAX_RATING,
    Stored,
    ValueRules,
    is_integer,
    named,
    quoted_short,
    some,
    spoken,
)

POINTS = {str(points): points for points in range(1, MAX_RATING + 1)}


class Rubric(PartsKind):
    name = "rubric"
    label = "Rubric rating"
    noun = ("response to rate", "responses to rate")
    hint = "One answer, rated on each criterion."
    question = "How good is this answer?"
    work = "Rate answers"
    invitation = "judge answers"
    task = "and an answer to it, and rate the answer in several respects"
    part = part_shown = "Criterion"
    parts_heading = "Criteria"
    said = "rating"
    seconds = 120
    parts = "criteria"
    scale = "ordinal"
    tolerant = True
    study_rules = frozenset(["criteria", "qualification_rule"])
    progress = "rated"
    scripts = ("js/rubric.js",)
    field = "ratings"
    input = "rating"

    def checked(self, given: object, rules: ValueRules) -> dict[str, int]:
        ratings = named(given, self.field, rules.criteria, complete=rules.complete)
        keys = [name for name in rules.criteria if rules.complete or ratings.get(name) is not None]
        if not rules.complete:
            some(keys, self.field)
        for name in keys:
            if not is_integer(ratings[name]) or not 1 <= ratings[name] <= MAX_RATING:
                found = quoted_short(ratings[name])
                raise LabelValueError(f"ratings.{name}", f"expected 1 to {MAX_RATING}, found {found}.")
        return {name: ratings[name] for name in keys}

    def distances(self, value: Stored, gold: Stored) -> list[int]:
        ratings = value["ratings"]
        return [abs(ratings[key] - points) for key, points in gold["ratings"].items() if key in ratings]

    def understood(self, typed: str, rules: ValueRules) -> Any:  # noqa: ARG002
        return POINTS.get(typed, MISSING)

    def missing(self, number: int, key: str) -> str:  # noqa: ARG002
        return f"Rate {spoken(key).lower()} first."

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        parts = []
        for criterion in item.criteria:
            points = fields.get(f"rating-{criterion.key}", "")
            words = dict(criterion.options).get(points)
            parts.append(AnswerPart(spoken(criterion.key), f"{points}: {words}" if words else NO_ANSWER))
        return tuple(parts)

    def tally(self, seen: Sequence[float | None]) -> list[float | None]:  # noqa: ARG002
        return [float(points) for points in POINTS.values()]

    def summary(self, numbers: Mapping[str, float]) -> str:
        return f"mean {sum(numbers.values()) / len(numbers):.1f} of {MAX_RATING}"

    def miss(self, person: SimulatedAnnotator, said: int, chance: random.Random) -> int:
        if chance.random() < person.accuracy:
            return said
        return min(MAX_RATING, max(1, said + chance.choice([-1, 1])))
