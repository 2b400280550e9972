"""Judges of MLflow: what `make_judge` makes, and a scorer that asks them."""

from __future__ import annotations

from typing import Any

from judges.exports.answers import ALONE
from judges.exports.code import code_text, data_text, question_data
from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import CHECK, COMPARE, OUTPUT_A, RATE, RESPONSE, SCORE
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

_ASKED = "Answer the question that is given to you as JSON text"
_PLACE = "{{ inputs }}"


def mlflow_write(judge: ExportJudge) -> Files:
    """Return a package with what `make_judge` makes."""
    spec, question = judge.document.spec, judge.question
    model = spec.main_model()
    fields: dict[str, Any] = request_fields(model)
    fields |= fields.pop("extra_body", {})
    system = "\n\n".join(content for role, content in question.messages(str) if role == "system")
    if "{{" in system:
        raise ExportRefusedError("prompt", "MLflow takes text in double braces for a variable.")
    data = {
        "name": judge.document.name,
        "fingerprint": spec.fingerprint(),
        "model": model.model,
        # What MLflow calls a base URL is the whole address of the request.
        "endpoint": f"{model.endpoint.rstrip('/')}/chat/completions" if model.endpoint else "",
        "request": fields,
        "instructions": "\n\n".join(filter(None, [system, f"{_ASKED}: {_PLACE}"])),
        "reasons_first": question.answer.form != ALONE,
        "response": OUTPUT_A if question.about == COMPARE else RESPONSE,
        "questions": [question_data(each) for each in judge.questions],
    }
    return {
        f"{judge.name}/__init__.py": "",
        f"{judge.name}/judge.py": code_text("mlflow_judge.py"),
        f"{judge.name}/judge_text.py": code_text("judge_text.py"),
        f"{judge.name}/judge_data.json": data_text(data),
    }


_RESULT = "A `Feedback` whose value is"
TARGET = ExportTarget(
    name="mlflow",
    title="MLflow `make_judge`",
    write=mlflow_write,
    version="mlflow 3.17.2",
    how="`from NAME.judge import judge_scorer`, with the folder beside your code, as a scorer of "
    "`mlflow.genai.evaluate`; or `judges[0](inputs=judge_question(...))`. MLflow puts its own system message before "
    "the question, shows the question as JSON and asks for a form of its own: measure it before you rely on it.",
    about={
        COMPARE: f"{_RESULT} A or B, or tie; the output is Output A, `output_b` stands in the inputs or expectations.",
        SCORE: f"{_RESULT} the score of the output.",
        CHECK: f"{_RESULT} yes or no; `requirement` stands in the expectations.",
        RATE: f"{_RESULT} the rating, one for each criterion.",
    },
    carries={
        ENDPOINT: "`openai:/MODEL` and `base_url`, the key from `OPENAI_API_KEY`.",
        **dict.fromkeys(
            (TEMPERATURE, TOP_P, MAX_TOKENS, THINKING, SEED, STOP, EXTRA_BODY), "In `inference_params`."
        ),
        CONTEXT: "`context` in the inputs.",
        REFERENCE: "`reference` in the expectations.",
        TIE: "A value of its own.",
        CONSTRAINED: "MLflow holds the model to the labels.",
        FENCES: "Marked as here.",
    },
    loses={
        SYSTEM: "It stands in the instructions, behind MLflow's own words.",
        TURNS: "The examples stand in the question.",
        ORDERS: "Each pair is shown once, as it is given.",
        SAMPLES: "Each item is asked about once.",
        PROBABILITIES: "The verdict is read from the text.",
        ABSTENTION: "A feedback has no certainty to compare with it.",
    },
)
