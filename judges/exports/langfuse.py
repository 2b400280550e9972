"""Evaluators of Langfuse: the bodies of `POST /api/public/v2/evaluators`, which a server of one's own takes too.

Langfuse holds the model to a form of its own, so the prompt's words on the form of the answer stay but no longer
decide.
"""

from __future__ import annotations

import json
from typing import Any

from judges.exports.code import code_text
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import CHECK, COMPARE, OUTPUT_A, RATE, RESPONSE, SCORE, JudgeQuestion
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

_SOURCES = {"instruction": "input", OUTPUT_A: "output", RESPONSE: "output", REFERENCE: "expected_output"}
"""What of an observation each text is; all others stand in its metadata."""


def langfuse_write(judge: ExportJudge) -> Files:
    """Return an evaluator, or one for each criterion, the connection to the model, and the code that makes them."""
    model = judge.document.spec.main_model()
    if model.backend != "openai":
        raise ExportRefusedError("backend", f"'{model.backend}' is no server of the OpenAI protocol.")
    provider = f"touchstone-{judge.name}"
    files = {}
    for question in judge.questions:
        part = "" if question.criterion is None else f"-{question.criterion.key}"
        files[f"{judge.name}/evaluator{part}.json"] = _text(_evaluator(judge, question, provider))
    connection = {
        "provider": provider,
        "adapter": "openai",
        **({"baseURL": model.endpoint} if model.endpoint else {}),
        "customModels": [model.model],
        "withDefaultModels": False,
    }
    return files | {
        f"{judge.name}/connection.json": _text(connection),
        f"{judge.name}/create.py": code_text("langfuse_create.py"),
    }


def _evaluator(judge: ExportJudge, question: JudgeQuestion, provider: str) -> dict[str, Any]:
    part = "" if question.criterion is None else f": {question.criterion.key}"
    return {
        "type": "llm_as_judge",
        "name": f"{judge.document.name}{part}",
        "description": f"Touchstone judge {judge.document.spec.fingerprint()}",
        "prompt": [
            {"role": role, "content": content}
            for role, content in question.messages(lambda name: f"{{{{{name}}}}}", _literal)
        ],
        "modelConfig": {"provider": provider, "model": judge.document.spec.model},
        "variableMapping": [_mapped(name) for name in question.texts],
        "outputDefinition": _output(question),
    }


def _mapped(name: str) -> dict[str, str]:
    if source := _SOURCES.get(name):
        return {"variable": name, "source": source}
    return {"variable": name, "source": "metadata", "jsonPath": f"$.{name}"}


def _output(question: JudgeQuestion) -> dict[str, Any]:
    if question.answer.is_number:
        low, high = question.answer.range
        return {"dataType": "NUMERIC", "minValue": low, "maxValue": high}
    return {
        "dataType": "CATEGORICAL",
        "categories": list(question.answer.labels),
        "shouldAllowMultipleMatches": False,
    }


def _literal(text: str) -> str:
    if "{{" in text or "}}" in text:
        raise ExportRefusedError("prompt", "Langfuse takes text in double braces for a variable.")
    return text


def _text(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


_NO_SETTINGS = "An evaluator has no settings of sampling."
TARGET = ExportTarget(
    name="langfuse",
    title="Langfuse",
    write=langfuse_write,
    version="langfuse 5.0.4",
    how="`python NAME/create.py` makes the evaluators in your project (`POST /api/public/v2/evaluators`); they run "
    "once you add an evaluation rule. Langfuse asks for a form of its own: measure it before you rely on it. There is "
    "no server to try it on: the test sends it by Langfuse's own client, whose types check it.",
    about={
        COMPARE: "A category, A, B or tie: the output is Output A, the metadata's `output_b` is Output B.",
        SCORE: "The score of the output.",
        CHECK: "A category, yes or no; the requirement is the metadata's `requirement`.",
        RATE: "A numeric evaluator for each criterion.",
    },
    carries={
        SYSTEM: "As it is.",
        TURNS: "As they are.",
        ENDPOINT: "A connection with the judge's address, the key from `OPENAI_API_KEY`.",
        REFERENCE: "The `expected_output` of an experiment's item.",
        TIE: "A category of its own.",
        CONSTRAINED: "Langfuse holds the model to the categories.",
    },
    loses={
        **dict.fromkeys((TEMPERATURE, TOP_P, MAX_TOKENS, THINKING, SEED, STOP, EXTRA_BODY), _NO_SETTINGS),
        CONTEXT: "A prompt has no conditions: put an item's input into its instruction.",
        ORDERS: "Each pair is shown once, as it is given.",
        SAMPLES: "Each observation is judged once.",
        PROBABILITIES: "The verdict is read from the answer.",
        ABSTENTION: "A score has no certainty to compare with it.",
        FENCES: "A prompt can't look at a response, so one that holds a delimiter can end its own.",
    },
)
