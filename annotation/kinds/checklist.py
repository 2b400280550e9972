"""Checklists: one response, and yes or no to each aspect of the instruction.

A value is ``{"answers": {aspect: true | false | null}}``; null is "cannot tell".
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import STANDARD, Scale
from annotation.domain.simulation import SimulatedAnnotator
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.base import NO_ANSWER
from annotation.kinds.evidence import PART
from annotation.kinds.evidence import RULE as EVIDENCE
from annotation.kinds.parts import MISSING, PartsKind
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import ValueRules, named, quoted_short, some

FIELDS = {True: "yes", False: "no", None: "unknown"}
ANSWERS = {field: answer for answer, field in FIELDS.items()}
WORDS = {True: gettext_noop("Yes"), False: gettext_noop("No"), None: gettext_noop("Cannot tell")}
# What files say in words; a data set's "Unsure" is "cannot tell".
SPOKEN: Mapping[str, bool | None] = {
    **dict.fromkeys(("yes", "true"), True),
    **dict.fromkeys(("no", "false"), False),
    **dict.fromkeys(("unsure", "not sure", "cannot tell", "can't tell", "unknown"), None),
}


def in_words(answer: object) -> object:
    """Return what an answer to an aspect says; what is no such word as it is.

    >>> [in_words(answer) for answer in ("Yes", " no ", "Unsure", True, "maybe")]
    [True, False, None, True, 'maybe']
    """
    if not isinstance(answer, str):
        return answer
    return SPOKEN.get(" ".join(answer.replace("’", "'").split()).casefold(), answer)


class Checklist(PartsKind):
    name = "checklist"
    label = "Checklist"
    noun = ("checklist", "checklists")
    hint = "One answer: yes or no to each aspect."
    question = gettext_noop("Does the answer do what was asked?")
    work = gettext_noop("Check answers")
    invitation = gettext_noop("You're invited to judge answers.")
    task = gettext_noop(
        "You will read an instruction and an answer to it, and say what the answer does and what it does not."
    )
    part = "Aspect"
    part_shown = gettext_noop("Requirement")
    parts_heading = "Aspects"
    said = "yes or no"
    seconds = 90
    parts = "aspects"
    scale = "nominal"
    study_rules = frozenset(["allow_cannot_tell", EVIDENCE])
    evidence = (PART,)
    scripts = ("js/rubric.js",)
    field = "answers"
    input = "answer"

    def checked(self, given: object, rules: ValueRules) -> dict[str, bool | None]:
        answers = named(given, self.field, rules.aspects, complete=rules.complete)
        if not rules.complete:
            some(answers, self.field)  # that none of them can be told is an answer too
        found: dict[str, bool | None] = {}
        for name in rules.aspects:
            answer = answers.get(name)
            if answer is not None and not isinstance(answer, bool):
                problem = f"expected true, false or null, found {quoted_short(answer)}."
                raise LabelValueError(f"answers.{name}", problem)
            if answer is None and name in answers and not rules.cannot_tell:
                raise LabelValueError(f"answers.{name}", "expected true or false, found none.")
            found[name] = answer
        return found

    def raw(self, value: object, rules: ValueRules) -> object:
        if not isinstance(value, dict) or not isinstance(answers := value.get("answers"), dict):
            return value
        said = {name: in_words(answer) for name, answer in answers.items()}
        # A Parquet struct has a null for each aspect of any other row.
        return value | {"answers": {k: v for k, v in said.items() if v is not None or k in rules.aspects}}

    def typed(self, said: bool | None) -> str:
        return FIELDS[said]

    def understood(self, typed: str, rules: ValueRules, key: str) -> Any:  # noqa: ARG002
        answer = ANSWERS.get(typed, MISSING)
        return MISSING if answer is None and not rules.cannot_tell else answer

    def missing(self, number: int, key: str, rules: ValueRules) -> str:  # noqa: ARG002
        return gettext("Answer question %(number)s first.") % {"number": number}

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        given = [ANSWERS.get(fields.get(f"answer-{aspect.key}", ""), MISSING) for aspect in item.aspects]
        return tuple(
            AnswerPart(aspect.text, gettext(WORDS.get(answer, NO_ANSWER)))
            for aspect, answer in zip(item.aspects, given, strict=True)
        )

    def number_words(self, number: float | None) -> str:
        return WORDS[None if number is None else bool(number)]

    def tally(self, seen: Sequence[float | None], scale: Scale = STANDARD) -> list[float | None]:  # noqa: ARG002
        return [1.0, 0.0, None]

    def summary(self, numbers: Mapping[str, float]) -> str:
        return f"{sum(share > 0.5 for share in numbers.values())} of {len(numbers)} yes"

    def part_words(self, number: float) -> str:
        return {1.0: "yes", 0.0: "no"}.get(number, "")

    def mean_words(self, number: float) -> str:
        return f"{100 * number:.0f}% yes"

    def miss(self, person: SimulatedAnnotator, said: bool | None, chance: random.Random) -> bool | None:
        return said if said is None or chance.random() < person.accuracy else not said
