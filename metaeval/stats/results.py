"""What every result of the library can do: be a long table, and be drawn. Imports neither pandas nor matplotlib."""

import dataclasses
import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from metaeval.stats.errors import InvalidInputError

COLUMNS = ("figure", "key", "within", "value", "low", "high", "n", "n_clusters", "method", "text")
"""Columns of `to_frame`."""


class FrameRow(NamedTuple):
    """One line of a long table; see `Result.to_frame` for the columns."""

    figure: str
    key: Any = None
    within: Any = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    n_clusters: int | None = None
    method: str | None = None
    text: str | None = None


class Result:
    """What results of the library have in common, whatever they say: `to_frame` and `plot`."""

    __slots__ = ()

    # The attribute that tells one of several in a list.
    _named_by: ClassVar[str] = ""
    # By attribute, the attributes that name its entries along each axis. Default: `names`, where there is one.
    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # By attribute, the attributes that hold the lower and the upper ends of its intervals.
    _intervals: ClassVar[Mapping[str, tuple[str, str]]] = {}
    # The function of `metaeval.stats.plots` that draws it, and of a forest the figures that are drawn: default all.
    _chart: ClassVar[str] = "forest"
    _drawn: ClassVar[tuple[str, ...]] = ()
    # Where its forest has a line.
    _reference: ClassVar[float | None] = None

    def to_frame(self) -> Any:
        """The result as a long frame of pandas: a row a number or text, columns the same for every result.

        Returns
        -------
        pandas.DataFrame
            ``figure``: the attribute, or the attributes with a dot between (``"rows.accuracy"``). ``key``, ``within``:
            which entry it is, by name where entries have names, else by place, and which entry within that one (a row
            and a column of a matrix, a judge and a dataset). ``value``, ``low``, ``high``, ``n``, ``n_clusters``,
            ``method``: as of `Estimate`; plain numbers have a value alone, and True is 1. ``text``: what is said in
            words (a verdict, a name), and of an estimate why it or its interval is undefined.

        Raises
        ------
        ImportError
            Without pandas.
        """
        return to_frame(self)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the result, by the function of `metaeval.stats.plots` for its kind: mostly a forest plot.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: a new figure.
        **options
            Of that function.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib, which the extra ``plots`` brings.
        InvalidInputError
            Where there is nothing to draw.
        """
        plots = importlib.import_module("metaeval.stats.plots")
        return getattr(plots, self._chart)(self, ax=ax, **options)

    def _rows(self, figure: str, keys: tuple[Any, ...]) -> Iterator[FrameRow]:
        """The result's lines, those of its parts included."""
        names = [each.name for each in dataclasses.fields(self)]  # type: ignore[arg-type]  # each is a dataclass
        yield from self._rows_of_fields(names, figure, keys)

    def _rows_of_fields(self, names: Sequence[str], figure: str, keys: tuple[Any, ...]) -> Iterator[FrameRow]:
        ends = {end for pair in self._intervals.values() for end in pair}
        for name in names:
            if name in ends or (keys and name == self._named_by):
                continue
            value, path = getattr(self, name), f"{figure}.{name}" if figure else name
            axes = [getattr(self, axis) for axis in self._axes.get(name, self._default_axes(value))]
            limits = [np.asarray(getattr(self, end)) for end in self._intervals.get(name, ())]
            yield from _rows_of(value, path, keys, axes, limits)

    def _default_axes(self, value: Any) -> tuple[str, ...]:
        names = getattr(self, "names", ())
        if not isinstance(value, np.ndarray | tuple) or value is names:
            return ()
        shape = getattr(value, "shape", (len(value),))
        return ("names",) * (bool(shape) and all(size == len(names) for size in shape)) * len(shape)


