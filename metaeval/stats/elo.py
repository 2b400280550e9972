"""Elo ratings: of one order of the games, and averaged over orders."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, check_option, generator
from metaeval.stats.bradley_terry_result import ELO
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import ONE_CLUSTER, Sampling, clusters_counted, percentiles, resolve
from metaeval.stats.options import as_count, as_number, as_positive
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.win_matrix import Comparisons, read_comparisons

Order: TypeAlias = Literal["permuted", "given"]

NO_GAME = "the system is in no comparison that counts"
_RESAMPLES = 1_000
# Games in all sequences together that are played in minutes; beyond it, it would be hours.
_MOST_GAMES = 300_000_000
_SCORES = np.array([0.5, 1.0, 0.0])  # of outcomes 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class EloRatings(Result):
    """Ratings of systems.

    Attributes
    ----------
    names : tuple
    ratings : tuple of Estimate
        ``n`` is the system's games.
    order_spread : tuple of float
        Standard deviation of each rating over the orders of the games; NaN for the order given.
    order : str
    """

    names: tuple[Any, ...]
    ratings: tuple[Estimate, ...]
    order_spread: tuple[float, ...]
    order: Order

    def rating(self, name: Any) -> Estimate:
        """The rating of one system."""
        if name not in self.names:
            raise InvalidInputError(f"{name!r} is none of the systems")
        return self.ratings[self.names.index(name)]

    def table(self) -> list[tuple[Any, Estimate]]:
        """(name, rating), the highest first and those without a rating last."""
        rows = list(zip(self.names, self.ratings, strict=True))
        return sorted(rows, key=lambda row: -row[1].value if row[1].defined else np.inf)


@aligned()
def elo_ratings(
    first: Any,
    second: Any,
    outcome: ArrayLike,
    *,
    k: float = 4.0,
    initial: float = 1000.0,
    order: Order = "permuted",
    n_permutations: int = 100,
    **options: Unpack[Sampling],
) -> EloRatings:
    """Elo ratings: after each game both ratings move by K times the surprise, in opposite directions.

    A rating depends on the order of the games, which says nothing where systems do not change. It is therefore
    averaged over random orders; `bradley_terry` is what these averages approach, and is to be preferred.

    Parameters
    ----------
    first, second, outcome
        See `bradley_terry`.
    k : float, default 4
        How far one game moves the ratings at most (4 is the arena's; chess takes 10 to 40).
    initial : float, default 1000
        The rating that every system starts with, which stays the mean.
    order : {"permuted", "given"}
        The average over ``n_permutations`` random orders, or the rows in the order given (no interval: what a resample
        of an order would be is not clear).
    n_permutations : int, default 100
    **options
        See `metaeval.stats.intervals.Sampling`; ``n_resamples`` is 1,000 by default, each played in an order of
        its own. Games are played one after another: 10,000 rows take seconds, 100,000 a minute, and more than
        300 million games in all (300,000 rows in 1,000 resamples) are refused.

    Returns
    -------
    EloRatings

    Raises
    ------
    InvalidInputError
        For so many games and orders that it would take hours.

    References
    ----------
    A. E. Elo, *The Rating of Chessplayers, Past and Present* (1978). M. Boubdir et al., "Elo uncovered: robustness
    and best practices in language model evaluation", GEM workshop 2023, for the order of games.

    Examples
    --------
    >>> given = elo_ratings(["a", "b"], ["b", "c"], [1, 1], k=32, order="given")
    >>> [round(rating.value, 2) for rating in given.ratings]        # 16 for the first; then b has 984 against 1000
    [1016.0, 1000.74, 983.26]
    """
    check_option(order, ("permuted", "given"), "order")
    k, initial = as_positive(k, "k"), as_number(initial, "initial")
    n_permutations = as_count(n_permutations, "n_permutations", 1)
    rows = read_comparisons(first, second, outcome, options.get("where"))
    if options.get("resamples") is None:
        options.setdefault("n_resamples", _RESAMPLES)
    resamples, _, confidence = resolve(len(rows.outcome), options)
    games = np.flatnonzero(rows.counted)
    for name, times in (("n_resamples", resamples.n_resamples), ("n_permutations", n_permutations)):
        if order == "permuted" and len(games) * times > _MOST_GAMES:
            raise InvalidInputError(
                f"{name}: {len(games):,} games {times:,} times, one after another, would take hours; pass at most"
                f" {_MOST_GAMES // len(games):,}, or use bradley_terry, which these averages approach"
            )
    size = len(rows.names)
    if order == "given":
        values = _play(rows, games[:, np.newaxis], size, k)[0] + initial
        spread, drawn = np.full(size, np.nan), np.zeros((0, size))
    else:
        rng = generator(options.get("rng"), stream=1)
        orders = np.stack([rng.permutation(games) for _ in range(n_permutations)], axis=1)
        played = _play(rows, orders, size, k) + initial
        values, spread = played.mean(axis=0), played.std(axis=0)
        drawn = _resampled(rows, resamples, size, k, rng) + initial
        # A resample is played once, and the figure is a mean over orders: centre it, and leave the noise of one
        # order, which is no uncertainty of the mean, out of its spread.
        drawn = _without_order_noise(drawn, values, spread)
    counts = np.bincount(rows.first[games], minlength=size) + np.bincount(rows.second[games], minlength=size)
    n_clusters = clusters_counted(rows.counted, resamples)
    ratings = [
        _estimate(values[place], drawn[:, place], int(counts[place]), n_clusters, confidence)
        for place in range(size)
    ]
    return EloRatings(rows.names, tuple(ratings), tuple(spread.tolist()), order)


def _play(rows: Comparisons, orders: Integers, size: int, k: float) -> Floats:
    """Play several sequences of games side by side: orders is (n_games, n_sequences), -1 for no game."""
    n_sequences = orders.shape[1]
    ratings = np.zeros((n_sequences, size))
    sequence = np.arange(n_sequences)
    score = _SCORES[np.nan_to_num(rows.outcome).astype(np.intp)]
    for games in orders:
        one, two = rows.first[games], rows.second[games]
        gap = (ratings[sequence, two] - ratings[sequence, one]) / ELO
        move = k * (score[games] - 1 / (1 + np.exp(gap)))
        move[games < 0] = 0.0
        ratings[sequence, one] += move
        ratings[sequence, two] -= move
    return ratings


def _resampled(
    rows: Comparisons, resamples: Resamples, size: int, k: float, rng: np.random.Generator
) -> Floats:
    """Ratings of each resample, its games in an order of their own."""
    parts = [np.zeros((0, size))]
    for draws in resamples.item_draws():
        played = [
            rng.permutation(np.repeat(np.arange(len(draw)), draw.astype(np.intp)))
            for draw in draws * rows.counted
        ]
        orders = np.full((max(len(games) for games in played), len(played)), -1)
        for column, games in enumerate(played):
            orders[: len(games), column] = games
        parts.append(_play(rows, orders, size, k))
    return np.concatenate(parts)


def _without_order_noise(drawn: Floats, values: Floats, spread: Floats) -> Floats:
    if not len(drawn):
        return drawn
    centre, variance = drawn.mean(axis=0), drawn.var(axis=0)
    shrink = np.sqrt(np.maximum(variance - spread**2, 0.0) / np.where(variance == 0, 1.0, variance))
    result: Floats = values + (drawn - centre) * shrink
    return result


def _estimate(value: float, drawn: Floats, n: int, n_clusters: int, confidence: float) -> Estimate:
    if n == 0:
        return undefined(NO_GAME)
    if not len(drawn) or n_clusters <= 1:
        reason = ONE_CLUSTER if len(drawn) else None
        return Estimate(float(value), np.nan, np.nan, n, n_clusters, "none", reason)
    return Estimate(float(value), *percentiles(float(value), drawn, confidence), n, n_clusters, "percentile")
