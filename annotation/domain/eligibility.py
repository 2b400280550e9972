"""Questions about the person before they may work (HREF: native speakers with a degree): what a study may ask, and
who may go on.

As stored: ``[{"key": "native", "question": "...", "options": [{"text": "Yes", "eligible": true}, ...]}]``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.domain.errors import LabelValueError, StudyRuleError

FIELD = "eligibility"
MAX_QUESTIONS = 20
MAX_OPTIONS = 30
MAX_QUESTION_CHARS = 500
MAX_OPTION_CHARS = 200
KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")


@dataclass(frozen=True, slots=True)
class EligibilityOption:
    text: str
    eligible: bool


@dataclass(frozen=True, slots=True)
class EligibilityQuestion:
    key: str
    question: str
    options: tuple[EligibilityOption, ...]

    def allows(self, text: str) -> bool:
        return any(option.eligible for option in self.options if option.text == text)


def eligibility_read(value: object) -> tuple[EligibilityQuestion, ...]:
    """The questions of a study, or a `StudyRuleError` that says which part is wrong.

    Examples
    --------
    >>> eligibility_read([{"key": "age", "question": "Are you of age?", "options": []}])
    Traceback (most recent call last):
    ...
    annotation.domain.errors.StudyRuleError: [0].options: expected 2 to 30, found 0.
    """
    listed = _list(value, "", "a list of questions")
    if len(listed) > MAX_QUESTIONS:
        raise _error("", f"expected at most {MAX_QUESTIONS} questions, found {len(listed)}.")
    questions = tuple(_question(entry, f"[{place}]") for place, entry in enumerate(listed))
    for place, question in enumerate(questions):
        if question.key in [other.key for other in questions[:place]]:
            raise _error(f"[{place}].key", f"{question.key!r} is the key of an earlier question.")
    return questions


def is_eligible(questions: Sequence[EligibilityQuestion], answers: Mapping[str, str]) -> bool:
    """Whether every answer lets the person go on. All questions have to be answered with one of their options."""
    for question in questions:
        if answers.get(question.key) not in [option.text for option in question.options]:
            raise LabelValueError(question.key, "Choose one of the answers.")
    return all(question.allows(answers[question.key]) for question in questions)


def _question(entry: object, place: str) -> EligibilityQuestion:
    entry = _fields(entry, place, ("key", "question", "options"))
    key = entry["key"]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise _error(f"{place}.key", "expected up to 50 small letters, digits, - and _.")
    listed = _list(entry["options"], f"{place}.options", "a list of options")
    if not 2 <= len(listed) <= MAX_OPTIONS:
        raise _error(f"{place}.options", f"expected 2 to {MAX_OPTIONS}, found {len(listed)}.")
    options = tuple(_option(option, f"{place}.options[{at}]") for at, option in enumerate(listed))
    if len({option.text for option in options}) < len(options):
        raise _error(f"{place}.options", "two of them have the same text.")
    if not any(option.eligible for option in options):
        raise _error(f"{place}.options", "none is eligible, so nobody could take part.")
    return EligibilityQuestion(
        key, _text(entry["question"], f"{place}.question", MAX_QUESTION_CHARS), options
    )


def _option(entry: object, place: str) -> EligibilityOption:
    entry = _fields(entry, place, ("text", "eligible"))
    if not isinstance(entry["eligible"], bool):
        raise _error(f"{place}.eligible", "expected true or false.")
    return EligibilityOption(_text(entry["text"], f"{place}.text", MAX_OPTION_CHARS), entry["eligible"])


def _text(value: object, place: str, limit: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > limit:
        raise _error(place, f"expected a text of 1 to {limit} characters.")
    # On one line: a browser sends the lines of a value back with other breaks between them.
    return " ".join(value.split())


def _list(value: object, place: str, expected: str) -> list[object]:
    if not isinstance(value, list):
        raise _error(place, f"expected {expected}.")
    return value


def _fields(entry: object, place: str, names: Sequence[str]) -> Mapping[str, object]:
    if not isinstance(entry, Mapping):
        raise _error(place, f"expected an object with {', '.join(names)}.")
    for name in names:
        if name not in entry:
            raise _error(f"{place}.{name}", "is missing.")
    if unknown := sorted(str(name) for name in entry if name not in names):
        raise _error(f"{place}.{unknown[0]}", "is not expected here.")
    return entry


def _error(place: str, message: str) -> StudyRuleError:
    return StudyRuleError(FIELD, f"{place}: {message}" if place else message)
