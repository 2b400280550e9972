"""Which row of LLMBar's tables a judge is: by the authors' names of evaluators, or by our strategies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from metaeval.figures.pairwise import PairJudge
from metaeval.inputs import JudgeAnswers

Design = Literal["verdict", "rating", "shots", "preference", "other"]

# In the order of the paper's rows; a star says that the three rules stand before the question.
METHODS = (
    "Vanilla",
    "CoT",
    "Swap",
    "Swap+CoT",
    "ChatEval",
    "Metrics",
    "Reference",
    "Metrics+Reference",
)
# What the authors' folders call them; there "NoRules" has no rules, and all else has.
_PUBLISHED = {
    "vanilla": "Vanilla",
    "cot": "CoT",
    "swap": "Swap",
    "swapcot": "Swap+CoT",
    "chateval": "ChatEval",
    "metrics": "Metrics",
    "reference": "Reference",
    "metricsreference": "Metrics+Reference",
}
# Our strategies; `rules` is a setting of theirs.
_OURS = {
    "vanilla": "Vanilla",
    "rules": "Vanilla",
    "cot": "CoT",
    "swap": "Swap",
    "swap_cot": "Swap+CoT",
    "debate": "ChatEval",
    "metrics": "Metrics",
    "reference_self": "Reference",
    "metrics_reference": "Metrics+Reference",
}
# Those that score an output alone stand first, as in the paper, and its own in its order.
_PREFERENCE = ("reward", "preference_classifier")
_REWARD_MODELS = ("reward-model-sim", "reward-model-human")
_SHOT = re.compile(r"(\d+)shot$")
_LLMBAR_NAME = re.compile(r"LLMBar (?P<model>[^/]+)/(?P<evaluator>.+)")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluator:
    """A judge as a row of the paper.

    Attributes
    ----------
    judge : PairJudge
    model : str
        Whose table it stands in.
    design : {"verdict", "rating", "shots", "preference", "other"}
        A prompt for a verdict, ratings of single outputs, worked examples, a reward model, or none that the paper has.
    method : str
        "Vanilla*"; of what the paper has not, the judge's name.
    rank : tuple
        Its place among the rows.
    """

    judge: PairJudge
    model: str
    design: Design
    method: str
    rank: tuple[int, int, str]


def evaluator_of(judge: PairJudge, specification: Mapping[str, Any]) -> Evaluator:
    """Which row of the paper a judge is."""
    answers = judge.judge
    model = answers.model or "no model named"
    if answers.strategy in _PREFERENCE:
        return Evaluator(judge, model, "preference", answers.name, _preference_rank(answers))
    found = _published(answers.strategy) if answers.backend == "imported" else None
    if found is None and answers.strategy == "published":
        named = _LLMBAR_NAME.fullmatch(answers.name)
        found = _published(named["evaluator"]) if named else None
    if found is None:
        found = _ours(answers.strategy, specification)
    if found is None:
        return Evaluator(judge, model, "other", answers.name, (len(METHODS), 0, answers.name))
    design, method, rules, shots = found
    star = "*" if rules else ""
    words = f"{method}{star}" if design != "shots" else f"{method}{star}, {shots} shot{'s' * (shots != 1)}"
    read = bool(specification.get("use_reference"))
    words += ", with reference" * read
    place = (METHODS.index(method), shots * 4 + 2 * read + rules, answers.name)
    return Evaluator(judge, model, design, words, place)


def _preference_rank(answers: JudgeAnswers) -> tuple[int, int, str]:
    known = answers.name in _REWARD_MODELS
    place = _REWARD_MODELS.index(answers.name) if known else len(_REWARD_MODELS)
    return _PREFERENCE.index(answers.strategy), place, answers.name


def _published(evaluator: str) -> tuple[Design, str, bool, int] | None:
    """An evaluator of the authors' repository: "Vanilla_NoRules", "Rating_Metrics", "Vanilla_2shot"."""
    flat = re.sub("[^a-z0-9]", "", evaluator.lower())
    rules = not flat.endswith("norules")
    flat = flat.removesuffix("norules")
    design: Design = "verdict"
    shots = 0
    if flat.startswith("rating"):
        design, flat = "rating", flat.removeprefix("rating") or "vanilla"
    if (worked := _SHOT.search(flat)) is not None:
        design, shots, flat = "shots", int(worked[1]), flat[: worked.start()]
    method = _PUBLISHED.get(flat)
    return None if method is None else (design, method, rules, shots)


def _ours(strategy: str, specification: Mapping[str, Any]) -> tuple[Design, str, bool, int] | None:
    settings = specification.get("params") or {}
    rules = bool(settings.get("rules")) or strategy == "rules"
    if strategy == "rating":
        return "rating", "CoT" if settings.get("cot") else "Vanilla", rules, 0
    if strategy == "fewshot":
        return (
            "shots",
            "CoT" if settings.get("cot") else "Vanilla",
            rules,
            len(specification.get("shots") or ()),
        )
    method = _OURS.get(strategy)
    return None if method is None else ("verdict", method, rules, 0)
