"""What of HREF needs no texts: composition, lengths, win rates and AlpacaEval 2's length-controlled ones."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from metaeval.inputs import Floats
from metaeval.papers.drawing import bar_picture, histogram_picture
from metaeval.papers.href_rows import short_category
from metaeval.papers.href_systems import SystemPreferences, p_value_picture, win_rate_table
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import MissingPart, PaperTable, count_cell, number_cell, word_cell
from metaeval.pictures.picture import Picture
from metaeval.stats import (
    LengthControlled,
    RegularisingRows,
    feature_preference,
    length_controlled_win_rate,
    length_controlled_win_rates,
)
from metaeval.stats.errors import quiet

LENGTH_TITLE = "Figure 2: difference in length"
_ALONE = "The file has preferences by one judge and lengths alone"
_AS_DATASET = "Import the pairs as a dataset."
# What a file of preferences lacks.
_NOT_IN_FILE = (
    ("t2", "Table 2: leave-one-out agreement", "no labels"),
    ("t6", "Table 6: prompts", "no second judge and no labels"),
    ("f3", "Figure 3: human-written and model-written references", "no second judge and no labels"),
    ("f4", "Figure 4: model against human response", "no person's responses"),
    ("f8", "Figure 8: agreement under two baselines", "no labels and no second baseline"),
    ("cost", "Cost of judges", "no costs"),
)


def composition_parts(
    sizes: Sequence[tuple[str, int, int]], *, total: tuple[int, int]
) -> Iterator[PaperPart]:
    """Table 4 and figure 5, of (category, instructions, pairs)."""
    rows = [(word_cell(name), count_cell(n), count_cell(m)) for name, n, m in [*sizes, ("Total", *total)]]
    yield PaperTable(
        "t4-composition",
        "Table 4: composition",
        "Instructions and pairs by category.",
        ("Category", "Instructions", "Pairs"),
        tuple(rows),
        notes=(
            "The paper has three sets (evaluation, development, agreement); this is one of them: run it on each "
            "dataset.",
        ),
    )
    yield bar_picture(
        "f5-composition",
        "Figure 5: composition",
        "Instructions of each category.",
        [(short_category(name), "Instructions", float(n)) for name, n, _ in sizes],
        heads=("Category", "What", "Instructions"),
    )


def length_difference_picture(difference: Floats, what: str) -> Picture:
    """Figure 2, of differences in characters."""
    share = float((difference > 0).mean())
    return histogram_picture(
        "f2-length-differences",
        LENGTH_TITLE,
        f"Characters: {what}, of {len(difference):,} pairs. {share:.1%} are positive; balanced pairs are symmetric "
        "around 0. The paper does not say its unit.",
        difference,
        heads=("From", "To", "Pairs"),
        axis="Difference in characters",
    )


def length_control_table(
    preferences: SystemPreferences,
    *,
    judge: str,
    baseline: str,
    difficulty: Floats | None = None,
    regularising: RegularisingRows | None = None,
) -> PaperTable:
    """Win rate, standard error, discrete and length-controlled win rate of each system, sorted by the last.

    Parameters
    ----------
    difficulty : ndarray of shape (n_instructions,), optional
        As estimated beforehand; by default from the other systems' preferences.
    regularising : RegularisingRows, optional
    """
    results = _results(preferences, difficulty, regularising)
    order = sorted(
        range(len(results)), key=lambda place: (-_or(results[place].value), preferences.systems[place])
    )
    rows = tuple(
        (
            word_cell(preferences.systems[place]),
            number_cell(one.value, 2),
            number_cell(None if one.win_rate is None else one.win_rate.value, 2),
            number_cell(one.standard_error, 2),
            number_cell(None if one.discrete_win_rate is None else one.discrete_win_rate.value, 2),
            count_cell(round(_mean(preferences.lengths[:, place]))),
        )
        for place, one in ((place, results[place]) for place in order)
    )
    where = "as given" if difficulty is not None else "estimated from the other systems"
    notes = [f"The difficulty of instructions is {where}."]
    if regularising is None:
        notes.append(
            "AlpacaEval 2 adds pseudo-observations of its baseline (--regularizing), which keep a system from gaming "
            "the regression by its lengths; there are none here."
        )
    return PaperTable(
        "length-controlled",
        "Length-controlled win rates",
        f"Win rate against {baseline} by the verdicts of {judge}, in percent: with the responses' lengths held equal "
        "(Dubois et al., 2024), as it is, its standard error, and with each preference rounded to a win or a loss; "
        "mean length in characters.",
        ("System", "Length-controlled", "Win rate", "Standard error", "Discrete", "Mean length"),
        rows,
        notes=tuple(notes),
    )


def _results(
    preferences: SystemPreferences, difficulty: Floats | None, regularising: RegularisingRows | None
) -> list[LengthControlled]:
    with quiet():
        if difficulty is None:
            return list(
                length_controlled_win_rates(
                    preferences.preferences + 1,
                    preferences.baseline_lengths,
                    preferences.lengths,
                    names=preferences.systems,
                    regularising=regularising,
                    n_resamples=0,
                ).results
            )
        return [
            length_controlled_win_rate(
                preferences.preferences[:, place] + 1,
                preferences.baseline_lengths[:, place],
                preferences.lengths[:, place],
                difficulty,
                regularising=regularising,
                n_resamples=0,
            )
            for place in range(len(preferences.systems))
        ]


def length_bias_picture(preferences: SystemPreferences, *, judge: str) -> Picture:
    """How much the longer of two responses is preferred, by system: figure 7's rate for each of them."""
    points = []
    for place, system in enumerate(preferences.systems):
        verdicts = np.where(preferences.preferences[:, place] > 0.5, 2.0, 1.0)
        verdicts[preferences.preferences[:, place] == 0.5] = 0
        verdicts[np.isnan(preferences.preferences[:, place])] = np.nan
        with quiet():
            bias = feature_preference(
                verdicts, preferences.baseline_lengths[:, place], preferences.lengths[:, place],
                unparsed="omit", n_resamples=0,
            ).value  # fmt: skip
        points.append((system, "Length bias", None if np.isnan(bias) else bias))
    return bar_picture(
        "f7-length-bias-by-system",
        "Length bias by system",
        f"Share of pairs in which {judge} prefers the longer response minus share in which it prefers the shorter, by "
        "the system that is compared with the baseline. A better system that writes longer has a positive share too; "
        "the length-controlled win rate separates the two.",
        points,
        heads=("System", "What", "Length bias"),
        percent=True,
        mark=0.0,
    )


