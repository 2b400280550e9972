"""Style of responses as covariates: how much longer, and how much more marked up, one response is than another."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned, columns_matched
from metaeval.stats.arrays import Floats, as_floats, as_texts
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.options import as_switch

# What style_counts counts, in this order.
STYLE = ("length", "headers", "lists", "bold")

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADER = re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE)
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?=\S)[^*\n]+\*\*|__(?=\S)[^_\n]+__")


def style_counts(texts: Sequence[str]) -> Floats:
    """Length in characters, Markdown headers, list items and bold spans of each text.

    What stands in fenced code is no markup and is not counted, but for the length.

    Parameters
    ----------
    texts : sequence of str
        In Markdown.

    Returns
    -------
    ndarray of shape (n_texts, 4)

    References
    ----------
    As of `style_covariates`, whose features these are; what counts as an item of a list is `has_list`'s rule.

    Examples
    --------
    >>> style_counts(["# Title\\n- one\\n- **two**", "plain"]).tolist()
    [[23.0, 1.0, 2.0, 1.0], [5.0, 0.0, 0.0, 0.0]]
    """
    rows = []
    for text in as_texts(texts, "texts"):
        prose = _CODE.sub("", text)
        rows.append([len(text), *(len(pattern.findall(prose)) for pattern in (_HEADER, _LIST_ITEM, _BOLD))])
    return np.array(rows, dtype=np.float64).reshape(-1, len(STYLE))


@aligned()
def style_covariates(first: ArrayLike, second: ArrayLike, *, center: bool = True) -> Floats:
    """Differences of style between two responses, as Chatbot Arena's style control measures them.

    Each is (first - second) / (first + second), and then divided by its standard deviation over the rows, so that
    a coefficient speaks of a typical difference. A column that does not vary is 0.

    Parameters
    ----------
    first, second : array_like of shape (n_items,) or (n_items, k)
        Counts of the response shown first and of the one shown second (`style_counts`); NaN where unknown.
    center : bool, default True
        Subtract the mean first, as the arena does. Where first and second are not drawn by lot, False keeps
        "no difference" at 0.

    Returns
    -------
    ndarray of shape (n_items, k)
        Covariates for `bradley_terry`.

    Raises
    ------
    InvalidInputError
        For counts of different shapes, or negative ones.

    References
    ----------
    T. Li, A. Angelopoulos and W.-L. Chiang, "Does style matter? Disentangling style and substance in Chatbot
    Arena" (LMSYS, 2024). There 1 is added to the sum, which spares a division by zero; here two zeros are no
    difference.

    Examples
    --------
    >>> style_covariates([30, 10, 20], [10, 30, 20]).ravel().round(4).tolist()
    [1.2247, -1.2247, 0.0]
    """
    center = as_switch(center, "center")
    second = columns_matched(second, "second", first, "first")
    one, two = (_columns(values, name) for values, name in ((first, "first"), (second, "second")))
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    if (one < 0).any() or (two < 0).any():
        raise InvalidInputError("first and second: counts are not negative")
    whole = one + two
    share = (one - two) / np.where(whole == 0, 1.0, whole)
    known = ~np.isnan(share)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, share, 0.0).sum(axis=0) / n
    spread = np.sqrt((np.where(known, share - mean, 0.0) ** 2).sum(axis=0) / n)
    result: Floats = (share - mean if center else share) / np.where(spread == 0, 1.0, spread)
    return np.where(known & (spread == 0), 0.0, result)


def _columns(values: ArrayLike, name: str) -> Floats:
    array = as_floats(values, name)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise InvalidInputError(f"{name}: expected shape (n_items,) or (n_items, k), got {array.shape}")
    return array
