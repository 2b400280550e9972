"""A picture: a Vega-Lite specification, and in words and rows what it shows."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

Spec = Mapping[str, Any]
SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v6.json"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class PictureColumn(NamedTuple):
    """A column of the table behind a picture; ``unit`` says how a page writes its numbers, "text" where it has none."""

    label: str
    unit: str = "text"


@dataclass(frozen=True)
class Picture:
    """What is drawn, and the same for those who do not see it.

    Parameters
    ----------
    name
        As files and URLs name it: "forest-plot".
    title
        What it shows, as a heading.
    description
        What a reader sees in it, in words: the text that a screen reader says.
    spec
        Vega-Lite, in the light theme's colors (`metaeval.pictures.palette`).
    columns, rows
        The data behind it: the table beside it and the CSV file.
    narrow
        The same for a phone, where the wide one would be too small to read.
    links
        Where a cell of the table leads, by row and column.

    Examples
    --------
    >>> columns = (PictureColumn("Judge"), PictureColumn("Score", "percent"))
    >>> Picture("bars", "Bars", "One bar.", {}, columns, (("A", 0.5),)).columns[1].unit
    'percent'
    """

    name: str
    title: str
    description: str
    spec: Spec
    columns: tuple[PictureColumn, ...]
    rows: tuple[tuple[object, ...], ...]
    narrow: Spec | None = None
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} isn't a valid picture name: lowercase letters, digits, single hyphens"
            )

    @cached_property
    def digest(self) -> str:
        """A hash of what is drawn and said: the same picture has the same file."""
        drawn = [self.name, self.title, self.description, self.spec, self.narrow, self.columns, self.rows]
        return hashlib.sha256(json.dumps(drawn, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def version(self) -> str:
        """As addresses name the hash."""
        return self.digest[:16]
