"""A kind of item that the product doesn't have, made as `docs/architecture.md` says: one class and one template."""

from collections.abc import Mapping

from annotation.domain.errors import LabelValueError
from annotation.kinds import AnswerError, ItemKind, Value, ValueRules
from annotation.kinds.base import NO_ANSWER, Text
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import Stored, field_of, quoted_short

WORDS = {"yes": "Acceptable", "no": "Not acceptable"}


class Acceptable(ItemKind):
    """Whether one response is acceptable: ``{"acceptable": true | false}``."""

    name = "acceptable"
    label = "Acceptability"
    noun = ("response to accept", "responses to accept")
    hint = "One answer: acceptable or not?"
    question = "Is this answer acceptable?"
    work = "Accept answers"
    invitation = "say which answers are acceptable"
    task = "and an answer to it, and say whether the answer is acceptable"
    answered = "You answered:"
    scale = "nominal"

    def validate(self, value: object, rules: ValueRules) -> Value:
        said = field_of(value, "acceptable")["acceptable"]
        if not isinstance(said, bool):
            raise LabelValueError("acceptable", f"expected true or false, found {quoted_short(said)}.")
        return {"acceptable": said}

    def numbers(self, value: Stored) -> dict[str, float | None]:
        said = value.get("acceptable")
        return {"": float(said)} if isinstance(said, bool) else {}

    def has_field(self, name: str) -> bool:
        return name == "acceptable"

    def fields(self, value: Stored) -> dict[str, str]:
        return {"acceptable": "yes" if value["acceptable"] else "no"}

    def read(self, text: Text, rules: ValueRules) -> Value:
        if (said := text("acceptable")) not in WORDS:
            raise AnswerError("Choose an answer first.", field="acceptable", anchor="part-1")
        return {"acceptable": said == "yes"}

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        return (AnswerPart("", WORDS.get(fields.get("acceptable", ""), NO_ANSWER)),)

    def number_words(self, number: float | None) -> str:
        return WORDS["yes" if number else "no"]
