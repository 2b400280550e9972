"""One judge several times over: independent samples of its whole strategy, whose votes decide.

Self-consistency: Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR 2023.
Means of many samples in place of token probabilities: G-Eval (Liu et al., EMNLP 2023).
"""

import math
from collections.abc import Callable
from dataclasses import replace

from judges.strategies.combining import combine
from judges.strategies.composed import together
from judges.strategies.presentation import is_presented
from judges.strategies.types import Chat, ItemView, Request, Sent, Steps, Verdict, Yielded


def sampled(item: ItemView, begin: Callable[[ItemView], Steps], *, n: int, allow_tie: bool) -> Steps:
    """Run a strategy n times side by side, each time as another sample, and return one verdict.

    Of pairs the most frequent choice, with the share of votes for A, and half of those for a tie, as its probability;
    of scored pairs the comparison of the mean scores; of other kinds as a jury combines them. ``value["votes"]`` has
    what each sample said, in canonical order.
    """
    first = item.sample * n
    verdicts = yield from together({str(k): _of_sample(item, begin, first + k) for k in range(n)})
    combined = combine(
        item, verdicts, {"on_draw": "tie" if allow_tie or not is_presented(item.kind) else "unparsed"}
    )
    read = [verdict for verdict in verdicts.values() if verdict.status == "parsed"]
    if read and all(verdict.scores is not None for verdict in read):
        return _by_scores(read, combined)
    return combined


def _by_scores(read: list[Verdict], combined: Verdict) -> Verdict:
    pairs = [verdict.scores for verdict in read if verdict.scores is not None]
    a, b = (math.fsum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
    choice = 0 if a == b else 1 if a > b else 2
    value = dict(combined.value or {}) | ({"hedge": True} if a == b else {})
    return replace(combined, choice=choice, status="parsed", reason="", scores=(a, b), value=value)


def _of_sample(item: ItemView, begin: Callable[[ItemView], Steps], sample: int) -> Steps:
    """Run a strategy whose requests are those of a sample."""
    steps = begin(replace(item, sample=sample))
    try:
        asked = next(steps)
        while True:
            sent: Sent = yield _numbered(asked, sample)
            asked = steps.send(sent)
    except StopIteration as stop:
        verdict: Verdict = stop.value
        return verdict


def _numbered(asked: Yielded, sample: int) -> Yielded:
    return tuple(_one(each, sample) for each in asked) if isinstance(asked, tuple) else _one(asked, sample)


def _one(request: Request, sample: int) -> Request:
    # A member that samples by itself has numbered its own.
    return replace(request, sample=sample) if isinstance(request, Chat) and not request.sample else request
