"""HREF's ranking of systems against a baseline: expected win rates by category, p-values by number of instructions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from metaeval.figures.pairwise import PairJudge
from metaeval.inputs import Booleans, Floats, Items
from metaeval.papers.drawing import line_picture
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import MissingPart, PaperCell, PaperTable, number_cell, word_cell
from metaeval.stats import capacity_curve, mean_estimate, preset
from metaeval.stats.errors import quiet
from metaeval.stats.preference import expected_win_contributions

_HREF = preset("href")
# Any two of three systems stand in every pair of them, which makes no baselines of them.
_FEWEST_BESIDE_TWO = 3


@dataclass(frozen=True, slots=True, eq=False)
class SystemPreferences:
    """How far each system is preferred to the baseline on each instruction.

    Attributes
    ----------
    systems : tuple of str
    categories : tuple of str
        Of each instruction.
    preferences : ndarray of shape (n_instructions, n_systems)
        From 0 (the baseline is better) to 1; NaN where nothing was said.
    lengths, baseline_lengths : ndarray of shape (n_instructions, n_systems)
        Characters of the system's response and of the baseline's beside it; NaN where nothing was said.
    """

    systems: tuple[str, ...]
    categories: tuple[str, ...]
    preferences: Floats
    lengths: Floats
    baseline_lengths: Floats

    def win_rate(self, system: int, members: Booleans | None = None) -> float:
        """Mean over instructions; NaN where there is none."""
        with quiet():
            return mean_estimate(self.preferences[:, system], where=members, n_resamples=0).value

    @property
    def totals(self) -> Floats:
        """The win rate of each system over all instructions."""
        return np.array([self.win_rate(place) for place in range(len(self.systems))])


def baselines_of(systems: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The systems that others are compared with: the fewest (one or two) that stand in every pair; else none.

    Examples
    --------
    >>> baselines_of({"1": ("a", "base"), "2": ("base", "b"), "3": ("c", "base")})
    ['base']
    >>> baselines_of({"1": ("a", "b"), "2": ("b", "c"), "3": ("c", "a")})
    []
    """
    pairs = [set(pair) for pair in systems.values() if len(set(pair)) == 2]
    if not pairs:
        return []
    often = Counter(name for pair in pairs for name in pair)

    def first(names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: (-often[name], name))[:1]

    if one := first(set.intersection(*pairs)):
        return one
    # One of two baselines stands in the first pair; the other in all pairs that the first does not stand in.
    for name in sorted(pairs[0], key=lambda name: -often[name]):
        if other := first(set.intersection(*(pair for pair in pairs if name not in pair))):
            both = [name, *other]
            return both if len(often) > _FEWEST_BESIDE_TWO else []
    return []


def preferences_of(
    judge: PairJudge, items: Items, systems: Mapping[str, tuple[str, ...]], baseline: str
) -> SystemPreferences:
    """What a judge says of each system beside the baseline; several pairs of one instruction are averaged.

    Instructions are those of the pairs that the baseline stands in.
    """
    rows = dict.fromkeys(
        cluster
        for cluster, external_id in zip(items.cluster, items.external_id, strict=True)
        if baseline in systems.get(external_id, ())
    )
    places = {cluster: place for place, cluster in enumerate(rows)}
    category = dict(zip(items.cluster, items.category, strict=True))
    names = sorted({name for pair in systems.values() if baseline in pair for name in pair} - {baseline})
    columns = {name: place for place, name in enumerate(names)}
    total, count, own, other = (np.zeros((len(rows), len(names))) for _ in range(4))
    options = _HREF.of("expected_win_rate")
    wins = {side: expected_win_contributions(judge.verdicts, response=side, **options) for side in (1, 2)}
    for place, external_id in enumerate(items.external_id):
        pair = systems.get(external_id, ())
        if len(pair) != 2 or baseline not in pair or pair[0] == pair[1]:
            continue
        side = 2 if pair[0] == baseline else 1
        value = wins[side][place]
        if not isnan(value):
            cell = places[items.cluster[place]], columns[pair[side - 1]]
            total[cell] += value
            count[cell] += 1
            own[cell] += items.lengths[place, side - 1]
            other[cell] += items.lengths[place, 2 - side]
    with np.errstate(invalid="ignore"):
        values, lengths, baselines = (
            part / np.where(count > 0, count, np.nan) for part in (total, own, other)
        )
    return SystemPreferences(
        tuple(names), tuple(category[cluster] for cluster in rows), values, lengths, baselines
    )


