"""What a figure is: its name, what it estimates, its unit, and how it is computed from the inputs of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["percent", "points", "number", "money", "seconds"]
Bounds = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a kind of item, of human annotators or of judges.

    Attributes
    ----------
    name : str
        Member of a report's ``measures``, and of its CSV.
    label : str
        As pages, tables and files call it.
    estimand : str
        What it estimates, in one sentence.
    unit : {"percent", "points", "number", "money", "seconds"}
    bounds : (float, float) or None
        The range of the figure: its interval stays inside, and plots are drawn on it.
    axes : tuple of str
        Ways to group items of which there is a table: "criterion", "subset", "category".
    resampled : str
        What intervals resample.
    short : str
        Head of a narrow column; the label where it is empty.
    in_pages : bool
        Whether it stands in tables of pages and papers; JSON and CSV have every figure.
    """

    name: str
    label: str
    estimand: str
    unit: Unit = "percent"
    bounds: Bounds = (0.0, 1.0)
    axes: tuple[str, ...] = ()
    resampled: str = "instructions"
    short: str = ""
    in_pages: bool = True

    @property
    def head(self) -> str:
        """The head of a narrow column."""
        return self.short or self.label

    @property
    def axis(self) -> tuple[float, float]:
        """Ends of the axis that it is drawn on."""
        return self.bounds or (0.0, 1.0)


GROUPS = ("subset", "category")
CORRELATION: Bounds = (-1.0, 1.0)
UNPARSED = Figure(
    "unparsed_rate", "Unparsed", "Share of the judgments that could not be read, or never came."
)
