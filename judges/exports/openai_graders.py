"""OpenAI's graders: `label_model` for verdicts, `score_model` for scores, as JSON for evaluations and fine-tuning.

The service holds its grader model to a form of its own, so the prompt's words on the form of the answer stay but no
longer decide. Two presentation orders are two graders.
"""

from __future__ import annotations

import json
from typing import Any

from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import (
    CHECK,
    COMPARE,
    OUTPUT_A,
    OUTPUT_B,
    RATE,
    RESPONSE,
    SCORE,
    JudgeQuestion,
)
from judges.exports.writing import (
    ABSTENTION,
    CONSTRAINED,
    CONTEXT,
    ENDPOINT,
    EXTRA_BODY,
    FENCES,
    MAX_TOKENS,
    ORDERS,
    PROBABILITIES,
    REFERENCE,
    SAMPLES,
    SEED,
    STOP,
    SYSTEM,
    TEMPERATURE,
    THINKING,
    TIE,
    TOP_P,
    TURNS,
    ExportJudge,
    ExportTarget,
    Files,
)

_SAMPLE = "{{ sample.output_text }}"
_MOST = {"max_tokens": "max_completions_tokens", "max_completion_tokens": "max_completions_tokens"}


def label_grader_write(judge: ExportJudge) -> Files:
    """Return a `label_model` grader; of a judge whose order matters, one for each order."""
    question = judge.question
    if question.about == CHECK:
        return _file(_label(judge, f"{judge.name}_met", {RESPONSE: _SAMPLE}, "yes"))
    first = _label(judge, f"{judge.name}_first", {OUTPUT_A: _SAMPLE}, "A")
    if not (judge.document.spec.order_matters or judge.document.spec.params.get("both_orders")):
        return _file(first)
    swapped = {OUTPUT_A: "{{ item.output_b }}", OUTPUT_B: _SAMPLE}
    second = _label(judge, f"{judge.name}_second", swapped, "B")
    return _file(first) | _file(second)


def score_grader_write(judge: ExportJudge) -> Files:
    """Return a `score_model` grader, or one for each criterion of a rubric."""
    fields = request_fields(judge.document.spec.main_model())
    sampling = {
        _MOST.get(name, name): value
        for name, value in fields.items()
        if name in ("temperature", "top_p", "seed", "reasoning_effort", *_MOST)
    }
    files: Files = {}
    for question in judge.questions:
        name = judge.name if question.criterion is None else f"{judge.name}_{question.criterion.key}"
        grader = {
            "type": "score_model",
            "name": name,
            "model": judge.document.spec.model,
            "input": _input(question, {RESPONSE: _SAMPLE}),
            "range": list(question.answer.range),
            **({"sampling_params": sampling} if sampling else {}),
        }
        files |= _file(grader)
    return files


def _label(judge: ExportJudge, name: str, places: dict[str, str], passing: str) -> dict[str, Any]:
    return {
        "type": "label_model",
        "name": name,
        "model": judge.document.spec.model,
        "input": _input(judge.question, places),
        "labels": list(judge.question.answer.labels),
        "passing_labels": [passing],
    }


def _input(question: JudgeQuestion, places: dict[str, str]) -> list[dict[str, str]]:
    messages = question.messages(lambda name: places.get(name, f"{{{{ item.{name} }}}}"), _literal)
    return [{"type": "message", "role": role, "content": content} for role, content in messages]


def _literal(text: str) -> str:
    if "{{" in text or "}}" in text:
        raise ExportRefusedError("prompt", "OpenAI takes text in double braces for a place of its template.")
    return text


def _file(grader: dict[str, Any]) -> Files:
    return {f"{grader['name']}.json": json.dumps(grader, indent=2, ensure_ascii=False) + "\n"}


_HOW = (
    "Each JSON file is a grader: in `testing_criteria` of an evaluation, or as the grader of reinforcement "
    "fine-tuning. The judged response is `sample.output_text`, all else are fields of the item. There is no server to "
    "try it on: the test checks it against the types of the package and fills the template itself."
)
_CARRIES = {
    SYSTEM: "As it is.",
    TURNS: "As it is.",
    REFERENCE: "The item's `reference`.",
}
_LOSES = {
    ENDPOINT: "OpenAI asks its own model of this name.",
    STOP: "There is no such setting.",
    EXTRA_BODY: "There is no such setting.",
    CONTEXT: "A template has no conditions: put an item's input into its instruction.",
    SAMPLES: "Each item is asked about once.",
    PROBABILITIES: "The verdict is read from the text.",
    ABSTENTION: "A grade has no certainty to compare with it.",
    FENCES: "A template can't look at a response, so one that holds a delimiter can end its own.",
}
_NO_SETTINGS = "`label_model` has no settings of sampling."

LABEL_TARGET = ExportTarget(
    name="openai-label-model",
    title="OpenAI `label_model`",
    write=label_grader_write,
    version="openai 3.54.0",
    how=_HOW,
    about={
        COMPARE: "`sample.output_text` against the item's `output_b`; it passes where it is better.",
        CHECK: "`sample.output_text` against the item's `requirement`; it passes where it's met.",
    },
    carries=_CARRIES
    | {
        CONSTRAINED: "Labels are all that the service lets the model say.",
        ORDERS: "A grader for each; the response is better where both pass.",
    },
    loses=_LOSES
    | dict.fromkeys((TEMPERATURE, TOP_P, MAX_TOKENS, THINKING, SEED), _NO_SETTINGS)
    | {TIE: "It is a label, but it doesn't pass, as if the response were worse."},
)
SCORE_TARGET = ExportTarget(
    name="openai-score-model",
    title="OpenAI `score_model`",
    write=score_grader_write,
    version="openai 3.54.0",
    how=_HOW,
    about={
        SCORE: "The score of `sample.output_text`, on the judge's scale.",
        RATE: "A grader for each criterion, on its scale.",
    },
    carries=_CARRIES
    | dict.fromkeys((TEMPERATURE, TOP_P, SEED), "In `sampling_params`.")
    | {
        MAX_TOKENS: "In `sampling_params`, as `max_completions_tokens`.",
        THINKING: "An effort, in `sampling_params`.",
        CONSTRAINED: "A number is all that the service lets the model say.",
        ORDERS: "A response is scored alone.",
        TIE: "Equal scores.",
    },
    loses=_LOSES,
)
