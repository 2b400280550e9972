"""The groups of items that every figure is broken down by, and the unweighted means over subsets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.inputs import Booleans, Floats, Items

AVERAGE = "average"
# No prefix of a subset's path begins with a slash.
CATEGORIES = "/categories"
GAP = "adversarial_gap"
ADVERSARIAL = "adversarial"
"""How the path of a subset begins that was made to mislead judges, in any case."""


@dataclass(frozen=True, slots=True)
class Group:
    """Items that are looked at together. ``kind`` is "overall", "category" or "subset"."""

    kind: str
    name: str
    members: Booleans


@dataclass(frozen=True, slots=True)
class Combination:
    """A weighted sum of the groups' figures: an unweighted mean of subsets, or a difference of two such means."""

    kind: str
    name: str
    weights: Floats
    is_difference: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Groups in the order of the columns, and the combinations of them."""

    groups: tuple[Group, ...]
    combinations: tuple[Combination, ...]


def prefixes(path: str) -> list[str]:
    """Every prefix of a subset path, the path included.

    >>> prefixes("Adversarial/Neighbor")
    ['Adversarial', 'Adversarial/Neighbor']
    """
    parts = [part for part in path.split("/") if part]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def layout_of(items: Items, *, category_means: bool = False) -> Layout:
    """Groups of the items: all, each category, each prefix of each subset path; and the means over subsets.

    With ``category_means`` also the mean over categories: the scenarios of HELM Instruct.
    """
    groups = [Group("overall", "", np.ones(len(items), dtype=np.bool_))]
    categories = np.asarray(items.category, dtype=object)
    groups += [Group("category", name, categories == name) for name in _distinct(items.category)]
    above = [prefixes(path) for path in items.subset]
    groups += [
        Group("subset", name, np.array([name in paths for paths in above], dtype=np.bool_))
        for name in dict.fromkeys(prefix for paths in above for prefix in paths)
    ]
    leaves = ["/".join(part for part in path.split("/") if part) for path in _distinct(items.subset)]
    combinations = _combinations(groups, leaves)
    if category_means:
        weights = np.array([float(group.kind == "category") for group in groups])
        if weights.sum() > 1:
            combinations.append(Combination("macro", CATEGORIES, weights / weights.sum()))
    return Layout(tuple(groups), tuple(combinations))


def _combinations(groups: Sequence[Group], leaves: Sequence[str]) -> list[Combination]:
    found: list[Combination] = []

    def mean_of(names: Sequence[str]) -> Floats:
        wanted = {("subset", name) for name in names}
        weights = np.array([float((group.kind, group.name) in wanted) for group in groups])
        share: Floats = weights / weights.sum()
        return share

    if len(leaves) > 1:
        found.append(Combination("macro", AVERAGE, mean_of(leaves)))
    for group in groups:
        under = [leaf for leaf in leaves if leaf == group.name or leaf.startswith(f"{group.name}/")]
        if group.kind == "subset" and len(under) > 1:
            found.append(Combination("macro", group.name, mean_of(under)))
    hard = [leaf for leaf in leaves if is_adversarial(leaf)]
    plain = [leaf for leaf in leaves if not is_adversarial(leaf)]
    if hard and plain:
        found.append(Combination("gap", GAP, mean_of(plain) - mean_of(hard), is_difference=True))
    return found


def is_adversarial(path: str) -> bool:
    """Whether a subset is one that was made to mislead judges, by the first name of its path."""
    return path.partition("/")[0].casefold().startswith(ADVERSARIAL)


def _distinct(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.strip("/ ")]
