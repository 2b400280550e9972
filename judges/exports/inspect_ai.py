"""Scorers and a solver for Inspect: code of its own that carries the judge, or arguments of `model_graded_qa`."""

from __future__ import annotations

from typing import Any

from judges.exports.code import code_text, data_text, question_data
from judges.exports.decoding import request_fields
from judges.exports.questions import (
    CHECK,
    COMPARE,
    INSTRUCTION,
    RATE,
    REQUIREMENT,
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
from judges.strategies.model_ref import ModelRef

_KEY = "OPENAI_API_KEY"
_CONFIG = {"stop": "stop_seqs"}
_KNOWN = frozenset({"temperature", "top_p", "max_tokens", "seed", "stop"})
_COLUMNS = {INSTRUCTION: "question", RESPONSE: "answer", REQUIREMENT: "criterion"}


def inspect_write(judge: ExportJudge) -> Files:
    """Return a module of scorers and a solver, and what they ask."""
    spec = judge.document.spec
    model = spec.main_model()
    data = {
        "name": judge.document.name,
        "fingerprint": spec.fingerprint(),
        **_model(model),
        "both_orders": spec.order_matters or bool(spec.params.get("both_orders")),
        # A judge that asks in both orders itself gives no verdict on a contradiction where ties are not allowed.
        "ties": spec.allow_tie or not spec.params.get("both_orders"),
        "threshold": judge.document.threshold,
        "questions": [question_data(each) for each in judge.questions],
    }
    folder = judge.name
    return {
        f"{folder}/judge.py": code_text("inspect_judge.py"),
        f"{folder}/judge_data.json": data_text(data),
    }


def model_graded_qa_write(judge: ExportJudge) -> Files:
    """Return a module that calls `model_graded_qa`, and the arguments of each call."""
    calls = [
        {
            "name": judge.name if each.criterion is None else each.criterion.key,
            "template": _template(each),
            "grade_pattern": each.answer.pattern(*each.answer.labels, group=""),
        }
        for each in judge.questions
    ]
    data = {**_model(judge.document.spec.main_model()), "calls": calls}
    return {
        f"{judge.name}/judge.py": code_text("inspect_model_graded_qa.py"),
        f"{judge.name}/judge_data.json": data_text(data),
    }


def _model(model: ModelRef) -> dict[str, Any]:
    fields = request_fields(model)
    extra = dict(fields.pop("extra_body", {}))
    config = {_CONFIG.get(name, name): value for name, value in fields.items() if name in _KNOWN}
    extra |= {name: value for name, value in fields.items() if name not in _KNOWN}
    return {
        "model": model.model,
        "endpoint": model.endpoint,
        "api_key_env": _KEY,
        "config": {**config, **({"extra_body": extra} if extra else {})},
    }


def _template(question: JudgeQuestion) -> str:
    messages = question.messages(
        lambda name: f"{{{_COLUMNS.get(name, name)}}}",
        lambda text: text.replace("{", "{{").replace("}", "}}"),
    )
    return "\n\n".join(content for _, content in messages)


_AS_IT_IS = dict.fromkeys(
    (TEMPERATURE, TOP_P, MAX_TOKENS, THINKING, SEED, STOP, EXTRA_BODY), "In its `GenerateConfig`."
)
_MODEL = (
    "`openai-api` with the judge's address, the key from `OPENAI_API_KEY`; it needs the package `openai` beside "
    "Inspect. `model=` asks another one."
)

TARGET = ExportTarget(
    name="inspect",
    title="Inspect",
    write=inspect_write,
    version="inspect_ai 0.3.285",
    how="`from NAME.judge import judge_pairs, judge_against_target, judge_requirement, judge_ratings`, with the folder "
    "beside your task.",
    about={
        COMPARE: "The solver `judge_pairs` answers a sample with the verdict on `output_a` and `output_b` of its "
        "metadata; the scorer `judge_against_target` says whether a response is better than the target.",
        SCORE: "The scorer `judge_ratings`: the score of a response, on the judge's scale.",
        CHECK: "The scorer `judge_requirement`: the target is the requirement, as in `model_graded_qa`.",
        RATE: "The scorer `judge_ratings`: a value for each criterion.",
    },
    carries={
        SYSTEM: "As it is.",
        TURNS: "As it is.",
        ENDPOINT: _MODEL,
        **_AS_IT_IS,
        CONTEXT: "The sample's metadata `context`.",
        REFERENCE: "The sample's metadata `reference`.",
        TIE: "A value of 0.5.",
        ORDERS: "Both are asked; verdicts that contradict each other are a tie.",
        ABSTENTION: "The score is left out (`judge_abstained`); the solver says so in the metadata.",
        FENCES: "Marked as here, with another mark.",
    },
    loses={
        CONSTRAINED: "Answers are asked for in words alone.",
        SAMPLES: "Each item is asked about once in each order; `epochs` of the task asks again.",
        PROBABILITIES: "The verdict is read from the text.",
    },
)
QA_TARGET = ExportTarget(
    name="inspect-model-graded-qa",
    title="Inspect, `model_graded_qa`",
    write=model_graded_qa_write,
    version="inspect_ai 0.3.285",
    how="`from NAME.judge import judge_scorers`: a list of Inspect's own `model_graded_qa` with the judge's template "
    "and pattern, with the folder beside your task.",
    about={
        SCORE: "The grade is the score, on the judge's scale.",
        CHECK: "The grade is yes or no; the target is the requirement.",
        RATE: "A scorer for each criterion; the grade is the rating.",
    },
    carries={
        ENDPOINT: _MODEL,
        **_AS_IT_IS,
        REFERENCE: "The sample's metadata `reference`.",
        ORDERS: "A response is graded alone.",
        TIE: "Equal grades.",
    },
    loses={
        SYSTEM: "One message of the user is sent; the system message stands at its top.",
        TURNS: "One message is sent; the examples stand in it.",
        CONSTRAINED: "Answers are asked for in words alone.",
        CONTEXT: "A template has no conditions: put an item's input into its instruction.",
        SAMPLES: "Each item is asked about once; `epochs` of the task asks again.",
        PROBABILITIES: "The grade is read from the text.",
        ABSTENTION: "A grade has no certainty to compare with it.",
        FENCES: "A template can't look at a response, so one that holds a delimiter can end its own.",
    },
)
