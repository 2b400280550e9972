"""A judge's leanings with people's beside them: by category, and towards its own model family."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_mapping, as_mask, as_matrix, check_option
from metaeval.stats.biases import (
    NO_DIFFERENCE,
    LeaningTies,
    LeaningUnparsed,
    family_features,
    feature_contributions,
    read_answers,
)
from metaeval.stats.differences import paired_difference
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples

_NO_KIN = "no item with exactly one response of the judge's family"


@dataclass(frozen=True, slots=True)
class BiasRow(Result):
    """One leaning of a judge in one category, with people's beside it.

    Attributes
    ----------
    bias : str
        What is preferred.
    category : str or None
        None: all items.
    judge : Estimate
        On the items that both the judge and people answered, if there are labels.
    people : Estimate or None
        The mean person's, on the same items and resamples. None without labels.
    difference : PairedDifference or None
        Judge minus people: what the judge leans more than people do.
    """

    bias: str
    category: str | None
    judge: Estimate
    people: Estimate | None = None
    difference: PairedDifference | None = None


@aligned()
def self_preference(
    verdicts: ArrayLike,
    families_1: Any,
    families_2: Any,
    judge_family: str,
    labels: ArrayLike | None = None,
    *,
    ties: Literal["half", "omit"] = "half",
    unparsed: Literal["half", "omit"] = "omit",
    **options: Unpack[Sampling],
) -> BiasRow:
    """How much more often a judge prefers responses of its own model family than people do on the same items.

    Over the items with exactly one response of the family: with *J* the share of the judge's answers that prefer it
    and *P* the same of people's labels, ties counting half, the self-preference is *J* - *P*. *J* alone is no bias: the
    family may be better.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's: 1, 2, 0 (tie), NaN.
    families_1, families_2 : sequence of str, length n_items
        The model family of either response; "" or None where it is not known or the author is a person whose
        responses shall not count.
    judge_family : str
        The judge's own.
    labels : array_like of shape (n_items, n_annotators), optional
        People's; NaN where missing. Without them only *J* is given.
    ties, unparsed : {"half", "omit"}
        Half for either response, or left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    BiasRow
        ``judge`` and ``people`` are *J* and *P*, in [0, 1]; ``difference`` is *J* - *P*, in [-1, 1].

    References
    ----------
    L. Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023, section 3.3 (win rates by
    the judge beside those by people); A. Panickssery, S. R. Bowman and S. Feng, "LLM Evaluators Recognize and Favor
    Their Own Generations", NeurIPS 2024.

    Examples
    --------
    >>> own = ["gpt"] * 4, ["llama"] * 4
    >>> found = self_preference([1, 1, 1, 2], *own, "gpt", labels=[[1], [2], [1], [2]])
    >>> found.judge.value, found.people.value, found.difference.value
    (0.75, 0.5, 0.25)
    """
    for value, name in ((ties, "ties"), (unparsed, "unparsed")):
        check_option(value, ("half", "omit"), name)
    kin_1, kin_2 = family_features(families_1, families_2, judge_family)
    rule: Literal["neither", "omit"] = "omit" if ties == "omit" else "neither"
    judge = feature_contributions(
        verdicts, kin_1, kin_2, ties=rule, unparsed="omit" if unparsed == "omit" else "neither"
    )
    people = None
    if labels is not None:
        said = as_matrix(labels, "labels")
        people = feature_contributions(said, kin_1, kin_2, ties=rule, unparsed="omit")
    shared = with_resamples(options, len(judge))
    share = (judge + 1) / 2
    return _row(
        "own family", None, share, None if people is None else (people + 1) / 2, (0.0, 1.0), _NO_KIN, shared
    )


@aligned()
def bias_table(
    verdicts: ArrayLike,
    features: Mapping[str, tuple[ArrayLike, ArrayLike]],
    labels: ArrayLike | None = None,
    *,
    categories: Any = None,
    min_differences: Mapping[str, float] | None = None,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
    **options: Unpack[Sampling],
) -> tuple[BiasRow, ...]:
    """`feature_preference` of a judge for several features, overall and by category, beside people's.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's: 1, 2, 0 (tie), NaN.
    features : mapping of str to two array_like of shape (n_items,)
        By name, the feature of the first and of the second response: lengths, whether there is a list, the
        `family_features`.
    labels : array_like of shape (n_items, n_annotators), optional
        People's; NaN where missing. Judge and people are then compared on the items that both answered.
    categories : array_like of shape (n_items,), optional
        For rows by category beside those of all items.
    min_differences : mapping of str to float, optional
        By feature, what the two must differ by more than; default 0.
    ties, unparsed
        As in `feature_preference`; a missing label is always left out.
    **options
        See `metaeval.stats.intervals.Sampling`. All figures are of the same resamples.

    Returns
    -------
    tuple of BiasRow
        By feature, first all items and then the categories in sorted order.

    Raises
    ------
    InvalidInputError
        For a feature without two columns, and a least difference of a feature that there is none of.

    Notes
    -----
    An own table: each figure is a `feature_preference`, and the difference of judge and people is a `paired_difference`
    on the items that both answered.

    Examples
    --------
    >>> rows = bias_table([1, 1, 1, 2], {"length": ([9, 9, 9, 9], [5, 5, 5, 5])}, [[1], [2], [1], [2]],
    ...                   categories=["qa", "qa", "chat", "chat"])
    >>> [(row.category, row.judge.value, row.people.value, row.difference.value) for row in rows]
    [(None, 0.5, 0.0, 0.5), ('chat', 0.0, 0.0, 0.0), ('qa', 1.0, 0.0, 1.0)]
    """
    answers, said = read_answers(verdicts), None if labels is None else as_matrix(labels, "labels")
    shared = with_resamples(options, len(answers))
    where = as_mask(options.get("where"), len(answers))
    features = as_mapping(features, "features")
    smallest = {} if min_differences is None else as_mapping(min_differences, "min_differences")
    unknown = smallest.keys() - features.keys()
    if unknown:
        raise InvalidInputError(f"min_differences: no feature {sorted(unknown, key=str)[0]!r}")
    rows = []
    for name, pair in features.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidInputError(f"features[{name!r}]: expected two columns, of either response")
        one, two = pair
        least = smallest.get(name, 0)
        judge = feature_contributions(answers, one, two, min_difference=least, ties=ties, unparsed=unparsed)
        people = (
            None
            if said is None
            else feature_contributions(said, one, two, min_difference=least, ties=ties, unparsed="omit")
        )
        for category, mask in _categories(categories, where, len(answers)):
            options_here: Sampling = {**shared, "where": mask}
            rows.append(_row(name, category, judge, people, (-1.0, 1.0), NO_DIFFERENCE, options_here))
    return tuple(rows)


def _categories(
    categories: Any, where: Booleans | None, n_items: int
) -> list[tuple[str | None, Booleans | None]]:
    if categories is None:
        return [(None, where)]
    names, codes = as_ids(categories, "categories", n_items)
    rows: list[tuple[str | None, Booleans | None]] = [(None, where)]
    for code in np.unique(codes if where is None else codes[where]).tolist():
        mask = codes == code
        rows.append((str(names[code]), mask if where is None else mask & where))
    return rows


def _row(
    name: str,
    category: str | None,
    judge: Floats,
    people: Floats | None,
    bounds: tuple[float, float],
    reason: str,
    options: Sampling,
) -> BiasRow:
    """The row of what items contribute to the judge's and to people's figure."""
    if people is None:
        return BiasRow(name, category, mean_estimate(judge, bounds=bounds, reason=reason, **options))
    both = ~np.isnan(judge) & ~np.isnan(people)
    judge, people = np.where(both, judge, np.nan), np.where(both, people, np.nan)
    own = mean_estimate(judge, bounds=bounds, reason=reason, **options)
    theirs = mean_estimate(people, bounds=bounds, reason=reason, **options)
    gap = paired_difference(judge, people, bounds=bounds, **options)
    return BiasRow(name, category, own, theirs, gap)
