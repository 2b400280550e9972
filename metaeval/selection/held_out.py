"""What a way of choosing is worth on instructions that it has not seen: nested cross-validation.

The instructions are dealt into folds. For each fold the whole procedure runs on the others (constraints, the best
judge, a judge for each category, and whether the latter is worth it, which takes a cross-validation over the
remaining folds), and what it arrives at is scored on the fold. Everything is a function of sums over folds, so a
repeat costs one pass over the items.
"""

from dataclasses import dataclass

import numpy as np

from metaeval.progress import told
from metaeval.selection.evidence import Requirements
from metaeval.selection.objective import Objective
from metaeval.selection.table import ItemTable
from metaeval.selection.types import Booleans, Floats
from metaeval.stats.arrays import Integers

MIN_CLUSTERS = 10
"""Instructions that a category must have in the data a composite is chosen on; with fewer it asks the best judge."""

# Sums of the same numbers in another order are the same sum.
_DECIMALS = 10


@dataclass(frozen=True, slots=True, eq=False)
class ChosenJudges:
    """What the procedure chose: places of judges, -1 for none.

    Attributes
    ----------
    single : ndarray of int, shape (...)
        The best judge that may be chosen.
    parts : ndarray of int, shape (..., n_categories)
        The judge for each category.
    """

    single: Integers
    parts: Integers


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Scores of each item when it was held out, means over the repeats; NaN where nothing could be chosen.

    Attributes
    ----------
    procedure, single, composite : ndarray of shape (n_items,)
        Of what the procedure arrived at, of the best judge, and of the composite.
    by_repeat : ndarray of shape (n_repeats, n_items)
        Of the procedure in each repeat.
    n_folds : int
    nothing_chosen : int
        In how many training parts no judge satisfied the constraints.
    composite_used : float
        In what share of the training parts the procedure preferred the composite.
    variance, composite_variance, gain_variance : float
        Squared standard errors of the objective of ``procedure``, of ``composite``, and of ``composite`` minus
        ``single``, the unsteadiness of the choice included.
    judges : ndarray of int, shape (n_items,)
        In the first repeat, the judge that the procedure would have asked about each item when it was held out; -1
        for none.
    """

    procedure: Floats
    single: Floats
    composite: Floats
    by_repeat: Floats
    n_folds: int
    nothing_chosen: int
    composite_used: float
    variance: float
    composite_variance: float
    gain_variance: float
    judges: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """All that a choice depends on, for any number of parts of the data (the leading axes).

    Attributes
    ----------
    tops, bottoms : ndarray of shape (..., n_figures, n_judges)
    scores : ndarray of shape (..., n_datasets, n_categories, n_judges)
        Weighted sums of scores.
    clusters : ndarray of shape (..., n_categories)
        Instructions of each category.
    """

    tops: Floats
    bottoms: Floats
    scores: Floats
    clusters: Floats

    def __sub__(self, other: "Sums") -> "Sums":
        return Sums(
            self.tops - other.tops,
            self.bottoms - other.bottoms,
            self.scores - other.scores,
            self.clusters - other.clusters,
        )

    def at(self, place: object) -> "Sums":
        """A selection of the leading axes."""
        return Sums(*(getattr(self, name)[place] for name in ("tops", "bottoms", "scores", "clusters")))

    def whole(self) -> "Sums":
        """Over the first axis."""
        return Sums(*(getattr(self, name).sum(axis=0) for name in ("tops", "bottoms", "scores", "clusters")))


def sums_by_fold(table: ItemTable, fold: Integers, n_folds: int) -> Sums:
    """The sums of each fold; ``fold`` says in which each cluster is."""
    member = (fold[:, np.newaxis] == np.arange(n_folds)).astype(np.float64)
    n_clusters, n_figures, n_judges = table.tops.shape
    tops, bottoms = (
        (member.T @ sums.reshape(n_clusters, n_figures * n_judges)).reshape(n_folds, n_figures, n_judges)
        for sums in (table.tops, table.bottoms)
    )
    items = np.flatnonzero(table.decides)
    shape = (n_folds, len(table.shares), len(table.categories))
    cells = np.ravel_multi_index((fold[table.cluster], table.dataset, table.category), shape)[items]
    scores = np.zeros((int(np.prod(shape)), n_judges))
    order = np.argsort(cells, kind="stable")
    if len(items):
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        columns = np.where(np.isnan(table.scores), 0.0, table.scores) * table.weights[:, np.newaxis]
        scores[cells[order][starts]] = np.add.reduceat(columns[items[order]], starts, axis=0)
    has = np.zeros((n_clusters, shape[2]))
    has[table.cluster[items], table.category[items]] = 1.0
    return Sums(tops, bottoms, scores.reshape(*shape, n_judges), member.T @ has)


def choose_on(
    table: ItemTable, requirements: Requirements, sums: Sums, *, min_clusters: int = MIN_CLUSTERS
) -> ChosenJudges:
    """Constraints, the best judge and the best judge for each category, on each part of the data."""
    values = table.values(np.round(sums.tops, _DECIMALS + 2), np.round(sums.bottoms, _DECIMALS + 2))
    admitted = requirements.admitted(values)
    single = _best(table.objective(values, strict=False), admitted)
    ranked = int(np.argmax(table.ranked))
    sizes = sums.bottoms[..., : len(table.shares), ranked]
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(sizes > 1e-9, table.shares / sizes, 0.0)
    by_category = np.einsum("...dkj,...d->...kj", sums.scores, scale)
    parts = _best(by_category, admitted[..., np.newaxis, :])
    # Another judge only where it is better.
    own = np.broadcast_to(single[..., np.newaxis], parts.shape)
    best, alone = (
        np.take_along_axis(by_category, np.maximum(one, 0)[..., np.newaxis], axis=-1)[..., 0]
        for one in (parts, own)
    )
    parts = np.where(np.round(alone, _DECIMALS) >= np.round(best, _DECIMALS), own, parts)
    # Too little of a category is no ground to choose on; items without one are no category.
    enough = sums.clusters > min_clusters - 0.5
    enough[..., 0] = False
    return ChosenJudges(single, np.where(enough, parts, single[..., np.newaxis]))


def _best(objective: Floats, admitted: Booleans) -> Integers:
    """The place of the largest, the first of equals; -1 where none is admitted or defined."""
    allowed = admitted & ~np.isnan(objective)
    ranked = np.where(allowed, np.round(objective, _DECIMALS), -np.inf)
    return np.where(allowed.any(axis=-1), ranked.argmax(axis=-1), -1)


def deal_folds(table: ItemTable, n_folds: int, rng: np.random.Generator) -> Integers:
    """A fold for each cluster: each dataset, and each category in it, is spread evenly."""
    category = np.full(table.n_clusters, len(table.categories), dtype=np.intp)
    # Of a cluster's categories the first by name speaks for it, in whatever order its items come.
    np.minimum.at(category, table.cluster, table.category)
    decides = np.bincount(table.cluster[table.decides], minlength=table.n_clusters) > 0
    order = np.lexsort((rng.random(table.n_clusters), category, table.homes, ~decides))
    fold = np.empty(table.n_clusters, dtype=np.intp)
    fold[order] = np.arange(table.n_clusters) % n_folds
    # Which folds are one larger than others is left to chance as well.
    return np.asarray(rng.permutation(n_folds)[fold])


def cross_validate(
    objective: Objective,
    requirements: Requirements,
    *,
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
    with_composite: bool,
    min_clusters: int = MIN_CLUSTERS,
) -> HeldOut:
    """Run the procedure on all folds but one, score it on that one; repeat with other folds."""
    table = objective.table
    sums = np.zeros((3, len(table.scores)))
    numbers = np.zeros((3, len(table.scores)))
    errors = [_Errors(objective, n_folds) for _ in range(3 if with_composite else 1)]
    by_repeat: list[Floats] = []
    asked: Integers | None = None
    nothing, used = 0, 0
    for _ in told("Choosing on held-out instructions", n_repeats, range(n_repeats)):
        fold = deal_folds(table, n_folds, rng)
        item_fold = fold[table.cluster]
        outer, inner = _choices(table, requirements, fold, n_folds, min_clusters)
        nothing += int((outer.single < 0).sum())
        with_parts = np.zeros(n_folds, dtype=np.bool_)
        if with_composite:
            with_parts = _worth_it(objective, inner, fold, n_folds)
        used += int(with_parts.sum())
        single = scored(table, outer.single[item_fold])
        composite = scored(table, outer.parts[item_fold, table.category])
        procedure = np.where(with_parts[item_fold], composite, single)
        by_repeat.append(procedure)
        if asked is None:
            parts = outer.parts[item_fold, table.category]
            asked = np.where(with_parts[item_fold], parts, outer.single[item_fold])
        for place, found in enumerate((procedure, single, composite)):
            sums[place] += np.where(np.isnan(found), 0.0, found)
            numbers[place] += ~np.isnan(found)
        # The same without each fold in turn, on the others: the choices made without two folds.
        singles = [scored(table, inner.single[held, item_fold]) for held in range(n_folds)]
        composites = [scored(table, inner.parts[held, item_fold, table.category]) for held in range(n_folds)]
        chosen = [composites[held] if with_parts[held] else singles[held] for held in range(n_folds)]
        gains = [one - other for one, other in zip(composites, singles, strict=True)]
        repeats = ((procedure, chosen), (composite, composites), (composite - single, gains))
        for error, (column, inside) in zip(errors, repeats, strict=False):
            error.add(column, inside, item_fold)
    means = np.where(numbers > 0, sums / np.maximum(numbers, 1), np.nan)
    variances = [error.variance() for error in errors]
    assert asked is not None
    return HeldOut(
        means[0],
        means[1],
        means[2],
        np.array(by_repeat),
        n_folds,
        nothing,
        used / (n_folds * n_repeats),
        variances[0],
        variances[-2] if with_composite else np.nan,
        variances[-1] if with_composite else np.nan,
        asked,
    )


class _Errors:
    """How far a cross-validated figure is from its truth.

    The folds' scores hang together, as what is chosen without one fold depends on the others, so the figure varies
    more than the mean of so many items. Bates, Hastie and Tibshirani estimate the whole error from how far each
    fold is from the cross-validation of the rest. That is unbiased and noisy, so it is kept between the plain
    variance and Nadeau and Bengio's for independent splits.
    """

    def __init__(self, objective: Objective, n_folds: int) -> None:
        self._objective, self._n_folds = objective, n_folds
        self._plain: list[float] = []
        self._apart: list[tuple[float, float]] = []
        self._steady = True

    def add(self, held_out: Floats, inside: list[Floats], item_fold: Integers) -> None:
        """One repeat: the items' scores, and for each fold those in a cross-validation of the others."""
        objective = self._objective
        self._plain.append(objective.variance(held_out))
        for held, column in enumerate(inside):
            others = item_fold != held
            # A choice that is the same whatever is held out adds nothing.
            self._steady &= bool(np.array_equal(held_out[others], column[others], equal_nan=True))
            rest = objective.mean(np.where(others, column, np.nan))
            own = np.where(others, np.nan, held_out)
            mean = objective.mean(own)
            if not np.isnan(rest - mean):
                self._apart.append(((rest - mean) ** 2, objective.variance(own)))

    def variance(self) -> float:
        """The squared standard error, of one repeat."""
        plain, n = float(np.mean(self._plain)), self._n_folds
        if self._steady or not self._apart or plain <= 0:
            return plain
        squares, noise = np.mean(self._apart, axis=0)
        return float(np.clip((squares - noise) * (n - 1) / n, plain, plain * (1 + n / (n - 1))))


