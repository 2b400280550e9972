"""Values of each kind, written shortly, and a figure of a comparison."""

from judges.strategies.types import AspectView
from metaeval.figures import FIGURES

MEASURES = {kind: one.judges for kind, one in FIGURES.items() if kind != "pairwise"}
PEOPLE = {kind: one.people for kind, one in FIGURES.items()}

TREE = (
    AspectView("poem", "It is a poem."),
    AspectView("lines", "It has four lines.", parent="poem"),
    AspectView("rhyme", "The lines rhyme.", parent="lines"),
)
CRITERIA = ("clear", "kind")


def rated(*numbers):
    return {"ratings": dict(zip(CRITERIA, numbers, strict=False))}


def answered(*answers):
    return {"answers": dict(zip(("poem", "lines", "rhyme"), answers, strict=True))}


def chosen(place, n=3):
    return {"categories": {str(k): k == place for k in range(n)}}


def ranked(*ranks):
    return {"ranks": {str(place): rank for place, rank in enumerate(ranks)}}


def selection_in(found):
    """Who leads by the report's own figure."""
    return found["selections"][found["primary"]]


def figure(found, who, key, *at):
    rows = {row["name"]: row["measures"] for row in found["judges"]} | {"people": found["people"]["measures"]}
    breakdown = rows[who][key]
    return (breakdown[at[0]][at[1]] if at else breakdown["overall"])["value"]


# Rankings


def aspects(n):
    return tuple(AspectView(str(k), str(k)) for k in range(n))
