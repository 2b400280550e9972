"""How large a request may be, view by view. `config.front` asks before it reads the body of a request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest

V = TypeVar("V", bound=Callable[..., Any])

DEFAULT_BYTES = 256 * 1024
"""For every view that asks for no more: forms, answers, drafts, messages of platforms."""
FORM_BYTES = 2_621_440
"""For the long texts of researchers' forms: as much as Django reads of a form (DATA_UPLOAD_MAX_MEMORY_SIZE)."""


@dataclass(frozen=True)
class BodyLimit:
    """`most` bytes from people of whom `who` is true; from everybody else, `DEFAULT_BYTES`.

    `who` gets a request that has a session, and no body yet.
    """

    most: int
    who: Callable[[HttpRequest], bool]


def accepts_body(most: int, *, who: Callable[[HttpRequest], bool]) -> Callable[[V], V]:
    """Let the view take bodies of up to `most` bytes from people of whom `who` is true."""

    def mark(view: V) -> V:
        view.body_limit = BodyLimit(most, who)  # type: ignore[attr-defined]
        return view

    return mark
