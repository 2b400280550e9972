"""Results as figures, with matplotlib, which the extra ``plots`` brings; what `Result.plot` calls.

Everything is drawn into the axes that are given, else into those of a new figure, and in the style that is in force:
background, text, lines and fonts are the style's. Colors follow those of M. Okabe and K. Ito, "Color Universal Design"
(2008), which people with any kind of color vision can distinguish, in shades for a light and for a dark background;
markers and dashes differ as well. A function returns the axes, so a title or limits can be set after it.
"""

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from metaeval.stats.errors import InvalidInputError
from metaeval.stats.results import Result, drawn_rows

# Blue, vermilion, green, purple, orange, sky blue: at least 3 to 1 against white, and against black.
ON_LIGHT = ("#0072B2", "#D55E00", "#00835F", "#B5548B", "#9A6A00", "#3B86B5")
ON_DARK = ("#56B4E9", "#E69F00", "#1DB38A", "#CC79A7", "#F0E442", "#D55E00")
_MARKERS = "osD^vP"
_DASHES = ("-", "--", "-.", ":")


def forest(results: Any, *, ax: Any = None, reference: float | None = None) -> Any:
    """Estimates with their intervals, one below the other.

    Parameters
    ----------
    results : result, mapping from names to results, or sequence of results
        Of each, every estimate that has an interval; of a choice, a comparison and a table of subsets those that it is
        about.
    ax : matplotlib.axes.Axes, optional
        Default: a new figure.
    reference : float, optional
        Where a line is drawn. Default: at 0 for differences, else none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidInputError
        Where no result has an estimate with an interval.

    References
    ----------
    S. Lewis and M. Clarke, "Forest plots: trying to see the wood and the trees", BMJ 322 (2001).

    Examples
    --------
    >>> from metaeval.stats import Estimate
    >>> axes = forest({"Judge A": Estimate(0.7, 0.6, 0.8, 90), "Judge B": Estimate(0.6, 0.5, 0.7, 90)})
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['Judge A', 'Judge B']
    """
    rows = drawn_rows(results)
    if not rows:
        raise InvalidInputError(f"{_called(results)} has no estimate with an interval to draw")
    axes = _axes(ax, height=0.9 + 0.34 * len(rows))
    figures = list(dict.fromkeys(row.figure for row in rows))
    colors = _colors(axes)
    reference = _reference_of(results) if reference is None else reference
    if reference is not None:
        _line(axes.axvline, axes, reference)
    for at, figure in enumerate(figures):
        places = [place for place, row in enumerate(rows) if row.figure == figure]
        mine = [rows[place] for place in places]
        values = np.array([_or_middle(row) for row in mine])
        lows, highs = (np.array([getattr(row, end) for row in mine]) for end in ("low", "high"))
        axes.errorbar(
            values,
            places,
            xerr=np.maximum([values - lows, highs - values], 0.0),
            fmt=_MARKERS[at % len(_MARKERS)],
            color=colors[at % len(colors)],
            capsize=3,
        )
    axes.set_yticks(range(len(rows)), [_label(row, len(figures) > 1) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    if len(figures) == 1 and figures[0] != "value":
        axes.set_xlabel(_words(figures[0]))
    return axes


def reliability_diagram(results: Any, *, ax: Any = None) -> Any:
    """Stated probabilities against how often they come true, by bin, with intervals; the diagonal is calibrated.

    Parameters
    ----------
    results : CalibrationError, or mapping from names to several
    ax : matplotlib.axes.Axes, optional
        Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidInputError
        Where a result has no bins.

    References
    ----------
    M. H. DeGroot and S. E. Fienberg, "The comparison and evaluation of forecasters", The Statistician 32 (1983);
    A. Niculescu-Mizil and R. Caruana, "Predicting good probabilities with supervised learning", ICML 2005, section 4.

    Examples
    --------
    >>> from metaeval.stats import calibration_error
    >>> axes = reliability_diagram(calibration_error([0.1, 0.2, 0.8, 0.9] * 9, [0, 0, 1, 1] * 9, n_bins=2))
    >>> axes.get_xlabel()
    'Stated probability'
    """
    axes = _axes(ax)
    axes.axline((0, 0), slope=1, **_of_style(axes))
    for found, look in _series(results, axes, "bins"):
        bins = [each for each in found.bins if not math.isnan(each.outcome.value)]
        values = np.array([each.outcome.value for each in bins])
        ends = np.array([[each.outcome.low, each.outcome.high] for each in bins]).reshape(-1, 2)
        reach = np.nan_to_num(np.abs(ends - values[:, np.newaxis])).T
        axes.errorbar([each.probability for each in bins], values, yerr=reach, capsize=3, **look)
    axes.set(xlabel="Stated probability", ylabel="Observed share", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return _with_legend(axes, results)


def risk_coverage_curve(results: Any, *, ax: Any = None, target: float | None = None) -> Any:
    """Share of errors among the verdicts that are kept, against the share kept, with the interval of each point.

    Parameters
    ----------
    results : RiskCoverage, or mapping from names to several
    ax : matplotlib.axes.Axes, optional
        Default: a new figure.
    target : float, optional
        A risk to hold: a line at it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidInputError
        Where a result is no curve.

    References
    ----------
    Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017, section 2.

    Examples
    --------
    >>> from metaeval.stats import risk_coverage
    >>> axes = risk_coverage_curve(risk_coverage([0.9, 0.8, 0.7, 0.6] * 9, [0, 0, 1, 1] * 9), target=0.1)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('Coverage', 'Risk')
    """
    axes = _axes(ax)
    if target is not None:
        _line(axes.axhline, axes, target)
    for found, look in _series(results, axes, "coverage"):
        look.pop("marker")
        axes.plot(found.coverage, found.risk, **look)
        axes.fill_between(found.coverage, found.low, found.high, color=look["color"], alpha=0.15, linewidth=0)
    axes.set(xlabel="Coverage", ylabel="Risk", xlim=(0, 1))
    axes.set_ylim(bottom=0)
    return _with_legend(axes, results)


def capacity_plot(results: Any, *, ax: Any = None) -> Any:
    """P-values of pairs of models against the size of the evaluation set, a line a quantile, and the level asked for.

    Parameters
    ----------
    results : CapacityCurve
    ax : matplotlib.axes.Axes, optional
        Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidInputError
        Where there is no curve.

    References
    ----------
    As of `metaeval.stats.capacity_curve`.

    Examples
    --------
    >>> from metaeval.stats import capacity_curve
    >>> rng = np.random.default_rng(0)
    >>> scores = {name: (rng.random(60) < rate) * 1.0 for name, rate in zip("abc", (0.9, 0.7, 0.5))}
    >>> axes = capacity_plot(capacity_curve(scores, sizes=[20, 40, 60], n_draws=5))
    >>> axes.get_xlabel()
    'Instructions'
    """
    axes = _axes(ax)
    curve = next(_series(results, axes, "p_values"))[0]
    _line(axes.axhline, axes, curve.alpha)
    if not math.isnan(curve.capacity):
        _line(axes.axvline, axes, curve.capacity)
    looks = _looks(axes)
    for column, quantile in enumerate(np.asarray(curve.quantiles).tolist()):
        look = next(looks)
        axes.plot(curve.sizes, curve.p_values[:, column], label=f"quantile {quantile:g}", **look)
    axes.set(xlabel="Instructions", ylabel="p-value", ylim=(0, None))
    axes.legend()
    return axes


def heat_map(results: Any, *, ax: Any = None, names: Sequence[Any] | None = None) -> Any:
    """A square of numbers as colors, each number in its cell: correlations of evaluators, shares of wins.

    Parameters
    ----------
    results : EvaluatorCorrelations, WinMatrix, or array_like of shape (n_rows, n_columns)
        Of wins the share of comparisons in which the row was preferred, a tie as one half.
    ax : matplotlib.axes.Axes, optional
        Default: a new figure.
    names : sequence, optional
        Of the rows and columns of an array.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidInputError
        Where there is no matrix.

    References
    ----------
    L. Wilkinson and M. Friendly, "The history of the cluster heat map", Am. Statist. 63 (2009).

    Examples
    --------
    >>> from metaeval.stats import win_matrix
    >>> axes = heat_map(win_matrix(["a", "b", "a"], ["b", "c", "c"], [1, 2, 0]))
    >>> [text.get_text() for text in axes.texts]
    ['1.00', '0.50', '0.00', '0.00', '0.50', '1.00']
    """
    values = next(
        (getattr(results, name) for name in ("shares", "matrix") if hasattr(results, name)), results
    )
    matrix = np.asarray(values, dtype=np.float64) if not isinstance(values, Result) else np.zeros(0)
    if matrix.ndim != 2:
        raise InvalidInputError(f"{_called(results)} has no matrix to draw")
    labels = [str(name) for name in getattr(results, "names", names) or range(max(matrix.shape))]
    side = 1.6 + 0.62 * max(matrix.shape)
    axes = _axes(ax, width=side + 0.8, height=side)
    drawn = axes.imshow(matrix, cmap="cividis")
    for (row, column), number in np.ndenumerate(matrix):
        if not math.isnan(number):
            shade = (
                "black" if relative_luminance(drawn.to_rgba(number)) > 0.18 else "white"
            )  # against the cell alone
            axes.text(column, row, f"{number:.2f}", ha="center", va="center", color=shade)
    axes.set_xticks(range(matrix.shape[1]), labels[: matrix.shape[1]], rotation=45, ha="right")
    axes.set_yticks(range(matrix.shape[0]), labels[: matrix.shape[0]])
    axes.grid(False)
    axes.figure.colorbar(drawn, ax=axes)
    return axes


def _axes(ax: Any, *, width: float | None = None, height: float | None = None) -> Any:
    if ax is not None:
        return ax
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "touchstone-judge[plots]"') from error
    usual = pyplot.rcParams["figure.figsize"]
    size = (width or usual[0], height or usual[1])
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def relative_luminance(color: Any) -> float:
    """How light a color is, from 0 (black) to 1 (white).

    Parameters
    ----------
    color : any color of matplotlib

    Returns
    -------
    float

    References
    ----------
    W3C, "Web Content Accessibility Guidelines (WCAG) 2.2", 2023, definition of relative luminance.

    Examples
    --------
    >>> round(relative_luminance("#0072B2"), 3)
    0.152
    """
    parts = np.array(importlib.import_module("matplotlib.colors").to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _colors(axes: Any) -> tuple[str, ...]:
    return ON_LIGHT if relative_luminance(axes.get_facecolor()) > 0.18 else ON_DARK


def _looks(axes: Any) -> Iterator[dict[str, Any]]:
    for color, marker, dash in zip(cycle(_colors(axes)), cycle(_MARKERS), cycle(_DASHES)):
        yield {"color": color, "marker": marker, "linestyle": dash}


def _of_style(axes: Any) -> dict[str, Any]:
    """A thin line in the color of the axes' own."""
    return {"color": axes.spines["left"].get_edgecolor(), "linewidth": 0.8, "linestyle": "--", "zorder": 0.9}


def _line(draw: Any, axes: Any, where: float) -> None:
    draw(where, **_of_style(axes))


def _series(results: Any, axes: Any, needs: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    parts = results if isinstance(results, Mapping) else {"": results}
    for (name, found), look in zip(parts.items(), _looks(axes), strict=False):
        if not isinstance(found, Result) or not len(getattr(found, needs, ())):
            raise InvalidInputError(f"{name or _called(found)}: has nothing to draw here")
        yield found, look | ({"label": str(name)} if name else {})


def _with_legend(axes: Any, results: Any) -> Any:
    if isinstance(results, Mapping):
        axes.legend()
    return axes


def _called(results: Any) -> str:
    return type(results).__name__


def _reference_of(results: Any) -> float | None:
    parts = results.values() if isinstance(results, Mapping) else results
    every = [results] if isinstance(results, Result) else list(parts)
    found = {each._reference for each in every}
    return found.pop() if len(found) == 1 else None


def _or_middle(row: Any) -> float:
    return float(row.value if math.isfinite(row.value) else (row.low + row.high) / 2)


def _label(row: Any, with_figure: bool) -> str:
    keys = [str(key) if key != "" else "all" for key in (row.key, row.within) if key is not None]
    if with_figure or not keys:
        keys.append(_words(row.figure))
    return ", ".join(keys)


def _words(figure: str) -> str:
    return figure.rsplit(".", 1)[-1].replace("_", " ")
