"""A judgment of several parts beside what people said: criteria, aspects, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.kinds.values import spoken
from annotation.selectors.judged_items import ItemTexts
from annotation.selectors.judging_labels import parts_of
from judges.selectors.disagreement import is_far
from judges.selectors.judgment_page import JudgmentDetail

CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class JudgedPart:
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


def part_rows(detail: JudgmentDetail) -> list[JudgedPart]:
    """Return the parts of an item that has any, in their order."""
    name, item, kind = detail.item.kind, detail.item, detail.item.kind_info
    if not kind.said:
        return []
    mine = parts_of(name, detail.judgment.value or {})
    gold = parts_of(name, item.gold or {})
    people = dict(detail.people.parts) if detail.people is not None else {}
    known = kind.numbers(detail.judgment.value or {})
    return [
        JudgedPart(
            name=part.name,
            about=part.about,
            judge=kind.part_words(mine[key]) if key in mine else CANNOT_TELL if key in known else "",
            judge_about=part.options.get(str(round(mine[key])), "") if key in mine else "",
            people=kind.mean_words(people[key]) if key in people else "",
            gold=kind.part_words(gold[key]) if key in gold else "",
            is_far=is_far(name, mine.get(key), people.get(key)),
        )
        for key, part in _parts(item).items()
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    about: str
    options: Mapping[str, str] = field(default_factory=dict)


def _parts(item: ItemTexts) -> dict[str, _Part]:
    if item.kind_info.parts == "criteria":
        return {
            each.key: _Part(spoken(each.key), each.question, dict(each.options)) for each in item.criteria
        }
    if item.kind_info.parts == "responses":
        return {
            str(index): _Part(f"Response {index + 1}", system) for index, system in enumerate(item.systems)
        }
    # An order of aspects is told by their keys.
    is_order = item.kind_info.scale == "ranks"
    return {each.key: _Part(each.text, each.key if is_order else "") for each in item.aspects}
