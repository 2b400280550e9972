"""Scores computed from answers: DRFR and TOWER of a checklist, expected ratings.

What DRFR and TOWER are stands in `metaeval.stats.following`. An answer of null ("cannot tell") counts as not followed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from judges.strategies.errors import StrategyError
from judges.strategies.probabilities import label_chances
from judges.strategies.types import Answer, AspectView, ItemView
from metaeval.stats import InvalidInputError, aspect_levels, drfr, tower_score

Answers = Mapping[str, bool | None]
"""By the aspect's key: followed, not followed, cannot tell."""


def has_tree(aspects: Sequence[AspectView]) -> bool:
    """Whether any aspect depends on another."""
    return any(aspect.parent for aspect in aspects)


def checklist_scores(item: ItemView, answers: Answers, *, flat: bool = False) -> dict[str, float]:
    """DRFR of the answers, and TOWER where the item's aspects are a tree; with ``flat`` also where they are not.

    Raises
    ------
    StrategyError
        The aspects depend on one another in a circle, or on what is no aspect.
    """
    found = {"drfr": drfr(_followed(answers, list(answers)), [0] * len(answers), n_resamples=0).value}
    if flat or has_tree(item.aspects):
        try:
            levels = aspect_levels({aspect.key: aspect.parent for aspect in item.aspects})
        except InvalidInputError as error:
            why = str(error).removeprefix("parents: ")
            raise StrategyError(f"The aspects of item {item.item_id} are no tree: {why}.") from None
        keys = list(levels)
        found["tower"] = tower_score(
            _followed(answers, keys), [0] * len(keys), [levels[key] for key in keys], n_resamples=0
        ).value
    return found


def _followed(answers: Answers, keys: Sequence[str]) -> list[float]:
    return [float(answers.get(key) is True) for key in keys]


def expected_score(
    answer: Answer, values: Mapping[str, int], said: str, *, last: bool = False
) -> float | None:
    """Return the mean of the values under the model's probabilities at the token that says the rating.

    Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2. Labels that
    are not among the nearest rivals count as 0; the rest is normalised to 1.

    Parameters
    ----------
    values : mapping of str to int
        Each label and what it is worth.
    said : str
        The label that was read.
    last : bool
        The rating stands at the end of the text: the last token that says it, instead of the first.

    Returns
    -------
    float or None
        Between the lowest and the highest value; None without log-probabilities, or where no single token says it.
    """
    chances = label_chances(answer, list(values), said, last=last)
    return None if chances is None else math.fsum(values[label] * chance for label, chance in chances.items())
