"""An item as it may be shown: its texts in the order shown, and nothing about who wrote them or what is right.

Everything a page of an annotator says of an item comes from here, so that blindness has one place: no system, no
gold, no explanation and no reference is ever read. The texts of an item do not change once they are imported, so
each process keeps them; the version of the dataset is a part of the key, and of what a page needs only the order
is a person's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from annotation.compiled import CompiledRows, Parameter
from annotation.domain.conversation import SPEAKERS
from annotation.domain.values import ValueRules
from annotation.models import Aspect, Criterion, Dataset, Item, ItemResponse, Kind, Study, TiePolicy
from web.caching import BoundedCache
from web.rendering import MAX_MARKDOWN

KINDS_WITH_ASPECTS = (Kind.IMPORTANCE, Kind.CHECKLIST)
CACHE_CHARS = 16_000_000
MAX_MARKDOWN_TOGETHER = (
    4 * MAX_MARKDOWN
)  # texts of one item that are read as Markdown: it bounds the time of a page
CHARS_OF_FRAME = 500  # what an item takes beside its texts
BOTH_BAD = "bad"
NO_ANSWER = "no answer"
PAIR_WORDS = {"1": "A is better", "2": "B is better", "0": "Tie", BOTH_BAD: "Both are bad"}
CHECK_WORDS = {"yes": "Yes", "no": "No", "unknown": "Cannot tell"}
ANSWER_FIELDS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn of a conversation."""

    role: str
    text: str

    @property
    def speaker(self) -> str:
        return SPEAKERS.get(self.role, self.role)


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response; of more than one turn, its `turns`."""

    text: str
    turns: tuple[ShownTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    key: str
    question: str
    options: tuple[tuple[str, str], ...]
    """Points and their words, from "1" to "5"."""


@dataclass(frozen=True, slots=True)
class ShownAspect:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownItem:
    """Everything that a page may show of an item, in the order in which one person sees it."""

    kind: str
    instruction: str
    context: str = ""
    conversation: tuple[ShownTurn, ...] = ()
    responses: tuple[ShownResponse, ...] = ()
    criteria: tuple[ShownCriterion, ...] = ()
    aspects: tuple[ShownAspect, ...] = field(default=())

    @property
    def is_plain(self) -> bool:
        """Whether a response is too long for Markdown, or all texts together are: then no response is rendered, lest
        layout favour one.
        """
        too_long = any(len(response.text) > MAX_MARKDOWN for response in self.responses)
        return too_long or self.n_chars > MAX_MARKDOWN_TOGETHER

    @property
    def n_chars(self) -> int:
        turns = [turn.text for response in self.responses for turn in response.turns]
        texts = [self.instruction, self.context, *(turn.text for turn in self.conversation), *turns]
        texts += [response.text for response in self.responses] + [aspect.text for aspect in self.aspects]
        return sum(map(len, texts)) + CHARS_OF_FRAME


_items: BoundedCache[tuple[object, ...], ShownItem] = BoundedCache(
    limit=CACHE_CHARS, weight=lambda item: item.n_chars
)
_criteria: BoundedCache[tuple[object, ...], tuple[ShownCriterion, ...]] = BoundedCache(
    limit=1000, weight=lambda _: 1
)


def cache_clear() -> None:
    """Forget what this process keeps."""
    _items.clear()
    _criteria.clear()


def item_shown(study: Study, item: Item, order: Sequence[int]) -> ShownItem:
    """The item as the person with this `order` sees it.

    Two queries at most, and none where the process has seen the item and its dataset was fetched with it
    (``select_related("dataset")``).
    """
    known = _item_texts(study, item)
    responses, aspects = known.responses, known.aspects
    if known.kind in (Kind.PAIRWISE, Kind.ANSWER_RANKING):
        responses = tuple(responses[position] for position in order)
    if known.kind == Kind.IMPORTANCE:
        aspects = tuple(aspects[position] for position in order)
    return ShownItem(
        kind=known.kind,
        instruction=known.instruction,
        context=known.context,
        conversation=known.conversation,
        responses=responses,
        criteria=_criteria_of(study, known),
        aspects=aspects,
    )


def parts_count(study: Study, item_id: int) -> int:
    """How many parts of the item have an order: responses of a pair or a ranking, aspects to rank."""
    if study.kind == Kind.PAIRWISE:
        return 2
    if study.kind == Kind.IMPORTANCE:
        return Aspect.objects.filter(instruction__items=item_id).count()
    if study.kind == Kind.ANSWER_RANKING:
        return ItemResponse.objects.filter(item_id=item_id).count()
    return 1


def value_rules(study: Study, item: Item) -> ValueRules:
    """What a label of this item in this study has to fit."""
    ties = study.tie_policy != TiePolicy.OFF
    if study.kind == Kind.PAIRWISE:
        both_bad = study.tie_policy == TiePolicy.BOTH_BAD
        return ValueRules(kind=study.kind, ties=ties, both_bad=both_bad, strength=study.ask_strength)
    known = _item_texts(study, item)
    return ValueRules(
        kind=study.kind,
        ties=ties,
        cannot_tell=study.allow_cannot_tell,
        n_responses=len(known.responses),
        criteria=tuple(criterion.key for criterion in _criteria_of(study, known)),
        aspects=tuple(aspect.key for aspect in known.aspects),
    )


def fields_of_value(kind: str, shown_value: Mapping[str, Any]) -> dict[str, str]:
    """A value in the order shown as the fields of the work form, to fill it in."""
    if kind == Kind.PAIRWISE:
        choice = BOTH_BAD if shown_value.get("both_bad") else str(shown_value["choice"])
        strength = shown_value.get("strength")
        return {"choice": choice} | ({"strength": str(strength)} if strength else {})
    if kind == Kind.RUBRIC:
        return {f"rating-{key}": str(points) for key, points in shown_value["ratings"].items()}
    if kind == Kind.CHECKLIST:
        return {f"answer-{key}": ANSWER_FIELDS[answer] for key, answer in shown_value["answers"].items()}
    return {f"rank-{key}": str(rank) for key, rank in shown_value["ranks"].items()}


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """What was said of one part of an item, in words; a pair is one part."""

    name: str
    words: str
    is_wrong: bool = False


def answer_words(item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
    """An answer, given as form fields, in words, in the order in which a person would say it."""
    if item.kind == Kind.PAIRWISE:
        strength = fields.get("strength", "")
        chosen = PAIR_WORDS.get(fields.get("choice", ""), NO_ANSWER)
        return (AnswerPart("", f"{chosen}, {strength}" if strength else chosen),)
    if item.kind == Kind.RUBRIC:
        return tuple(_rating_words(row, fields.get(f"rating-{row.key}", "")) for row in item.criteria)
    if item.kind == Kind.CHECKLIST:
        given = [fields.get(f"answer-{aspect.key}", "") for aspect in item.aspects]
        words = [CHECK_WORDS.get(answer, NO_ANSWER) for answer in given]
        return tuple(AnswerPart(a.text, said) for a, said in zip(item.aspects, words, strict=True))
    return _ranking_words(item, fields)


def spoken(key: str) -> str:
    """The name of a criterion as a heading."""
    return key.replace("_", " ").replace("-", " ").capitalize()


def _rating_words(criterion: ShownCriterion, points: str) -> AnswerPart:
    words = dict(criterion.options).get(points)
    return AnswerPart(spoken(criterion.key), f"{points}: {words}" if words else NO_ANSWER)


def _ranking_words(item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
    """The parts from the best down, each with its place."""
    if item.kind == Kind.IMPORTANCE:
        names = [(aspect.key, aspect.text) for aspect in item.aspects]
    else:
        names = [(str(place), f"Answer {answer_letter(place)}") for place in range(len(item.responses))]
    ranks = {name: fields.get(f"rank-{key}", "") for key, name in names}
    given = list(ranks.values())
    shown = sorted(ranks.items(), key=lambda pair: int(pair[1]) if pair[1].isdecimal() else len(ranks) + 1)
    return tuple(AnswerPart(name, _place_words(rank, is_tie=given.count(rank) > 1)) for name, rank in shown)


def _place_words(rank: str, *, is_tie: bool) -> str:
    if not rank.isdecimal():
        return NO_ANSWER
    return f"{rank} (tie)" if is_tie else rank


def answer_letter(place: int) -> str:
    """The name of an answer in the order shown: A to Z, then 27 and on."""
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place + 1)


def _dataset(study: Study, item: Item) -> Dataset:
    """The item's dataset, without a query where somebody has fetched it already."""
    if item.dataset_id == study.dataset_id and not Item.dataset.is_cached(item):
        return study.dataset
    return item.dataset


