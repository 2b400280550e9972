"""Items of the kinds other than pairwise, and how to feed their judges strings."""

from __future__ import annotations

import math
from typing import Any

from annotation.domain.scales import Scale
from annotation.kinds import ValueRules, validate_value
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, AspectView, Chat, CriterionView, ItemView, TokenLogprob, Verdict
from tests.judges.strategies.replay import advance

WORDS = ("Useless", "Poor", "Fair", "Good", "Very good: nothing is missing")
CRITERIA = tuple(
    CriterionView(key, f"How is its {key}?", Scale(words=tuple(enumerate(WORDS, start=1))))
    for key in ("helpfulness", "completeness")
)
ASPECTS = (
    AspectView("poem", "It is a poem."),
    AspectView("lines", "It has four lines.", parent="poem"),
    AspectView("rhyme", "Does it rhyme?", parent="lines"),
)
FLAT = tuple(AspectView(each.key, each.text) for each in ASPECTS)
RUBRIC = ItemView(7, "rubric", "Write a poem.", ("Roses.",), reference="A rose.", criteria=CRITERIA)
CHECKLIST = ItemView(8, "checklist", "Write a poem.", ("Roses.",), reference="A rose.", aspects=ASPECTS)
IMPORTANCE = ItemView(9, "importance", "Write a poem.", (), aspects=FLAT, external_id="poem")
RANKING = ItemView(
    10, "answer_ranking", "Why is bread dense?", ("Yeast.", "Time.", "Water."), external_id="bread"
)
CATEGORIES = (
    AspectView("sport", "Games, athletes and their results."),
    AspectView("money", "Prices, wages and markets."),
    AspectView("weather", "weather"),
)
CLASSIFICATION = ItemView(
    11, "classification", "Bread has higher prices in all markets.", (), aspects=CATEGORIES
)
ITEMS = {
    "rubric": RUBRIC,
    "checklist": CHECKLIST,
    "importance": IMPORTANCE,
    "answer_ranking": RANKING,
    "classification": CLASSIFICATION,
}


def start(strategy: str, item: ItemView, **fields: Any):
    return build_strategy(JudgeSpec(strategy=strategy, backend="openai", model="m", **fields))(item)


def asked(strategy: str, item: ItemView, *sent: Any, **fields: Any) -> Any:
    """What it asks after these answers: a request, or a tuple of them."""
    return advance(start(strategy, item, **fields), [fed(each) for each in sent])


def judged(strategy: str, item: ItemView, *sent: Any, **fields: Any) -> Verdict:
    """The verdict after these answers; a list of texts answers a tuple of requests."""
    verdict = asked(strategy, item, *sent, **fields)
    assert isinstance(verdict, Verdict)
    return verdict


def fed(sent: Any) -> Any:
    if isinstance(sent, list | tuple):
        return tuple(fed(each) for each in sent)
    return Answer(text=sent) if isinstance(sent, str) else sent


def text_of(request: Chat) -> str:
    return "\n".join(content for _, content in request.messages)


def is_label(verdict: Verdict, item: ItemView, field: str) -> bool:
    """Whether what a verdict says is a value that a person could have given."""
    rules = ValueRules(
        kind=item.kind,
        criteria=tuple(each.key for each in item.criteria),
        aspects=tuple(each.key for each in item.aspects),
        n_responses=len(item.responses),
        several=item.several,
    )
    said = {field: (verdict.value or {})[field]}
    canonical = validate_value(said, rules)
    return canonical == said and list(canonical[field]) == list(said[field])


def with_chances(text: str, chances: dict[str, float]) -> Answer:
    top = tuple((token, math.log(chance)) for token, chance in chances.items())
    return Answer(text=text, logprobs=(TokenLogprob(text, dict(top)[text], top),))
