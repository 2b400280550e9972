"""Which items stand behind a cell of a table or a point of a picture: the filter of a dataset's list of items."""

from annotation.kinds import kind_of
from metaeval.figures import FIGURES
from metaeval.figures.groups import AVERAGE, CATEGORIES
from metaeval.reports.tables import OVERALL, Slice

# Figures that are about something else than agreement, and the case of the list that they are of.
_CASES = {"positional_agreement": "orders_differ", "unparsed_rate": "unparsed"}
# Figures of which no single item is a part more than another.
_ALL = frozenset(["cost_per_1000", "seconds_each", "length_bias", "win_rate"])


def behind(kind: str, *, figure: str = "", place: Slice = OVERALL, fingerprint: str = "") -> dict[str, str]:
    """The filter of the items behind a figure of a judge at a place, those that speak against it first.

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
    """
    asked = {"kind": kind, "judge": fingerprint}
    if place.kind in ("category", "subset"):
        asked[place.kind] = place.name
    elif place.kind == "macro" and place.name not in (AVERAGE, CATEGORIES):
        asked["subset"] = place.name
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
