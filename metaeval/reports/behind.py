"""Which items stand behind a cell of a table or a point of a picture: the filter of a dataset's list of items."""

from typing import Any

from annotation.kinds import kind_of
from metaeval.figures import FIGURES
from metaeval.figures.groups import AVERAGE, CATEGORIES
from metaeval.inputs import GOLD, PEOPLE
from metaeval.reports.tables import OVERALL, Slice

# Figures that are about something else than agreement, and the case of the list that they are of.
_CASES = {"positional_agreement": "orders_differ", "unparsed_rate": "unparsed"}
# Figures of which no single item is a part more than another.
_ALL = frozenset(["cost_per_1000", "seconds_each", "length_bias", "win_rate"])
# Rates of a confusion, with the right answer and the verdict of the items that each counts.
_RATES = {
    "true_positive_rate": ("1", ""),
    "true_negative_rate": ("2", ""),
    "precision": ("any", "positive"),
    "f1": ("any", "either"),
}
# What items have that other figures of pairs count.
_COUNTED = {
    "agreement": ("judgment", "labels"),
    "minus_people": ("judgment", "labels"),
    "accuracy": ("judgment", "gold"),
    "positional_agreement": ("both_orders",),
    "cost_per_1000": ("judgment",),
}


def behind(
    kind: str,
    *,
    figure: str = "",
    place: Slice = OVERALL,
    fingerprint: str = "",
    against: str = PEOPLE,
    mark: float | None = None,
) -> dict[str, Any]:
    """The filter of the items behind a figure of a judge at a place, those that speak against it first.

    A rate of a confusion leads to all items that it counts, other figures to those that lower them.

    Parameters
    ----------
    kind : str
        Of the items.
    figure : str
        The name of a figure of judges; empty: of what human annotators say.
    place : Slice
        All items, a category, or a subset; a mean over subsets is of all below its path.
    fingerprint : str
        Of the judge; empty: what human annotators say of each other.
    against, mark
        With what judges are compared, and from where on a rating passes, of kinds whose options say so.
    """
    asked: dict[str, Any] = {"kind": kind, "judge": fingerprint}
    if place.kind in ("category", "subset"):
        asked[place.kind] = place.name
    elif place.kind == "macro" and place.name not in (AVERAGE, CATEGORIES):
        asked["subset"] = place.name
    rate = _RATES.get(figure.removesuffix("_gold")) if fingerprint else None
    if rate is not None:
        target = GOLD if figure.endswith("_gold") else against
        asked |= {target: rate[0], "verdict": rate[1], "mark": mark, "sort": "disagreement"}
        return {name: value for name, value in asked.items() if value not in (None, "")}
    case = "split" if not fingerprint else _case(kind, figure)
    if case in ("disagrees", "wrong", "split"):
        asked["sort"] = "disagreement"
    return {name: value for name, value in (asked | {"case": case}).items() if value}


def _case(kind: str, figure: str) -> str:
    if figure in _CASES:
        # Only pairs are judged in both orders.
        return _CASES[figure] if figure == "unparsed_rate" or kind_of(kind).presented else ""
    if figure in _ALL:
        return ""
    found = (
        next((one for one in FIGURES[kind].judges if one.name == figure), None) if kind in FIGURES else None
    )
    return "" if found is None else "wrong" if found.of_gold else "disagrees"


def counted(kind: str, figure: str, fingerprint: str) -> dict[str, Any]:
    """The filter of all items that a figure of a judge of pairs counts; empty where no filter has them."""
    has = _COUNTED.get(figure)
    return {} if has is None else {"kind": kind, "judge": fingerprint, "has": has, "sort": "disagreement"}


def resampled(kind: str, role: str) -> dict[str, Any]:
    """The filter, but for the judges, of the items from which the resamples of a choice draw.

    All judges judged these, and there is something to compare them with: two labels of a pair, a majority of a
    question, a label, or a gold answer.
    """
    asked: dict[str, Any] = {"has": ["all_judges"], "sort": "disagreement"}
    if kind_of(kind).presented:
        asked["has"].append("labels" if role == PEOPLE else "gold")
    elif FIGURES[kind].sides and "pass_mark" not in FIGURES[kind].options:
        asked[role] = "any"
    else:
        asked["has"].append("label" if role == PEOPLE else "gold")
    return asked
