"""Ranking several answers to one question: all at once, or each rated alone.

Answers are shown in an order that is drawn (``params["seed"]``), because datasets often store them from best to worst.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import drawn_order, fenced, render_item
from judges.strategies.orders import order_schema, ranked, ranks_of, read_order
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.probabilities import expected_score
from judges.strategies.structured import Labels, read_label, schema_text
from judges.strategies.types import Answer, Chat, ItemView, Steps, StrategyConfig, several, single

Number = TypeVar("Number", int, float)

SCORES: Labels = {str(score): () for score in range(10)}


def ranking_direct(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the order of all answers, best first, in one generation; ties where they are allowed."""
    responses = several_responses(item)
    order = drawn_order(len(responses), item, int(config.params.get("seed", 1)))
    # The answers have fences of their own, which nothing that is shown beside them may open or close.
    beside = (item.instruction, item.context, item.reference or "", config.guidelines)
    values = {
        "answers": fenced("answer", [responses[place] for place in order], beside),
        "count": str(len(order)),
    }
    messages = render_item(item, config, values, *(["tie"] if config.allow_tie else []))
    schema = schema_text(order_schema(len(order), ties=config.allow_tie))
    answer = single((yield Chat(messages, json_schema=schema)))
    places, problem = read_order(
        answer.text,
        [f"answer {number}" for number in range(1, len(order) + 1)],
        ties=config.allow_tie,
        cut_off=answer.finish_reason == "length",
    )
    if places is None:
        return unparsed(answer.text, problem)
    ranks = {order[number - 1]: rank for number, rank in ranks_of(places).items()}
    return parsed(answer.text, {"ranks": ranking_places(item, ranks)})


def ranking_rating(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for a score of 0 to 9 for each answer alone, and rank by it; equal scores are ties.

    ``params["expected"]`` ranks by the expected score instead, where the backend gives log-probabilities for all.
    """
    responses, expected = several_responses(item), bool(config.params.get("expected"))
    asked = tuple(
        Chat(render_item(item, config, {"response": text}), choices=tuple(SCORES), logprobs=expected)
        for text in responses
    )
    answers = several((yield asked))
    raw = "\n\n".join(f"[answer {number}]\n{each.text}" for number, each in enumerate(answers, start=1))
    said = [read_label(each.text, SCORES, cut_off=each.cut_off) for each in answers]
    scores = {place: int(label) for place, (label, _) in enumerate(said) if label is not None}
    if len(scores) < len(said):
        problems = (f"answer {place + 1}: {problem}" for place, (_, problem) in enumerate(said) if problem)
        partial = {"partial": ranking_places(item, scores)} if scores else None
        return replace(unparsed(raw, "; ".join(problems)), value=partial)
    value: dict[str, Any] = {"scores": ranking_places(item, scores)}
    ranked_by: Mapping[str, float] = value["scores"]
    if expected and (means := _expected(answers, scores)):
        ranked_by = value["expected"] = ranking_places(item, means)
    value = {"ranks": ranked({position: -score for position, score in ranked_by.items()})} | value
    return parsed(raw, value)


def several_responses(item: ItemView) -> tuple[str, ...]:
    """Return the responses of an item; raises StrategyError if it has fewer than two."""
    if len(item.responses) < 2:
        raise StrategyError(
            f"Item {item.item_id} has {len(item.responses)} responses; a ranking has two or more."
        )
    return item.responses


def _expected(answers: Sequence[Answer], scores: Mapping[int, int]) -> dict[int, float]:
    """The expected score of each answer; nothing if any of them has none, since these two cannot be compared."""
    values = {label: int(label) for label in SCORES}
    means = {
        place: expected_score(answer, values, str(scores[place])) for place, answer in enumerate(answers)
    }
    found = {place: mean for place, mean in means.items() if mean is not None}
    return found if len(found) == len(answers) else {}


def ranking_places(item: ItemView, by_place: Mapping[int, Number]) -> dict[str, Number]:
    """Return values by the position in the dataset, as labels have it; order 1 shows the responses reversed."""
    count = len(item.responses)
    stored = {(count - 1 - place if item.order else place): value for place, value in by_place.items()}
    return {str(position): stored[position] for position in sorted(stored)}
