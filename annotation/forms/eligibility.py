"""The editor of eligibility questions: rows of a question and options, with a tick at those who may take part.

Without a script there are empty rows to fill in; the script adds and removes rows of the same names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import slugify

MAX_QUESTIONS = 20
MAX_OPTIONS = 12
EMPTY_QUESTIONS = 1
LEAST_OPTIONS = 4
MAX_TEXT = 200
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
    """The rows of a submitted form that are not empty, in their order."""
    numbers = sorted({int(match[1]) for name in data if (match := NAME.match(name))})
    rows: list[QuestionRow] = []
    for number in numbers[:MAX_QUESTIONS]:
        options = tuple(
            OptionRow(
                place,
                _line(data.get(f"eligibility-{number}-option-{place}", "")),
                f"eligibility-{number}-allowed-{place}" in data,
            )
            for place in range(MAX_OPTIONS)
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
    return " ".join(text.replace("\x00", "").split())[:MAX_TEXT]


def questions_of(rows: list[QuestionRow]) -> list[dict[str, Any]]:
    """Rows as they are stored. A question keeps its key for ever, since people's answers go by it."""
    keys = {row.key for row in rows if row.key}
    found = []
    for row in rows:
        key = row.key
        if not key:
            base = slugify(row.question)[:40] or "question"
            key = next(name for name in (base, *(f"{base}-{n}" for n in range(2, 99))) if name not in keys)
            keys.add(key)
        options = [{"text": option.text, "eligible": option.eligible} for option in row.filled]
        found.append({"key": key, "question": row.question, "options": options})
    return found


def rows_to_fill(rows: list[QuestionRow]) -> list[QuestionRow]:
    """The rows with empty ones after them, for an editor that has no script."""

    def with_space(row: QuestionRow) -> QuestionRow:
        filled = row.filled
        count = min(MAX_OPTIONS, max(LEAST_OPTIONS, len(filled) + 1))
        options = [OptionRow(place, one.text, one.eligible) for place, one in enumerate(filled)]
        options += [OptionRow(place) for place in range(len(filled), count)]
        return QuestionRow(row.number, row.key, row.question, tuple(options))

    empty = range(len(rows), min(MAX_QUESTIONS, len(rows) + EMPTY_QUESTIONS))
    return [with_space(row) for row in (*rows, *(QuestionRow(number) for number in empty))]


def problem_of(rows: list[QuestionRow]) -> str | None:
    """What is wrong with the first row that is not right, in words for the page."""
    for number, row in enumerate(rows, start=1):
        texts = [option.text for option in row.filled]
        if not row.question:
            return f"Question {number} has options, but no words."
        if len(texts) < 2:
            return f"Question {number} needs at least two options."
        if len(set(texts)) < len(texts):
            return f"Two options of question {number} have the same words."
        if not any(option.eligible for option in row.filled):
            return f"Tick at least one option of question {number}: as it is, nobody may take part."
    return None
