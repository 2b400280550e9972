"""The answer to one item, as the pages send it: the fields as typed, the comment, the times, the one error.

What the fields mean is the kind's (`annotation.kinds`). Values are in the order shown; services make them canonical.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from annotation.domain.signals import Signals, signals_read
from annotation.forms.evidence import field_size, is_evidence_field, marks_given, marks_required
from annotation.kinds import KINDS, AnswerError, Value, ValueRules, kind_of
from annotation.kinds.evidence import Mark
from annotation.kinds.reasons import REASONS, is_reason_field, picked
from annotation.kinds.shown import ShownItem
from annotation.models import EvidenceRule, Study

DAY_MS = 24 * 60 * 60 * 1000
MAX_COMMENT = 2_000
MAX_DRAFT = 20_000
FIELDS = ("comment", "pasted_chars")  # of every kind, beside its own
DECOY = "reader_code"  # a field that people don't see; no name that a browser fills in by itself
# What no database stores: NUL, and halves of surrogate pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class ErrorText(str):
    """What to say about an answer, with the field that it is about and the id of the input to go to."""

    __slots__ = ("anchor", "field")

    field: str
    anchor: str

    def __new__(cls, words: str, *, field: str = "", anchor: str = "") -> "ErrorText":
        text = super().__new__(cls, words)
        text.field = field
        text.anchor = anchor
        return text

    @property
    def is_at_part(self) -> bool:
        """Whether the kind's template says it at the part that it is about, so that the page doesn't say it again."""
        return self.anchor.startswith("part-")


def draft_fields(data: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the work form as typed, complete or not, and together at most `MAX_DRAFT` characters.

    Examples
    --------
    >>> draft_fields({"choice": "1", "csrfmiddlewaretoken": "x", "comment": ""})
    {'choice': '1'}
    """
    found: dict[str, str] = {}
    left = MAX_DRAFT
    for name in data:
        of_evidence = is_evidence_field(name)
        is_own = of_evidence or name in FIELDS or is_reason_field(name)
        if not is_own and not any(kind.has_field(name) for kind in KINDS.values()):
            continue
        size = field_size(name) if of_evidence else MAX_COMMENT if name == "comment" else 100
        text = _tidy(data[name])[:size]
        left -= len(name) + len(text)
        if left < 0:
            break
        if text:
            found[name] = text
    return found


def milliseconds(value: object) -> int | None:
    """A time measured in the browser: a help, never a reason to refuse an answer."""
    number = _whole(value)
    # Zero is what the form holds when no script has measured anything.
    return min(number, DAY_MS) if number > 0 else None


class WorkForm:
    """The answer to one item as sent: its value in the order shown, a comment, and the times.

    Parameters
    ----------
    study, rules
        What is asked for.
    data
        The fields as sent, names as in `draft_fields`, or None for a form that was not sent.
    item
        As it was shown, where passages of its responses may be marked.
    value_only
        The page asks for no comment and no reasons.
    """

    def __init__(
        self,
        study: Study,
        rules: ValueRules,
        data: Mapping[str, Any] | None,
        item: ShownItem | None = None,
        *,
        value_only: bool = False,
    ) -> None:
        self.study = study
        self.rules = rules
        self.item = item
        self.value_only = value_only
        self.data: Mapping[str, Any] = {} if data is None else data
        self.is_bound = data is not None
        self.error: ErrorText = ErrorText("")
        self.shown_value: Value = {}
        self.shown_marks: list[Mark] = []
        self.told: list[str] = []
        """What to say of an answer that is valid."""

    def is_valid(self) -> bool:
        self.error = ErrorText("")
        if not self.is_bound:
            return False
        try:
            self.shown_value = kind_of(self.rules.kind).read(self.text, self.rules)
            if not self.value_only:
                self._read_reasons()
                self._read_marks()
                self._check_comment()
        except AnswerError as error:
            self.error = ErrorText(str(error), field=error.field, anchor=error.anchor)
        return not self.error

    def text(self, field: str) -> str:
        return _tidy(self.data.get(field, ""))

    @property
    def fields(self) -> dict[str, str]:
        """What was typed, to show it again."""
        return draft_fields(self.data)

    @property
    def answer(self) -> dict[str, Any]:
        """What the services take of a form that is valid."""
        return {
            "shown_value": self.shown_value,
            "shown_marks": self.shown_marks,
            "comment": self.comment,
            "pasted_chars": self.pasted_chars,
            "active_ms": self.active_time,
        }

    @property
    def comment(self) -> str:
        return self.text("comment").strip() if self.study.ask_comment else ""

    @property
    def signals(self) -> Signals | None:
        """What the browser summarized of how the answer was given, where the study collects it."""
        decoy = self.study.machine_text and bool(self.text(DECOY).strip())
        sent = self.text("signals") if self.study.signals_collected else ""
        return signals_read(sent, decoy=decoy)

    @property
    def pasted_chars(self) -> int:
        """Characters of the comment that were pasted, as far as the browser could tell."""
        return max(0, min(_whole(self.data.get("pasted_chars")), len(self.comment)))

    @property
    def active_time(self) -> int | None:
        return milliseconds(self.data.get("active_ms"))

    def _read_reasons(self) -> None:
        if not self.rules.reasons:
            return
        found = picked(self.text, self.rules.reasons)
        if self.study.require_reason and not found:
            raise AnswerError(gettext("Pick at least one reason."), field=REASONS, anchor="reason-1")
        self.shown_value[REASONS] = found

    @property
    def wall_time(self) -> int | None:
        """How long the item was shown, as the browser tells it."""
        return milliseconds(self.data.get("wall_ms"))

    def _read_marks(self) -> None:
        if self.item is None or self.study.evidence == EvidenceRule.OFF:
            return
        self.shown_marks, self.told = marks_given(self.data, self.item, self.text)
        if self.study.evidence == EvidenceRule.REQUIRED:
            marks_required(self.shown_marks, self.item)

    def _check_comment(self) -> None:
        if self.study.require_comment and not self.comment:
            words = gettext("Say in the comment why you chose this.")
            raise AnswerError(words, field="comment", anchor="comment")
        if len(self.comment) > MAX_COMMENT:
            said = gettext("Shorten your comment: it has %(length)s of at most %(most)s characters.")
            words = said % {"length": grouped(len(self.comment)), "most": grouped(MAX_COMMENT)}
            raise AnswerError(words, field="comment", anchor="comment")


def _tidy(value: object) -> str:
    """Text that a database can store; a browser sends line ends as two characters, and counts them as one."""
    return _UNSTORABLE.sub("", str(value)).replace("\r\n", "\n")


def grouped(number: int) -> str:
    """A whole number, its thousands marked as the reader's language does it."""
    return number_format(number, force_grouping=True)


def _whole(value: object) -> int:
    """A whole number, or 0 for whatever is none."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else 0
