"""All that the page of one judgment shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotation.domain.scales import STANDARD, Scale
from annotation.kinds.base import letter_of
from annotation.kinds.shown import ShownResponse
from annotation.kinds.values import spoken
from annotation.models import User
from annotation.selectors.judged_items import ItemTexts, item_texts
from annotation.selectors.judging_labels import PeopleSaid, PersonSaid, item_labels, parts_of, people_said
from judges.models import Judgment, Order, ParseStatus
from judges.selectors.disagreement import against_gold, against_people, is_far
from judges.selectors.trace import Trace, judgment_trace

MANY_PARTS = 30
MOST_OTHERS = 60
"""Judgments of the same item that are shown beside it."""


@dataclass(frozen=True, slots=True)
class PresentedResponse:
    """A response as the judge saw it. `number` is its place in canonical order, from 1."""

    letter: str
    number: int
    response: ShownResponse
    system: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one judge said of an item: as stored, and with the responses swapped."""

    original: Judgment | None
    swapped: Judgment | None

    @property
    def columns(self) -> tuple[Judgment | None, ...]:
        """One for each order in which items of the kind are judged."""
        if self.one.item.kind_info.presented:
            return (self.original, self.swapped)
        return (self.original,)

    @property
    def one(self) -> Judgment:
        found = self.original or self.swapped
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class JudgmentDetail:
    """One judgment with its item, its requests, and what others said.

    Attributes
    ----------
    other_order : Judgment or None
        The same judge on the same pair with the responses swapped.
    verdicts : tuple of Verdicts
        Of all judges of the item: this one first, the others by name.
    contradicts_people, contradicts_gold, contradicts_itself : bool or None
        None where there is nothing to compare.
    """

    judgment: Judgment
    item: ItemTexts
    responses: tuple[PresentedResponse, ...]
    other_order: Judgment | None
    verdicts: tuple[Verdicts, ...]
    labels: tuple[PersonSaid, ...]
    people: PeopleSaid | None
    contradicts_people: bool | None
    contradicts_gold: bool | None
    contradicts_itself: bool | None
    trace: Trace


def judgment_detail(pk: int, *, reader: User | None = None) -> JudgmentDetail:
    """Read one judgment; a dozen queries, and one more for each step of its strategy.

    Parameters
    ----------
    reader : User, optional
        Show only the labels that this person may see.

    Raises
    ------
    Judgment.DoesNotExist
    """
    judgment = Judgment.objects.select_related("judge__endpoint", "item").get(pk=pk)
    beside = list(
        Judgment.objects.filter(item_id=judgment.item_id, sample=judgment.sample)
        .exclude(pk=judgment.pk)
        .select_related("judge", "item")
        .order_by("judge__name", "judge_id", "order")[:MOST_OTHERS]
    )
    item = item_texts(judgment.item_id)
    people = people_said([judgment.item_id], reader=reader).get(judgment.item_id)
    told = (item.kind, judgment.choice, judgment.value)
    is_parsed = judgment.status == ParseStatus.PARSED
    other = next((each for each in beside if each.judge_id == judgment.judge_id), None)
    return JudgmentDetail(
        judgment=judgment,
        item=item,
        responses=_presented(item, judgment),
        other_order=other,
        verdicts=_by_judge([judgment, *beside]),
        labels=tuple(item_labels(judgment.item_id, reader=reader)),
        people=people,
        contradicts_people=against_people(*told, people) if is_parsed else None,
        contradicts_gold=against_gold(*told, item.gold) if is_parsed else None,
        contradicts_itself=_contradicts_itself(judgment, other),
        trace=judgment_trace(judgment, beside=beside),
    )


def _presented(item: ItemTexts, judgment: Judgment) -> tuple[PresentedResponse, ...]:
    numbered = list(zip(range(1, len(item.responses) + 1), item.responses, item.systems, strict=True))
    if judgment.order == Order.SWAPPED:
        numbered.reverse()
    chosen = judgment.choice
    return tuple(
        PresentedResponse(letter_of(place), number, response, system, number == chosen)
        for place, (number, response, system) in enumerate(numbered)
    )


def _by_judge(judgments: Iterable[Judgment]) -> tuple[Verdicts, ...]:
    found: dict[int, dict[int, Judgment]] = {}
    for judgment in judgments:
        found.setdefault(judgment.judge_id, {})[judgment.order] = judgment
    return tuple(Verdicts(orders.get(0), orders.get(1)) for orders in found.values())


def _contradicts_itself(judgment: Judgment, other: Judgment | None) -> bool | None:
    if other is None or judgment.choice is None or other.choice is None:
        return None
    return judgment.choice != other.choice


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
            judge=kind.part_words(mine[key])
            if key in mine
            else kind.number_words(None).lower()
            if key in known
            else "",
            judge_about=part.scale.word(round(mine[key])) if key in mine and part.scale else "",
            people=kind.mean_words(people[key]) if key in people else "",
            gold=kind.part_words(gold[key]) if key in gold else "",
            is_far=is_far(name, mine.get(key), people.get(key), part.scale or STANDARD),
        )
        for key, part in _told(item, mine, people, gold).items()
    ]


@dataclass(frozen=True, slots=True)
class ItemPart:
    """One criterion, aspect or answer: in words what people and the gold say of it."""

    key: str
    name: str
    about: str
    people: str
    gold: str


def item_part_rows(item: ItemTexts, people: PeopleSaid | None) -> list[ItemPart]:
    """The parts of an item that has any, in their order, whatever judges say of them."""
    kind = item.kind_info
    if not kind.said:
        return []
    gold = parts_of(item.kind, item.gold or {})
    said = {} if people is None else dict(people.parts)
    return [
        ItemPart(
            key=key,
            name=part.name,
            about=part.about,
            people=kind.mean_words(said[key]) if key in said else "",
            gold=kind.part_words(gold[key]) if key in gold else "",
        )
        for key, part in _told(item, said, gold).items()
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    about: str
    scale: Scale | None = None
    """Of a criterion."""


def _parts(item: ItemTexts) -> dict[str, _Part]:
    if item.kind_info.parts == "criteria":
        return {each.key: _Part(spoken(each.key), each.question, each.scale) for each in item.criteria}
    if item.kind_info.parts == "responses":
        return {
            str(index): _Part(f"Response {index + 1}", system) for index, system in enumerate(item.systems)
        }
    # An order of aspects is told by their keys.
    is_order = item.kind_info.scale == "ranks"
    return {each.key: _Part(each.text, each.key if is_order else "") for each in item.aspects}


def _told(item: ItemTexts, *said: Mapping[str, float]) -> dict[str, _Part]:
    """The parts of an item; of many categories, such as the steps of a long trace, those that anybody has chosen."""
    parts = _parts(item)
    if len(parts) <= MANY_PARTS or item.kind_info.parts_field != "categories":
        return parts
    return {key: part for key, part in parts.items() if any(one.get(key) for one in said)}
