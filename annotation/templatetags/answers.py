"""What an answer to an item says, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django import template
from django.utils.formats import localize
from django.utils.translation import gettext, ngettext

from annotation.domain.scales import NOT_APPLICABLE
from annotation.kinds import ValueRules, answer_words, kind_of
from annotation.kinds.base import NO_ANSWER
from annotation.kinds.dimensions import Dimension
from annotation.kinds.grades import BOTH_BAD, STRENGTH_SHORT, STRENGTH_WORDS, joined
from annotation.kinds.reasonable import MARKED
from annotation.kinds.reasons import PICKED
from annotation.kinds.shown import NOT_APPLICABLE_KEY, AnswerPart, ShownItem, option_keys
from annotation.kinds.values import spoken
from annotation.models import Study, TiePolicy
from annotation.selectors.shown import question_of

register = template.Library()
register.filter("spoken", spoken)
# What the page of an item does not use for anything else.
_KEYS = "1234567890ertahlzxcvbn"
# With Shift: of reasons. Where digits with Shift mark what is also reasonable, letters that nothing else has.
_REASON_KEYS = "1234567890qy"
_REASON_KEYS_BESIDE_SETS = "qysupfgimo"


@register.filter
def done_words(done: int) -> str:
    """How many answers a person has given. `blocktranslate` says it too, and takes a tenth of an item's page for it."""
    return ngettext("%(n)s done", "%(n)s done", done) % {"n": localize(done)}


@register.filter
def category_key(place: int) -> str:
    """The key that chooses the category at a place, counted from 0; empty where there are more than keys."""
    return _KEYS[place : place + 1]


@dataclass(frozen=True, slots=True)
class PointOption:
    """A button of a scale of preference; `key` is printed on it, `keys` choose it, and `id` is its input's."""

    value: str
    side: str
    letter: str
    strength: str
    strength_words: str
    strength_short: str
    key: str
    keys: str
    id: str
    label: str
    short: str
    is_chosen: bool
    both_bad: bool


@register.simple_tag
def preference_points(study: Study, choice: str | None, strength: str | None) -> tuple[PointOption, ...]:
    """The buttons of a scale of 5 or 7 points, of which these form fields may have chosen one.

    Digits count them from the left. A and B are further keys of the weakest preferences, T and X of the others.
    """
    return _point_options(study, joined(choice or "", strength or ""), "choice")


