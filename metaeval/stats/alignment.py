"""Arguments with an index, such as pandas objects: rows are matched by their labels, not by their places.

Nothing here imports pandas. What has an ``index`` and a ``reindex`` is indexed; of several such arguments all are put
into the order of the first, and what cannot be is refused by its name. Arguments without an index are read in the order
that they are in.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_ids

# Most arguments of the many calls that a report makes.
_PLAIN = frozenset({np.ndarray, float, int, bool, str, type(None)})
P = ParamSpec("P")
R = TypeVar("R")


def is_indexed(value: Any) -> bool:
    """Whether the rows of a value have labels of their own.

    Examples
    --------
    >>> is_indexed([1, 2]), is_indexed(np.ones(2))
    (False, False)
    """
    return hasattr(type(value), "reindex") and hasattr(value, "index")


def aligned(
    *, apart: Collection[str] = (), rows: tuple[str, ...] = (), parts: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take indexed arguments: its arguments are aligned before it sees them.

    Parameters
    ----------
    apart : names of arguments that are not of the items (all values that there could be, say).
    rows : names of arguments with several rows an item, the first of which says the item of each. They are aligned with
        each other, and an argument of the items with the items' ids. Labels as (item, annotator, value) always are.
    parts : names of sequences of one array an item; two such arrays of one item are aligned with each other. So are
        those of ``rows`` where the first of them is not given.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        packed = next(
            (name for name, each in signature.parameters.items() if each.kind is each.VAR_KEYWORD), None
        )

        @wraps(function)
        def with_rows_matched(*args: P.args, **kwargs: P.kwargs) -> R:
            if not any(_holds_index(value) for value in (*args, *kwargs.values())):
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            given = dict(bound.arguments)
            options = given.pop(packed, {}) if packed else {}
            found = align(given | options, apart=apart, rows=rows, parts=parts)
            bound.arguments.update({name: found[name] for name in given})
            if options:
                bound.arguments[str(packed)] = {name: found[name] for name in options}
            return function(*bound.args, **bound.kwargs)

        return with_rows_matched

    return decorate


def align(
    arguments: Mapping[str, Any],
    *,
    apart: Collection[str] = (),
    rows: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The arguments by name, with the rows of all that are indexed in one order; see `aligned`.

    Raises
    ------
    InvalidInputError
        Naming the first argument that cannot be aligned.
    """
    found = dict(arguments)
    if rows and found.get(rows[0]) is None:
        rows, parts = (), (*parts, *rows)
    long = {name: found[name] for name in rows if name in found}
    ids = found.get(rows[0]) if rows else None
    if is_long(found.get("labels")):
        long, ids = {"labels": found["labels"]}, found["labels"][0]
    found |= _in_one_order(long)
    lists = {name: found[name] for name in parts if name in found and not is_indexed(found[name])}
    found |= _by_place(lists)
    others = {
        name: value for name, value in found.items() if name not in (*apart, *long, *lists, "resamples")
    }
    resamples = found.get("resamples")
    index = getattr(resamples, "index", None) if hasattr(resamples, "codes") else None
    base = None if index is None else ("resamples", index)
    if ids is not None:
        target = None if not any(map(_holds_index, (*others.values(), resamples))) else _ids_in_order(ids)
        found |= {name: _of_items(value, name, target) for name, value in others.items()}
        if base is not None and not base[1].equals(type(base[1])(target)) and not _is_default(base[1]):
            raise InvalidInputError("resamples: their index differs from the sorted ids of the items")
        return found
    aligned_ones = _in_one_order(others, base)
    moved = [name for name in others if aligned_ones[name] is not others[name]]
    if moved:
        _refuse_without_index({**others, "resamples": resamples}, moved)
    return found | aligned_ones


def columns_matched(value: Any, name: str, like: Any, like_name: str) -> Any:
    """A frame with its columns in the order of those of another, matched by their names; anything else as it is.

    Columns that are only numbered are matched by their places, and a single column stands for all.

    Raises
    ------
    InvalidInputError
        Naming the argument whose columns have other names.
    """
    own, other = _names_of_columns(value), _names_of_columns(like)
    if own is None or other is None or len(own) == 1 or own == other:
        return value
    if len(set(own)) < len(own) or len(set(other)) < len(other) or set(own) != set(other):
        raise InvalidInputError(
            f"{name}: its columns {own!r} are not those of {like_name}, {other!r}; give both the same"
            " names, each once, or pass arrays in one order"
        )
    return value[other]


