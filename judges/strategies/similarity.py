"""Closeness to the human-written reference in an encoder's space.

A judge among those that Lyu et al. (HREF, 2024) compare: the response that means more nearly what the person wrote.
"""

import math
from functools import partial

from judges.strategies.item_prompt import needed_reference
from judges.strategies.pairwise import pair
from judges.strategies.parsing import unparsed
from judges.strategies.types import Embed, ItemView, Match, Steps, StrategyConfig, Verdict, several

Vector = tuple[float, ...]


def embedding(item: ItemView, config: StrategyConfig) -> Steps:
    """Prefer the response whose vector has the higher cosine with the reference's; exactly equal is a tie.

    ``params["prefix"]`` is put before each text, for encoders that were trained with one. `scores` are the cosines,
    in [-1, 1].

    Raises
    ------
    MissingReferenceError
    """
    a, b = pair(item)
    reference_text = needed_reference(item, config)
    for name, text in (("A", a), ("B", b)):
        if not text.strip():
            return unparsed("", f"response {name} is empty")
    prefix = config.params.get("prefix", "")
    answers = several((yield tuple(Embed(prefix + text) for text in (a, b, reference_text))))
    vectors = [answer.vector or () for answer in answers]
    if problem := _problem(vectors):
        return unparsed("", problem)
    one, two, reference = vectors
    scores = cosine(one, reference), cosine(two, reference)
    choice = 0 if scores[0] == scores[1] else 1 if scores[0] > scores[1] else 2
    return Verdict(
        choice=choice, status="parsed", raw_text=f"cosines {scores[0]:.6f} and {scores[1]:.6f}", scores=scores
    )


def bertscore(item: ItemView, config: StrategyConfig) -> Steps:
    """Prefer the response whose tokens match the reference's better: the higher F1 of BERTScore; equal is a tie.

    Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020. `scores` are the F1s.
    ``params["layer"]`` is the encoder's layer, 0 for the one known to be best.

    Raises
    ------
    MissingReferenceError
    """
    outputs = pair(item)
    reference = needed_reference(item, config)
    for name, text in zip("AB", outputs, strict=True):
        if not text.strip():
            return unparsed("", f"response {name} is empty")
    ask = partial(Match, reference=reference, layer=int(config.params.get("layer", 0)))
    answers = several((yield tuple(ask(text) for text in outputs)))
    found = [answer.scores or () for answer in answers]
    if not all(len(scores) == 3 and all(map(math.isfinite, scores)) for scores in found):
        return unparsed("", "the backend gave no precision, recall and F1")
    (one, two), (first, second) = [scores[:2] for scores in found], [scores[2] for scores in found]
    return Verdict(
        choice=0 if first == second else 1 if first > second else 2,
        status="parsed",
        raw_text=(
            f"F1 {first:.6f} and {second:.6f}, precision {one[0]:.6f} and {two[0]:.6f}, "
            f"recall {one[1]:.6f} and {two[1]:.6f}"
        ),
        scores=(first, second),
    )


def cosine(a: Vector, b: Vector) -> float:
    """Return the cosine of two vectors of one dimension, neither of them zero; in [-1, 1].

    >>> cosine((1.0, 0.0), (1.0, 1.0))  # doctest: +ELLIPSIS
    0.70710...
    """
    # Scaled by the largest component first, so that no square overflows or vanishes.
    a, b = _scaled(a), _scaled(b)
    found = math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
    return max(-1.0, min(1.0, found))


def _scaled(vector: Vector) -> Vector:
    largest = max(map(abs, vector))
    return tuple(component / largest for component in vector)


def _problem(vectors: list[Vector]) -> str:
    if not all(vectors):
        return "the backend gave no vector"
    if len(set(map(len, vectors))) > 1:
        return f"vectors of different dimensions: {', '.join(str(len(vector)) for vector in vectors)}"
    if not all(math.isfinite(component) for vector in vectors for component in vector):
        return "a vector that is not finite"
    if not all(any(vector) for vector in vectors):
        return "a vector of zeros has no direction"
    return ""
