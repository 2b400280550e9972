"""What a judge prefers beside quality: more of a feature, lists, the response shown first."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Floats,
    as_items,
    as_list,
    as_matrix,
    as_texts,
    check_choices,
    check_option,
    mean_of_orders,
)
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import is_missing
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.options import as_number

LeaningTies: TypeAlias = Literal["neither", "omit"]
LeaningUnparsed: TypeAlias = Literal["neither", "omit"]

_OPTIONS = ("neither", "omit")
NO_DIFFERENCE = "no answer to an item whose responses differ in the feature"
_NOT_SHOWN = "no answer to responses in a known order"

# A line that is one item of a list, and a line that is a rule across the page.
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_RULE = re.compile(r"[ \t]*([-*])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_LEAST_ITEMS = 2


@aligned()
def feature_preference(
    verdicts: ArrayLike,
    feature_1: ArrayLike,
    feature_2: ArrayLike,
    *,
    min_difference: float = 0,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share that prefers the response with more of a feature minus share that prefers the one with less.

    Over the items whose responses differ in it. What the other leanings here are made of.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        Verdicts or labels: 1, 2, 0 (tie), NaN. Several answers of an item are averaged.
    feature_1, feature_2 : array_like of shape (n_items,)
        How much of it either response has: a length, a number of headings, 1 and 0 for yes and no; an item with
        NaN is not counted.
    min_difference : float, default 0
        The features must differ by more.
    ties : {"neither", "omit"}
        A tie prefers neither and stays in the denominator, or is left out.
    unparsed : {"neither", "omit"}
        Likewise of an unparsed verdict. Of labels say ``"omit"``: there NaN is a person who was not asked.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; 0 is no lean. Undefined if no item differs.

    Notes
    -----
    An own definition, so that all leanings are on one scale: of lengths it is `length_bias_rate`, of having a list
    `list_preference`, of the judge's family `self_preference`.

    Examples
    --------
    >>> feature_preference([1, 1, 2, 0, 1], [3, 3, 3, 3, 3], [1, 1, 1, 1, 3]).value     # (2 - 1) / 4
    0.25
    """
    contributions = feature_contributions(
        verdicts, feature_1, feature_2, min_difference=min_difference, ties=ties, unparsed=unparsed
    )
    return mean_estimate(contributions, bounds=(-1.0, 1.0), reason=NO_DIFFERENCE, **options)


@aligned()
@contributions_of("feature_preference")
def feature_contributions(
    verdicts: ArrayLike,
    feature_1: ArrayLike,
    feature_2: ArrayLike,
    *,
    min_difference: float = 0,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
) -> Floats:
    """What each item contributes to `feature_preference`, (n_items,); NaN where it does not count.

    Examples
    --------
    >>> feature_contributions([[1, 2], [1, 1], [1, 1]], [5, 5, 5], [1, 9, 5]).tolist()
    [0.0, -1.0, nan]
    """
    answers = read_answers(verdicts)
    min_difference = as_number(min_difference, "min_difference", 0)
    difference = as_items(feature_1, "feature_1", len(answers)) - as_items(
        feature_2, "feature_2", len(answers)
    )
    more = np.where(difference > 0, 1.0, 2.0)
    more[~(np.abs(difference) > min_difference)] = np.nan
    return lean_contributions(answers, more[:, np.newaxis], ties, unparsed)


def has_list(text: str) -> bool:
    """Whether a text has a list in Markdown: two lines or more that begin as an item does.

    An item begins, at any depth, with ``-``, ``*``, ``+`` or ``•``, or with a number of up to three digits and ``.`` or
    ``)``, then a space and some text. Code between fences and rules across the page (``* * *``) do not count. A hyphen
    in a word, a decimal or a sentence that ends in a letter are no lists; AlpacaEval's rule takes them for one.

    Parameters
    ----------
    text : str
        In Markdown.

    Returns
    -------
    bool

    Raises
    ------
    InvalidInputError
        For what is no text.

    Notes
    -----
    An own rule, in place of that of the AlpacaEval repository: see above for what the two make of a hyphen.

    Examples
    --------
    >>> has_list("Take:\\n- flour\\n- milk"), has_list("1) Mix.\\n2) Bake."), has_list("A well-known cake.")
    (True, True, False)
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"text: expected a text, got {text!r}")
    items, fenced = 0, False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _LIST_ITEM.match(line) and not _RULE.match(line):
            items += 1
    return items >= _LEAST_ITEMS


@aligned()
def list_preference(
    verdicts: ArrayLike,
    texts_1: Sequence[str],
    texts_2: Sequence[str],
    *,
    detect: Callable[[str], bool] = has_list,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share that prefers the response with a list minus share that prefers the one without.

    Over the items on which exactly one response has a list.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        1, 2, 0 (tie), NaN.
    texts_1, texts_2 : sequence of str, length n_items
        The responses.
    detect : callable, default `has_list`
        What a list is.
    ties, unparsed, **options
        As in `feature_preference`.

    Returns
    -------
    Estimate
        In [-1, 1]. AlpacaEval's "Proba. prefer lists" is (1 + this) / 2, with its own rule.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm", NeurIPS 2023, and the AlpacaEval repository, for the question; the scale is that of
    `feature_preference`.

    Examples
    --------
    >>> list_preference([1, 2, 2], ["- a\\n- b", "a", "a"], ["a and b", "* a\\n* b", "b"]).value
    1.0
    """
    lists_1, lists_2 = (
        np.array([detect(text) for text in as_texts(texts, name)], dtype=np.float64)
        for name, texts in (("texts_1", texts_1), ("texts_2", texts_2))
    )
    return feature_preference(verdicts, lists_1, lists_2, ties=ties, unparsed=unparsed, **options)