def _names_of_columns(frame: Any) -> list[Any] | None:
    """The names of a frame's columns; None of anything else, and where columns are only numbered."""
    columns = getattr(frame, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    numbered = (list(range(len(names))), [f"column_{place}" for place in range(len(names))])
    return None if names in numbered else names


def _holds_index(value: Any) -> bool:
    """Whether a value is indexed, or holds what is; of a list, which may be long, the first element tells."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Mapping):
        return any(map(_holds_index, value.values()))
    if isinstance(value, tuple):
        return any(map(_holds_index, value[:3]))
    if isinstance(value, list):
        return bool(value) and _holds_index(value[0])
    return is_indexed(value) or (getattr(value, "index", None) is not None and hasattr(value, "codes"))


def is_long(labels: Any) -> bool:
    """Whether labels come as (item, annotator, value)."""
    return isinstance(labels, tuple) and len(labels) == 3 and all(np.ndim(part) == 1 for part in labels)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All that is indexed in a value, by what it is called in an error."""
    if is_indexed(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple) and _holds_index(value):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{name}[{place}]")


def _changed(value: Any, name: str, change: Callable[[Any, str], Any]) -> Any:
    """The value with all that is indexed changed; itself where nothing was."""
    if is_indexed(value):
        return change(value, name)
    if isinstance(value, Mapping):
        new = {key: _changed(inner, f"{name}[{key!r}]", change) for key, inner in value.items()}
        return new if any(new[key] is not value[key] for key in new) else value
    if isinstance(value, list | tuple) and _holds_index(value):
        items = [_changed(inner, f"{name}[{place}]", change) for place, inner in enumerate(value)]
        same = all(one is other for one, other in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


def _in_one_order(values: Mapping[str, Any], base: tuple[str, Any] | None = None) -> dict[str, Any]:
    """All that is indexed in these values in the order of the first of it, or of the base."""
    leaves = [leaf for name, value in values.items() for leaf in _leaves(value, name)]
    if not leaves:
        return dict(values)
    of, index = base if base is not None else (leaves[0][0], leaves[0][1].index)
    return {
        name: _changed(value, name, lambda leaf, called: _reordered(leaf, called, index, of))
        for name, value in values.items()
    }


def _reordered(leaf: Any, name: str, index: Any, of: str) -> Any:
    if leaf.index.equals(index):
        return leaf
    known = len(leaf.index) == len(index) and leaf.index.is_unique and index.is_unique
    if not (known and leaf.index.isin(index).all()):
        raise InvalidInputError(
            f"{name}: its index cannot be aligned with that of {of}; give both the same labels, each once, or pass"
            " arrays in one order"
        )
    return leaf.reindex(index)


def _refuse_without_index(values: Mapping[str, Any], moved: list[str]) -> None:
    """Refuse arrays beside indexed arguments in several orders: nothing says which of these is theirs."""
    n = len(next(leaf for _, leaf in _leaves(values[moved[0]], moved[0])).index)
    for name, value in values.items():
        plain = isinstance(value, Sized) and not isinstance(value, str | Mapping | tuple)
        plain = plain and not _holds_index(value) and len(value) == n
        if plain or (getattr(value, "codes", None) is not None and getattr(value, "index", None) is None):
            raise InvalidInputError(
                f"{name}: has no index, and {moved[0]} is in another order than others; index it too, or pass arrays"
            )


def _by_place(lists: Mapping[str, Any]) -> dict[str, Any]:
    """Sequences of one array an item, those of one item in one order."""
    if not any(map(_holds_index, lists.values())):
        return dict(lists)
    columns: dict[tuple[str, Any], Any] = {}
    for name, value in lists.items():
        for key, inner in value.items() if isinstance(value, Mapping) else [(None, value)]:
            if isinstance(inner, list | tuple):
                columns[name, key] = inner
    found: dict[tuple[str, Any], list[Any]] = {where: list(column) for where, column in columns.items()}
    for place in range(max(map(len, columns.values()), default=0)):
        here = {where: column[place] for where, column in columns.items() if place < len(column)}
        called = {
            f"{name}[{place}]" if key is None else f"{name}[{key!r}][{place}]": (name, key)
            for name, key in here
        }
        new = _in_one_order({text: here[where] for text, where in called.items()})
        for text, where in called.items():
            found[where][place] = new[text]
    result = dict(lists)
    for (name, key), column in found.items():
        result[name] = column if key is None else {**result[name], key: column}
    return result


def _ids_in_order(ids: Any) -> Any:
    """The distinct ids of the items in the order that the items have in long format."""
    return np.asarray(as_ids(ids, "items")[0])


def _is_default(index: Any) -> bool:
    """Whether an index only counts the rows."""
    values = np.asarray(index)
    return values.dtype.kind in "iu" and bool((values == np.arange(len(values))).all())


def _of_items(value: Any, name: str, ids: Any) -> Any:
    """An argument of the items beside labels in long format: in the order of their ids."""

    def change(leaf: Any, called: str) -> Any:
        if _is_default(leaf.index):
            return leaf
        order = ids
        if (
            np.asarray(leaf.index).dtype.kind in "iu"
            and ids.dtype.kind in "iu"
            and len(ids) < len(leaf.index)
        ):
            order = np.arange(len(leaf.index))  # row numbers, some of them without a label
        return _reordered(leaf, called, type(leaf.index)(order), "the items")

    return _changed(value, name, change)
