"""The search among a person's own answers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext_noop

from annotation.models import Study
from annotation.selectors.own_answers import CHANGED, COMMENTED, REPORTED, AnswersWanted

MAX_TEXT = 200
MAX_DIGITS = 18
CHOICES = (
    ("", gettext_noop("All answers")),
    (CHANGED, gettext_noop("Changed")),
    (COMMENTED, gettext_noop("With a comment")),
    (REPORTED, gettext_noop("Reported problems")),
)


class OwnAnswersForm:
    """The fields of the search, as an address has them. What doesn't fit is left out, since an address is no form."""

    def __init__(self, data: Mapping[str, Any], *, study: Study) -> None:
        self.text = str(data.get("q", "")).replace("\x00", "").strip()[:MAX_TEXT]
        only = str(data.get("only", ""))
        self.choices = [(name, words) for name, words in CHOICES if name != CHANGED or study.allow_changes]
        self.only = only if only in dict(self.choices) else ""
        self.before, self.after = _row(data.get("before")), _row(data.get("after"))

    @property
    def is_filtered(self) -> bool:
        return bool(self.text or self.only)

    @property
    def wanted(self) -> AnswersWanted:
        return AnswersWanted(self.text, self.only, self.before, self.after)

    def address(self, **page: int | None) -> str:
        """The query of another page of what is found."""
        named = {"q": self.text, "only": self.only, **page}
        return "?" + urlencode({name: value for name, value in named.items() if value})


def _row(value: object) -> int | None:
    text = str(value or "")
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None