def to_frame(results: Any) -> Any:
    """A result, or several by name or in a sequence, as one long frame of pandas.

    Parameters
    ----------
    results : result, mapping from names to results, or sequence of results
        What functions of `metaeval.stats` and `metaeval.selection` return.

    Returns
    -------
    pandas.DataFrame
        With the columns that `Result.to_frame` explains. Of several, ``key`` is the name or the place of each.

    Raises
    ------
    ImportError
        Without pandas.
    InvalidInputError
        Where there is no result.

    Notes
    -----
    One line a number, as in H. Wickham, "Tidy data", J. Stat. Softw. 59 (2014), section 2: `DataFrame.pivot` makes any
    other table of it.

    Examples
    --------
    >>> from metaeval.stats import accuracy
    >>> found = {name: accuracy(said, [1, 2, 2, 1]) for name, said in {"a": [1, 2, 2, 2], "b": [1, 1, 1, 1]}.items()}
    >>> to_frame(found)[["figure", "key", "value", "n"]]
      figure key  value  n
    0  value   a   0.75  4
    1  value   b   0.50  4
    """
    rows = list(frame_rows(results))
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    numbers = dict.fromkeys(("value", "low", "high"), "float64")
    return frame.astype(numbers | {"n": "Int64", "n_clusters": "Int64"})


def frame_rows(results: Any) -> Iterator[FrameRow]:
    """The lines of a result, or of several by name or in a sequence."""
    if isinstance(results, Result):
        yield from results._rows("", ())
        return
    if isinstance(results, Mapping):
        parts = list(results.items())
    elif isinstance(results, list | tuple):
        parts = [(_name_of(part, place), part) for place, part in enumerate(results)]
    else:
        raise InvalidInputError(f"results: expected results of the library, got {type(results).__name__}")
    for key, part in parts:
        if not isinstance(part, Result):
            raise InvalidInputError(f"results: expected results of the library, found {part!r} as {key!r}")
        yield from part._rows("", (key,))


def drawn_rows(results: Any) -> list[FrameRow]:
    """The lines with an interval, of a result those that its plot is about."""
    drawn = getattr(results, "_drawn", ())
    return [
        row
        for row in frame_rows(results)
        if row.low is not None
        and row.high is not None
        and math.isfinite(row.low)
        and math.isfinite(row.high)
        and (not drawn or row.figure in drawn)
    ]


def _name_of(part: Any, place: int) -> Any:
    return getattr(part, part._named_by) if isinstance(part, Result) and part._named_by else place


def _rows_of(
    value: Any, figure: str, keys: tuple[Any, ...], axes: list[Any], limits: Sequence[Any] = ()
) -> Iterator[FrameRow]:
    if value is None:
        return
    if isinstance(value, Result):
        yield from value._rows(figure, keys)
    elif isinstance(value, np.ndarray):
        for place, number in np.ndenumerate(value):
            entry = tuple(axes[at][k] if at < len(axes) else k for at, k in enumerate(place))
            yield _line(number, figure, (*keys, *entry), [end[place] for end in limits])
    elif isinstance(value, Mapping):
        for key, part in value.items():
            entry = key if isinstance(key, tuple) else (key,)
            yield from _rows_of(part, figure, (*keys, *entry), [])
    elif isinstance(value, tuple | list):
        for at, part in enumerate(value):
            name = axes[0][at] if axes else _name_of(part, at)
            yield from _rows_of(part, figure, (*keys, name), axes[1:])
    elif isinstance(value, str | int | float | np.generic):
        yield _line(value, figure, keys)


def _line(value: Any, figure: str, keys: tuple[Any, ...], limits: Sequence[Any] = ()) -> FrameRow:
    key, within = keyed(keys)
    if isinstance(value, bool | np.bool_ | int | float | np.number):
        low, high = (float(end) for end in limits) if limits else (None, None)
        return FrameRow(figure, key, within, float(value), low, high)
    return FrameRow(figure, key, within, text=str(value))


def keyed(keys: tuple[Any, ...]) -> tuple[Any, Any]:
    """The two columns that say which entry it is."""
    plain = tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
    if len(plain) < 3:
        return plain[0] if plain else None, plain[1] if len(plain) == 2 else None
    return plain[0], ", ".join(map(str, plain[1:]))
