"""Whether an item is in a cell of a judge's confusion with what is right, or counts in one of its rates.

As figures have it (`metaeval.figures.binary`): of a pair the right side is the one that more people prefer, ties aside;
a tie and what could not be read are wrong.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.domain.scales import Scales, are_mixed
from annotation.selectors.judging_labels import parts_of
from judges.selectors.item_filter import ItemFilter

Choices = tuple[int, int, int]
"""How many said tie, first and second."""
Verdicts = tuple[int, int, int, int]
"""The same of judgments, and how many could not be read."""


def pair_in_cell(
    filters: ItemFilter, labels: Choices | None, said: Verdicts | None, gold: int | None, majority: int | None
) -> bool:
    """Whether a pair is in it; an answer of 0 asks for a majority of ties, which has no side."""
    right = _side(labels) if filters.truth == "people" else gold
    if filters.answer == 0:
        right = majority if filters.truth == "people" else gold
    elif right == 0:
        right = None
    if said is None or right is None or filters.answer not in (None, right):
        return False
    return {
        "right": said[right] > 0,
        "wrong": sum(said) > said[right],
        "read": sum(said[:3]) > 0,
        "positive": said[1] > 0,
        "either": right == 1 or said[1] > 0,
    }.get(filters.verdict, True)


def _side(labels: Choices | None) -> int | None:
    """The response that more people prefer; None where as many prefer either."""
    if labels is None or labels[1] == labels[2]:
        return None
    return 1 if labels[1] > labels[2] else 2


def parts_in_cell(
    filters: ItemFilter,
    labels: Sequence[Mapping[str, Any]],
    said: Sequence[Mapping[str, Any] | None],
    gold: Mapping[str, Any] | None,
    scales: Scales,
) -> bool:
    """Whether a part of an item is in it."""
    sources = [gold] if filters.truth == "gold" and gold else labels if filters.truth == "people" else []
    votes: dict[str, list[bool]] = defaultdict(list)
    for source in sources:
        for key, side in _sides(filters, source, scales).items():
            votes[key].append(side)
    # A part on which people are divided has no right answer.
    right = {key: 2 * sum(sides) > len(sides) for key, sides in votes.items() if 2 * sum(sides) != len(sides)}
    for verdict in said:
        heard = {} if verdict is None else _sides(filters, verdict, scales)
        for key, is_yes in right.items():
            if filters.answer not in (None, 1 if is_yes else 2):
                continue
            says_yes = heard.get(key) is True
            if {
                "right": heard.get(key) == is_yes,
                "wrong": heard.get(key) != is_yes,
                "read": key in heard,
                "positive": says_yes,
                "either": is_yes or says_yes,
            }.get(filters.verdict, True):
                return True
    return False


def _sides(filters: ItemFilter, value: Mapping[str, Any], scales: Scales) -> dict[str, bool]:
    """Yes or no by part: an answer, or a rating by its mark, a `Scale.position` where scales are mixed."""
    mark, numbers = 1.0 if filters.mark is None else filters.mark, parts_of(filters.kind, value)
    if are_mixed(scales.values()):
        numbers = {key: scales[key].position(number) for key, number in numbers.items() if key in scales}
    return {key: number >= mark for key, number in numbers.items()}
