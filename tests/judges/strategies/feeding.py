"""Strategies fed with strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from judges.strategies.pairwise import in_order
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.thoughts import without_thought
from judges.strategies.types import (
    Answer,
    Chat,
    ItemView,
    Request,
    Sent,
    Steps,
    TokenLogprob,
    Verdict,
    Yielded,
)
from tests.judges.strategies.replay import advance

ITEM = ItemView(
    item_id=17,
    kind="pairwise",
    instruction="Name a prime.",
    responses=("Seven.", "Nine."),
    reference="For example 7.",
)
SWAPPED = in_order(ITEM, 1)
SHOTS = (
    {"instruction": "Say hi.", "output_a": "hi", "output_b": "no", "verdict": "A", "reason": "A greets."},
    {"instruction": "Say no.", "output_a": "hi", "output_b": "no", "verdict": "B", "context": "In French."},
)
WORDS: dict[str, dict[str, Any]] = {
    "fewshot": {"shots": SHOTS},
    "guidelines": {"guidelines": "Right beats wrong."},
}


def judge(strategy: str, **fields: Any) -> JudgeSpec:
    """Return a judge of that strategy, with the guidelines or examples that it cannot do without."""
    return JudgeSpec(strategy=strategy, backend="openai", model="m", **(WORDS.get(strategy, {}) | fields))


def said(text: str, **fields: Any) -> Answer:
    return Answer(text=text, **fields)


def told(text: str, **chances: float) -> Answer:
    """Return an answer of one token with these log-probabilities of it and its rivals."""
    top = tuple(chances.items())
    return Answer(text=text, logprobs=(TokenLogprob(text, dict(top)[text], top),))


def run(
    spec: JudgeSpec, item: ItemView, respond: Callable[[Request], Answer]
) -> tuple[Verdict, list[Request]]:
    """Run a judge to its verdict, and again by replay at each step; return the verdict and what it asked."""
    steps = build_strategy(spec)(item)
    history: list[Sent] = []
    asked: list[Request] = []
    state = advance(build_strategy(spec)(item), history)
    live: Yielded | Verdict = next(steps)
    while not isinstance(state, Verdict):
        assert state == live, "a replay asks what was asked live"
        requests = state if isinstance(state, tuple) else (state,)
        asked += requests
        answers = tuple(respond(request) for request in requests)
        sent: Sent = answers if isinstance(state, tuple) else answers[0]
        history.append(sent)
        state = advance(build_strategy(spec)(item), history)
        live = _next(steps, sent)
    assert state == live, "a replay ends as it ended live"
    return state, asked


def _next(steps: Steps, sent: Sent) -> Yielded | Verdict:
    try:
        return steps.send(sent)
    except StopIteration as stop:
        verdict: Verdict = stop.value
        return verdict


def feed(spec: JudgeSpec, *answers: Answer | str, item: ItemView = ITEM) -> Verdict:
    """Run a judge on answers in the order in which it asks, all of which it must take."""
    pending = [said(each) if isinstance(each, str) else each for each in answers]
    verdict, _ = run(spec, item, lambda _: pending.pop(0))
    assert not pending
    return verdict


def asks(spec: JudgeSpec, *answers: Sent | str, item: ItemView = ITEM) -> tuple[Chat, ...]:
    """Return what a judge asks after these answers."""
    state = advance(
        build_strategy(spec)(item), [said(each) if isinstance(each, str) else each for each in answers]
    )
    assert not isinstance(state, Verdict), state
    requests = state if isinstance(state, tuple) else (state,)
    assert all(isinstance(each, Chat) for each in requests)
    return requests  # type: ignore[return-value]


def text_of(request: Request) -> str:
    assert isinstance(request, Chat)
    return "\n".join(content for _, content in request.messages)


def canonical(verdict: Verdict, item: ItemView) -> Verdict:
    """Return a verdict in canonical order."""
    if item.order == 0:
        return verdict
    return replace(
        verdict,
        choice=3 - verdict.choice if verdict.choice else verdict.choice,
        scores=verdict.scores and verdict.scores[::-1],
        probability=None if verdict.probability is None else 1 - verdict.probability,
    )


def split_thought(text: str) -> tuple[str, str]:
    """What was thought and what was said, of an answer that is this text."""
    answer = without_thought(Answer(text))
    return answer.thought, answer.text
