"""A judge as metrics of DeepEval, exported by Touchstone: `metric` for pairs, `metrics` for what is scored alone.

The metrics are DeepEval's own. Only the template of the prompt is the judge's, and the model, which reads the answer as
the judge does and gives the metric the JSON that it expects.
"""

import json
import os
from contextvars import ContextVar
from typing import Any

from deepeval.metrics import ArenaGEval, GEval
from deepeval.metrics.arena_g_eval import ArenaGEvalTemplate
from deepeval.metrics.g_eval import GEvalTemplate
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams
from openai import AsyncOpenAI, OpenAI

from .judge_text import DATA, QUESTIONS, label_of, messages_of

PARAMS = [getattr(SingleTurnParams, each) for each in DATA["params"]]
CASE: ContextVar[LLMTestCase] = ContextVar("CASE")


class DeepEvalJudgeModel(DeepEvalBaseLLM):
    """The judge's model; the key comes from OPENAI_API_KEY."""

    def __init__(self, place: int) -> None:
        self.question = QUESTIONS[place]
        super().__init__(DATA["model"])

    def load_model(self) -> str:
        return DATA["model"]

    def get_model_name(self) -> str:
        return DATA["model"]

    def generate(self, prompt: str, **_: Any) -> str:
        given = json.loads(prompt)
        if "messages" not in given:
            return prompt
        with OpenAI(**client_of()) as client:
            return self.said(given, client.chat.completions.create(**self.request(given)))

    async def a_generate(self, prompt: str, **_: Any) -> str:
        given = json.loads(prompt)
        if "messages" not in given:
            return prompt
        async with AsyncOpenAI(**client_of()) as client:
            return self.said(given, await client.chat.completions.create(**self.request(given)))

    def request(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"model": DATA["model"], "messages": given["messages"], **DATA["request"]}

    def said(self, given: dict[str, Any], answer: Any) -> str:
        """What the metric is told, as JSON."""
        text = answer.choices[0].message.content or ""
        label = None if answer.choices[0].finish_reason == "length" else label_of(self.question, text)
        if label is None:
            raise ValueError(f"no verdict: {text!r}")
        if "names" not in given:
            return json.dumps({"score": 10 * DATA["scores"][label], "reason": text})
        if label not in given["names"]:
            raise ValueError(f"no winner: {text!r}")
        return json.dumps({"winner": given["names"][label], "reason": text})


def client_of() -> dict[str, Any]:
    """Where the model answers."""
    return {"base_url": DATA["endpoint"] or None, "api_key": os.environ["OPENAI_API_KEY"]}


class ArenaTemplate(ArenaGEvalTemplate):
    """The judge's own prompt: the first contestant is Output A, the second is Output B."""

    @staticmethod
    def generate_arena_winner(test_case_contents: Any) -> str:
        masked = {real: name for name, real in test_case_contents.dummy_to_real_names.items()}
        (first, a), (second, b) = test_case_contents.contestants.items()
        texts = {
            "instruction": test_case_contents.input,
            "reference": test_case_contents.expected_output or "",
            "output_a": a.actual_output,
            "output_b": b.actual_output,
        }
        asked = messages_of(QUESTIONS[0], texts)
        return json.dumps({"messages": asked, "names": {"A": masked[first], "B": masked[second]}})

    @staticmethod
    def rewrite_reason(reason: str) -> str:
        return json.dumps({"rewritten_reason": reason})


class ScoreTemplate(GEvalTemplate):
    """The judge's own prompt about the test case that is being measured."""

    @staticmethod
    def generate_evaluation_results(evaluation_steps: str) -> str:
        case = CASE.get()
        texts = {
            "instruction": case.input,
            "response": case.actual_output,
            "reference": case.expected_output or "",
            "requirement": case.expected_output or "",
        }
        place = int(evaluation_steps.partition(".")[2])
        return json.dumps({"messages": messages_of(QUESTIONS[place], texts)})


class JudgeMetric(GEval):
    """GEval, with a template that sees the whole test case."""

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        CASE.set(test_case)
        return super().measure(test_case, *args, **kwargs)

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        CASE.set(test_case)
        return await super().a_measure(test_case, *args, **kwargs)


def arena_metric() -> ArenaGEval:
    """The metric of a judge of pairs: takes an ArenaTestCase of two contestants. A tie is an error."""
    return ArenaGEval(
        name=DATA["name"],
        evaluation_steps=["As the judge's own prompt says."],
        evaluation_params=PARAMS,
        model=DeepEvalJudgeModel(0),
        evaluation_template=ArenaTemplate,
    )


def score_metrics() -> list[JudgeMetric]:
    """A metric for each question; the lowest score is 0, the highest is 1."""
    return [
        JudgeMetric(
            name=f"{DATA['name']}: {question['criterion']}" if "criterion" in question else DATA["name"],
            # DeepEval would have a model write steps; these say which question it is.
            evaluation_steps=[str(place)],
            evaluation_params=PARAMS,
            model=DeepEvalJudgeModel(place),
            evaluation_template=ScoreTemplate,
        )
        for place, question in enumerate(QUESTIONS)
    ]


metrics = [arena_metric()] if "scores" not in DATA else score_metrics()
metric = metrics[0]
