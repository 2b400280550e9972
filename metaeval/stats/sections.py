"""Accuracy of a benchmark that is the mean of its sections, each a weighted mean of subsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from numpy.typing import ArrayLike

from metaeval.stats.accuracy import Orders, UnparsedVerdict, accuracy_contributions
from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import as_mapping, as_mask, as_verdicts
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling
from metaeval.stats.options import as_number
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples
from metaeval.stats.subset_totals import SubsetTotals

Sections = Mapping[str, Mapping[str, float]]
_NO_GOLD = "no item with a gold answer in one of the subsets"


@dataclass(frozen=True, slots=True)
class SectionRow(Result):
    """One section.

    Attributes
    ----------
    name : str
    accuracy : Estimate
        The mean of the accuracies of its subsets, weighted.
    n_subsets : int
        Subsets that there are items of.
    missing : tuple of str
        Subsets of the section that there is no item of. Where there are some, the figure is not the published one.
    """

    _named_by: ClassVar[str] = "name"

    name: str
    accuracy: Estimate
    n_subsets: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionAccuracy(Result):
    """What `section_accuracy` found, all on the same resamples.

    Attributes
    ----------
    overall : Estimate
        The unweighted mean of the sections; undefined where one has no items.
    rows : tuple of SectionRow
        In the order of the sections.
    """

    overall: Estimate
    rows: tuple[SectionRow, ...]

    def row(self, name: str) -> SectionRow:
        """The row of a section."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)


@aligned(apart=("sections",))
def section_accuracy(
    verdicts: ArrayLike,
    gold: ArrayLike,
    subsets: Sequence[str],
    *,
    sections: Sections,
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
    orders: Orders = "mean",
    **options: Unpack[Sampling],
) -> SectionAccuracy:
    """Accuracy of each section of a benchmark, and the mean of the sections.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        1, 2, 0 (tie, or equal ratings) or NaN (unparsed).
    gold : array_like of shape (n_items,)
        1 or 2, or 0 where the right answer is a tie; an item with NaN is not counted.
    subsets : sequence of str, length n_items
        The subset of each item.
    sections : mapping of str to mapping of str to float
        By the name of a section the weights of its subsets, above 0: ``preset("rewardbench")`` has RewardBench's. A
        subset without items is left out, and named by the row.
    hedge, unparsed, orders
        As in `accuracy`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    SectionAccuracy

    Raises
    ------
    InvalidInputError
        For a subset that no section has or two have, and a weight that is not above 0.

    References
    ----------
    N. Lambert et al., "RewardBench: Evaluating Reward Models for Language Modeling", Findings of NAACL 2025, section
    4; Y. Liu et al., "RM-Bench: Benchmarking Reward Models of Language Models with Subtlety and Style", ICLR 2025.

    Examples
    --------
    >>> sections = {"Chat": {"easy": 1, "hard": 3}, "Safety": {"refuse": 1}}
    >>> found = section_accuracy([1, 1, 2, 1], [1, 1, 1, 1], ["easy", "easy", "hard", "refuse"], sections=sections)
    >>> [(row.name, row.accuracy.value) for row in found.rows], found.overall.value     # (1 * 1 + 3 * 0) / 4
    ([('Chat', 0.25), ('Safety', 1.0)], 0.625)
    """
    weights = _read_sections(sections)
    judged = as_verdicts(verdicts)
    right = accuracy_contributions(judged, gold, hedge=hedge, unparsed=unparsed, orders=orders)
    distinct, codes = as_ids(subsets, "subsets", len(judged))
    names = [str(name) for name in distinct.tolist()]
    known = {name for section in weights.values() for name in section}
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise InvalidInputError(f"subsets: {strange!r} is in no section; sections name {sorted(known)}")
    mask = as_mask(options.get("where"), len(judged))
    there = {names[code] for code in (codes if mask is None else codes[mask]).tolist()}
    totals = SubsetTotals(right, codes, len(names), with_resamples(options, len(judged)))
    rows, groups, factors = [], [], []
    for section, weight in weights.items():
        held = [name for name in weight if name in there]
        whole = sum(weight[name] for name in held)
        places = [[names.index(name)] for name in held]
        shares = [weight[name] / whole for name in held]
        estimate = (
            totals.combination(places, shares, _NO_GOLD) if held else undefined(f"no item of {section}")
        )
        rows.append(SectionRow(section, estimate, len(held), tuple(n for n in weight if n not in there)))
        groups += places
        factors += [share / len(weights) for share in shares]
    empty = [row.name for row in rows if not row.n_subsets]
    if empty:
        return SectionAccuracy(undefined(f"no item of {', '.join(empty)}"), tuple(rows))
    return SectionAccuracy(totals.combination(groups, factors, _NO_GOLD), tuple(rows))


def _read_sections(sections: Any) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    seen: set[str] = set()
    for name, subsets in as_mapping(sections, "sections").items():
        weights = {
            str(subset): as_number(weight, f"sections: the weight of {subset!r}", 0)
            for subset, weight in as_mapping(subsets, f"sections: {name!r}").items()
        }
        twice = seen & weights.keys()
        if twice or not all(weights.values()) or not weights:
            what = f"{min(twice)!r} is in two sections" if twice else f"{name!r} needs weights above 0"
            raise InvalidInputError(f"sections: {what}")
        seen |= weights.keys()
        found[str(name)] = weights
    if not found:
        raise InvalidInputError("sections: expected one or more")
    return found
