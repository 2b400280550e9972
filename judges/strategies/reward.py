"""Reward and preference models: sequence classification instead of words.

`reward`: one output, a conversation's score (Bradley and Terry, 1952; Ouyang et al., "Training language models to
follow instructions with human feedback", 2022). `preference_classifier`: one text with both responses and one, two
or three outputs (PairRM in Jiang et al., "LLM-Blender", 2023, has one; classifiers with a class for ties three).
"""

import math
import re

from judges.strategies.conversations import answered, question
from judges.strategies.errors import StrategyError
from judges.strategies.pairwise import pair
from judges.strategies.parsing import unparsed
from judges.strategies.types import Classify, ItemView, Steps, StrategyConfig, Verdict, several, single

_PLACE = re.compile(r"\{(question|a|b)\}")


def reward(item: ItemView, config: StrategyConfig) -> Steps:  # noqa: ARG001 (a strategy takes both)
    """Prefer the response with the higher reward; exactly equal rewards are a hedge, stored as a tie.

    The model has one output. The probability is that of Bradley and Terry, sigmoid(reward of A - reward of B);
    `scores` are the rewards, on the model's own scale.
    """
    responses = pair(item)
    answers = several((yield tuple(Classify(answered(item, response)) for response in responses)))
    outputs = [answer.scores or () for answer in answers]
    text = f"rewards {' and '.join(map(_listed, outputs))}"
    for found in outputs:
        if len(found) != 1:
            return unparsed(text, f"expected one score, as of a reward model, found {len(found)}")
    a, b = outputs[0][0], outputs[1][0]
    if not (math.isfinite(a) and math.isfinite(b)):
        return unparsed(text, "a score that is not finite")
    choice = 0 if a == b else 1 if a > b else 2
    return Verdict(choice=choice, status="parsed", raw_text=text, scores=(a, b), probability=_sigmoid(a - b))


def preference_classifier(item: ItemView, config: StrategyConfig) -> Steps:
    """Prefer the response that a classifier of pairs prefers.

    ``params["text"]`` and ``params["text_pair"]`` are what it reads, with ``{question}``, ``{a}`` and ``{b}`` in their
    places; without the second it reads one text. ``params["classes"]`` names its outputs in their order.

    Two or three outputs are made probabilities by softmax. One output is the log-odds of the first class. The
    verdict's probability is that of A and half of that of a tie. A tie that is not allowed goes to the likelier of A
    and B; exactly equal is a hedge, stored as a tie.

    Raises
    ------
    StrategyError
        The settings leave a response out.
    """
    request = _pair_request(item, config)
    classes = tuple(config.params.get("classes", "A, B").split(", "))
    outputs = single((yield request)).scores or ()
    text = f"outputs {_listed(outputs)}"
    if len(outputs) == 1 and len(classes) == 2:
        outputs = (outputs[0], 0.0)
    if len(outputs) != len(classes):
        return unparsed(text, f"expected outputs for {', '.join(classes)}, found {len(outputs)}")
    if not all(map(math.isfinite, outputs)):
        return unparsed(text, "an output that is not finite")
    # The log-odds themselves decide, since far out two probabilities round to the same number.
    logits = dict(zip(classes, outputs, strict=True))
    chances = dict(zip(classes, softmax(outputs), strict=True))
    a, b, tie = logits["A"], logits["B"], logits.get("tie", -math.inf)
    choice = 0 if a == b or (config.allow_tie and tie > max(a, b)) else 1 if a > b else 2
    return Verdict(
        choice=choice,
        status="parsed",
        raw_text=text,
        probability=chances["A"] + chances.get("tie", 0.0) / 2,
        value={"tie_probability": chances["tie"]} if "tie" in chances else None,
    )


def softmax(logits: tuple[float, ...]) -> tuple[float, ...]:
    """Return probabilities that add up to 1.

    >>> softmax((0.0, 0.0))
    (0.5, 0.5)
    """
    largest = max(logits)
    weights = [math.exp(logit - largest) for logit in logits]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def _sigmoid(difference: float) -> float:
    # Of a large number the exponential would overflow, and the difference itself may have done so.
    weight = math.exp(-abs(difference))
    return 1 / (1 + weight) if difference >= 0 else weight / (1 + weight)


def _pair_request(item: ItemView, config: StrategyConfig) -> Classify:
    a, b = pair(item)
    values = {"question": question(item), "a": a, "b": b}
    forms = config.params.get("text", ""), config.params.get("text_pair", "")
    for name in ("a", "b"):
        if not any(f"{{{name}}}" in form for form in forms):
            raise StrategyError(f"The settings text and text_pair of '{config.name}' hold no {{{name}}}.")
    # In one pass, so that a response that holds "{b}" stays as it is.
    first, second = (_PLACE.sub(lambda match: values[match[1]], form) for form in forms)
    return Classify((), text=first, text_pair=second)


def _listed(outputs: tuple[float, ...]) -> str:
    return ", ".join(f"{output:g}" for output in outputs) or "none"
