"""Who answered: the model that a server says it used, which need not be the one that it was asked for.

A name such as ``gpt-4o`` stands for one model today and for another one next month. Servers with OpenAI's protocol
return the model that answered, and some a `system_fingerprint` of what it runs on. Both are kept with every answer.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from judges.backends.base import storable

_LONGEST = 200
_WORDS = re.compile(r"(.+) \(([^()]*)\)")


@dataclass(frozen=True, slots=True, order=True)
class Answerer:
    """A model that answered under the name by which it was asked; `fingerprint` is empty where the server has none."""

    asked: str
    model: str
    fingerprint: str = ""

    def __str__(self) -> str:
        return f"{self.model} ({self.fingerprint})" if self.fingerprint else self.model


def returned(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reply says of the model behind it, as fields of an `Answer`; empty where it says nothing."""
    return {name: _line(document.get(name)) for name in ("model", "system_fingerprint")}


def _line(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return storable(" ".join(value[: 2 * _LONGEST].split()))[:_LONGEST]


def answerers_text(answerers: Collection[tuple[str, str, str]]) -> str:
    """Return the answerers of one result as they are stored, a line each: asked, model, fingerprint."""
    lines = ["\t".join(each) for each in answerers]
    return lines[0] if len(lines) == 1 else "\n".join(sorted(lines))


def answerers_read(text: str) -> tuple[Answerer, ...]:
    """Return the answerers of a stored result."""
    return tuple(Answerer(*line.split("\t")) for line in text.split("\n") if line.count("\t") == 2)


def answerers_words(text: str) -> str:
    """Return the answerers of a stored result in one line, for a file."""
    return "; ".join(str(each) for each in answerers_read(text))


def answerers_of_words(words: str, asked: str) -> str:
    """Return `answerers_text` of what a file has.

    Parameters
    ----------
    asked : str
        The only model that was asked; empty where there were several, of which a file doesn't say which is which.
    """
    found = []
    for each in filter(None, (one.strip() for one in words.split(";"))):
        said = _WORDS.fullmatch(each)
        model, fingerprint = said.groups() if said else (each, "")
        found.append((asked or model, _line(model), _line(fingerprint)))
    return answerers_text(found) if found else ""


def several_of(answerers: Iterable[Answerer]) -> dict[str, tuple[Answerer, ...]]:
    """Return the names under which more than one model answered, with these models."""
    by_name: dict[str, set[Answerer]] = {}
    for each in answerers:
        by_name.setdefault(each.asked, set()).add(each)
    return {name: tuple(sorted(found)) for name, found in sorted(by_name.items()) if len(found) > 1}
