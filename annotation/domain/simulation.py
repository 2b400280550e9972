"""Simulated annotators: a documented model of how a label comes about, for demonstrations and power studies.

For an item with margin `m` (how much better the first response is, -2 to 2) and log length ratio `l`, an annotator
sees `s = logit(accuracy) * m + length_bias * l`. A tie has probability `tie_rate * exp(-|s|)`; otherwise the first
response wins with probability `1 / (1 + exp(-s))`: the difference that decides is `s` plus logistic noise. How much
better a response is called follows from how large this difference is.

Of the other kinds an annotator knows the truth of an item and misses it part by part: a rating or an answer is the
true one with probability `accuracy`, else the next point or the opposite; a ranking is the true one with normal noise
of `2 (1 - accuracy)` ranks, rounded, so that near parts are tied. Where a study of categories asks for response sets,
each category that is right or reasonable is in the set with probability `accuracy`, and the chosen one always.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LOG_RATIO = 2.0
BETTER_FROM, MUCH_FROM = 1.0, 2.5
"""From which difference a response is better, and much better, in log-odds."""


@dataclass(frozen=True, slots=True)
class SimulatedAnnotator:
    """Parameters of one simulated person.

    Attributes
    ----------
    accuracy : chance of choosing the better of two equally long responses at margin 1, ties aside; in (0.5, 1).
    length_bias : log-odds in favour of a response that is twice as long.
    tie_rate : chance of a tie where no difference is seen; in [0, 1].
    seconds : median time on one item.
    seed : of this person's own random numbers, so that adding a person changes nobody else's labels.
    """

    name: str
    style: str
    accuracy: float
    length_bias: float
    tie_rate: float
    seconds: float
    seed: int


def choice_probabilities(
    person: SimulatedAnnotator, *, margin: float, length_1: int, length_2: int
) -> tuple[float, float, float]:
    """Return the probabilities of (tie, first better, second better); they add up to 1."""
    seen = _difference(person, margin, length_1, length_2)
    tie = person.tie_rate * math.exp(-abs(seen))
    first = (1 - tie) / (1 + math.exp(-seen))
    return tie, first, 1 - tie - first


def _difference(person: SimulatedAnnotator, margin: float, length_1: int, length_2: int) -> float:
    ratio = math.log2(max(length_1, 1) / max(length_2, 1))
    ratio = max(-MAX_LOG_RATIO, min(MAX_LOG_RATIO, ratio))
    return math.log(person.accuracy / (1 - person.accuracy)) * margin + person.length_bias * ratio


def draw_choice(
    person: SimulatedAnnotator, *, item_key: str, margin: float, length_1: int, length_2: int
) -> tuple[int, float]:
    """Return the choice (0 tie, 1 first, 2 second) and the seconds that it took; the same for the same arguments."""
    numbers = random.Random(f"{person.seed}/{item_key}")  # noqa: S311  (a simulation, not a secret)
    tie, first, _second = choice_probabilities(person, margin=margin, length_1=length_1, length_2=length_2)
    point = numbers.random()
    choice = 0 if point < tie else 1 if point < tie + first else 2
    return choice, person.seconds * math.exp(numbers.gauss(0.0, 0.5))


def draw_strength(
    person: SimulatedAnnotator,
    *,
    item_key: str,
    margin: float,
    length_1: int,
    length_2: int,
    choice: int,
    strengths: Sequence[str],
) -> str:
    """Return how much better the chosen response (1 or 2) is; random numbers apart from those of `draw_choice`.

    Parameters
    ----------
    strengths : the words that are offered, the weakest first: two or three.
    """
    numbers = random.Random(f"{person.seed}/{item_key}/strength")  # noqa: S311
    towards = _difference(person, margin, length_1, length_2) * (1 if choice == 1 else -1)
    # The noise, given that the difference has the sign of the choice: the logistic distribution above -towards.
    above = 1 / (1 + math.exp(-towards))
    tail = max(numbers.random() * above, 1e-12)
    size = towards + math.log((1 - tail) / tail)
    limits = (BETTER_FROM, MUCH_FROM)[-(len(strengths) - 1) :]
    return strengths[sum(size >= limit for limit in limits)]


def plan_labels(
    categories: Sequence[str], n_people: int, *, labels_per_item: int, open_items: int, seed: int
) -> list[list[int]]:
    """Say who labels what: for each item the indices of its annotators.

    Parameters
    ----------
    categories : the category of each item.
    n_people : number of annotators; at least `labels_per_item`.
    labels_per_item : different annotators for each item.
    open_items : so many items, spread over the categories, get one annotator fewer.

    Raises
    ------
    ValueError
        If there are fewer people than labels wanted per item, or more open items than items.
    """
    if n_people < labels_per_item:
        raise ValueError(f"{labels_per_item} labels per item need as many people; there are {n_people}")
    if open_items > len(categories):
        raise ValueError(f"{open_items} open items are more than the {len(categories)} items")
    numbers = random.Random(seed)  # noqa: S311
    one_fewer = set(_spread(categories, open_items, numbers))
    load = [0] * n_people
    plan = []
    for index in range(len(categories)):
        wanted = labels_per_item - (index in one_fewer)
        # The least busy first, chance among equals: even in number, mixed in company.
        people = sorted(range(n_people), key=lambda person: (load[person], numbers.random()))[:wanted]
        for person in people:
            load[person] += 1
        plan.append(people)
    return plan


def _spread(categories: Sequence[str], count: int, numbers: random.Random) -> list[int]:
    """Choose `count` indices, going round the categories."""
    by_category: dict[str, list[int]] = {}
    for index, category in enumerate(categories):
        by_category.setdefault(category, []).append(index)
    for indices in by_category.values():
        numbers.shuffle(indices)
    chosen: list[int] = []
    while len(chosen) < count:
        for indices in by_category.values():
            if indices and len(chosen) < count:
                chosen.append(indices.pop())
    return chosen
