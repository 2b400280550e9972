"""What the cores say to people, in the language of who reads it.

The cores know no Django. They ask here, and the web application has its own gettext asked (`use`); anywhere else, and
in the pages of staff, the words stay English. Words of classes and constants are read when a module is imported: mark
these with `gettext_noop`, and let the page that shows them translate them.
"""

from collections.abc import Callable

_translate: Callable[[str], str] = str
_count: Callable[[str, str, int], str] | None = None


def use(translate: Callable[[str], str], count: Callable[[str, str, int], str]) -> None:
    """Ask these from now on: what is said, and what is said of a number."""
    global _translate, _count
    _translate, _count = translate, count


def gettext(text: str) -> str:
    """The text in the reader's language.

    >>> gettext("Tie")
    'Tie'
    """
    return _translate(text)


def ngettext(one: str, many: str, number: int) -> str:
    """The text for a number of things, in the reader's language.

    >>> ngettext("%(n)s step", "%(n)s steps", 2) % {"n": 2}
    '2 steps'
    """
    if _count is None:
        return one if number == 1 else many
    return _count(one, many, number)


def gettext_noop(text: str) -> str:
    """The text as it is: it's translated where it is shown."""
    return text
