"""Labels, gold and verdicts of every kind, brought to the one canonical form or refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.importers.errors import quoted
from annotation.importers.records import Value
from annotation.importers.rows import Row, one_of, suggestion, whole

PAIRWISE = "pairwise"
RUBRIC = "rubric"
IMPORTANCE = "importance"
CHECKLIST = "checklist"
ANSWER_RANKING = "answer_ranking"
KINDS = (PAIRWISE, RUBRIC, IMPORTANCE, CHECKLIST, ANSWER_RANKING)
CHOICES = (0, 1, 2)
POINTS = (1, 2, 3, 4, 5)

RESPONSES: Mapping[str, tuple[int, int | None]] = {
    PAIRWISE: (2, 2),
    RUBRIC: (1, 1),
    IMPORTANCE: (0, 0),
    CHECKLIST: (1, 1),
    ANSWER_RANKING: (2, None),
}
"""Least and most responses of an item of each kind."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of an item decides which values are right."""

    kind: str
    n_responses: int
    aspects: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()


def read_value(row: Row, field: str, raw: object, shape: Shape) -> Value:
    """The canonical value of a label, a verdict or gold.

    Parameters
    ----------
    raw
        ``{"choice": 1}``, ``{"ratings": {...}}``, ``{"ranks": {...}}`` or ``{"answers": {...}}`` by kind;
        a bare number will do for a pair.

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    if shape.kind == PAIRWISE:
        if isinstance(raw, dict):
            inner = row.within(field, raw)
            inner.only(("choice",))
            return {"choice": inner.number_in("choice", CHOICES)}
        number = whole(raw)
        if number not in CHOICES:
            row.fail(field, f"expected {one_of(CHOICES)}, found {quoted(raw)}.")
        return {"choice": number}
    key = {RUBRIC: "ratings", CHECKLIST: "answers"}.get(shape.kind, "ranks")
    if not isinstance(raw, dict) or set(raw) != {key} or not isinstance(raw[key], dict):
        row.fail(field, f"expected an object {{{key!r}: {{...}}}}, found {quoted(raw)}.")
    inner = Row(row.origin, raw[key], f"{row.prefix}{field}.{key}.")
    if shape.kind == RUBRIC:
        return {key: _ratings(row, field, inner, shape.criteria)}
    if shape.kind == CHECKLIST:
        return {key: _answers(inner, shape.aspects)}
    if shape.kind == IMPORTANCE:
        return {key: _ranks(inner, shape.aspects)}
    return {key: _ranks(inner, [str(position) for position in range(shape.n_responses)])}


def _known(inner: Row, allowed: Collection[str]) -> None:
    for name in inner.data:
        if name not in allowed:
            inner.fail(name, f"unknown name{suggestion(name, allowed)}." if allowed else "none is declared.")


def _ratings(row: Row, field: str, inner: Row, criteria: Collection[str]) -> dict[str, int]:
    _known(inner, criteria)
    found = {name: inner.number_in(name, POINTS) for name in criteria if inner.get(name) is not None}
    if not found:
        row.fail(field, "expected at least one rating, found none.")
    return found


def _answers(inner: Row, aspects: Collection[str]) -> dict[str, bool | None]:
    _known(inner, aspects)
    found: dict[str, bool | None] = {}
    for name in aspects:
        answer: Any = inner.get(name)
        if answer is not None and not isinstance(answer, bool):
            inner.fail(name, f"expected true, false or null, found {quoted(answer)}.")
        found[name] = answer
    return found


def _ranks(inner: Row, names: Collection[str]) -> dict[str, int]:
    _known(inner, names)
    found: dict[str, int] = {}
    for name in names:
        rank = whole(inner.require(name))
        if rank is None or rank < 1:
            inner.fail(name, f"expected a rank of 1 or more, found {quoted(inner.get(name))}.")
        found[name] = rank
    return found
