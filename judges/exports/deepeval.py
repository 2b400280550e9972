"""Metrics of DeepEval: `ArenaGEval` for pairs, `GEval` for what is scored alone."""

from __future__ import annotations

from judges.exports.code import code_text, data_text, question_data
from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import CHECK, COMPARE, RATE, REQUIREMENT, SCORE
from judges.exports.questions import REFERENCE as REFERENCE_TEXT
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

_ALWAYS = ("INPUT", "ACTUAL_OUTPUT")


def deepeval_write(judge: ExportJudge) -> Files:
    """Return a package with a metric, or one for each criterion."""
    question, model = judge.question, judge.document.spec.main_model()
    expected = {REFERENCE_TEXT, REQUIREMENT} & set(question.texts)
    if len(expected) > 1:
        raise ExportRefusedError(
            "prompt", "it shows a requirement and a reference, and a test case has one `expected_output`."
        )
    labels = question.answer.labels
    if "cannot tell" in labels:
        raise ExportRefusedError(
            "params.cannot_tell", "a score has no place for an answer between yes and no."
        )
    data = {
        "name": judge.document.name,
        "fingerprint": judge.document.spec.fingerprint(),
        "model": model.model,
        "endpoint": model.endpoint,
        "request": request_fields(model),
        "params": [*_ALWAYS, *(["EXPECTED_OUTPUT"] if expected else [])],
        "questions": [question_data(each) for each in judge.questions],
    }
    if question.about != COMPARE:
        numbers = {"no": 0, "yes": 1} if question.about == CHECK else {each: int(each) for each in labels}
        low, span = min(numbers.values()), max(numbers.values()) - min(numbers.values())
        data["scores"] = {label: (number - low) / span for label, number in numbers.items()}
    return {
        f"{judge.name}/__init__.py": "",
        f"{judge.name}/judge.py": code_text("deepeval_judge.py"),
        f"{judge.name}/judge_text.py": code_text("judge_text.py"),
        f"{judge.name}/judge_data.json": data_text(data),
    }


TARGET = ExportTarget(
    name="deepeval",
    title="DeepEval",
    write=deepeval_write,
    version="deepeval 4.3.1",
    how="`from NAME.judge import metric`, with the folder beside your tests, then `metric.measure(test_case)`. A "
    "rubric has a metric for each criterion, in `metrics`. The key comes from `OPENAI_API_KEY`.",
    about={
        COMPARE: "An `ArenaGEval`. The first contestant of an `ArenaTestCase` is Output A, the second Output B.",
        SCORE: "A `GEval` of one response; the lowest score is 0, the highest is 1.",
        CHECK: "A `GEval`; the requirement is the test case's `expected_output`, yes is 1 and no is 0.",
        RATE: "A `GEval` for each criterion in `metrics`; the lowest rating is 0, the highest is 1.",
    },
    carries={
        SYSTEM: "As it is.",
        TURNS: "As they are.",
        ENDPOINT: "In a `DeepEvalBaseLLM` of its own, the key from `OPENAI_API_KEY`.",
        TEMPERATURE: "As it is.",
        TOP_P: "As it is.",
        MAX_TOKENS: "As it is.",
        THINKING: "As it is, or in `extra_body`.",
        SEED: "As it is.",
        STOP: "As it is.",
        EXTRA_BODY: "As it is.",
        REFERENCE: "The test case's `expected_output`.",
        FENCES: "Marked as here.",
    },
    loses={
        CONTEXT: "Every test case would need one: put an item's input into its instruction.",
        TIE: "`ArenaGEval` names a winner: a tie is an error there.",
        CONSTRAINED: "Answers are asked for in words alone.",
        ORDERS: "Each pair is shown once, in the order of its contestants.",
        SAMPLES: "Each test case is asked about once.",
        PROBABILITIES: "The verdict is read from the text.",
        ABSTENTION: "A metric has no certainty to compare with it.",
    },
)
