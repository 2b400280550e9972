"""Evidence: the passages of an answer that a person marks as the reasons for what they say of it.

Stored with a label, in canonical order, as a list of objects: ``{"response": 1, "start": 12, "end": 57, "quote": "...",
"reason": "good"}``. `response` counts the responses of the item from 1, as a pair's choice does; `start` and `end`
count the code points of its text as it is stored (the source, not what a page makes of it), the end excluded; `quote`
is ``text[start:end]``, so that a reader sees when the two don't belong together. A response that is a conversation has
`message` too, which counts its messages from 1: the offsets are those of that message's text. What the assistant says
can be marked; what the user, the system and tools say isn't judged. `reason` is "good", "bad", "choice"
(it decided the category) or "part", with the key of a criterion or an aspect in `part`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.domain.conversation import Turn, steps_count
from annotation.domain.errors import LabelValueError
from annotation.domain.wording import gettext_noop
from annotation.kinds.values import is_integer, quoted_short, spoken

KEY = "evidence"
RULE = "evidence"
"""The rule of studies that ask for it, and what kinds whose answers can be marked list it as."""
GOOD, BAD, CHOICE, PART = "good", "bad", "choice", "part"
MAX_MARKS = 30
MAX_PASSAGE = 4_000
"""Code points of one passage: what marks more of an answer marks nothing."""
MAX_TOGETHER = 20_000
_PREFIX = f"{PART}:"
MESSAGE = "message"
_FIELDS = ("response", MESSAGE, "start", "end", "quote", "reason", PART)

Marked = dict[str, Any]
Markable = str | tuple[str, ...]
"""What can be marked of a response: its text, or of a conversation the text of each message; empty where none can."""


@dataclass(frozen=True, slots=True)
class MarkReason:
    """Why a passage can be marked.

    Attributes
    ----------
    reason, part : str
        As a mark has them.
    label : str
        In words, as a button has it.
    """

    reason: str
    part: str = ""
    label: str = ""

    @property
    def name(self) -> str:
        """Both in one text, for a form.

        >>> MarkReason("part", "clarity").name, MarkReason("good").name
        ('part:clarity', 'good')
        """
        return f"{_PREFIX}{self.part}" if self.part else self.reason


@dataclass(frozen=True, slots=True)
class Mark:
    """A passage of one response, whose place is counted from 0, and why it is marked (`MarkReason.name`).

    `message` counts from 1, as it is stored; None where the response is no conversation.
    """

    response: int
    start: int
    end: int
    reason: str
    message: int | None = None


def markable_of(text: str, turns: Sequence[Turn]) -> Markable:
    """What can be marked of a response with this text, or with these turns; of a trace nothing.

    >>> markable_of("User: Hi. ...", [Turn("user", "Hi."), Turn("assistant", "Hello.")])
    ('', 'Hello.')
    """
    if not turns:
        return text if text.strip() else ""
    if steps_count(turns):
        return ""
    texts = tuple(turn.text if turn.is_answer else "" for turn in turns)
    return texts if any(texts) else ""


def texts_within(markable: Markable) -> list[tuple[int | None, str]]:
    """Each text in which passages can be marked, with the number of its message in a conversation.

    >>> texts_within("Hi."), texts_within(("", "Hello."))
    ([(None, 'Hi.')], [(2, 'Hello.')])
    """
    if isinstance(markable, str):
        return [(None, markable)] if markable else []
    return [(number, text) for number, text in enumerate(markable, 1) if text]


def marks_checked(
    given: object, texts: Sequence[Markable], reasons: Sequence[MarkReason], field: str = KEY
) -> list[Marked]:
    """Marks in their stored form and order, or a `LabelValueError` that names the field at fault.

    Parameters
    ----------
    given
        A list of objects as they are stored. `quote` may be missing; where it is given it has to be the passage.
    texts
        What can be marked of the responses, in canonical order.
    reasons
        Those that there are.

    Examples
    --------
    >>> marks_checked([{"response": 1, "start": 2, "end": 4, "reason": "good"}], ["a bc d"], [MarkReason("good")])
    [{'response': 1, 'start': 2, 'end': 4, 'reason': 'good', 'quote': 'bc'}]
    """
    if not isinstance(given, list | tuple):
        raise LabelValueError(field, f"expected a list of marks, found {quoted_short(given)}.")
    if len(given) > MAX_MARKS:
        raise LabelValueError(field, f"expected at most {MAX_MARKS} marks, found {len(given)}.")
    names = {reason.name for reason in reasons}
    found = [_checked(one, texts, names, f"{field}[{place}]") for place, one in enumerate(given)]
    together = sum(one["end"] - one["start"] for one in found)
    if together > MAX_TOGETHER:
        raise LabelValueError(
            field, f"expected at most {MAX_TOGETHER:,} marked characters, found {together:,}."
        )
    ordered = sorted(found, key=lambda one: (*_text(one), one["start"], one["end"], _name(one)))
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            if _text(other) != _text(one) or other["start"] >= one["end"]:
                break
            if _name(one) == _name(other):
                within = f"message {one[MESSAGE]} of " if MESSAGE in one else ""
                words = (
                    f"two marks for the same reason overlap at {other['start']} of {within}response "
                    f"{one['response']}."
                )
                raise LabelValueError(field, words)
    return ordered


def _text(mark: Mapping[str, Any]) -> tuple[int, int]:
    """The text that a mark is in: the numbers of its response and of its message, 0 where it has none."""
    return mark["response"], mark.get(MESSAGE) or 0


def _checked(given: object, texts: Sequence[Markable], names: set[str], field: str) -> Marked:
    if not isinstance(given, Mapping):
        raise LabelValueError(field, f"expected an object, found {quoted_short(given)}.")
    if unknown := [str(name) for name in given if name not in _FIELDS]:
        raise LabelValueError(f"{field}.{unknown[0]}", f"is not expected; a mark has {', '.join(_FIELDS)}.")
    number = _whole(given, "response", field, 1, len(texts))
    message, text = _message_checked(given, number, texts[number - 1], field)
    start = _whole(given, "start", field, 0, max(len(text) - 1, 0))
    end = _whole(given, "end", field, start + 1, min(len(text), start + MAX_PASSAGE))
    quote = text[start:end]
    if (said := given.get("quote")) is not None and said != quote:
        words = f"expected {quoted_short(quote)}, which is what stands there, found {quoted_short(said)}."
        raise LabelValueError(f"{field}.quote", words)
    if not quote.strip():
        raise LabelValueError(f"{field}.end", "expected a passage with more than blanks.")
    reason, part = given.get("reason"), given.get(PART)
    if part is not None and (reason != PART or not isinstance(part, str)):
        raise LabelValueError(f"{field}.{PART}", f"goes with the reason “{PART}” alone, and is a key.")
    name = f"{_PREFIX}{part}" if part is not None else reason
    if not isinstance(name, str) or name not in names:
        expected = ", ".join(sorted(names)) or "none, since items of this kind have no evidence"
        raise LabelValueError(f"{field}.reason", f"expected one of {expected}; found {quoted_short(name)}.")
    found: Marked = {"response": number} | ({} if message is None else {MESSAGE: message})
    found |= {"start": start, "end": end, "reason": reason}
    return found | ({PART: part} if part is not None else {}) | {"quote": quote}


def _message_checked(
    given: Mapping[str, Any], number: int, markable: Markable, field: str
) -> tuple[int | None, str]:
    """The message that a mark of this response is in, None where it is no conversation, and its text."""
    if not markable:
        words = "expected a response with passages to mark, "
        words += f"found response {number}, which is a trace or says nothing."
        raise LabelValueError(f"{field}.response", words)
    if isinstance(markable, str):
        if given.get(MESSAGE) is not None:
            words = f"goes with conversations alone; response {number} is one text."
            raise LabelValueError(f"{field}.{MESSAGE}", words)
        return None, markable
    message = _whole(given, MESSAGE, field, 1, len(markable))
    if not markable[message - 1]:
        words = f"expected a message in which the assistant says something, found message {message}."
        raise LabelValueError(f"{field}.{MESSAGE}", words)
    return message, markable[message - 1]


def _whole(given: Mapping[str, Any], name: str, field: str, low: int, high: int) -> int:
    value = given.get(name)
    if not is_integer(value) or not low <= value <= high:  # type: ignore[operator]
        raise LabelValueError(
            f"{field}.{name}", f"expected a whole number from {low} to {high}, found {quoted_short(value)}."
        )
    return int(value)  # type: ignore[arg-type]


def _name(mark: Mapping[str, Any]) -> str:
    return f"{_PREFIX}{mark[PART]}" if mark.get(PART) else str(mark["reason"])


def marks_stored(marks: Iterable[Mark], order: Sequence[int] | None = None) -> list[Marked]:
    """Marks of a page as they are stored, without their quotes; ``order[k]`` is the response that is shown k-th."""
    return [
        {
            "response": 1 + (mark.response if order is None else order[mark.response]),
            **({} if mark.message is None else {MESSAGE: mark.message}),
            "start": mark.start,
            "end": mark.end,
            **_reason(mark.reason),
        }
        for mark in marks
    ]


def _reason(name: str) -> dict[str, str]:
    return (
        {"reason": PART, PART: name.removeprefix(_PREFIX)} if name.startswith(_PREFIX) else {"reason": name}
    )


def marks_shown(stored: Iterable[Mapping[str, Any]], order: Sequence[int] | None = None) -> list[Mark]:
    """Stored marks as a page has them, which shows the responses in this order."""
    found = []
    for mark in stored:
        place = mark["response"] - 1
        found.append(
            Mark(
                place if order is None else list(order).index(place),
                mark["start"],
                mark["end"],
                _name(mark),
                mark.get(MESSAGE),
            )
        )
    return sorted(
        found, key=lambda mark: (mark.response, mark.message or 0, mark.start, mark.end, mark.reason)
    )


def marks_joined(marks: Iterable[Mark]) -> list[Mark]:
    """Marks for the same reason that overlap, as one.

    >>> marks_joined(  # doctest: +NORMALIZE_WHITESPACE
    ...     [Mark(0, 1, 5, "good"), Mark(0, 3, 9, "good"), Mark(0, 4, 6, "bad")]
    ... )
    [Mark(response=0, start=1, end=9, reason='good', message=None),
     Mark(response=0, start=4, end=6, reason='bad', message=None)]
    """
    found: list[Mark] = []
    latest: dict[tuple[int, int, str], int] = {}
    for mark in sorted(marks, key=lambda one: (one.response, one.message or 0, one.start, one.end)):
        key = mark.response, mark.message or 0, mark.reason
        before = found[latest[key]] if key in latest else None
        if before is not None and mark.start < before.end:
            found[latest[key]] = replace(before, end=max(before.end, mark.end))
        else:
            latest[key] = len(found)
            found.append(mark)
    return found


def reason_label(mark: Mapping[str, Any]) -> str:
    """Why a stored mark is there, in words.

    >>> reason_label({"reason": "part", "part": "instruction_following"}), reason_label({"reason": "bad"})
    ('Instruction following', 'Bad')
    """
    name = mark.get(PART) or LABELS.get(str(mark["reason"]), str(mark["reason"]))
    return spoken(str(name)) if mark.get(PART) else str(name)


@dataclass(frozen=True, slots=True)
class MarkSaid:
    """A mark of one of several people, for who reads them together.

    Attributes
    ----------
    number : int
        Its place among all of them, from 0.
    response : int
        The place of its response on the page, from 0.
    where, label : str
        The response, where there are several, with its message, where it is a conversation, and why it is marked, in
        words.
    """

    number: int
    response: int
    start: int
    end: int
    reason: str
    where: str
    label: str
    quote: str
    message: int | None = None


def marks_said(
    people: Iterable[Iterable[Mapping[str, Any]] | None],
    order: Sequence[int] | None = None,
    names: Sequence[str] = (),
) -> list[tuple[MarkSaid, ...]]:
    """The stored marks of each of these people, where responses are shown in this order, under these names."""
    found: list[tuple[MarkSaid, ...]] = []
    number = 0
    for stored in people:
        said = []
        for mark in stored or ():
            canonical, message = mark["response"] - 1, mark.get(MESSAGE)
            place = canonical if order is None else list(order).index(canonical)
            said.append(
                MarkSaid(
                    number,
                    place,
                    mark["start"],
                    mark["end"],
                    str(mark["reason"]),
                    _where(names[place] if names else "", message),
                    reason_label(mark),
                    str(mark["quote"]),
                    message,
                )
            )
            number += 1
        found.append(tuple(said))
    return found


def _where(name: str, message: int | None) -> str:
    if message is None:
        return name
    return f"{name}, message {message}" if name else f"Message {message}"


def marks_for_script(people: Iterable[Iterable[MarkSaid]]) -> str:
    """Marks as `static/js/passages.js` reads them; empty without any."""
    rows = [
        [mark.response, mark.start, mark.end, mark.reason, *([] if mark.message is None else [mark.message])]
        for said in people
        for mark in said
    ]
    return json.dumps(rows, separators=(",", ":")) if rows else ""


LABELS = {
    GOOD: gettext_noop("Good"),
    BAD: gettext_noop("Bad"),
    CHOICE: gettext_noop("Reason for the category"),
}
