"""The table of a comparison: its columns, its order, its rows. A pure function of a report's content."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import MEASURES, value_text
from metaeval.reports.judges import PRIMARIES
from metaeval.reports.tables import OVERALL, Slice, axis_of, slice_find, slices_of, subset_columns

Content = dict[str, Any]
MOST_SUBSET_COLUMNS = 8
# Key in the URL, short head, measure, and whether smaller is better (what a first click sorts to the top).
EXTRAS = (
    ("positional", "Both orders", "positional_agreement", False),
    ("unparsed", "Unparsed", "unparsed_rate", True),
    ("length", "Length bias", "length_bias", True),
    ("cost", "$ / 1,000", "cost_per_1000", True),
    ("time", "Time each", "seconds_each", True),
)
DEFAULT_SORT = "-value"


@dataclass(frozen=True, slots=True)
class Column:
    """A head of the table.

    ``sort`` is what its link asks for; ``aria`` says how the table is sorted by it now; ``title`` is the long name.
    """

    key: str
    label: str
    title: str
    sort: str
    aria: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in a row."""

    estimate: dict[str, Any] | None
    unit: str
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A judge."""

    place: int
    judge: dict[str, Any]
    estimate: dict[str, Any] | None
    cells: tuple[Cell, ...]
    status: str  # "leads", "tied", "behind", "incomplete", "baseline"
    n_left: int = 0  # items that it did not judge

    @property
    def is_partial(self) -> bool:
        """Whether it judged a part of the items only; rules are computed for all."""
        return self.status != "baseline" and self.n_left > 0

    def fits(self, low: float, high: float) -> bool:
        """Whether the figure lies on the axis of the plots."""
        value = None if self.estimate is None else self.estimate["value"]
        return value is not None and low <= value <= high


@dataclass(frozen=True, slots=True)
class Table:
    """All that the table of a comparison shows."""

    primary: str
    primaries: tuple[str, ...]
    chosen: Slice
    choices: tuple[Slice, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Row, bool], ...]  # and whether it is drawn
    low: float
    high: float
    mark: float | None
    sort: str


def table_of(content: Content, *, measure: str = "", group: str = "", sort: str = "") -> Table:
    """Lay out the judges by one figure in one group of items.

    Unknown names fall back to the report's own figure, all items, and best first: a URL may be old.

    Parameters
    ----------
    measure : {"agreement", "accuracy"}
    group : str
        Key of a `Slice`.
    sort : str
        Key of a column, with "-" before it for largest first.
    """
    primaries = primaries_of(content)
    primary = measure if measure in primaries else content["primary"]
    chosen = slice_find(content, group)
    subsets = subset_columns(content) if chosen == OVERALL else []
    if len(subsets) > MOST_SUBSET_COLUMNS:
        subsets = []
    rows = [_row(content, place, primary, chosen, subsets) for place in range(len(content["judges"]))]
    keys = ["value", *(place.key for place in subsets), *(key for key, *_ in EXTRAS)]
    if sort.removeprefix("-") not in {"name", *keys}:
        sort = DEFAULT_SORT
    low, high = axis_of(_on_axis(rows))
    return Table(
        primary=primary,
        primaries=primaries,
        chosen=chosen,
        choices=tuple(slices_of(content)),
        columns=tuple(_columns(primary, subsets, sort)),
        rows=tuple((row, row.fits(low, high)) for row in _sorted(rows, sort, keys)),
        low=low,
        high=high,
        mark=_mark(content, primary, chosen, low, high),
        sort=sort,
    )


def _on_axis(rows: Sequence[Row]) -> list[dict[str, Any] | None]:
    """Baselines below all judges would stretch the axis until real judges look alike: they are not drawn."""
    real = [row for row in rows if row.status != "baseline"] or list(rows)
    values = [row.estimate["value"] for row in real if row.estimate and row.estimate["value"] is not None]
    worth = [
        row
        for row in rows
        if row.estimate
        and row.estimate["value"] is not None
        and row.estimate["value"] >= min(values, default=0)
    ]
    return [row.estimate for row in {id(row): row for row in (*real, *worth)}.values()]


def primaries_of(content: Content) -> tuple[str, ...]:
    """The figures that any judge of the report has; at least the report's own."""
    found = tuple(
        name
        for name in PRIMARIES
        if any(judge["measures"][name]["overall"]["value"] is not None for judge in content["judges"])
    )
    return found or (content["primary"],)


