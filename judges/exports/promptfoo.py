"""Assertions for promptfoo: `llm-rubric` with the judge's messages as its `rubricPrompt`, and a grader.

Of a pair, the output under test is compared with the test's variable `output_b`. In both orders it is two assertions
in a set, which passes where the output is better in both.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from judges.exports.code import code_text
from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import (
    CHECK,
    COMPARE,
    OUTPUT_A,
    OUTPUT_B,
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

_BETTER = {"A": 1.0, "tie": 0.5, "B": 0.0}
_WORSE = {"A": 0.0, "tie": 0.5, "B": 1.0}
_MET = {"yes": 1.0, "no": 0.0, "cannot tell": 0.0}


def assertion_write(judge: ExportJudge) -> Files:
    """Return a `defaultTest` with the judge's assertions, the messages of each, and the grader."""
    files: Files = {f"{judge.name}/judge.cjs": code_text("promptfoo_judge.cjs")}
    spec, question = judge.document.spec, judge.question
    asserted: list[dict[str, Any]] = []
    if question.about == COMPARE:
        places = {OUTPUT_A: "{{ output }}", OUTPUT_B: "{{ output_b }}"}
        both = [_assertion(judge, question, files, "first", places, _BETTER)]
        if spec.order_matters or spec.params.get("both_orders"):
            swapped = {OUTPUT_A: "{{ output_b }}", OUTPUT_B: "{{ output }}"}
            both.append(_assertion(judge, question, files, "second", swapped, _WORSE))
        # Verdicts that differ are a tie: only two wins are one.
        asserted.append({"type": "assert-set", "metric": judge.name, "threshold": 1.0, "assert": both})
    else:
        places = {RESPONSE: "{{ output }}", REQUIREMENT: "{{ requirement }}"}
        for each in judge.questions:
            name = "prompt" if each.criterion is None else f"prompt_{each.criterion.key}"
            asserted.append(_assertion(judge, each, files, name, places, _scores(each)))
    text = yaml.safe_dump({"assert": asserted}, sort_keys=False, allow_unicode=True, width=110)
    return {f"{judge.name}/default_test.yaml": text, **files}


def _scores(question: JudgeQuestion) -> dict[str, float]:
    if question.about == CHECK:
        return {label: _MET[label] for label in question.answer.labels}
    low, high = question.answer.range
    return {label: round((int(label) - low) / (high - low), 6) for label in question.answer.labels}


def _assertion(
    judge: ExportJudge,
    question: JudgeQuestion,
    files: Files,
    name: str,
    places: dict[str, str],
    scores: dict[str, float],
) -> dict[str, Any]:
    spec = judge.document.spec
    messages = question.context_block(
        lambda text: places.get(text, f"{{{{ {text} }}}}"),
        _literal,
        lambda block: f"{{% if context %}}{block}{{% endif %}}",
    )
    path = f"{judge.name}/{name}.json"
    written = [{"role": role, "content": content} for role, content in messages]
    files[path] = json.dumps(written, indent=2, ensure_ascii=False) + "\n"
    fields = request_fields(spec.main_model())
    body = {"model": spec.model, **{key: value for key, value in fields.items() if key != "extra_body"}}
    criterion = {} if question.criterion is None else {"metric": question.criterion.key}
    requirement = "{{ requirement }}" if question.about == CHECK else judge.document.name
    return {
        "type": "llm-rubric",
        "value": requirement,
        **criterion,
        "rubricPrompt": f"file://{path}",
        "provider": {
            "id": f"file://{judge.name}/judge.cjs",
            "config": {
                "name": judge.name,
                "url": f"{spec.endpoint}/chat/completions",
                "apiKeyEnv": "OPENAI_API_KEY",
                "body": {**body, **fields.get("extra_body", {})},
                "patterns": question.answer.patterns(),
                "scores": {label: scores[label] for label in question.answer.labels},
                "least": 1.0 if question.about in (COMPARE, CHECK) else 0.5,
            },
        },
    }


def _literal(text: str) -> str:
    if "{% endraw %}" in text:
        raise ExportRefusedError(
            "prompt", "it holds a word of promptfoo's templates that can't be written in one."
        )
    return f"{{% raw %}}{text}{{% endraw %}}" if "{{" in text or "{%" in text or "{#" in text else text


TARGET = ExportTarget(
    name="promptfoo",
    title="promptfoo",
    write=assertion_write,
    version="promptfoo 0.121.20",
    how="Put the folder beside `promptfooconfig.yaml` and say `defaultTest: file://NAME/default_test.yaml` there. "
    "Texts of an item are variables of a test, in which promptfoo fills in its own templates; an output in JSON is "
    "shown as promptfoo writes it.",
    about={
        COMPARE: "The output against the variable `output_b`; it passes where it is better.",
        SCORE: "The output's score from 0 to 1; it passes from 0.5 (`least`).",
        CHECK: "The output against the variable `requirement`; it passes where it's met.",
        RATE: "A metric for each criterion, from 0 to 1; it passes from 0.5 (`least`).",
    },
    carries={
        SYSTEM: "In `rubricPrompt`.",
        TURNS: "In `rubricPrompt`.",
        ENDPOINT: "In the grader's `config`; the key comes from `OPENAI_API_KEY`.",
        **dict.fromkeys(
            (TEMPERATURE, TOP_P, MAX_TOKENS, THINKING, SEED, STOP, EXTRA_BODY), "In the grader's `config`."
        ),
        CONTEXT: "The variable `context`.",
        REFERENCE: "The variable `reference`.",
        TIE: "A score of 0.5, which doesn't pass.",
        ORDERS: "Two assertions in a set, which passes where the output is better in both.",
        ABSTENTION: "A win in both orders is certain; all else doesn't pass, whatever the threshold.",
    },
    loses={
        CONSTRAINED: "Answers are asked for in words alone.",
        SAMPLES: "Each item is asked about once in each order.",
        PROBABILITIES: "The verdict is read from the text.",
        FENCES: "A template can't look at a response, so one that holds a delimiter can end its own.",
    },
)
