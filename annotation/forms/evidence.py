"""The passages that the form of an answer marks as reasons, by a script or, without one, as text that was copied.

The field `evidence` is JSON, a list of ``[response, start, end, reason]`` in the order shown, `response` counted from
0; a fifth member is the message of a conversation, counted from 1. In a browser without scripts people copy passages
into fields, one a line, and tick what they take back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.kinds import AnswerError
from annotation.kinds.evidence import KEY, MAX_MARKS, Mark, MarkReason, marks_joined, texts_within
from annotation.kinds.shown import ShownItem
from annotation.kinds.values import is_integer
from annotation.selectors.shown import mark_reasons
from web.plain_text import cut_off
from web.source_map import passage_found, source_map

MAX_FIELD = 8_000
MAX_PASSAGES = 4_000
COPIED, TAKEN_BACK = "passage-", "unmark-"
WORDS = 60  # characters of a passage that a message repeats


def is_evidence_field(name: str) -> bool:
    """Whether a form field is one of the marks'."""
    return name == KEY or name.startswith((COPIED, TAKEN_BACK))


def copied_field(response: int, reason: MarkReason) -> str:
    """The field into which passages of a response are copied that are marked for a reason."""
    return f"{COPIED}{response}.{reason.name}"


def field_size(name: str) -> int:
    """Characters that a field may have."""
    return MAX_FIELD if name == KEY else MAX_PASSAGES if name.startswith(COPIED) else 3


def marks_written(marks: Iterable[Mark]) -> str:
    """Marks as the form has them; empty without any.

    >>> marks_written([Mark(0, 3, 9, "good")])
    '[[0,3,9,"good"]]'
    """
    rows = [
        [mark.response, mark.start, mark.end, mark.reason, *([] if mark.message is None else [mark.message])]
        for mark in marks
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) if rows else ""


def marks_read(written: str) -> list[Mark]:
    """The marks that a form has; what can't be read is none. Whether they fit is asked where they're stored."""
    try:
        rows = json.loads(written or "[]")
    except (ValueError, RecursionError):
        return []
    if not isinstance(rows, list):
        return []
    return [Mark(*row) for row in rows[: MAX_MARKS + 1] if _is_mark(row)]


def _is_mark(row: Any) -> bool:
    if not isinstance(row, list) or len(row) not in (4, 5):
        return False
    numbers = (*row[:3], *row[4:])
    return all(is_integer(each) and 0 <= each < 2**31 for each in numbers) and isinstance(row[3], str)


def marks_given(data: Mapping[str, Any], item: ShownItem, text: Any) -> tuple[list[Mark], list[str]]:
    """The marks of a form that was sent, and what to say of passages that were copied; an `AnswerError` about one that
    isn't in its answer.

    `text` gives the tidy text of a field.
    """
    before = [mark for mark in marks_read(text(KEY)) if mark.response < len(item.responses)]
    marks = [mark for place, mark in enumerate(before) if not data.get(f"{TAKEN_BACK}{place}")]
    told: list[str] = []
    for place, response in enumerate(item.responses):
        if not response.markable:
            continue
        for reason in mark_reasons(item):
            lines = filter(str.strip, text(copied_field(place, reason)).split("\n"))
            marks += [_found(line, place, reason, item, told) for line in lines]
    return marks_joined(marks), told


def _found(line: str, place: int, reason: MarkReason, item: ShownItem, told: list[str]) -> Mark:
    quoted = cut_off(line.strip(), WORDS)
    texts = texts_within(item.responses[place].markable)
    for plain in (item.is_plain, True):
        found = [
            (message, *one)
            for message, each in texts
            if (one := passage_found(line, source_map(each, plain=plain))) is not None
        ]
        if found:
            message, (start, end), _ = found[0]
            times = sum(times for *_, times in found)
            if times > 1:
                words = gettext("“%(words)s” occurs %(times)s times in the answer. The first one is marked.")
                told.append(words % {"words": quoted, "times": times})
            return Mark(place, start, end, reason.name, message)
    field = copied_field(place, reason)
    words = gettext("“%(words)s” isn’t in the answer. Copy the passage from there, exactly as it is written.")
    raise AnswerError(words % {"words": quoted}, field=field, anchor=f"{COPIED}{place}")


def marks_required(marks: Sequence[Mark], item: ShownItem) -> None:
    """Refuse an answer without a mark, with an `AnswerError`, where something can be marked."""
    if not marks and any(response.markable for response in item.responses):
        raise AnswerError(gettext("Mark at least one passage that is a reason."), field=KEY, anchor=KEY)