def _point_options(study: Study, chosen: str, prefix: str) -> tuple[PointOption, ...]:
    """The answers of a study's scale as buttons; on 3 points their keys are letters alone."""
    points = list(study.kind_info.points(_rules(study)))
    if not study.strengths and points[-1].both_bad:  # among the answers between A and B
        points.insert(-2, points.pop())
    found = []
    for place, point in enumerate(points, start=1):
        side = "bad" if point.both_bad else point.letter.lower() or "tie"
        is_weakest = bool(point.letter) and point.strength in ("", *study.strengths[:1])
        further = {"tie": "t", "bad": "x"}.get(side) or (side if is_weakest else "")
        key = str(place) if study.strengths and not point.both_bad else further.upper()
        found.append(
            PointOption(
                value=point.value,
                side=side,
                letter=point.letter,
                strength=point.strength,
                strength_words=gettext(STRENGTH_WORDS[point.strength]) if point.strength else "",
                strength_short=gettext(STRENGTH_SHORT[point.strength]) if point.strength else "",
                key=key,
                keys=" ".join(dict.fromkeys(each for each in (key.lower(), further) if each)),
                id=f"{prefix}-{side}" + (f"-{point.strength}" if point.letter and not is_weakest else ""),
                label=point.words,
                short=gettext("Both bad") if point.both_bad else point.words,
                is_chosen=point.value == chosen,
                both_bad=point.both_bad,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class DimensionPart:
    """A dimension with its buttons; `number` counts them from 1."""

    number: int
    dimension: Dimension
    options: tuple[PointOption, ...]


@register.simple_tag
def dimension_parts(study: Study, fields: Mapping[str, str] | None) -> tuple[DimensionPart, ...]:
    """The dimensions of a study's pairs, each with its answers as buttons; none where there is one question."""
    fields = fields or {}
    return tuple(
        DimensionPart(
            number,
            dimension,
            _point_options(study, fields.get(dimension.field, ""), dimension.field),
        )
        for number, dimension in enumerate(study.dimensions_asked, start=1)
    )


@dataclass(frozen=True, slots=True)
class ReasonOption:
    """A reason as a chip; `key` picks it together with Shift, and is empty where there are more than keys."""

    number: int
    field: str
    words: str
    key: str
    is_picked: bool


@register.simple_tag
def reason_options(study: Study, fields: Mapping[str, str] | None) -> tuple[ReasonOption, ...]:
    """The reasons that can be picked beside an answer."""
    fields = fields or {}
    digits_taken = study.response_sets and (bool(study.strengths) or bool(study.kind_info.parts))
    keys = _REASON_KEYS_BESIDE_SETS if digits_taken else _REASON_KEYS
    return tuple(
        ReasonOption(
            number, reason.field, reason.words, keys[number - 1 : number], fields.get(reason.field) == PICKED
        )
        for number, reason in enumerate(study.reasons_offered, start=1)
    )


@dataclass(frozen=True, slots=True)
class ReasonableOption:
    """A checkbox of a response set; `value` is that of the choice, `key` marks it together with Shift."""

    value: str
    field: str
    id: str
    label: str
    short: str
    key: str
    is_marked: bool


@register.simple_tag
def reasonable_options(
    study: Study, item: ShownItem | None, fields: Mapping[str, str] | None, part: str = ""
) -> tuple[ReasonableOption, ...]:
    """What can be marked as reasonable beside the choice, of one part or of an item without parts; nothing where the
    study does not ask.
    """
    if not study.response_sets or (item is not None and item.several):
        return ()
    fields = fields or {}
    shown = item or ShownItem(study.kind, "")
    options = study.kind_info.set_options(shown, _rules(study, shown), part)
    keys = _set_keys(study, shown, part, [option.value for option in options])
    return tuple(
        ReasonableOption(
            value=option.value,
            field=option.field,
            id=f"{'-'.join(filter(None, ('also', part)))}-{place}",
            label=option.label,
            short=option.short,
            key=keys.get(option.value, ""),
            is_marked=fields.get(option.field) == MARKED,
        )
        for place, option in enumerate(options, start=1)
    )


def _set_keys(study: Study, item: ShownItem, part: str, values: Sequence[str]) -> dict[str, str]:
    """The keys that choose each of these answers."""
    if study.strengths:
        return {point.value: point.key.lower() for point in preference_points(study, None, None)}
    if study.kind_info.parts == "criteria":
        scale = next(each.scale for each in item.criteria if each.key == part)
        keys = dict(zip(map(str, scale.points), option_keys(scale.points), strict=False))
        return keys | {NOT_APPLICABLE: NOT_APPLICABLE_KEY}
    if study.kind_info.parts == "aspects":
        return {} if item.asks_for_step else {each: category_key(place) for place, each in enumerate(values)}
    return {"1": "a", "0": "t", "2": "b", BOTH_BAD: "x"}


def _rules(study: Study, item: ShownItem | None = None) -> ValueRules:
    return ValueRules(
        study.kind,
        ties=study.tie_policy != TiePolicy.OFF,
        both_bad=study.tie_policy == TiePolicy.BOTH_BAD,
        strengths=study.strengths,
        scales={} if item is None else {each.key: each.scale for each in item.criteria},
    )


@register.simple_tag(name="question_of")
def question_tag(study: Study, item: ShownItem | None) -> str:
    """What a person is asked of an item; of none (the end of a test), what is usual in the study."""
    return question_of(study, item) if item else study.question_shown


@register.simple_tag(name="answer_words")
def answer_words_tag(item: ShownItem, fields: Mapping[str, str] | None) -> tuple[AnswerPart, ...]:
    """What an answer, given as form fields, says of each part of the item."""
    return answer_words(item, fields or {})


@register.simple_tag
def compared_words(
    item: ShownItem, given: Mapping[str, str], right: Mapping[str, str]
) -> tuple[tuple[AnswerPart, AnswerPart], ...]:
    """Each part of an item as it was answered, marked where it is wrong, and as it is right; in the order of the
    right answer, so that two rankings can be read side by side.
    """
    answered = {part.name: part for part in kind_of(item.kind).words(item, given)}
    pairs = []
    for expected in kind_of(item.kind).words(item, right):
        said = answered.get(expected.name, AnswerPart(expected.name, gettext(NO_ANSWER)))
        is_wrong = expected.words not in (said.words, gettext(NO_ANSWER))
        pairs.append((replace(said, is_wrong=is_wrong), expected))
    return tuple(pairs)
