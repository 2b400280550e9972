"""Rubrics: one response rated on several criteria, each with worded options.

HELM Instruct: Zhang et al., "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute
Ratings", 2024; the dimensions and options are the dataset's. The expected score from token probabilities: Liu et al.
(G-Eval), EMNLP 2023. The prompts are our own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.scales import NOT_APPLICABLE, Scale
from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import json_form, one_line, only_response, render_item
from judges.strategies.parsing import unparsed
from judges.strategies.probabilities import expected_score
from judges.strategies.structured import (
    Labels,
    Said,
    by_name,
    closed,
    read_json,
    read_label,
    read_last_label,
    read_number,
    schema_text,
    verdict_of_parts,
)
from judges.strategies.types import (
    Chat,
    CriterionView,
    ItemView,
    Steps,
    StrategyConfig,
    Verdict,
    several,
    single,
)

REASONS, RATINGS = "reasons", "ratings"
MAX_DIGIT = 9
NOT_APPLICABLE_WORDS = ("not applicable", "n/a", "na", "does not apply")


def rubric_each(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask one question a criterion, all at once.

    ``params``: "rules" puts rules of rating before the question; "cot" asks for reasons and then the rating; "expected"
    also stores the expected score of each criterion, where the backend gives log-probabilities.
    """
    response, criteria, cot = only_response(item), item_criteria(item), bool(config.params.get("cot"))
    expected = bool(config.params.get("expected"))
    answers = several(
        (
            yield tuple(
                Chat(
                    render_item(
                        item,
                        config,
                        {"response": response, "question": each.question, "options": options_worded(each)},
                        *_flags(config),
                    ),
                    choices=() if cot else each.answers,
                    logprobs=expected,
                )
                for each in criteria
            )
        )
    )
    read = read_last_label if cot else read_label
    said = {
        each.key: read(answer.text, option_labels(each), cut_off=answer.cut_off)
        for each, answer in zip(criteria, answers, strict=True)
    }
    value: dict[str, Any] = {}
    if expected:
        means = {
            each.key: expected_score(answer, _values(each), str(said[each.key][0]), last=cot)
            for each, answer in zip(criteria, answers, strict=True)
            if said[each.key][0] != NOT_APPLICABLE and has_token_ratings(each.scale)
        }
        value = {"expected": {key: mean for key, mean in means.items() if mean is not None}}
    raw = "\n\n".join(f"[{each.key}]\n{answer.text}" for each, answer in zip(criteria, answers, strict=True))
    return _verdict(said, raw, {name: found for name, found in value.items() if found})


def rubric_all(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the ratings of all criteria in one structured answer.

    ``params``: "rules"; "cot" asks for reasons in the same structured answer, before the ratings.
    """
    response, criteria, cot = only_response(item), item_criteria(item), bool(config.params.get("cot"))
    listed = criteria_listed(criteria)
    keys = [each.key for each in criteria]
    values = {"response": response, "criteria": listed, "names": json_form(keys)}
    messages = render_item(item, config, values, *_flags(config))
    answer = single((yield Chat(messages, json_schema=schema_text(_schema(criteria, cot=cot)))))
    found, problem = read_json(answer.text, cut_off=answer.finish_reason == "length", last=cot)
    if problem:
        return unparsed(answer.text, problem)
    named = by_name(found, keys, RATINGS)
    said = {each.key: read_number(named, each.key, option_labels(each), what="rating") for each in criteria}
    return _verdict(said, answer.text, {})


def item_criteria(item: ItemView) -> tuple[CriterionView, ...]:
    """Return the criteria of an item; raises StrategyError if it has none."""
    if not item.criteria:
        raise StrategyError(f"Item {item.item_id} has no criteria to rate.")
    return item.criteria


def criteria_listed(criteria: Sequence[CriterionView]) -> str:
    """Return criteria with their options, each under its key."""
    return "\n".join(
        f"{each.key}: {one_line(each.question)}\n{options_worded(each, '    ')}" for each in criteria
    )


def _flags(config: StrategyConfig) -> tuple[str, ...]:
    return tuple(name for name in ("rules", "cot") if config.params.get(name))


def options_worded(criterion: CriterionView, indent: str = "") -> str:
    """Return the options of a criterion with their words, one a line."""
    scale = criterion.scale
    lines = [f"{value} = {one_line(words)}" if words else str(value) for value, words in scale.options]
    if scale.is_number:
        steps = f", in steps of {scale.step}" if scale.step != 1 else ""
        lines = [f"any whole number from {scale.low} to {scale.high}{steps}", *lines]
    if scale.not_applicable:
        lines.append(f"{NOT_APPLICABLE} = the criterion does not apply to this response")
    return "\n".join(indent + line for line in lines)


def has_token_ratings(scale: Scale) -> bool:
    """Whether every rating is one digit, so that the probability of a token is that of a rating.

    Of 1 to 10 it isn't: the token "1" may begin "10".
    """
    return scale.low >= 0 and scale.high <= MAX_DIGIT


def rating_of(label: str) -> int | str:
    """Return the rating that a label means."""
    return NOT_APPLICABLE if label == NOT_APPLICABLE else int(label)


def _values(criterion: CriterionView) -> dict[str, int]:
    return {str(value): value for value, _ in criterion.options}


def option_labels(criterion: CriterionView) -> Labels:
    """Return the ratings of a criterion, each with its wording."""
    labels: dict[str, tuple[str, ...]] = {
        str(value): (words,) if words.strip() else () for value, words in criterion.options
    }
    return labels | {NOT_APPLICABLE: NOT_APPLICABLE_WORDS} if criterion.scale.not_applicable else labels


def _schema(criteria: tuple[CriterionView, ...], *, cot: bool) -> dict[str, Any]:
    ratings = closed({each.key: rating_schema(each) for each in criteria})
    return closed({REASONS: {"type": "string"}, RATINGS: ratings}) if cot else ratings


def rating_schema(criterion: CriterionView) -> dict[str, Any]:
    """Return the JSON schema of a rating: a whole number on the scale, or "not_applicable" where that is an answer."""
    values: list[Any] = list(criterion.scale.points)
    if not criterion.scale.not_applicable:
        return {"type": "integer", "enum": values}
    return {"type": ["integer", "string"], "enum": [*values, NOT_APPLICABLE]}


def _verdict(said: Mapping[str, Said], raw: str, more: Mapping[str, Any]) -> Verdict:
    return verdict_of_parts(said, raw, rating_of, lambda ratings: {"ratings": ratings, **more})
