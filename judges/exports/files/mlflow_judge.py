"""A judge for MLflow, exported by Touchstone: `judges` is what `make_judge` makes, one for each question.

MLflow puts a system message of its own before the question, shows the question as JSON, and holds the model to a form
of its own. So it isn't the judge to the letter: measure it on your own labels before you rely on it.
"""

from typing import Any, Literal

from mlflow.entities import Feedback
from mlflow.genai.judges import make_judge
from mlflow.genai.scorers import scorer

from .judge_text import DATA, QUESTIONS, messages_of


def mlflow_judge_of(place: int) -> Any:
    """What `make_judge` makes of one of the judge's questions."""
    question = QUESTIONS[place]
    values = tuple(int(each) if each.isdigit() else each for each in question["patterns"])
    return make_judge(
        name=question.get("criterion", DATA["name"]),
        instructions=DATA["instructions"],
        model=f"openai:/{DATA['model']}",
        base_url=DATA["endpoint"] or None,
        feedback_value_type=Literal[values],
        inference_params=DATA["request"],
        generate_rationale_first=DATA["reasons_first"],
    )


judges = [mlflow_judge_of(place) for place in range(len(QUESTIONS))]
"""Each takes a question as its inputs, which `judge_question` writes."""


def judge_question(place: int = 0, **texts: str) -> str:
    """A question about an item: ``instruction``, ``output_a`` and so on, as the judge asks it."""
    asked = messages_of(QUESTIONS[place], texts)
    return "\n\n".join(each["content"] for each in asked if each["role"] != "system")


@scorer(name=DATA["name"])
def judge_scorer(inputs: Any, outputs: Any, expectations: Any = None) -> list[Feedback]:
    """For `mlflow.genai.evaluate`: inputs and expectations have the item's texts, the output is the response."""
    texts = {**(expectations or {}), **(inputs if isinstance(inputs, dict) else {"instruction": inputs})}
    texts |= outputs if isinstance(outputs, dict) else {DATA["response"]: outputs}
    return [judge(inputs=judge_question(place, **texts)) for place, judge in enumerate(judges)]
