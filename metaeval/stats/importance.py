"""Agreement on which aspects of an instruction matter most: of two people, or of a method and people (TOWER)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_floats, as_list, as_mapping, as_mask, check_option
from metaeval.stats.correlation import mean_of_known
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import is_missing
from metaeval.stats.intervals import Sampling, finish, item_weights, mean_estimate, resolve, why_none
from metaeval.stats.rankings import rank_pairs
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples

Scale: TypeAlias = Literal["ranks", "weights"]
Preset: TypeAlias = Literal["tower"]
Rankings: TypeAlias = Sequence[ArrayLike | None]

_NO_RHO = "no instruction has a rho: on each of them a side is constant, or it has one aspect"


@dataclass(frozen=True, slots=True)
class ImportanceAgreement(Estimate):
    """Mean rho over instructions; ``n`` counts the instructions that have one.

    Attributes
    ----------
    n_undefined : int
        Instructions that both ordered and that have no rho: a side is constant, or there is one aspect.
    n_missing : int
        Instructions that one of the two did not order.
    share_two : float
        Of the instructions with a rho, the share that has two aspects, where it can only be -1 or 1.
    rhos : ndarray of float, shape (n_instructions,)
        NaN where there is none.
    """

    n_undefined: int = 0
    n_missing: int = 0
    share_two: float = float("nan")
    rhos: Floats = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, with what was left out and the share of instructions with two aspects."""
        share = None if np.isnan(self.share_two) else self.share_two
        counts = {"n_undefined": self.n_undefined, "n_missing": self.n_missing, "share_two": share}
        return {**Estimate.as_dict(self), **counts}


@dataclass(frozen=True, slots=True)
class ImportanceTable(Result):
    """Agreement of methods with people, and of people with each other (TOWER, Table 1).

    Attributes
    ----------
    cells : mapping of (method, annotator) to ImportanceAgreement
    pairs : mapping of (annotator, annotator) to ImportanceAgreement
    methods : mapping of str to Estimate
        Mean over annotators of a method's cells.
    annotators : mapping of str to Estimate
        Mean over the others of a person's pairs.
    people : Estimate
        Mean over all pairs of people.
    """

    cells: Mapping[tuple[str, str], ImportanceAgreement]
    pairs: Mapping[tuple[str, str], ImportanceAgreement]
    methods: Mapping[str, Estimate]
    annotators: Mapping[str, Estimate]
    people: Estimate | None


@aligned(parts=("first", "second"))
def importance_agreement(
    first: Rankings,
    second: Rankings,
    *,
    preset: Preset | None = None,
    first_is: Scale = "ranks",
    second_is: Scale = "ranks",
    **options: Unpack[Sampling],
) -> ImportanceAgreement:
    """Spearman's rho of two orders of importance, per instruction, and its mean over instructions.

    Parameters
    ----------
    first, second : sequence of array_like of shape (n_aspects,)
        One number for each aspect of each instruction, the number of aspects being the instruction's own; None for an
        instruction that was not ordered.
    preset : {None, "tower"}
        None: Spearman's rho with average ranks for ties; undefined where a side is constant. ``"tower"``: the formula
        printed in the paper, ``1 - 6 sum d^2 / (n (n^2 - 1))``, of ranks without ties: equal aspects rank in the
        order in which they are stated. Constant weights then have a rho, which depends on that order.
    first_is, second_is : {"ranks", "weights"}
        Whether a lower number means more important (a rank) or a higher one (a weight, a score).
    **options
        See `metaeval.stats.intervals.Sampling`; the items are the instructions.

    Returns
    -------
    ImportanceAgreement
        In [-1, 1]; NaN where no instruction has a rho.

    References
    ----------
    N. Ziems, Z. Zhang and M. Jiang, "TOWER: Tree Organized Weighting for Evaluating Complex Instructions", Findings of
    EMNLP 2024, Table 1.

    Examples
    --------
    >>> found = importance_agreement([[1, 2, 3], [1, 1], [1, 2]], [[1, 3, 2], [1, 2], [1, 2]], n_resamples=0)
    >>> found.value, found.n, found.n_undefined, found.share_two
    (0.75, 2, 1, 0.5)
    """
    _check(preset, first_is, second_is)
    rhos, sizes = _rhos(_ordered(first, first_is, "first"), _ordered(second, second_is, "second"), preset)
    return _agreement(rhos, sizes, options)


