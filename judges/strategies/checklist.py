"""Checklists: yes or no for each aspect of an instruction, and DRFR and TOWER from the answers.

InFoBench: Qin et al., "InFoBench: Evaluating Instruction Following Ability in Large Language Models", Findings of ACL
2024. There the questions are put one after the other in one conversation ("in_turn"); here also independently, or all
in one structured answer. The prompts are our own. What DRFR and TOWER are stands in `metaeval.stats.following`; an
answer of null ("cannot tell") counts as not followed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import (
    item_aspects,
    json_form,
    numbered,
    only_response,
    render_item,
    step_prompt,
)
from judges.strategies.parsing import unparsed
from judges.strategies.prompts import Message
from judges.strategies.structured import (
    Labels,
    Said,
    by_name,
    label_schema,
    numbers_of,
    read_json,
    read_label,
    read_last_label,
    said_of,
    schema_text,
    verdict_of_parts,
)
from judges.strategies.types import (
    Answer,
    AspectView,
    Chat,
    ItemView,
    Steps,
    StrategyConfig,
    Verdict,
    several,
    single,
)

YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"
MEANING: Mapping[str, bool | None] = {YES: True, NO: False, CANNOT_TELL: None}
LABELS: Labels = {YES: ("true",), NO: ("false",)}
LABELS_AND_DOUBT: Labels = {
    **LABELS,
    CANNOT_TELL: (
        "can't tell",
        "can’t tell",
        "cannot say",
        "unknown",
        "unclear",
        "cannot be determined",
        "null",
        "none",
    ),
}


Answers = Mapping[str, bool | None]
"""By the aspect's key: followed, not followed, cannot tell."""


def checklist_each(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask one yes-or-no question an aspect, all at once.

    ``params``: "cannot_tell" allows a third answer; "cot" asks for reasons and then the answer; "in_turn" asks the
    questions one after the other in one conversation, in which the model sees its earlier answers; "flat" computes
    TOWER also where the aspects are no tree.
    """
    response, aspects = only_response(item), item_aspects(item)
    labels, cot = _labels(config), bool(config.params.get("cot"))
    choices = () if cot else tuple(labels)
    if config.params.get("in_turn"):
        answers = yield from _in_turn(item, config, response, choices)
    else:
        asked = (_question(item, config, response, aspect) for aspect in aspects)
        answers = several((yield tuple(Chat(messages, choices=choices) for messages in asked)))
    read = read_last_label if cot else read_label
    said = {
        aspect.key: read(answer.text, labels, cut_off=answer.cut_off)
        for aspect, answer in zip(aspects, answers, strict=True)
    }
    raw = "\n\n".join(f"[{each.key}]\n{answer.text}" for each, answer in zip(aspects, answers, strict=True))
    return _verdict(item, config, said, raw)


def checklist_all(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the answers to all aspects in one structured answer; ``params``: "cannot_tell", "flat"."""
    response, aspects, labels = only_response(item), item_aspects(item), _labels(config)
    numbers = [str(place) for place in range(1, len(aspects) + 1)]
    values = {
        "response": response,
        "requirements": numbered(aspect.text for aspect in aspects),
        "names": json_form(numbers),
    }
    schema = schema_text(label_schema(numbers, list(labels)))
    answer = single((yield Chat(render_item(item, config, values, *_flags(config)), json_schema=schema)))
    found, problem = read_json(answer.text, cut_off=answer.finish_reason == "length")
    if problem:
        return unparsed(answer.text, problem)
    named = by_name(found, numbers, "answers", numbers=numbers_of(aspect.text for aspect in aspects))
    said = {
        aspect.key: _field(named, number, labels) for aspect, number in zip(aspects, numbers, strict=True)
    }
    return _verdict(item, config, said, answer.text)


def _labels(config: StrategyConfig) -> Labels:
    return LABELS_AND_DOUBT if config.params.get("cannot_tell") else LABELS


def _flags(config: StrategyConfig) -> tuple[str, ...]:
    return tuple(name for name in ("cannot_tell", "cot") if config.params.get(name))


def _question(
    item: ItemView, config: StrategyConfig, response: str, aspect: AspectView
) -> tuple[Message, ...]:
    return render_item(item, config, {"response": response, "requirement": aspect.text}, *_flags(config))


def _in_turn(item: ItemView, config: StrategyConfig, response: str, choices: tuple[str, ...]) -> Any:
    """Ask the questions one after the other; returns the answers."""
    following = step_prompt(config, "next")
    messages: tuple[Message, ...] = ()
    answers: list[Answer] = []
    for aspect in item.aspects:
        if messages:
            turn = following.render({"requirement": aspect.text}, frozenset(_flags(config)))
            messages = (*messages, ("assistant", answers[-1].text.strip() or "(no answer)"), *turn)
        else:
            messages = _question(item, config, response, aspect)
        answers.append(single((yield Chat(messages, choices=choices))))
    return answers


def _field(named: Mapping[str, Any], number: str, labels: Labels) -> Said:
    value, problem = said_of(named, number)
    if problem:
        return None, problem
    if value is None:
        value = CANNOT_TELL
    if not isinstance(value, bool | str):
        return None, f"not one of {', '.join(labels)}"
    return read_label(str(value), labels)


def _verdict(item: ItemView, config: StrategyConfig, said: Mapping[str, Said], raw: str) -> Verdict:
    flat = bool(config.params.get("flat"))
    return verdict_of_parts(
        said,
        raw,
        MEANING.__getitem__,
        lambda answers: {"answers": answers, **checklist_scores(item, answers, flat=flat)},
    )


def has_tree(aspects: Sequence[AspectView]) -> bool:
    """Whether any aspect depends on another."""
    return any(aspect.parent for aspect in aspects)


def checklist_scores(item: ItemView, answers: Answers, *, flat: bool = False) -> dict[str, float]:
    """DRFR of the answers, and TOWER where the item's aspects are a tree; with ``flat`` also where they are not.

    Raises
    ------
    StrategyError
        The aspects depend on one another in a circle, or on what is no aspect.
    """
    # Imported here: the statistics take seconds to import, and most judges need none of them.
    from metaeval.stats import InvalidInputError, aspect_levels, drfr, tower_score

    found = {"drfr": drfr(_followed(answers, list(answers)), [0] * len(answers), n_resamples=0).value}
    if flat or has_tree(item.aspects):
        try:
            levels = aspect_levels({aspect.key: aspect.parent for aspect in item.aspects})
        except InvalidInputError as error:
            why = str(error).removeprefix("parents: ")
            raise StrategyError(f"The aspects of item {item.item_id} are no tree: {why}.") from None
        keys = list(levels)
        found["tower"] = tower_score(
            _followed(answers, keys), [0] * len(keys), [levels[key] for key in keys], n_resamples=0
        ).value
    return found


def _followed(answers: Answers, keys: Sequence[str]) -> list[float]:
    return [float(answers.get(key) is True) for key in keys]