def preference_parts(
    preferences: SystemPreferences,
    *,
    judge: str,
    baseline: str,
    seed: int = 0,
    difficulty: Floats | None = None,
    regularising: RegularisingRows | None = None,
) -> Iterator[PaperPart]:
    """What HREF's tables and figures can be of preferences without texts, in the order of the paper."""
    judged = ~np.isnan(preferences.preferences)
    counts = Counter(preferences.categories)
    members = np.array(preferences.categories, dtype=object)
    names = [name for name in counts if name]
    if names:
        yield from composition_parts(
            [(name, counts[name], int(judged[members == name].sum())) for name in names],
            total=(len(preferences.categories), int(judged.sum())),
        )
    else:
        for name, title in (("t4", "Table 4: composition"), ("f5", "Figure 5: composition")):
            yield MissingPart(
                name, title, "The file has no column dataset.", "Add it: the category of each row."
            )
    groups = [(name, members == name) for name in names]
    yield win_rate_table(preferences, groups, judge=judge, baseline=baseline)
    yield length_control_table(
        preferences, judge=judge, baseline=baseline, difficulty=difficulty, regularising=regularising
    )
    yield p_value_picture(preferences, seed=seed)
    difference = (preferences.lengths - preferences.baseline_lengths)[judged]
    if len(difference):
        yield length_difference_picture(difference, f"the response minus that of {baseline}")
    yield length_bias_picture(preferences, judge=judge)
    for name, title, lacking in _NOT_IN_FILE:
        yield MissingPart(name, title, f"{_ALONE}: {lacking}.", _AS_DATASET)


def _or(value: float, otherwise: float = -1.0) -> float:
    return otherwise if np.isnan(value) else value


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0
