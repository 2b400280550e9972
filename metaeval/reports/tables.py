"""The tables of a report: which columns there are, and what stands in them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.reports.groups import AVERAGE


@dataclass(frozen=True, slots=True)
class Slice:
    """One place of a breakdown: all items, a category, a subset, or a mean over subsets.

    ``key`` is how a URL names it: "overall", "category:Rewrite", "subset:Adversarial/Manual", "macro:average".
    """

    kind: str
    name: str

    @property
    def key(self) -> str:
        """As a URL names it."""
        return self.kind if self.kind == "overall" else f"{self.kind}:{self.name}"

    @property
    def label(self) -> str:
        """In full: "Adversarial/Manual", "Adversarial (mean of subsets)"."""
        if self.kind == "overall":
            return "All items"
        if self.kind == "macro":
            return "Mean of all subsets" if self.name == AVERAGE else f"{self.name}, mean of subsets"
        return self.name

    @property
    def short(self) -> str:
        """For a column head: "Manual", "Adversarial mean"."""
        if self.kind == "macro":
            return "Mean" if self.name == AVERAGE else f"{self.name.rpartition('/')[2]} mean"
        return "All" if self.kind == "overall" else self.name.rpartition("/")[2]

    @property
    def title(self) -> str:
        """For a choice among all places."""
        return f"{self.kind.title()}: {self.name}" if self.kind in ("category", "subset") else self.label

    def of(self, breakdown: Mapping[str, Any]) -> dict[str, Any] | None:
        """The estimate at this place, or None where the breakdown does not have it."""
        part = breakdown.get(self.kind)
        found: dict[str, Any] | None = part if self.kind == "overall" else (part or {}).get(self.name)
        return found


OVERALL = Slice("overall", "")


def slices_of(content: Mapping[str, Any]) -> list[Slice]:
    """Every place of the report's breakdowns: all, subsets, means over subsets, categories."""
    items = content["items"]
    subsets = [Slice("subset", row["name"]) for row in items["subsets"]]
    categories = [Slice("category", row["name"]) for row in items["categories"]]
    return [OVERALL, *subsets, *macros_of(content), *categories]


def macros_of(content: Mapping[str, Any]) -> list[Slice]:
    """The means over subsets that the report has: those of a prefix first, the average last."""
    for measures in _breakdowns(content):
        names = list(measures.get("macro", {}))
        return [Slice("macro", name) for name in sorted(names, key=lambda name: (name == AVERAGE, name))]
    return []


def subset_columns(content: Mapping[str, Any]) -> list[Slice]:
    """Columns of a table by subset: the subsets at the ends of their paths, then the means."""
    names = [row["name"] for row in content["items"]["subsets"]]
    ends = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    return [*(Slice("subset", name) for name in ends), *macros_of(content)] if ends else []


def category_columns(content: Mapping[str, Any]) -> list[Slice]:
    """Columns of a table by category."""
    return [Slice("category", row["name"]) for row in content["items"]["categories"]]


def slice_find(content: Mapping[str, Any], key: str) -> Slice:
    """The place that a URL names; all items for a name that there is not."""
    return next((place for place in slices_of(content) if place.key == key), OVERALL)


def ranked(content: Mapping[str, Any], primary: str) -> list[tuple[int, dict[str, Any]]]:
    """Judges with their places, best first, those without a figure last."""

    def order(entry: tuple[int, dict[str, Any]]) -> tuple[bool, float]:
        value = entry[1]["measures"][primary]["overall"]["value"]
        return (value is None, -(value or 0.0))

    return sorted(enumerate(content["judges"]), key=order)


def axis_of(estimates: Iterable[Mapping[str, Any] | None]) -> tuple[float, float]:
    """A common axis for plots, in whole tenths, that holds all intervals.

    >>> axis_of([{"value": 0.66, "low": 0.62, "high": 0.71}])
    (0.6, 0.8)
    """
    ends = [
        end
        for estimate in estimates
        if estimate is not None
        for end in (estimate["low"], estimate["value"], estimate["high"])
        if end is not None
    ]
    if not ends:
        return 0.0, 1.0
    low = max(-10, int(min(ends) * 10 // 1))
    high = min(10, int(-(-max(ends) * 10 // 1)))
    return low / 10, max(high, low + 1) / 10


def _breakdowns(content: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for judge in content["judges"]:
        yield judge["measures"]["accuracy"]
    yield content["humans"]["measures"]["leave_one_out"]
