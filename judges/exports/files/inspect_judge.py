"""A judge for Inspect, exported by Touchstone: `judge_data.json` says what it asks and how it reads."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "judge_data.json").read_text(encoding="utf-8"))
ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
BETTER = {"A": 1.0, "tie": 0.5, "B": 0.0}


def judge_model(model: str | Model | None = None) -> Model:
    """The judge's own model, or another one, which makes it another judge."""
    if isinstance(model, Model):
        return model
    config = GenerateConfig(**DATA["config"])
    if model is not None:
        return get_model(model, config=config)
    name, key = DATA["model"], os.environ.get(DATA["api_key_env"], "none")
    return get_model(f"openai-api/judge/{name}", base_url=DATA["endpoint"], api_key=key, config=config)


async def ask(question: dict[str, Any], texts: dict[str, str], model: Model) -> tuple[str | None, str]:
    """Ask a question; returns the label, None where the answer says none, and the answer."""
    shown = "with_context" if texts.get("context") else "plain"
    used = [texts[name] for _, pieces in question[shown] for name in pieces[1::2] if name != "mark"]
    tags = "|".join(map(re.escape, question["tags"]))
    mark = ""
    if tags and any(re.search(rf"<\s*/?\s*(?:{tags})", text, re.IGNORECASE) for text in used):
        mark = "_" + hashlib.sha256("\0".join(used).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    filled = {**texts, "mark": mark}
    messages: list[ChatMessage] = [
        ROLES[role](content="".join(filled[piece] if at % 2 else piece for at, piece in enumerate(pieces)))
        for role, pieces in question[shown]
    ]
    output = await model.generate(messages)
    text = output.completion
    if output.stop_reason in ("max_tokens", "model_length"):
        return None, text
    found = (label for label, pattern in question["patterns"].items() if re.search(pattern, text))
    return next(found, None), text


def texts_of(state: TaskState) -> dict[str, str]:
    """The texts of a sample beside the response: its input, and `context` and `reference` of its metadata."""
    given = {name: str(state.metadata.get(name) or "") for name in ("context", "reference")}
    return {"instruction": state.input_text, **given}


async def compared(texts: dict[str, str], a: str, b: str, model: Model) -> dict[str, Any]:
    """Compare two responses: the verdict, the probability that the first is better, and what the model said."""
    question = DATA["questions"][0]
    labels, answers = [], []
    for swapped in (False, True) if DATA["both_orders"] else (False,):
        first, second = (b, a) if swapped else (a, b)
        label, answer = await ask(question, {**texts, "output_a": first, "output_b": second}, model)
        labels.append({"A": "B", "B": "A"}.get(label or "", label) if swapped else label)
        answers.append(answer)
    if None in labels or (len(set(labels)) > 1 and not DATA["ties"]):
        return {"verdict": None, "probability": None, "answers": answers, "abstains": None}
    # Verdicts that contradict each other are a tie.
    verdict = labels[0] if len(set(labels)) == 1 else "tie"
    chance = sum(BETTER[label] for label in labels) / len(labels)
    threshold = DATA["threshold"]
    abstains = None if threshold is None else max(chance, 1 - chance) < threshold
    return {"verdict": verdict, "probability": chance, "answers": answers, "abstains": abstains}


@solver
def judge_pairs(model: str | Model | None = None) -> Solver:
    """Answer a sample with a verdict on `output_a` and `output_b` of its metadata: "A", "B" or "tie".

    A scorer such as `match` compares it with the sample's target. Without a verdict the answer is empty; where the
    judge abstains, the metadata's `judge` says so.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        found = await compared(
            texts_of(state),
            str(state.metadata["output_a"]),
            str(state.metadata["output_b"]),
            judge_model(model),
        )
        state.metadata["judge"] = found
        state.output = ModelOutput.from_content("judge", found["verdict"] or "")
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def judge_against_target(model: str | Model | None = None) -> Scorer:
    """Score a response by whether it is better than the sample's target: 1, 0.5 for a tie, 0; unscored without."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        found = await compared(texts_of(state), response, target.text, judge_model(model))
        explanation = "\n\n".join(found["answers"])
        if found["verdict"] is None or found["abstains"]:
            reason = "grader_failed" if found["verdict"] is None else "judge_abstained"
            return Score.unscored(reason=reason, answer=response, explanation=explanation, metadata=found)
        return Score(value=BETTER[found["verdict"]], answer=response, explanation=explanation, metadata=found)

    return score


@scorer(metrics=[accuracy(), stderr()])
def judge_requirement(model: str | Model | None = None) -> Scorer:
    """Score whether a response meets the requirement that is the sample's target, as `model_graded_qa` does."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        texts = {**texts_of(state), "response": response, "requirement": target.text}
        label, answer = await ask(DATA["questions"][0], texts, judge_model(model))
        if label is None:
            return Score.unscored(reason="grader_failed", answer=response, explanation=answer)
        return Score(
            value="C" if label == "yes" else "I",
            answer=response,
            explanation=answer,
            metadata={"label": label},
        )

    return score


@scorer(metrics={"*": [mean(), stderr()]})
def judge_ratings(model: str | Model | None = None) -> Scorer:
    """Score a response on each criterion, or alone under "score"; unscored where an answer gives no number."""

    async def score(state: TaskState, target: Target) -> Score:
        response = state.output.completion
        values: dict[str, str | int | float | bool | None] = {}
        answers = []
        for question in DATA["questions"]:
            texts = {**texts_of(state), "response": response}
            label, answer = await ask(question, texts, judge_model(model))
            answers.append(answer)
            if label is None:
                return Score.unscored(reason="grader_failed", answer=response, explanation=answer)
            values[question.get("criterion", "score")] = float(label)
        return Score(value=values, answer=response, explanation="\n\n".join(answers))

    return score
