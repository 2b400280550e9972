"""Judges without a model: the floor that a real judge must beat.

They yield no request and return their verdict at once. "Longest" is the baseline of AlpacaEval (Li et al.,
2023); ROUGE-L is Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
"""

from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256

from judges.strategies.overlap import ngram_f, rouge_l_f, tokens
from judges.strategies.pairwise import choice_presented, pair
from judges.strategies.parsing import unparsed
from judges.strategies.types import ItemView, Steps, Strategy, StrategyConfig, Verdict


def immediate(decide: Callable[[ItemView, StrategyConfig], Verdict]) -> Strategy:
    """Make a strategy that asks nothing from a function that returns the verdict."""

    def steps(item: ItemView, config: StrategyConfig) -> Steps:
        yield from ()
        return decide(item, config)

    steps.__name__ = decide.__name__
    steps.__doc__ = decide.__doc__
    return steps


@immediate
def longest(item: ItemView, config: StrategyConfig) -> Verdict:  # noqa: ARG001
    """Prefer the response with more characters; equal lengths go to the second in canonical order.

    So it is published for AlpacaEval's judge of that name. In order 1 the canonical second is shown as A.
    """
    a, b = pair(item)
    return _larger(len(a), len(b), item.order)


@immediate
def shortest(item: ItemView, config: StrategyConfig) -> Verdict:  # noqa: ARG001
    """Prefer the response with fewer characters; equal lengths go to the second in canonical order."""
    a, b = pair(item)
    return _larger(-len(a), -len(b), item.order)


@immediate
def always_a(item: ItemView, config: StrategyConfig) -> Verdict:  # noqa: ARG001
    """Prefer what is shown first, so that the canonical verdict flips with the order."""
    pair(item)
    return _parsed(1)


@immediate
def random(item: ItemView, config: StrategyConfig) -> Verdict:
    """Choose by a hash of the seed and the item, the same on every machine and in every run.

    ``params["seed"]`` is an integer. The same response is chosen in both orders, unless
    ``params["per_order"]`` is set: then each order is a choice of its own.
    """
    pair(item)
    name = item.external_id or str(item.item_id)
    key = f"{config.params.get('seed', 0)}\x00{name}"
    if config.params.get("per_order"):
        key += f"\x00{item.order}"
    canonical = 1 + sha256(key.encode("utf-8", "surrogatepass")).digest()[0] % 2
    return _parsed(choice_presented(canonical, item.order))


@immediate
def rouge_l(item: ItemView, config: StrategyConfig) -> Verdict:  # noqa: ARG001
    """Prefer the response with the higher ROUGE-L F-measure against the reference; equal is a tie."""
    return _by_overlap(item, rouge_l_f)


@immediate
def ngram(item: ItemView, config: StrategyConfig) -> Verdict:  # noqa: ARG001
    """Prefer the response with the higher mean F-measure of shared words and word pairs; equal is a tie."""
    return _by_overlap(item, ngram_f)


def _by_overlap(item: ItemView, measure: Callable[[list[str], list[str]], Fraction]) -> Verdict:
    a, b = pair(item)
    if item.reference is None or not item.reference.strip():
        return unparsed("", "the item has no reference")
    words = tokens(item.reference)
    if not words:
        return unparsed("", "the reference has no words in a-z or 0-9")
    # Exact fractions: two equal overlaps must compare equal, however they were computed.
    score_a, score_b = measure(tokens(a), words), measure(tokens(b), words)
    choice = 0 if score_a == score_b else 1 if score_a > score_b else 2
    return Verdict(choice=choice, status="parsed", scores=(float(score_a), float(score_b)))


def _larger(a: int, b: int, order: int) -> Verdict:
    choice = choice_presented(2, order) if a == b else 1 if a > b else 2
    return Verdict(choice=choice, status="parsed", scores=(float(a), float(b)))


def _parsed(choice: int) -> Verdict:
    return Verdict(choice=choice, status="parsed")