def _row(content: Content, place: int, primary: str, chosen: Slice, subsets: Sequence[Slice]) -> Row:
    judge = content["judges"][place]
    selection = content["selection"][primary]
    measures = judge["measures"]
    if judge["baseline"]:
        status = "baseline"
    elif place == selection["leader"]:
        status = "leads"
    elif place in selection["tied"]:
        status = "tied"
    else:
        status = "incomplete" if place in selection["incomplete"] else "behind"
    cells = [Cell(subset.of(measures[primary]), "percent", bare=True) for subset in subsets]
    # The head of a column says that length bias is in points.
    cells += [
        Cell(chosen.of(measures[name]), MEASURES[name][1], bare=name == "length_bias")
        for _, _, name, _ in EXTRAS
    ]
    n_left = content["items"]["n_items"] - judge["n_items_judged"]
    return Row(place, judge, chosen.of(measures[primary]), tuple(cells), status, n_left)


def _columns(primary: str, subsets: Sequence[Slice], sort: str) -> list[Column]:
    heads = [("name", "Judge", "Judge", True)]
    heads += [("value", MEASURES[primary][0], MEASURES[primary][0], False)]
    heads += [
        (subset.key, subset.short, f"{MEASURES[primary][0]}: {subset.label}", False) for subset in subsets
    ]
    heads += [(key, label, MEASURES[name][0], small) for key, label, name, small in EXTRAS]
    return [_column(key, label, title, ascending, sort) for key, label, title, ascending in heads]


def _column(key: str, label: str, title: str, ascending: bool, sort: str) -> Column:
    first, second = (key, f"-{key}") if ascending else (f"-{key}", key)
    aria = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
    return Column(key, label, title, second if sort == first else first, aria, numeric=key != "name")


def _sorted(rows: Sequence[Row], sort: str, keys: Sequence[str]) -> list[Row]:
    """Rows by a column; a figure that is undefined comes last, whichever the direction."""
    descending, key = sort.startswith("-"), sort.removeprefix("-")
    if key == "name":
        return sorted(rows, key=lambda row: row.judge["name"].casefold(), reverse=descending)
    place = keys.index(key) - 1

    def value(row: Row) -> tuple[bool, float]:
        estimate = row.estimate if place < 0 else row.cells[place].estimate
        number = None if estimate is None else estimate["value"]
        if number is None:
            return True, 0.0
        return False, -number if descending else number

    return sorted(rows, key=value)


def _mark(content: Content, primary: str, chosen: Slice, low: float, high: float) -> float | None:
    """The dashed line: chance, or people's own agreement; None where it is off the axis."""
    value: float | None = 0.5
    if primary == "agreement":
        people = chosen.of(content["humans"]["measures"]["leave_one_out"])
        value = None if people is None else people["value"]
    return value if value is not None and low <= value <= high else None


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One of the four figures beside the decision."""

    label: str
    estimate: dict[str, Any] | None
    unit: str
    note: str = ""


def key_figures(content: Content, primary: str, place: int) -> list[KeyFigure]:
    """Four figures of the leading judge, each with its interval."""
    measures = content["judges"][place]["measures"]
    people = content["humans"]["measures"]
    found = [KeyFigure(MEASURES[primary][0], measures[primary]["overall"], "percent")]
    if primary == "agreement":
        own, best = people["leave_one_out"]["overall"]["value"], people["best_reachable"]["overall"]["value"]
        if own is not None:
            note = f"people {100 * own:.1f} %, best reachable {100 * best:.1f} %"
            found[0] = KeyFigure(MEASURES[primary][0], measures[primary]["overall"], "percent", note)
    found.append(
        KeyFigure("Same verdict in both orders", measures["positional_agreement"]["overall"], "percent")
    )
    gap = measures[primary].get("gap")
    if gap is not None:
        found.append(KeyFigure("Adversarial gap", gap, "points", "other subsets minus adversarial ones"))
    else:
        found.append(KeyFigure("Length bias", measures["length_bias"]["overall"], "points", "0 is no lean"))
    cost, seconds = measures["cost_per_1000"]["overall"], measures["seconds_each"]["overall"]
    if cost["value"] is None and gap is not None:
        found.append(KeyFigure("Length bias", measures["length_bias"]["overall"], "points", "0 is no lean"))
    else:
        note = "" if seconds["value"] is None else f"{value_text(seconds, 'seconds')} each"
        found.append(KeyFigure("Cost of 1,000 judgments", cost, "money", note))
    return found
