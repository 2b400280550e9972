"""An item as it may be shown: its texts in the order shown, and nothing about who wrote them or what is right.

Everything a page of an annotator says of an item comes from here, so that blindness has one place: no system, no
gold, no explanation and no reference is ever read. The texts of an item do not change once they are imported, so
each process keeps them; the version of the dataset is a part of the key, and of what a page needs only the order
is a person's own.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext, gettext_noop

from annotation.compiled import CompiledRows, Parameter
from annotation.domain.conversation import Stored, Turn, turns_of
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.classification import Classification
from annotation.kinds.evidence import Markable, MarkReason
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem, ShownResponse
from annotation.kinds.values import spoken
from annotation.models import Aspect, Criterion, Dataset, Item, ItemResponse, Study, TiePolicy
from annotation.selectors.slices import study_slice
from web.caching import BoundedCache
from web.plain_text import cut_off
from web.rendering import MAX_MARKDOWN

CACHE_CHARS = 16_000_000
# Texts of one item that are read as Markdown: it bounds the time of a page.
MAX_MARKDOWN_TOGETHER = 4 * MAX_MARKDOWN
STEP_QUESTION = gettext_noop("Which step is the first wrong one?")
"""In place of the usual question of items to classify, where their categories are the steps of a trace."""
PART_WORDS = 80  # characters of an aspect on a button


_items: BoundedCache[tuple[object, ...], ShownItem] = BoundedCache(
    limit=CACHE_CHARS, weight=lambda item: item.n_chars
)
_criteria: BoundedCache[tuple[object, ...], tuple[ShownCriterion, ...]] = BoundedCache(
    limit=1000, weight=lambda _: 1
)


def shown_clear() -> None:
    """Forget what this process keeps."""
    _items.clear()
    _criteria.clear()


def item_shown(study: Study, item: Item, order: Sequence[int]) -> ShownItem:
    """The item as the person with this `order` sees it.

    Two queries at most, and none where the process has seen the item and its dataset was fetched with it
    (``select_related("dataset")``).
    """
    known, ordered = _item_texts(study, item), kind_of(item.kind).ordered
    responses, aspects = known.responses, known.aspects
    if ordered == "responses":
        responses = tuple(responses[position] for position in order)
    elif ordered == "aspects":
        aspects = tuple(aspects[position] for position in order)
    return replace(
        known,
        responses=responses,
        aspects=aspects,
        criteria=_criteria_of(study, known),
        dimensions=study.dimensions_asked,
        reasons=study.reasons_offered,
    )


def question_of(study: Study, item: ShownItem) -> str:
    """What a person is asked of an item, in their language: the usual question of the kind, of a trace whose steps are
    the categories one about steps, or the study's own words.
    """
    is_about_steps = item.asks_for_step and not study.asks_in_own_words
    return gettext(STEP_QUESTION) if is_about_steps else study.question_shown


def study_question(study: Study) -> str:
    """What its people are asked, as its own page says it: of its first item, where the question depends on items."""
    if study.kind == Classification.name and not study.asks_in_own_words:
        items = Item.objects.filter(study_items__study=study).order_by("study_items__position", "pk")
        first = items.first() or study_slice(study).order_by("position").first()
        if first is not None:
            return question_of(study, item_shown(study, first, (0,)))
    return study.question_shown


def parts_always(study: Study) -> int | None:
    """How many parts of each item have an order; None where it depends on the item."""
    kind = kind_of(study.kind)
    least, most = kind.responses
    if kind.ordered == "responses" and least == most:
        return least
    return None if kind.ordered else 1


def parts_count(study: Study, item_id: int) -> int:
    """How many parts of the item have an order: responses of a pair or a ranking, aspects to rank."""
    always = parts_always(study)
    if always is not None:
        return always
    if kind_of(study.kind).ordered == "aspects":
        return Aspect.objects.filter(instruction__items=item_id).count()
    return ItemResponse.objects.filter(item_id=item_id).count()


def value_rules(study: Study, item: Item) -> ValueRules:
    """What a label of this item in this study has to fit."""
    rules = ValueRules(
        kind=study.kind,
        ties=study.tie_policy != TiePolicy.OFF,
        both_bad=study.tie_policy == TiePolicy.BOTH_BAD,
        strengths=study.strengths,
        cannot_tell=study.allow_cannot_tell,
        response_sets=study.response_sets,
        dimensions=tuple(each.key for each in study.dimensions_asked if not each.overall),
        reasons=tuple(each.key for each in study.reasons_offered),
    )
    if not kind_of(study.kind).parts:
        return rules
    known = _item_texts(study, item)
    return replace(
        rules,
        n_responses=len(known.responses),
        criteria=tuple(criterion.key for criterion in _criteria_of(study, known)),
        aspects=tuple(aspect.key for aspect in known.aspects),
        several=known.several,
        scales={criterion.key: criterion.scale for criterion in known.criteria},
    )


def texts_markable(study: Study, item: Item) -> list[Markable]:
    """What can be marked of an item's responses, in canonical order."""
    return [response.markable for response in _item_texts(study, item).responses]


