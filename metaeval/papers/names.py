"""Names of files from names of judges, criteria and models."""

import re
from collections.abc import Iterable


def file_names(names: Iterable[str]) -> list[str]:
    """A part of a file's name for each: lower-case letters, digits and hyphens; equal ones are numbered.

    Examples
    --------
    >>> file_names(["GPT-4 (0314)", "gpt-4/0314", "評"])
    ['gpt-4-0314', 'gpt-4-0314-2', 'x']
    """
    plain = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x" for name in names]
    return distinct_names(plain, "{name}-{number}")


def distinct_names(names: Iterable[str], numbered: str = "{name} ({number})") -> list[str]:
    """The same names, equal ones numbered: two judges may share a name.

    Examples
    --------
    >>> distinct_names(["GPT-4", "Claude", "GPT-4"])
    ['GPT-4', 'Claude', 'GPT-4 (2)']
    """
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = numbered.format(name=name, number=number)
        found.append(unique)
    return found