def _item_texts(study: Study, item: Item) -> ShownItem:
    dataset = _dataset(study, item)
    # Numbers of rows come back after a restored backup, the moment of creation does not.
    key = (item.pk, dataset.created_at, dataset.version)
    return _items.get(key, lambda: _read_item(item, dataset))


# Responses of an item with what was asked; read whenever a process meets an item for the first time.
RESPONSES = CompiledRows(
    lambda: (
        ItemResponse.objects.filter(item=Parameter.of(ItemResponse, "item"))
        .order_by("position")
        .values_list(
            "response__text",
            "response__messages",
            "item__instruction__text",
            "item__instruction__context",
            "item__instruction__conversation",
        )
    )
)


def _read_item(item: Item, dataset: Dataset) -> ShownItem:
    found = RESPONSES.all(item=item.pk) if item.kind != Kind.IMPORTANCE else []
    if found:
        text, context, conversation = found[0][2:]
    else:
        instruction = item.instruction
        text, context, conversation = instruction.text, instruction.context, instruction.conversation
    aspects: tuple[ShownAspect, ...] = ()
    if item.kind in KINDS_WITH_ASPECTS:
        listed = Aspect.objects.filter(instruction_id=item.instruction_id).order_by("position", "pk")
        aspects = tuple(ShownAspect(key, words) for key, words in listed.values_list("key", "text"))
    return ShownItem(
        kind=item.kind,
        instruction=text,
        context=context,
        conversation=_turns(conversation),
        responses=tuple(ShownResponse(row[0], _turns(row[1])) for row in found),
        aspects=aspects,
        criteria=_dataset_criteria(dataset) if item.kind == Kind.RUBRIC else (),
    )


def _dataset_criteria(dataset: Dataset) -> tuple[ShownCriterion, ...]:
    def read() -> tuple[ShownCriterion, ...]:
        rows = Criterion.objects.filter(dataset=dataset).order_by("position", "pk")
        return tuple(
            ShownCriterion(row.key, row.question, tuple(sorted(row.options.items()))) for row in rows
        )

    return _criteria.get((dataset.pk, dataset.created_at, dataset.version), read)


def _criteria_of(study: Study, item: ShownItem) -> tuple[ShownCriterion, ...]:
    """The criteria that the study asks for: those it names, in the dataset's order, or all."""
    return tuple(row for row in item.criteria if not study.criteria or row.key in study.criteria)


def _turns(messages: Sequence[Mapping[str, str]]) -> tuple[ShownTurn, ...]:
    return tuple(ShownTurn(message["role"], message["text"]) for message in messages)
