"""Paths to what lies inside of a column: ``conversation_a[1].content``. A column whose name is the path comes first."""

import re
from collections.abc import Collection, Mapping
from typing import Any

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")


def is_path(name: str) -> bool:
    """Whether a name leads into a column, if no column is called so itself."""
    return ("." in name or "[" in name) and "".join(step.group() for step in _STEP.finditer(name)) == name


def column_of(name: str, columns: Collection[str]) -> str:
    """The column that a name means: that of this name, or the one that it leads into as a path."""
    if name in columns or not is_path(name):
        return name
    step = _STEP.match(name)
    return step[1] or name if step else name


def value_at(data: Mapping[str, Any], path: str) -> Any:
    """What lies at a path; None where there is nothing."""
    if path in data:
        return data[path]
    found: Any = data
    for step in _STEP.finditer(path):
        name, place = step[1], step[2]
        if name is not None and isinstance(found, dict):
            found = found.get(name)
        elif place is not None and isinstance(found, list) and int(place) < len(found):
            found = found[int(place)]
        else:
            return None
    return found
