"""How a person likes to read: size of text, tabs or one answer below the other, and so on.

These belong to the person and not to a study, and are kept in a cookie of their browser: so the server writes them into
the page before it is drawn, a script can change them without a request, and a browser without scripts has a form.
Nothing about them is stored with a label.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from annotation.domain.wording import gettext_noop as _

COOKIE = "touchstone_reading"
COOKIE_SECONDS = 365 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Preference:
    """One preference: its name in the cookie and in ``data-reading-NAME``, and its choices, of which the first is the
    default.
    """

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]
    of_pairs: bool = False
    """Whether it is about two answers, and means nothing of items that have one."""

    @property
    def default(self) -> str:
        return self.choices[0][0]

    def given(self, value: object) -> str:
        """The choice of that name; the default of any other."""
        return next((name for name, _ in self.choices if name == value), self.default)


PREFERENCES = (
    Preference(
        "size",
        _("Text size"),
        (("normal", _("Normal")), ("small", _("Small")), ("large", _("Large")), ("largest", _("Largest"))),
    ),
    Preference(
        "width", _("Line width"), (("normal", _("Normal")), ("narrow", _("Narrow")), ("full", _("Full")))
    ),
    Preference(
        "density",
        _("Line spacing"),
        (("normal", _("Normal")), ("compact", _("Compact")), ("open", _("Wide"))),
    ),
    Preference("text", _("Text of answers"), (("formatted", _("Formatted")), ("written", _("As written")))),
    Preference(
        "prompt",
        _("Instruction"),
        (("scrolls", _("Above the answers")), ("pinned", _("Always in view")), ("folded", _("Two lines"))),
    ),
    Preference(
        "phone",
        _("On a phone"),
        (("tabs", _("One answer at a time")), ("stacked", _("One below the other"))),
        True,
    ),
    Preference(
        "columns",
        _("On a wide screen"),
        (("together", _("Answers scroll together")), ("apart", _("Each scrolls by itself"))),
        True,
    ),
    Preference(
        "differences", _("Words that differ"), (("plain", _("Not marked")), ("marked", _("Marked"))), True
    ),
)


def reading_preferences(stored: str) -> dict[str, str]:
    """All preferences of a cookie. Anything that it doesn't say, or says wrongly, is as by default.

    >>> found = reading_preferences("size.large-phone.sideways")
    >>> found["size"], found["phone"]
    ('large', 'tabs')
    """
    found = dict(part.split(".") for part in stored.split("-") if part.count(".") == 1)
    return {one.name: one.given(found.get(one.name)) for one in PREFERENCES}


def reading_stored(given: Mapping[str, object]) -> str:
    """The cookie of these preferences: those that differ from the default.

    >>> reading_stored({"size": "large", "phone": "tabs", "width": None})
    'size.large'
    """
    return "-".join(f"{name}.{value}" for name, value in changed(given))


def changed(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Names and values of the preferences that differ from the default."""
    for one in PREFERENCES:
        if (value := one.given(given.get(one.name))) != one.default:
            yield one.name, value
