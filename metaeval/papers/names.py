"""Names that are shown beside each other: no two alike."""

from collections.abc import Iterable


def distinct_names(names: Iterable[str]) -> list[str]:
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
            unique = f"{name} ({number})"
        found.append(unique)
    return found
