"""Classification: one or several categories from a list, which a dataset or an item has.

The prompts are our own. Where one category is asked for alone, the model is held to the names of the list; several, and
reasons before them, come as JSON with a schema. The list may be shown in a drawn order: models prefer some places of a
list (Zheng et al., "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR 2024).
"""

from collections.abc import Sequence
from typing import Any

from annotation.domain.conversation import are_steps
from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import drawn_order, item_aspects, one_line, render_item
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.parsing_categories import CATEGORIES, Chosen, category_names, chosen_categories
from judges.strategies.rubric import REASONS
from judges.strategies.structured import closed, schema_text
from judges.strategies.types import AspectView, Chat, ItemView, Steps, StrategyConfig, Verdict, single

QUESTION = "Which of these categories fits best?"
QUESTION_SEVERAL = "Which of these categories fit?"
QUESTION_STEP = "Which step of the response is the first wrong one?"


def classification_direct(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask once for the category that fits best, or for all that fit.

    ``params``: "cot" asks for reasons and then the categories; "question" is asked in place of "Which of these
    categories fits best?" (of a trace's steps, "Which step of the response is the first wrong one?"); "seed" draws the
    order in which the list is shown (0: as it is stored).
    """
    aspects, cot = item_aspects(item), bool(config.params.get("cot"))
    values, flags = shown_values(item, config)
    messages = render_item(item, config, values, *flags, *(["cot"] if cot else []))
    names = [each.key for each in aspects]
    if item.several:
        chat = Chat(messages, json_schema=schema_text(chosen_schema(names, reasons=cot)))
    else:
        chat = Chat(messages, choices=() if cot else tuple(names))
    answer = single((yield chat))
    chosen = chosen_categories(
        answer.text, category_names(aspects), several=item.several, last=cot, cut_off=answer.cut_off
    )
    return category_verdict(item, chosen, answer.text)


def shown_values(item: ItemView, config: StrategyConfig) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what a prompt shows of an item to classify, and the blocks that it keeps; raises StrategyError."""
    if len(item.responses) > 1:
        raise StrategyError(
            f"Item {item.item_id} has {len(item.responses)} responses; it should have one or none."
        )
    aspects = item_aspects(item)
    order = drawn_order(len(aspects), item, int(config.params.get("seed", 0)))
    usual = QUESTION_SEVERAL if item.several else QUESTION
    if are_steps([(each.key, each.text) for each in aspects]):
        usual = QUESTION_STEP
    question = str(config.params.get("question") or "") or usual
    values = {
        "response": item.responses[0] if item.responses else "",
        "categories": categories_listed([aspects[place] for place in order]),
        "question": one_line(question),
    }
    flags = {"several": item.several, "response": bool(item.responses)}
    return values, tuple(name for name, is_set in flags.items() if is_set)


def categories_listed(aspects: Sequence[AspectView]) -> str:
    """Return the categories as a list, one a line, each with its definition.

    >>> print(categories_listed([AspectView("sport", "Games and athletes."), AspectView("weather", "weather")]))
    - sport: Games and athletes.
    - weather
    """
    lines = (
        f"- {each.key}" if each.text in ("", each.key) else f"- {each.key}: {one_line(each.text)}"
        for each in aspects
    )
    return "\n".join(lines)


def chosen_schema(names: Sequence[str], *, reasons: bool) -> dict[str, Any]:
    """Return the JSON schema of ``{"categories": [...]}``, with reasons before it where they are asked for."""
    listed = {
        "type": "array",
        "items": {"type": "string", "enum": list(names)},
        "minItems": 1,
        "maxItems": len(names),
    }
    return closed({**({REASONS: {"type": "string"}} if reasons else {}), CATEGORIES: listed})


def category_verdict(item: ItemView, chosen: Chosen, raw: str) -> Verdict:
    """Return the verdict of the categories that were read: each that was offered, and whether it was chosen."""
    names, problem = chosen
    if names is None:
        return unparsed(raw, problem)
    return parsed(raw, {CATEGORIES: {each.key: each.key in names for each in item.aspects}})
