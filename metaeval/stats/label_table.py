"""From a long frame, a row a label, to what the functions take; and texts to numbers, by a coding that is stated."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_ids, is_missing

Coding: TypeAlias = Mapping[Any, float] | Sequence[str]
Unjudged: TypeAlias = Literal["refuse", "omit", "keep"]

_UNJUDGED = ("refuse", "omit", "keep")
_EXAMPLE = "coding={'A': 1, 'B': 2, 'tie': 0}, or a list of levels, which are then 1, 2, 3"
# The largest matrix of labels, items times people.
_MOST_CELLS = 50_000_000


def code_labels(labels: Any, coding: Coding, *, name: str = "labels") -> Floats:
    """Labels given by name as the numbers that all functions take.

    Parameters
    ----------
    labels : array_like
        Of any shape: texts, or anything that the coding knows. What is missing (None, NaN, NA) stays missing.
    coding : mapping from labels to numbers, or sequence of str
        The number of each label, NaN for one that says nothing ("invalid", say). A sequence is levels from the lowest
        on, which are 1, 2, 3 and so on. Of pairs: 1 (first response better), 2 (second), 0 (tie).
    name : str
        What the labels are called in an error.

    Returns
    -------
    ndarray of float, of the shape of ``labels``

    Raises
    ------
    InvalidInputError
        For a label that the coding does not know: nothing is guessed.

    Notes
    -----
    Nominal statistics don't depend on the numbers; ordinal and interval ones do, and levels are then taken to be
    equally far apart.

    Examples
    --------
    >>> code_labels([["A", "B"], ["tie", None]], {"A": 1, "B": 2, "tie": 0}).tolist()
    [[1.0, 2.0], [0.0, nan]]
    >>> code_labels(["poor", "good"], ["poor", "fair", "good"]).tolist()
    [1.0, 3.0]
    """
    numbers = read_coding(coding)
    array = np.asarray(labels, dtype=object)
    flat = np.array(
        [math.nan if is_missing(value) else _number_of(value, numbers) for value in array.ravel().tolist()]
    )
    unknown = np.flatnonzero([value is None for value in flat])
    if len(unknown):
        place = ", ".join(map(str, np.unravel_index(unknown[0], array.shape)))
        raise InvalidInputError(
            f"{name}: {array.ravel()[unknown[0]]!r} at {place} is not in the coding {_listed(numbers)}"
        )
    return flat.astype(np.float64).reshape(array.shape)


def read_coding(coding: Any) -> dict[Any, float]:
    """A coding as a mapping from labels to numbers, checked.

    Examples
    --------
    >>> read_coding(["no", "yes"])
    {'no': 1.0, 'yes': 2.0}
    """
    if isinstance(coding, Mapping):
        pairs = list(coding.items())
    elif isinstance(coding, list | tuple) and all(isinstance(level, str) for level in coding):
        if len(set(coding)) < len(coding):
            raise InvalidInputError(f"coding: a level is there twice in {list(coding)!r}")
        pairs = [(level, place + 1.0) for place, level in enumerate(coding)]
    else:
        raise InvalidInputError(f"coding: expected {_EXAMPLE}; got {coding!r}")
    for label, number in pairs:
        if isinstance(number, bool) or not isinstance(number, int | float | np.number) or math.isinf(number):
            raise InvalidInputError(f"coding: expected a number for {label!r}, got {number!r}")
    if not pairs:
        raise InvalidInputError("coding: expected at least one label")
    return {label: float(number) for label, number in pairs}


@dataclass(frozen=True, eq=False)
class LabelTable:
    """People's labels and judges' verdicts of the same items: arrays for every function of the library.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        Their ids, sorted. Rows of all that follows are in this order.
    people : ndarray of shape (n_people,)
        Their ids, sorted: the columns of ``labels``.
    verdicts : dict from str to ndarray of shape (n_items, n_orders)
        By judge, a column for each presentation order that it was asked in; NaN where unparsed or not judged.
    judged : dict from str to ndarray of bool, shape (n_items, n_orders)
        Whether there is a row of the judge.
    clusters : ndarray of shape (n_items,)
        Items that belong together; without such a column the items themselves.
    weights, gold : ndarray of float, shape (n_items,), or None
        Sampling weights and known right answers, where there are such columns.
    categories : ndarray of shape (n_items,), or None
    coding : dict or None
        The number of each label that was given by name; None where labels were numbers.
    long : tuple of three ndarrays of shape (n_labels,)
        People's labels one by one: the row of the item in ``items``, the person, the value. Functions of people's
        labels take it in place of ``labels``: for crowds, whose matrix would be too large.

    Examples
    --------
    >>> rows = {
    ...     "item": ["q1", "q1", "q2", "q2", "q1", "q2"],
    ...     "person": ["ann", "ben", "ann", "ben", None, None],
    ...     "judge": [None, None, None, None, "gpt", "gpt"],
    ...     "label": ["A", "A", "B", "tie", "A", "B"],
    ... }
    >>> table = LabelTable.from_long(rows, coding={"A": 1, "B": 2, "tie": 0})
    >>> table.labels.tolist(), table.verdicts["gpt"].tolist()
    ([[1.0, 1.0], [2.0, 0.0]], [[1.0], [2.0]])
    """

    items: NDArray[Any]
    people: NDArray[Any]
    long: tuple[Integers, NDArray[Any], Floats] = field(repr=False)
    verdicts: dict[str, Floats] = field(repr=False)
    judged: dict[str, Booleans] = field(repr=False)
    clusters: NDArray[Any] = field(repr=False)
    weights: Floats | None = field(repr=False)
    gold: Floats | None = field(repr=False)
    categories: NDArray[Any] | None = field(repr=False)
    coding: dict[Any, float] | None

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges, sorted."""
        return tuple(self.verdicts)

    @cached_property
    def labels(self) -> Floats:
        """People's labels, (n_items, n_people): items by people, NaN where missing.

        Raises
        ------
        InvalidInputError
            Where the matrix would be too large.
        """
        if len(self.items) * len(self.people) > _MOST_CELLS:
            raise InvalidInputError(
                f"labels: {len(self.items):,} items by {len(self.people):,} people; pass `long` in place of `labels`"
            )
        item, person, value = self.long
        dense = np.full((len(self.items), len(self.people)), math.nan)
        dense[item, np.searchsorted(self.people, person)] = value
        return dense

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        coding: Coding | None = None,
        unjudged: Unjudged = "refuse",
        item: str = "item",
        person: str = "person",
        label: str = "label",
        judge: str = "judge",
        order: str = "order",
        cluster: str = "cluster",
        weight: str = "weight",
        gold: str = "gold",
        category: str = "category",
    ) -> "LabelTable":
        """Read a long frame: a row for each label of a person and each verdict of a judge.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or mapping from names to columns
            Each row has an ``item``, a ``label`` and either a ``person`` or a ``judge``. ``order`` (1 or 2) says in
            which presentation order a judge was asked. ``cluster``, ``weight``, ``gold`` and ``category`` are of the
            item: the same in each of its rows, or missing in some; a category may be missing in all. Other columns are
            not read.
        coding : mapping from labels to numbers, or sequence of str, optional
            See `code_labels`. Labels that are texts are refused without it.
        unjudged : {"refuse", "omit", "keep"}
            An item that a judge has no verdict on: refused, since most functions count a missing verdict as an unparsed
            one, and so as an error; left out for all judges; or kept, for `metaeval.selection.choose`, which reads
            ``judged``.
        item, person, label, judge, order, cluster, weight, gold, category : str
            What these columns are called. All but ``item``, ``label`` and one of ``person`` and ``judge`` may be
            lacking under their usual names.

        Returns
        -------
        LabelTable

        Raises
        ------
        InvalidInputError
            Naming the column and the row, counted from 0: a column or an id that is missing, two labels of a person or
            two verdicts of a judge on one item, a label that the coding does not know, an item in two clusters.
        """
        check_option(unjudged, _UNJUDGED, "unjudged")
        usual = ("item", "person", "label", "judge", "order", "cluster", "weight", "gold", "category")
        given = (item, person, label, judge, order, cluster, weight, gold, category)
        columns = _Columns.of(frame, dict(zip(usual, given, strict=True)))
        numbers = None if coding is None else read_coding(coding)
        items, place = columns.ids("item", columns.every)
        by_judge = columns.of_judges()
        values, more = columns.values("label", numbers), columns.values("gold", numbers)
        people = np.flatnonzero(~by_judge)
        found_people, who = columns.ids("person", people)
        columns.refuse_twice("person", people, (place[people], who), "label", items)
        labelled = people[~np.isnan(values[people])]
        whose = who[~np.isnan(values[people])]
        asked = np.flatnonzero(by_judge)
        verdicts, judged = columns.verdicts(asked, place, values, items, refuse=unjudged == "refuse")
        clusters = columns.of_items("cluster", place, items)
        categories = columns.of_items("category", place, items)
        weights = columns.of_items("weight", place, items)
        keep = np.ones(len(items), dtype=np.bool_)
        if unjudged == "omit":
            for each in judged.values():
                keep &= each.all(axis=1)
        stays = keep[place[labelled]]
        own = columns.numbers_of_items("gold", more, place, items)
        return cls(
            items=items[keep],
            people=found_people,
            long=(
                (np.cumsum(keep) - 1)[place[labelled][stays]],
                found_people[whose[stays]],
                values[labelled][stays],
            ),
            verdicts={name: found[keep] for name, found in verdicts.items()},
            judged={name: found[keep] for name, found in judged.items()},
            clusters=(items if clusters is None else clusters)[keep],
            weights=None if weights is None else as_floats(weights[keep], columns.names["weight"]),
            gold=None if own is None else own[keep],
            categories=None if categories is None else categories[keep],
            coding=numbers,
        )


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of a frame by their role, as arrays, and what an error says of them."""

    arrays: dict[str, NDArray[Any]]
    names: dict[str, str]
    n: int

    @classmethod
    def of(cls, frame: Any, names: dict[str, str]) -> "_Columns":
        there = getattr(frame, "columns", frame.keys() if isinstance(frame, Mapping) else None)
        if there is None:
            raise InvalidInputError(
                f"frame: expected a frame or a mapping of columns, got {type(frame).__name__}"
            )
        there = list(there)
        for role, name in names.items():
            if there.count(name) > 1:
                raise InvalidInputError(f"frame: there are two columns {name!r}")
            if name not in there and (role in ("item", "label") or name != role):
                raise InvalidInputError(
                    f"frame: has no column {name!r}; it has {', '.join(map(repr, there))}"
                )
        found = {role: _array(frame[name]) for role, name in names.items() if name in there}
        if not found.keys() & {"person", "judge"}:
            raise InvalidInputError(f"frame: has neither a column {names['person']!r} nor {names['judge']!r}")
        n = len(found["item"])
        for role, array in found.items():
            if array.ndim != 1 or len(array) != n:
                raise InvalidInputError(
                    f"column {names[role]!r}: {len(array)} rows, where {names['item']!r} has {n}"
                )
        if not n:
            raise InvalidInputError("frame: has no rows")
        return cls(found, names, n)

    @property
    def every(self) -> Integers:
        """All rows."""
        return np.arange(self.n)

    def missing(self, role: str) -> Booleans:
        """Which rows have nothing in a column; all, where there is no such column."""
        array = self.arrays.get(role)
        if array is None:
            return np.ones(self.n, dtype=np.bool_)
        if array.dtype.kind == "O":
            return np.fromiter(map(is_missing, array.tolist()), dtype=np.bool_, count=self.n)
        return np.asarray(array != array) if array.dtype.kind in "fmM" else np.zeros(self.n, dtype=np.bool_)

    def refused(self, role: str, row: int, why: str) -> InvalidInputError:
        """The error that names a column and a row."""
        return InvalidInputError(f"column {self.names[role]!r}, row {row}: {why}")

    def ids(self, role: str, rows: Integers) -> tuple[NDArray[Any], Integers]:
        """The distinct ids in some rows, sorted, and the place of each row's among them."""
        if not len(rows):
            return np.zeros(0, dtype=object), np.zeros(0, dtype=np.intp)
        lacks = self.missing(role)[rows]
        if lacks.any():
            raise self.refused(role, int(rows[np.argmax(lacks)]), "nothing is there")
        return as_ids(self.arrays[role][rows], f"column {self.names[role]!r}")

    def of_judges(self) -> Booleans:
        """Which rows are a judge's; each row is of a person or of a judge."""
        person, judge = self.missing("person"), self.missing("judge")
        both, neither = ~person & ~judge, person & judge
        if both.any():
            raise self.refused("judge", int(np.argmax(both)), f"there is a {self.names['person']!r} too")
        if neither.any():
            role = "person" if "person" in self.arrays else "judge"
            raise self.refused(role, int(np.argmax(neither)), "nothing says whose label this is")
        return ~judge

    def values(self, role: str, coding: dict[Any, float] | None) -> Floats:
        """Labels as numbers, NaN where missing."""
        array = self.arrays.get(role)
        if array is None:
            return np.full(self.n, math.nan)
        there = np.flatnonzero(~self.missing(role))
        given = array[there].tolist()
        if coding is None:
            texts = next(
                (row for row, value in zip(there.tolist(), given, strict=True) if isinstance(value, str)),
                None,
            )
            if texts is not None:
                distinct = sorted({value for value in given if isinstance(value, str)})
                raise self.refused(
                    role,
                    texts,
                    f"{array[texts]!r} is a text: state {_EXAMPLE}. There are {_listed(distinct)}",
                )
            numbers = as_floats(given, f"column {self.names[role]!r}")
        else:
            coded = [_number_of(value, coding) for value in given]
            if None in coded:
                row = int(there[coded.index(None)])
                raise self.refused(role, row, f"{array[row]!r} is not in the coding {_listed(coding)}")
            numbers = np.array(coded, dtype=np.float64)
        found = np.full(self.n, math.nan)
        found[there] = numbers
        return found

    def refuse_twice(
        self, role: str, rows: Integers, keys: tuple[Integers, ...], what: str, items: NDArray[Any]
    ) -> None:
        """Refuse two rows of one item by the same person, or the same judge in the same order."""
        order = np.lexsort(keys[::-1])
        same = (
            np.all([key[order][1:] == key[order][:-1] for key in keys], axis=0)
            if len(rows)
            else np.zeros(0, bool)
        )
        if same.any():
            at = int(np.argmax(same))
            first, second = sorted((int(rows[order[at]]), int(rows[order[at + 1]])))
            whose, item = _plain(self.arrays[role][second]), _plain(items[keys[0][order[at]]])
            why = f"{whose!r} has a {what} on item {item!r} already, in row {first}"
            raise self.refused(role, second, why)

    def verdicts(
        self, rows: Integers, place: Integers, values: Floats, items: NDArray[Any], *, refuse: bool
    ) -> tuple[dict[str, Floats], dict[str, Booleans]]:
        """By judge, verdicts and whether there is a row."""
        names, who = self.ids("judge", rows)
        order = self._orders(rows)
        self.refuse_twice("judge", rows, (place[rows], who, order), "verdict", items)
        verdicts, judged = {}, {}
        for code, name in enumerate(names.tolist()):
            mine = who == code
            shape = (len(items), int(order[mine].max()) + 1)
            found, there = np.full(shape, math.nan), np.zeros(shape, dtype=np.bool_)
            cells = place[rows[mine]], order[mine]
            found[cells], there[cells] = values[rows[mine]], True
            if refuse and not there.all():
                lacking = np.argwhere(~there)[0]
                where = f" in order {lacking[1] + 1}" if shape[1] > 1 else ""
                raise InvalidInputError(
                    f"column {self.names['judge']!r}: {name!r} has no verdict on {_plain(items[lacking[0]])!r}{where},"
                    f" and lacks {(~there).sum():,} in all; pass unjudged='omit' or unjudged='keep'"
                )
            verdicts[str(name)], judged[str(name)] = found, there
        return verdicts, judged

    def _orders(self, rows: Integers) -> Integers:
        array = self.arrays.get("order")
        if array is None:
            return np.zeros(len(rows), dtype=np.intp)
        given = array[rows].tolist()
        wrong = (at for at, value in enumerate(given) if isinstance(value, bool) or value not in (1, 2))
        at = next(wrong, None)
        if at is not None:
            raise self.refused("order", int(rows[at]), f"expected 1 or 2, found {given[at]!r}")
        return np.array(given, dtype=np.intp) - 1

    def of_items(self, role: str, place: Integers, items: NDArray[Any]) -> NDArray[Any] | None:
        """One value an item of a column that is of the items; None where there is no such column."""
        if role not in self.arrays:
            return None
        there = np.flatnonzero(~self.missing(role))
        if not len(there):  # an export has every column, whether or not there is anything to say
            return None
        distinct, codes = self.ids(role, there)
        may_lack = role == "category" and distinct.dtype.kind == "U"
        found = self._one_an_item(role, there, codes, place, items, may_lack=may_lack)
        return np.append(distinct, "")[found] if may_lack else distinct[found]

    def numbers_of_items(
        self, role: str, values: Floats, place: Integers, items: NDArray[Any]
    ) -> Floats | None:
        """One number an item of a column that is of the items, NaN where no row has one."""
        if role not in self.arrays:
            return None
        there = np.flatnonzero(~np.isnan(values))
        distinct, codes = np.unique(values[there], return_inverse=True)
        found = self._one_an_item(role, there, codes, place, items, may_lack=True)
        return np.append(distinct, math.nan)[found]

    def _one_an_item(
        self,
        role: str,
        there: Integers,
        codes: Integers,
        place: Integers,
        items: NDArray[Any],
        *,
        may_lack: bool = False,
    ) -> Integers:
        found = np.full(len(items), -1, dtype=np.intp)
        found[place[there]] = codes
        other = found[place[there]] != codes
        if other.any():
            row = int(there[np.argmax(other)])
            raise self.refused(
                role, row, f"item {_plain(items[place[row]])!r} has another one in another row"
            )
        if (found < 0).any() and not may_lack:
            lacking = int(np.argmax(found < 0))
            raise self.refused(
                role, int(np.argmax(place == lacking)), f"item {_plain(items[lacking])!r} has none"
            )
        return found


def _array(column: Any) -> NDArray[Any]:
    array = np.asarray(column)
    if array.dtype.kind in "UST" or isinstance(column, list | tuple):
        # A list of texts and numbers would become texts.
        array = np.fromiter(column, dtype=object, count=len(column))
    return array


def _number_of(value: Any, coding: Mapping[Any, float]) -> float | None:
    try:
        return coding.get(value)
    except TypeError:  # a list, say
        return None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _listed(names: Any) -> str:
    texts = [repr(_plain(name)) for name in names]
    return ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")
