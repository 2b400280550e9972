"""Forms that a button or a choice draws anew as they were typed, with nothing checked and nothing saved."""

from typing import Any

from django import forms
from django.forms.utils import ErrorDict

REDRAW = "_redraw"
"""Name of the buttons, and of the value that htmx sends, that only draw a form again."""


class RedrawnMixin(forms.BaseForm):
    """A bound form that is not checked while `redraw` is set."""

    redraw = False

    def full_clean(self) -> None:
        if self.redraw:
            self._errors = ErrorDict()
            self.cleaned_data: dict[str, Any] = {}
        else:
            super().full_clean()

    def is_valid(self) -> bool:
        return not self.redraw and super().is_valid()


def rows_wanted(data: Any, key: str, *, filled: int, spare: int = 1, step: int = 3, most: int = 60) -> int:
    """Return how many rows of a small table to draw.

    Parameters
    ----------
    data : QueryDict or None
        What was sent: ``<key>_rows`` says how many rows there were, and the button ``_redraw=<key>`` asks for more.
    filled : int
        Rows that there is something for, when nothing was sent.
    """
    if not data or f"{key}_rows" not in data:
        return min(filled + spare, most)
    sent = data[f"{key}_rows"]
    n = int(sent) if sent.isascii() and sent.isdecimal() else 0
    return min(n + (step if data.get(REDRAW) == key else 0), most)
