"""The editor of eligibility questions: rows of a question and options, with a tick at those who may take part.

Without a script there are empty rows to fill in; the script adds and removes rows of the same names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import slugify

from annotation.domain.eligibility import MAX_OPTION_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_QUESTIONS

EMPTY_QUESTIONS = 1
LEAST_OPTIONS = 4
NAME = re.compile(r"eligibility-(\d{1,2})-(question|key|option-\d{1,2}|allowed-\d{1,2})\Z")


@dataclass(frozen=True, slots=True)
class OptionRow:
    number: int
    text: str = ""
    eligible: bool = True


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question as it stands in the editor; `options` end with empty ones."""

    number: int
    key: str = ""
    question: str = ""
    options: tuple[OptionRow, ...] = field(default=())

    @property
    def filled(self) -> list[OptionRow]:
        return [option for option in self.options if option.text]

    @property
    def is_empty(self) -> bool:
        return not self.question and not self.filled


def rows_of(questions: list[dict[str, Any]]) -> list[QuestionRow]:
    """Stored questions as rows."""
    return [
        QuestionRow(
            number,
            question["key"],
            question["question"],
            tuple(
                OptionRow(place, option["text"], option["eligible"])
                for place, option in enumerate(question["options"])
            ),
        )
        for number, question in enumerate(questions)
    ]


def rows_read(data: Mapping[str, str]) -> list[QuestionRow]:
    """The rows of a submitted form that are not empty, in their order; too many or too long ones are a `problem_of`."""
    # The script numbers rows as they are added: after others were removed, a number says nothing of how many there are.
    options_of: dict[int, set[int]] = {}
    for name in data:
        if match := NAME.match(name):
            places = options_of.setdefault(int(match[1]), set())
            if match[2].startswith("option-"):
                places.add(int(match[2].removeprefix("option-")))
    rows: list[QuestionRow] = []
    for number, numbers in sorted(options_of.items()):
        options = tuple(
            OptionRow(
                place,
                _line(data.get(f"eligibility-{number}-option-{place}", "")),
                f"eligibility-{number}-allowed-{place}" in data,
            )
            for place in sorted(numbers)
        )
        row = QuestionRow(
            len(rows),
            _line(data.get(f"eligibility-{number}-key", "")),
            _line(data.get(f"eligibility-{number}-question", "")),
            options,
        )
        if not row.is_empty:
            rows.append(row)
    return rows


def _line(text: str) -> str:
    return " ".join(text.replace("\x00", "").split())


def questions_of(rows: list[QuestionRow]) -> list[dict[str, Any]]:
    """Rows as they are stored. A question keeps its key for ever, since people's answers go by it."""
    keys = {row.key for row in rows if row.key}
    found = []
    for row in rows:
        key = row.key
        if not key:
            base = slugify(row.question)[:40] or "question"
            key = next(
                name for name in (base, *(f"{base}-{n}" for n in range(2, len(keys) + 3))) if name not in keys
            )
            keys.add(key)
        options = [{"text": option.text, "eligible": option.eligible} for option in row.filled]
        found.append({"key": key, "question": row.question, "options": options})
    return found


def rows_to_fill(rows: list[QuestionRow]) -> list[QuestionRow]:
    """The rows with empty ones after them, for an editor that has no script."""

    def with_space(row: QuestionRow) -> QuestionRow:
        filled = row.filled
        count = max(len(filled), min(MAX_OPTIONS, max(LEAST_OPTIONS, len(filled) + 1)))
        options = [OptionRow(place, one.text, one.eligible) for place, one in enumerate(filled)]
        options += [OptionRow(place) for place in range(len(filled), count)]
        return QuestionRow(row.number, row.key, row.question, tuple(options))

    empty = range(len(rows), min(MAX_QUESTIONS, len(rows) + EMPTY_QUESTIONS))
    return [with_space(row) for row in (*rows, *(QuestionRow(number) for number in empty))]


def problem_of(rows: list[QuestionRow]) -> str | None:
    """What is wrong with the first row that is not right, in words for the page."""
    if len(rows) > MAX_QUESTIONS:
        return f"At most {MAX_QUESTIONS} questions can be asked; these are {len(rows)}."
    for number, row in enumerate(rows, start=1):
        texts = [option.text for option in row.filled]
        if not row.question:
            return f"Question {number} has options, but no words."
        if len(texts) < 2:
            return f"Question {number} needs at least two options."
        if len(row.question) > MAX_QUESTION_CHARS:
            return f"Question {number} is longer than {MAX_QUESTION_CHARS} characters."
        if len(texts) > MAX_OPTIONS:
            return f"Question {number} has {len(texts)} options; at most {MAX_OPTIONS} can be offered."
        if any(len(text) > MAX_OPTION_CHARS for text in texts):
            return f"An option of question {number} is longer than {MAX_OPTION_CHARS} characters."
        if len(set(texts)) < len(texts):
            return f"Two options of question {number} have the same words."
        if not any(option.eligible for option in row.filled):
            return f"Tick at least one option of question {number}: as it is, nobody may take part."
    return None
