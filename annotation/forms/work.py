"""The answer to one item of each kind, as the pages send it. Values are in the order shown; services make them
canonical.
"""

from collections.abc import Mapping
from typing import Any

from annotation.domain.values import (
    KINDS,
    MAX_RATING,
    STRENGTHS,
    TIE,
    Value,
    ValueRules,
)
from annotation.forms.base import AnswerError, ErrorText, WorkForm, draft_fields
from annotation.forms.ranking import RankingForm
from annotation.models import Study

__all__ = [
    "ChecklistForm",
    "ErrorText",
    "PairwiseForm",
    "RubricForm",
    "WorkForm",
    "draft_fields",
    "work_form",
]

BOTH_BAD = "bad"
ANSWERS: dict[str, bool | None] = {"yes": True, "no": False, "unknown": None}
POINTS = {str(points): points for points in range(1, MAX_RATING + 1)}


def work_form(study: Study, rules: ValueRules, data: Mapping[str, Any] | None) -> WorkForm:
    """The form of the study's kind of work, with what was sent, or None for nothing yet."""
    forms: dict[str, type[WorkForm]] = dict.fromkeys(KINDS, RankingForm)
    forms |= {"pairwise": PairwiseForm, "rubric": RubricForm, "checklist": ChecklistForm}
    return forms[rules.kind](study, rules, data)


class PairwiseForm(WorkForm):
    """1 for A, 2 for B, 0 for a tie, "bad" for both bad; of a preference its strength, if the study asks."""

    def read(self) -> Value:
        chosen = self.text("choice")
        offered = [
            "1",
            "2",
            *(["0"] if self.rules.ties else []),
            *([BOTH_BAD] if self.rules.both_bad else []),
        ]
        if chosen not in offered:
            raise AnswerError("Choose an answer first.", field="choice", anchor="choice-a")
        if chosen == BOTH_BAD:
            return {"choice": TIE, "both_bad": True}
        value: Value = {"choice": int(chosen)}
        if self.rules.strength and value["choice"] != TIE:
            value["strength"] = self._strength("AB"[value["choice"] - 1])
        return value

    def _strength(self, better: str) -> str:
        strength = self.text("strength")
        if strength not in STRENGTHS:
            words = f"Say how much better {better} is: slightly, or much."
            raise AnswerError(words, field="strength", anchor="strength-slightly")
        return strength


class RubricForm(WorkForm):
    """One to five points on every criterion."""

    def read(self) -> Value:
        ratings = {}
        for number, key in enumerate(self.rules.criteria, start=1):
            field = f"rating-{key}"
            points = POINTS.get(self.text(field))
            if points is None:
                raise AnswerError(f"Rate {_words(key)} first.", field=field, anchor=f"part-{number}")
            ratings[key] = points
        return {"ratings": ratings}


class ChecklistForm(WorkForm):
    """Yes, no or, where it is allowed, cannot tell, of every aspect."""

    def read(self) -> Value:
        answers = {}
        for number, key in enumerate(self.rules.aspects, start=1):
            field = f"answer-{key}"
            answer = self.text(field)
            if answer not in ANSWERS or (ANSWERS[answer] is None and not self.rules.cannot_tell):
                raise AnswerError(f"Answer question {number} first.", field=field, anchor=f"part-{number}")
            answers[key] = ANSWERS[answer]
        return {"answers": answers}


def _words(key: str) -> str:
    """The name of a criterion as it stands in a sentence."""
    return key.replace("_", " ").replace("-", " ").lower()
