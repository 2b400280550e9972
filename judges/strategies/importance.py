"""Importance: which aspects of an instruction matter most, asked in three ways.

TOWER: an instruction's aspects scored directly from 1 to 5, ranked without ties, or organised in a tree by what depends
on what, in which an aspect weighs 1 / its level. The prompts are our own. They name the aspects by numbers, 1 to n in
the order in which they are shown, which ``params["seed"]`` draws (0: as stored).
"""

from typing import Any

from judges.strategies.aspect_tree import read_tree, tree_problem, tree_schema
from judges.strategies.item_prompt import (
    drawn_order,
    item_aspects,
    json_form,
    numbered,
    render_item,
    step_prompt,
)
from judges.strategies.orders import order_schema, ranked, ranks_of, read_order
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.prompts import Message, Prompt
from judges.strategies.structured import (
    Labels,
    by_name,
    label_schema,
    numbers_of,
    read_json,
    read_number,
    schema_text,
    verdict_of_parts,
)
from judges.strategies.types import Answer, AspectView, Chat, ItemView, Steps, StrategyConfig, single

SCORES: Labels = {str(score): () for score in range(1, 6)}


def importance_direct(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for a score of 1 to 5 for every aspect in one generation; equal scores are equal ranks."""
    shown = _shown(item, config)
    schema = label_schema(_numbers(shown), [int(score) for score in SCORES])
    answer = single((yield Chat(_messages(item, config, shown), json_schema=schema_text(schema))))
    found, problem = read_json(answer.text, cut_off=answer.finish_reason == "length")
    if problem:
        return unparsed(answer.text, problem)
    named = by_name(found, _numbers(shown), "scores", numbers=_texts(shown))
    numbers = {aspect.key: number for number, aspect in zip(_numbers(shown), shown, strict=True)}
    said = {each.key: read_number(named, numbers[each.key], SCORES, what="score") for each in item.aspects}
    return verdict_of_parts(
        said,
        answer.text,
        int,
        lambda scores: {"ranks": ranked({key: -score for key, score in scores.items()}), "scores": scores},
    )


def importance_ranking(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the order of all aspects, without ties, in one generation."""
    shown = _shown(item, config)
    schema = schema_text(order_schema(len(shown), ties=False))
    answer = single((yield Chat(_messages(item, config, shown), json_schema=schema)))
    places, problem = read_order(
        answer.text,
        [each.key for each in shown],
        cut_off=answer.finish_reason == "length",
        numbers=_texts(shown),
    )
    if places is None:
        return unparsed(answer.text, problem)
    ranks = {shown[number - 1].key: rank for number, rank in ranks_of(places).items()}
    return parsed(answer.text, {"ranks": {each.key: ranks[each.key] for each in item.aspects}})


def importance_tree(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the aspect tree; aspects rank by their level, those of one level being tied.

    A tree that is none is asked for again in the same conversation, with what is wrong with it, up to
    ``params["attempts"]`` times in all. ``params["faithful"]`` asks for it as TOWER does: as nested nodes in the
    aspects' own words, below the instruction on level 0.
    """
    shown = _shown(item, config)
    numbers, keys = _numbers(shown), {str(place): each.key for place, each in enumerate(shown, start=1)}
    nested = bool(config.params.get("faithful"))
    messages = _messages(item, config, shown, step_prompt(config, "nested") if nested else None)
    # No schema can say that each aspect stands in a nested tree once.
    schema = None if nested else schema_text(tree_schema(len(shown)))
    attempts = max(1, int(config.params.get("attempts", 2)))
    for attempt in range(1, attempts + 1):
        answer = single((yield Chat(messages, json_schema=schema)))
        found, unread = read_json(answer.text, cut_off=answer.finish_reason == "length")
        edges = [] if unread else read_tree(found, _texts(shown), below_instruction=nested)
        problem = unread or tree_problem(edges, keys)
        if not problem:
            parents = {keys[child]: parent and keys[parent] for child, parent in edges}
            return parsed(answer.text, _tree_value(item, parents) | {"attempts": attempt})
        if attempt < attempts:
            told = unread or tree_problem(edges, {number: number for number in numbers})
            messages = (*messages, *_again(config, answer, told, "nested_retry" if nested else "retry"))
    return unparsed(answer.text, problem)


def _again(config: StrategyConfig, answer: Answer, told: str, step: str) -> tuple[Message, ...]:
    turn = step_prompt(config, step).render({"problem": told})
    # Chat templates refuse an empty turn.
    return (("assistant", answer.text if answer.text.strip() else "(no answer)"), *turn)


def _tree_value(item: ItemView, parents: dict[str, str]) -> dict[str, Any]:
    ordered = {each.key: parents[each.key] for each in item.aspects}
    from metaeval.stats import aspect_levels  # takes seconds to import, and most judges need none of it

    levels = aspect_levels(ordered)
    weights = {key: 1.0 / level for key, level in levels.items()}
    return {"ranks": ranked(levels), "tree": ordered, "weights": weights}


def _shown(item: ItemView, config: StrategyConfig) -> tuple[AspectView, ...]:
    aspects = item_aspects(item)
    seed = int(config.params.get("seed", 0))
    return tuple(aspects[place] for place in drawn_order(len(aspects), item, seed))


def _texts(shown: tuple[AspectView, ...]) -> dict[str, str]:
    """The numbers of the aspects by their texts: a model may name an aspect by its words, as TOWER asks it to."""
    return numbers_of(each.text for each in shown)


def _numbers(shown: tuple[AspectView, ...]) -> list[str]:
    return [str(number) for number in range(1, len(shown) + 1)]


def _messages(
    item: ItemView, config: StrategyConfig, shown: tuple[AspectView, ...], prompt: Prompt | None = None
) -> tuple[Message, ...]:
    values = {
        "requirements": numbered(each.text for each in shown),
        "names": json_form(_numbers(shown)),
        "count": str(len(shown)),
    }
    return render_item(item, config, values, prompt=prompt)