def win_rate_table(
    preferences: SystemPreferences, groups: Sequence[tuple[str, Booleans]], *, judge: str, baseline: str
) -> PaperTable:
    """Tables 5 and 7: a row a system, sorted by the total; its rank in each column in parentheses."""
    n = len(preferences.systems)
    columns = [preferences.totals] + [
        np.array([preferences.win_rate(place, members) for place in range(n)]) for _, members in groups
    ]
    ranks = [_ranks(column) for column in columns]
    order = sorted(range(n), key=lambda place: (ranks[0][place] or n + 1, preferences.systems[place]))
    rows = tuple(
        (
            word_cell(preferences.systems[place]),
            *(_ranked(column[place], rank[place]) for column, rank in zip(columns, ranks, strict=True)),
        )
        for place in order
    )
    return PaperTable(
        "t5-win-rates",
        "Tables 5 and 7: expected win rates",
        f"Expected win rate against {baseline}, in percent, by the verdicts of {judge}: wins plus half of the ties "
        "over the instructions with a verdict; the rank is in parentheses. Table 7 is the same for a development set.",
        ("System", "Total", *(name for name, _ in groups)),
        rows,
        notes=(
            "The paper's text and code also count a tie as a win; here it is half a win, as in its formula.",
        ),
    )


def _ranks(values: Floats) -> list[int | None]:
    """The rank of each, from 1; equal values share the better one."""
    return [None if isnan(value) else 1 + int((values > value).sum()) for value in values]


def _ranked(value: float, rank: int | None) -> PaperCell:
    cell = number_cell(value)
    return cell if rank is None else PaperCell(f"{cell.text} ({rank})", cell.value)


def p_value_picture(preferences: SystemPreferences, *, seed: int = 0, n_draws: int = 50) -> PaperPart:
    """Figure 6: p-values of paired t-tests between systems against the number of instructions."""
    name, title = "f6", "Figure 6: p-values against the number of instructions"
    bring = "Add pairs of several systems with the baseline, on the same instructions."
    if len(preferences.systems) < 2 or len(preferences.categories) < 2:
        return MissingPart(name, title, "It takes two systems and two instructions.", bring)
    with quiet():
        curve = capacity_curve(
            {system: preferences.preferences[:, place] for place, system in enumerate(preferences.systems)},
            n_draws=n_draws,
            rng=seed,
            **_HREF.of(capacity_curve),
        )
    if np.isnan(curve.mean_p_values).all():
        return MissingPart(
            name, title, "No two systems were judged on two instructions that they share.", bring
        )
    series = ("Mean", "90th percentile", "80th percentile")
    values = (curve.mean_p_values, curve.p_values[:, 1], curve.p_values[:, 0])
    places = [
        (one, float(size), None if isnan(value) else float(value))
        for one, column in zip(series, values, strict=True)
        for size, value in zip(curve.sizes.tolist(), column.tolist(), strict=True)
    ]
    enough = (
        "does not fall below 0.05"
        if isnan(curve.capacity)
        else f"is below 0.05 from {int(curve.capacity):,} instructions on"
    )
    return line_picture(
        "f6-p-values",
        title,
        f"Paired t-tests on the preferences for {len(preferences.systems)} systems, {curve.n_pairs:,} pairs of "
        f"systems, averaged over {n_draws} draws of instructions. The 90th percentile {enough}; on all "
        f"{curve.n_clusters:,} instructions {curve.share_significant[-1]:.1%} of the pairs have p at most 0.05 "
        "(dashed line).",
        places,
        heads=("Over pairs of systems", "Instructions", "p-value"),
        mark=0.05,
    )