def evidence_reasons(study: Study, item: Item) -> tuple[MarkReason, ...]:
    """The reasons for which passages of this item can be marked in this study."""
    known = _item_texts(study, item)
    return mark_reasons(replace(known, criteria=_criteria_of(study, known)))


def mark_reasons(shown: ShownItem) -> tuple[MarkReason, ...]:
    """The reasons for which passages of an item can be marked, in the order of its parts."""
    parts = {criterion.key: spoken(criterion.key) for criterion in shown.criteria}
    parts |= {aspect.key: cut_off(aspect.text, PART_WORDS) for aspect in shown.aspects}
    return kind_of(shown.kind).evidence_reasons(parts)


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
    kind = kind_of(item.kind)
    found = RESPONSES.all(item=item.pk) if kind.responses != (0, 0) else []
    if found:
        text, context, conversation = found[0][2:]
    else:
        instruction = item.instruction
        text, context, conversation = instruction.text, instruction.context, instruction.conversation
    shown = ShownItem(
        kind=item.kind,
        instruction=text,
        context=context,
        conversation=_turns_shown(conversation),
        responses=tuple(ShownResponse(row[0], _turns_shown(row[1])) for row in found),
        aspects=aspects_shown(item.instruction_id) if kind.parts == "aspects" else (),
        criteria=_dataset_criteria(dataset) if kind.parts == "criteria" else (),
        several=bool(kind.parts_field) and dataset.category_scheme.several,
    )
    return plain_if_long(shown)


def plain_if_long(shown: ShownItem) -> ShownItem:
    """The item without Markdown in its responses where one of them, or all texts together, are too long for it."""
    texts = [each.text for each in shown.responses if not each.is_trace]
    texts += [turn.text for each in shown.responses if each.is_trace for turn in each.turns]
    is_long = any(len(text) > MAX_MARKDOWN for text in texts)
    return replace(shown, is_plain=is_long or shown.n_chars > MAX_MARKDOWN_TOGETHER)


def _turns_shown(stored: Sequence[Stored]) -> tuple[Turn, ...]:
    """Turns without what is hidden from those who judge."""
    return tuple(turn.withheld() for turn in turns_of(stored))


def _dataset_criteria(dataset: Dataset) -> tuple[ShownCriterion, ...]:
    key = (dataset.pk, dataset.created_at, dataset.version)
    return _criteria.get(key, lambda: criteria_shown(dataset.pk))


def criteria_shown(dataset_id: int) -> tuple[ShownCriterion, ...]:
    """The criteria of a dataset, in their order; one query."""
    rows = Criterion.objects.filter(dataset_id=dataset_id).order_by("position", "pk")
    return tuple(ShownCriterion(row.key, row.question, row.rated_on) for row in rows)


def aspects_shown(instruction_id: int) -> tuple[ShownAspect, ...]:
    """The aspects of an instruction, in their order; one query."""
    rows = Aspect.objects.filter(instruction_id=instruction_id).order_by("position", "pk")
    return tuple(ShownAspect(key, words) for key, words in rows.values_list("key", "text"))


def _criteria_of(study: Study, item: ShownItem) -> tuple[ShownCriterion, ...]:
    """The criteria that the study asks for: those it names, in the dataset's order, or all."""
    return tuple(row for row in item.criteria if not study.criteria or row.key in study.criteria)
