"""A judgment of several parts beside what people said: criteria, aspects, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import Kind
from annotation.selectors.judging_labels import parts_of
from annotation.selectors.shown import spoken
from judges.selectors.disagreement import FAR
from judges.selectors.judgment_page import JudgmentDetail

YES_NO = {1.0: "yes", 0.0: "no"}


@dataclass(frozen=True, slots=True)
class PartRow:
    """One criterion, aspect or answer: in words what the judge, people and the gold say of it.

    Attributes
    ----------
    is_far : bool
        The judge contradicts people here. Of a ranking no single rank does.
    """

    name: str
    about: str
    judge: str
    judge_about: str
    people: str
    gold: str
    is_far: bool


def part_rows(detail: JudgmentDetail) -> list[PartRow]:
    """Return the parts of an item that is no pair, in their order; none for a pair."""
    kind, item = detail.item.kind, detail.item
    if kind == Kind.PAIRWISE:
        return []
    mine = parts_of(kind, detail.judgment.value or {})
    gold = parts_of(kind, item.gold or {})
    people = dict(detail.people.parts) if detail.people is not None else {}
    return [
        PartRow(
            name=name,
            about=about,
            judge=_words(kind, mine.get(key), _unknown(detail.judgment.value, kind, key)),
            judge_about=options.get(str(round(mine[key])), "") if key in mine else "",
            people=_mean_words(kind, people.get(key)),
            gold=_words(kind, gold.get(key), ""),
            is_far=_is_far(kind, mine.get(key), people.get(key)),
        )
        for key, name, about, options in _names(detail)
    ]


def _names(detail: JudgmentDetail) -> list[tuple[str, str, str, dict[str, str]]]:
    item = detail.item
    if item.kind == Kind.RUBRIC:
        return [(each.key, spoken(each.key), each.question, dict(each.options)) for each in item.criteria]
    if item.kind == Kind.ANSWER_RANKING:
        return [
            (str(place), f"Response {place + 1}", system, {}) for place, system in enumerate(item.systems)
        ]
    # An order of aspects is told by their keys.
    is_order = item.kind == Kind.IMPORTANCE
    return [(each.key, each.text, each.key if is_order else "", {}) for each in item.aspects]


def _unknown(value: Mapping[str, Any] | None, kind: str, key: str) -> str:
    """An aspect answered with null: the judge could not tell."""
    answers = (value or {}).get("answers") if kind == Kind.CHECKLIST else None
    return "cannot tell" if isinstance(answers, Mapping) and key in answers else ""


def _words(kind: str, number: float | None, otherwise: str) -> str:
    if number is None:
        return otherwise
    return YES_NO.get(number, "") if kind == Kind.CHECKLIST else f"{number:g}"


def _mean_words(kind: str, number: float | None) -> str:
    if number is None:
        return ""
    return f"{100 * number:.0f} % yes" if kind == Kind.CHECKLIST else f"{number:.1f}"


def _is_far(kind: str, mine: float | None, people: float | None) -> bool:
    if mine is None or people is None:
        return False
    if kind == Kind.RUBRIC:
        return abs(mine - people) > FAR
    return kind == Kind.CHECKLIST and people != 0.5 and (mine == 1.0) != (people > 0.5)