@aligned()
def first_shown_preference(
    verdicts: ArrayLike,
    shown_first: ArrayLike | None = None,
    *,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share of judgments that prefer the response shown first minus share that prefer the one shown second.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        In the original order of the responses, whatever was shown: 1, 2, 0 (tie), NaN.
    shown_first : array_like of the shape of ``verdicts``, optional
        Which response was shown first, 1 or 2; NaN where not known: such an answer does not count. Default, of two
        columns only: the two presentation orders, response 1 first and then response 2 first.
    ties, unparsed
        As in `feature_preference`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; above 0 the first is preferred. With one order alone it also holds which responses are better: show
        both orders, or draw which comes first.

    References
    ----------
    Of the bias: P. Wang et al., "Large Language Models are not Fair Evaluators", ACL 2024. The scale is that of
    `feature_preference`.

    Examples
    --------
    >>> first_shown_preference([[1, 2], [1, 1], [2, 2], [1, 2]]).value     # of 8: 6 prefer the first, 2 the second
    0.5
    """
    contributions = first_shown_contributions(verdicts, shown_first, ties=ties, unparsed=unparsed)
    return mean_estimate(contributions, bounds=(-1.0, 1.0), reason=_NOT_SHOWN, **options)


@aligned()
@contributions_of("first_shown_preference")
def first_shown_contributions(
    verdicts: ArrayLike,
    shown_first: ArrayLike | None = None,
    *,
    ties: LeaningTies = "neither",
    unparsed: LeaningUnparsed = "neither",
) -> Floats:
    """What each item contributes to `first_shown_preference`, (n_items,); NaN where it does not count.

    Raises
    ------
    InvalidInputError
        For a shown order of another shape, or another number than 1 and 2; without one where there are not two
        columns.

    Examples
    --------
    >>> first_shown_contributions([[1, 2], [1, 1]]).tolist(), first_shown_contributions([2, 1], [2, 2]).tolist()
    ([1.0, 0.0], [1.0, -1.0])
    """
    answers = read_answers(verdicts)
    if shown_first is None:
        if answers.shape[1] != 2:
            raise InvalidInputError("shown_first: only two columns, the presentation orders, do without it")
        return lean_contributions(answers, np.array([[1.0, 2.0]]), ties, unparsed)
    shown = as_matrix(shown_first, "shown_first")
    if shown.shape != answers.shape:
        raise InvalidInputError(f"shown_first: expected shape {answers.shape}, got {shown.shape}")
    if not ((shown == 1) | (shown == 2) | np.isnan(shown)).all():
        raise InvalidInputError("shown_first: expected 1, 2 or NaN")
    return lean_contributions(answers, shown, ties, unparsed)


@aligned()
def family_features(families_1: Any, families_2: Any, judge_family: str) -> tuple[Floats, Floats]:
    """Whether each response is of the judge's family: 1 where it is, 0 where of another, NaN where that is not known.

    Parameters
    ----------
    families_1, families_2 : sequence of str
        The family of the model behind either response; "" or None where it is not known.
    judge_family : str
        The judge's own.

    Returns
    -------
    tuple of two ndarrays of shape (n_items,)
        Of either response.

    Raises
    ------
    InvalidInputError
        For a judge without a family, and columns of different lengths.

    Notes
    -----
    What `self_preference` is computed from, as `feature_preference` of belonging to the judge's family.

    Examples
    --------
    >>> [column.tolist() for column in family_features(["gpt", "llama"], ["llama", None], "gpt")]
    [[1.0, 0.0], [0.0, nan]]
    """
    if not isinstance(judge_family, str) or not judge_family:
        raise InvalidInputError("judge_family: expected a name")
    one, two = (
        _kin(families, name, judge_family)
        for name, families in (("families_1", families_1), ("families_2", families_2))
    )
    if one.shape != two.shape:
        raise InvalidInputError(f"families_2: expected {len(one)} families, got {len(two)}")
    return one, two


def _kin(families: Any, name: str, judge_family: str) -> Floats:
    found = []
    for place, family in enumerate(as_list(families, name)):
        if not isinstance(family, str) and not is_missing(family):
            raise InvalidInputError(f"{name}: expected names, found {family!r} at {place}")
        known = isinstance(family, str) and family != ""
        found.append(float(family == judge_family) if known else np.nan)
    return np.array(found)


def read_answers(verdicts: ArrayLike) -> Floats:
    """Verdicts or labels as (n_items, n_answers), checked."""
    answers = as_matrix(verdicts, "verdicts")
    check_choices(answers, "verdicts")
    return answers


def lean_contributions(
    answers: Floats, towards: Floats, ties: LeaningTies, unparsed: LeaningUnparsed
) -> Floats:
    """1 for the response ``towards``, -1 against it, averaged over an item's answers; NaN where there is none.

    Examples
    --------
    >>> lean_contributions(np.array([[1.0, 2.0], [0.0, np.nan]]), np.array([[1.0], [2.0]]), "neither", "omit").tolist()
    [0.0, 0.0]
    """
    for value, name in ((ties, "ties"), (unparsed, "unparsed")):
        check_option(value, _OPTIONS, name)
    lean = np.where(answers == towards, 1.0, -1.0)
    lean[answers == 0] = 0.0 if ties == "neither" else np.nan
    lean[np.isnan(answers)] = 0.0 if unparsed == "neither" else np.nan
    lean[np.broadcast_to(np.isnan(towards), lean.shape)] = np.nan
    if np.isnan(answers).all():
        lean[:] = np.nan  # nothing could be read: no lean is known, which is not a lean of 0
    return mean_of_orders(lean)
