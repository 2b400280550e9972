"""Rubrics: one response rated on several criteria, each with worded options.

HELM Instruct: Zhang et al., "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute
Ratings", 2024; the dimensions and options are the dataset's. The expected score from token probabilities: Liu et al.
(G-Eval), EMNLP 2023. The prompts are our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judges.strategies.errors import StrategyError
from judges.strategies.item_prompt import one_line, only_response, render_item
from judges.strategies.scores import expected_score
from judges.strategies.structured import (
    TWICE,
    Labels,
    by_name,
    closed,
    read_json,
    read_label,
    read_last_label,
    scalar,
    schema_text,
)
from judges.strategies.types import (
    Answer,
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


def rubric_each(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask one question a criterion, all at once.

    ``params``: "rules" puts rules of rating before the question; "cot" asks for reasons and then the rating; "expected"
    also stores the expected score of each criterion, where the backend gives log-probabilities.
    """
    response, criteria, cot = only_response(item), _criteria(item), bool(config.params.get("cot"))
    expected = bool(config.params.get("expected"))
    answers = several(
        (
            yield tuple(
                Chat(
                    render_item(
                        item,
                        config,
                        {"response": response, "question": each.question, "options": _worded(each)},
                        *_flags(config),
                    ),
                    choices=() if cot else tuple(str(value) for value, _ in each.options),
                    logprobs=expected,
                )
                for each in criteria
            )
        )
    )
    said = {
        each.key: _read_one(each, answer, cot=cot) for each, answer in zip(criteria, answers, strict=True)
    }
    value: dict[str, Any] = {}
    if expected:
        means = {
            each.key: expected_score(answer, _values(each), str(said[each.key][0]), last=cot)
            for each, answer in zip(criteria, answers, strict=True)
        }
        value = {"expected": {key: mean for key, mean in means.items() if mean is not None}}
    raw = "\n\n".join(f"[{each.key}]\n{answer.text}" for each, answer in zip(criteria, answers, strict=True))
    return _verdict(said, raw, {name: found for name, found in value.items() if found})


def rubric_all(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask for the ratings of all criteria in one structured answer.

    ``params``: "rules"; "cot" asks for reasons in the same structured answer, before the ratings.
    """
    response, criteria, cot = only_response(item), _criteria(item), bool(config.params.get("cot"))
    listed = "\n".join(f"{each.key}: {one_line(each.question)}\n{_worded(each, '    ')}" for each in criteria)
    names = ", ".join(f'"{each.key}": ...' for each in criteria)
    values = {"response": response, "criteria": listed, "names": f"{{{names}}}"}
    messages = render_item(item, config, values, *_flags(config))
    answer = single((yield Chat(messages, json_schema=schema_text(_schema(criteria, cot=cot)))))
    found, problem = read_json(answer.text, cut_off=answer.finish_reason == "length", last=cot)
    if problem:
        return Verdict(choice=None, status="unparsed", raw_text=answer.text, reason=problem)
    named = by_name(found, [each.key for each in criteria], RATINGS)
    return _verdict({each.key: _read_field(each, named) for each in criteria}, answer.text, {})


def _criteria(item: ItemView) -> tuple[CriterionView, ...]:
    if not item.criteria:
        raise StrategyError(f"Item {item.item_id} has no criteria to rate.")
    return item.criteria


def _flags(config: StrategyConfig) -> tuple[str, ...]:
    return tuple(name for name in ("rules", "cot") if config.params.get(name))


def _worded(criterion: CriterionView, indent: str = "") -> str:
    return "\n".join(f"{indent}{value} = {one_line(words)}" for value, words in criterion.options)


def _values(criterion: CriterionView) -> dict[str, int]:
    return {str(value): value for value, _ in criterion.options}


def _labels(criterion: CriterionView) -> Labels:
    return {str(value): (words,) if words.strip() else () for value, words in criterion.options}


def _schema(criteria: tuple[CriterionView, ...], *, cot: bool) -> dict[str, Any]:
    ratings = closed(
        {each.key: {"type": "integer", "enum": [value for value, _ in each.options]} for each in criteria}
    )
    return closed({REASONS: {"type": "string"}, RATINGS: ratings}) if cot else ratings


def _read_one(criterion: CriterionView, answer: Answer, *, cot: bool) -> tuple[int | None, str]:
    # Under a constraint the text is complete once it is one of the choices, even at the token limit.
    cut_off = answer.finish_reason == "length" and not answer.constrained
    read = read_last_label if cot else read_label
    label, problem = read(answer.text, _labels(criterion), cut_off=cut_off)
    return (None if label is None else int(label)), problem


def _read_field(criterion: CriterionView, named: Mapping[str, Any]) -> tuple[int | None, str]:
    if criterion.key not in named:
        return None, "is missing"
    value = scalar(named[criterion.key])
    if value is TWICE:
        return None, "is given twice, with two different values"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None, "is no rating"
    label, problem = read_label(str(value), _labels(criterion))
    return (None if label is None else int(label)), problem


def _verdict(said: Mapping[str, tuple[int | None, str]], raw: str, more: Mapping[str, Any]) -> Verdict:
    ratings = {key: rating for key, (rating, _) in said.items() if rating is not None}
    if len(ratings) == len(said):
        return Verdict(choice=None, status="parsed", raw_text=raw, value={"ratings": ratings, **more})
    reason = "; ".join(f"{key}: {problem}" for key, (rating, problem) in said.items() if rating is None)
    return Verdict(
        choice=None,
        status="unparsed",
        raw_text=raw,
        reason=reason,
        value={"partial": ratings} if ratings else None,
    )