def scored(table: ItemTable, judges: Integers) -> Floats:
    """The score of each item with the judge given for it; NaN for judge -1 and where the item decides nothing."""
    found = table.scores[np.arange(len(judges)), judges]
    return np.where((judges >= 0) & table.decides, found, np.nan)


def _choices(
    table: ItemTable, requirements: Requirements, fold: Integers, n_folds: int, min_clusters: int
) -> tuple[ChosenJudges, ChosenJudges]:
    """Choices without each fold, (n_folds,), and without each two, (n_folds, n_folds)."""
    by_fold = sums_by_fold(table, fold, n_folds)
    without_one = by_fold.whole() - by_fold
    both = Sums(
        *(
            getattr(without_one, name)[:, np.newaxis] - getattr(by_fold, name)[np.newaxis]
            for name in ("tops", "bottoms", "scores", "clusters")
        )
    )
    return (
        choose_on(table, requirements, without_one, min_clusters=min_clusters),
        choose_on(table, requirements, both, min_clusters=min_clusters),
    )


def _worth_it(objective: Objective, inner: ChosenJudges, fold: Integers, n_folds: int) -> Booleans:
    """For each training part: whether composites chosen on its other folds beat single judges on each of its folds."""
    table = objective.table
    item_fold = fold[table.cluster]
    result = np.zeros(n_folds, dtype=np.bool_)
    for held in range(n_folds):
        composite = scored(table, inner.parts[held, item_fold, table.category])
        single = scored(table, inner.single[held, item_fold])
        gain = np.where(item_fold == held, np.nan, composite - single)
        result[held] = objective.difference(gain, np.zeros_like(gain)).low > 0
    return result
