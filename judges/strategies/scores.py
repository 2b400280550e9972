"""Scores computed from answers: DRFR and TOWER of checklists, levels of aspect trees, expected ratings.

DRFR (decomposed requirements following ratio): Qin et al., "InFoBench: Evaluating Instruction Following Ability in
Large Language Models", Findings of ACL 2024, section 3. TOWER weights an aspect by 1 / its level in the aspect tree,
the root being level 1. An answer of null ("cannot tell") counts as not followed, as in InFoBench, whose score is the
share of aspects answered with yes among all of them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from judges.strategies.probabilities import label_chances
from judges.strategies.types import Answer, AspectView

Answers = Mapping[str, bool | None]
"""By the aspect's key: followed, not followed, cannot tell."""


class Share(NamedTuple):
    """How much of what an instruction asked for was followed.

    Attributes
    ----------
    followed : float
        Weight of the aspects answered with yes; their number when all count the same. From 0 to `total`.
    total : float
        Weight of all aspects, > 0 unless there are none.
    """

    followed: float
    total: float

    @property
    def score(self) -> float:
        """The share in [0, 1]; NaN, with a warning, of nothing."""
        return _ratio(self.followed, self.total)


def drfr_share(answers: Answers) -> Share:
    """Count the aspects followed, and all of them."""
    return Share(float(sum(answer is True for answer in answers.values())), float(len(answers)))


def drfr(answers: Answers) -> float:
    """Return the share of the aspects that were followed, in [0, 1]; NaN, with a warning, without any.

    >>> drfr({"a": True, "b": False, "c": None, "d": True})
    0.5
    """
    return drfr_share(answers).score


def levels(aspects: Sequence[AspectView]) -> dict[str, int]:
    """Return each aspect's level in the tree, the roots being at level 1.

    Raises
    ------
    ValueError
        A parent is not among the aspects, or they depend on one another in a circle.

    >>> levels([AspectView("poem", "It is a poem."), AspectView("lines", "It has four lines.", parent="poem")])
    {'poem': 1, 'lines': 2}
    """
    return levels_of({aspect.key: aspect.parent for aspect in aspects})


def levels_of(parents: Mapping[str, str]) -> dict[str, int]:
    """Return each node's level from the parents, which are empty for roots; raises ValueError as `levels` does.

    >>> levels_of({"a": "b", "b": "a"})
    Traceback (most recent call last):
    ...
    ValueError: cycle a -> b -> a
    """
    found: dict[str, int] = {}
    for start in parents:
        path: dict[str, None] = {}
        node = start
        while node and node not in found:
            if node not in parents:
                raise ValueError(f"unknown parent {node}")
            if node in path:
                names = list(path)
                raise ValueError(f"cycle {' -> '.join([*names[names.index(node) :], node])}")
            path[node] = None
            node = parents[node]
        level = found[node] if node else 0
        for name in reversed(path):
            level += 1
            found[name] = level
    return {name: found[name] for name in parents}


def weights_of(levels: Mapping[str, int]) -> dict[str, float]:
    """Return TOWER's weights: 1 / level.

    >>> weights_of({"poem": 1, "lines": 2})
    {'poem': 1.0, 'lines': 0.5}
    """
    return {key: 1.0 / level for key, level in levels.items()}


def has_tree(aspects: Sequence[AspectView]) -> bool:
    """Whether any aspect depends on another."""
    return any(aspect.parent for aspect in aspects)


def tower_share(answers: Answers, aspects: Sequence[AspectView]) -> Share:
    """Add up the weights of the aspects followed, and of all; without a tree all weigh 1.

    Raises
    ------
    ValueError
        The aspects are no tree.
    """
    weights = weights_of(levels(aspects))
    followed = math.fsum(weight for key, weight in weights.items() if answers.get(key) is True)
    return Share(followed, math.fsum(weights.values()))


def tower(answers: Answers, aspects: Sequence[AspectView]) -> float:
    """Return the weighted share of the aspects that were followed, in [0, 1]; NaN, with a warning, without any.

    >>> tree = [AspectView("poem", "It is a poem."), AspectView("lines", "It has four lines.", parent="poem")]
    >>> round(tower({"poem": True, "lines": False}, tree), 3)
    0.667
    """
    return tower_share(answers, aspects).score


def macro(shares: Iterable[Share]) -> float:
    """Return the mean of the instructions' scores: each instruction counts the same. NaN, with a warning, of none.

    >>> macro([Share(1, 1), Share(1, 3)])
    0.6666666666666666
    """
    scores = [share.score for share in shares]
    return _ratio(math.fsum(scores), len(scores))


def micro(shares: Iterable[Share]) -> float:
    """Return the pooled ratio: each aspect counts by its weight. NaN, with a warning, of none.

    >>> micro([Share(1, 1), Share(1, 3)])
    0.5
    """
    kept = list(shares)
    return _ratio(math.fsum(share.followed for share in kept), math.fsum(share.total for share in kept))


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


def _ratio(part: float, whole: float) -> float:
    if not whole:
        warnings.warn("the share of nothing is undefined", RuntimeWarning, stacklevel=3)
        return math.nan
    return part / whole