@aligned(parts=("people", "methods"))
def importance_agreement_by_annotator(
    people: Mapping[str, Rankings],
    methods: Mapping[str, Rankings] | None = None,
    *,
    preset: Preset | None = None,
    people_are: Scale = "ranks",
    methods_are: Scale = "weights",
    **options: Unpack[Sampling],
) -> ImportanceTable:
    """`importance_agreement` of each method with each person, of people with each other, and their means.

    Parameters
    ----------
    people, methods : mapping of str to sequence of array_like of shape (n_aspects,) or None
        The orders of importance of each annotator and of each method, instruction by instruction.
    preset, people_are, methods_are
        See `importance_agreement`; a method's weights (one over the level in the tree, a score) are higher for what
        matters more.
    **options
        See `metaeval.stats.intervals.Sampling`. All cells are computed on the same resamples of instructions; the
        annotators are held fixed.

    Returns
    -------
    ImportanceTable
        ``people`` is None with a single annotator.

    Raises
    ------
    InvalidInputError
        Without an annotator.

    References
    ----------
    As of `importance_agreement`.

    Examples
    --------
    >>> people = {"A": [[1, 2, 3], [1, 2]], "B": [[1, 3, 2], [1, 2]]}
    >>> found = importance_agreement_by_annotator(people, {"tree": [[1, 0.5, 0.5], [1, 0.5]]}, n_resamples=100)
    >>> round(found.methods["tree"].value, 4), round(found.people.value, 4)
    (0.933, 0.75)
    """
    _check(preset, people_are, methods_are)
    people = as_mapping(people, "people")
    if not people:
        raise InvalidInputError("people: expected one annotator or more")
    orders = {name: _ordered(ranks, people_are, f"people[{name!r}]") for name, ranks in people.items()}
    others = {
        name: _ordered(ranks, methods_are, f"methods[{name!r}]")
        for name, ranks in ({} if methods is None else as_mapping(methods, "methods")).items()
    }
    shared = with_resamples(options, len(next(iter(orders.values()))))

    def compare(one: list[Floats | None], other: list[Floats | None]) -> ImportanceAgreement:
        return _agreement(*_rhos(one, other, preset), shared)

    cells = {
        (method, person): compare(mine, theirs)
        for method, mine in others.items()
        for person, theirs in orders.items()
    }
    pairs = {(one, other): compare(orders[one], orders[other]) for one, other in combinations(orders, 2)}
    return ImportanceTable(
        cells,
        pairs,
        {name: _mean([cells[name, person] for person in orders], shared) for name in others},
        {
            name: _mean([each for key, each in pairs.items() if name in key], shared)
            for name in orders
            if len(orders) > 1
        },
        _mean(list(pairs.values()), shared) if pairs else None,
    )


def _check(preset: str | None, *scales: str) -> None:
    if preset is not None:
        check_option(preset, ("tower",), "preset")
    for scale in scales:
        check_option(scale, ("ranks", "weights"), "first_is, second_is, people_are or methods_are")


def _ordered(rankings: Rankings, scale: Scale, name: str) -> list[Floats | None]:
    """Numbers of which the lower means more important."""
    found: list[Floats | None] = []
    for place, ranks in enumerate(as_list(rankings, name)):
        if is_missing(ranks):
            found.append(None)
            continue
        array = as_floats(ranks, f"{name}[{place}]")
        if array.ndim != 1 or np.isnan(array).any():
            raise InvalidInputError(
                f"{name}[{place}]: expected one number an aspect, or None for no order at all"
            )
        found.append(array if scale == "ranks" else -array)
    return found


def _rhos(
    first: list[Floats | None], second: list[Floats | None], preset: Preset | None
) -> tuple[Floats, Integers]:
    """(rho, number of aspects) of each instruction; -1 aspects where one of the two did not order it."""
    if len(first) != len(second):
        raise InvalidInputError(f"second: expected {len(first)} instructions, got {len(second)}")
    rhos, sizes = np.full(len(first), np.nan), np.full(len(first), -1, dtype=np.intp)
    both: list[Floats] = []
    places: list[int] = []
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        if one is None or other is None:
            continue
        if one.shape != other.shape:
            raise InvalidInputError(f"second[{place}]: expected {len(one)} aspects, got {len(other)}")
        sizes[place] = len(one)
        both.append(np.stack([one, other]))
        places.append(place)
    if preset == "tower":
        for place, orders in zip(places, both, strict=True):
            rhos[place] = _printed_formula(orders)
    else:
        pairs = rank_pairs(both)
        rhos[np.array(places, dtype=np.intp)[pairs.item]] = pairs.rho
    return rhos, sizes


def _printed_formula(orders: Floats) -> float:
    size = orders.shape[1]
    if size < 2:
        return float("nan")
    ranks = np.argsort(np.argsort(orders, axis=1, kind="stable"), axis=1)
    distance = float(((ranks[0] - ranks[1]) ** 2).sum())
    return 1 - 6 * distance / float(size * (size**2 - 1))


def _agreement(rhos: Floats, sizes: Integers, options: Sampling) -> ImportanceAgreement:
    found = mean_estimate(rhos, bounds=(-1.0, 1.0), reason=_NO_RHO, **options)
    mask = as_mask(options.get("where"), len(rhos))
    counted = np.ones(len(rhos), dtype=np.bool_) if mask is None else mask
    known = counted & ~np.isnan(rhos)
    plain = {each.name: getattr(found, each.name) for each in fields(Estimate)}
    return ImportanceAgreement(
        **plain,
        n_undefined=int((counted & np.isnan(rhos) & (sizes >= 0)).sum()),
        n_missing=int((counted & (sizes < 0)).sum()),
        share_two=float((sizes[known] == 2).mean()) if known.any() else float("nan"),
        rhos=rhos,
    )


def _mean(cells: Sequence[ImportanceAgreement], options: Sampling) -> Estimate:
    """Unweighted mean of cells that are defined, on the same resamples."""
    cells = [each for each in cells if each.defined]
    if not cells:
        return undefined(why_none(_NO_RHO, options.get("weights")))
    rhos = np.stack([each.rhos for each in cells], axis=1)
    resamples, mask, confidence = resolve(len(rhos), options, weighted=True)
    weights = item_weights(len(rhos), options)
    weights = np.ones(len(rhos)) if weights is None else weights
    if mask is not None:
        weights = np.where(mask, weights, 0.0)
    known = np.where(np.isnan(rhos), 0.0, weights[:, np.newaxis])
    columns = np.concatenate([known * np.nan_to_num(rhos), known], axis=1)
    totals = resamples.totals(columns) if resamples.n_resamples else columns[:0]
    tops, bottoms = np.split(totals, 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = mean_of_known((tops / bottoms).T)
    value = float(np.mean([each.value for each in cells]))
    return finish(value, resampled, np.asarray(known.any(axis=1)), resamples, confidence, (-1.0, 1.0))
