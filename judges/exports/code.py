"""A question as data for the code of a target that fills it in itself."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from judges.exports.questions import JudgeQuestion


def question_data(question: JudgeQuestion) -> dict[str, Any]:
    """Return a question as JSON values: its messages in pieces, and how its answer is read."""
    return {
        "about": question.about,
        "plain": [[role, list(pieces)] for role, pieces in question.plain],
        "with_context": [[role, list(pieces)] for role, pieces in question.with_context],
        "tags": list(question.tags),
        "patterns": question.answer.patterns(),
        **({} if question.criterion is None else {"criterion": question.criterion.key}),
    }


def data_text(values: object) -> str:
    """Return JSON values as the text of a file."""
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def code_text(name: str) -> str:
    """Return a file of code that goes into exports as it is."""
    return (files("judges.exports") / "files" / name).read_text(encoding="utf-8")
