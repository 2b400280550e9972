"""Every figure once: what it is called, what it estimates, its unit, of which kind of item and of whom.

Pages, reports, comparisons, files and the API read names, labels, units and definitions from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from metaeval.figures import checklist, pairwise, rankings, rubric
from metaeval.figures.figure import Figure, Unit

PAIRWISE, RUBRIC, CHECKLIST = "pairwise", "rubric", "checklist"
IMPORTANCE, ANSWER_RANKING = "importance", "answer_ranking"
KIND_LABELS = {
    PAIRWISE: "Pairwise comparison",
    RUBRIC: "Rubric rating",
    CHECKLIST: "Checklist",
    IMPORTANCE: "Importance ranking",
    ANSWER_RANKING: "Answer ranking",
}


@dataclass(frozen=True, slots=True)
class KindFigures:
    """The figures of a kind.

    Attributes
    ----------
    people, judges : tuple of Figure
        In the order of a report. The first of people is the one that is said where there are no judges.
    primaries : tuple of str
        By which figures judges may be ranked.
    beside : mapping of str
        The figure of people that stands beside a figure of judges.
    of_responses : str
        What a judge says of the responses, which needs nothing to compare it with; empty where there is none.
    of_one_person : Figure or None
        Agreement of one annotator with the others.
    """

    people: tuple[Figure, ...]
    judges: tuple[Figure, ...]
    primaries: tuple[str, ...]
    beside: dict[str, str]
    of_responses: str = ""
    of_one_person: Figure | None = None

    def of_judges(self, name: str) -> Figure:
        """A figure of judges by its name."""
        return next(figure for figure in self.judges if figure.name == name)

    def of_people(self, name: str) -> Figure:
        """A figure of people by its name."""
        return next(figure for figure in self.people if figure.name == name)


def _same(figures: tuple[Figure, ...], people: tuple[Figure, ...]) -> dict[str, str]:
    names = {figure.name for figure in people}
    return {figure.name: figure.name for figure in figures if figure.name in names}


FIGURES: dict[str, KindFigures] = {
    PAIRWISE: KindFigures(
        pairwise.PEOPLE,
        pairwise.JUDGES,
        ("agreement", "accuracy"),
        {
            "agreement": "leave_one_out",
            "tie_rate": "tie_rate",
            "length_bias": "length_bias",
            "prefers_longer": "prefers_longer",
        },
    ),
    RUBRIC: KindFigures(
        rubric.PEOPLE,
        rubric.JUDGES,
        ("spearman",),
        _same(rubric.JUDGES, rubric.PEOPLE),
        "mean_rating",
        rubric.OF_ONE_PERSON,
    ),
    CHECKLIST: KindFigures(
        checklist.PEOPLE,
        checklist.JUDGES,
        ("agreement",),
        _same(checklist.JUDGES, checklist.PEOPLE),
        "drfr_micro",
        checklist.OF_ONE_PERSON,
    ),
    IMPORTANCE: KindFigures(
        rankings.IMPORTANCE_PEOPLE,
        rankings.IMPORTANCE_JUDGES,
        ("spearman",),
        _same(rankings.IMPORTANCE_JUDGES, rankings.IMPORTANCE_PEOPLE),
        of_one_person=rankings.OF_ONE_PERSON,
    ),
    ANSWER_RANKING: KindFigures(
        rankings.ANSWER_PEOPLE,
        rankings.ANSWER_JUDGES,
        ("pearson",),
        _same(rankings.ANSWER_JUDGES, rankings.ANSWER_PEOPLE),
        of_one_person=rankings.OF_ONE_PERSON,
    ),
}

__all__ = [
    "ANSWER_RANKING",
    "CHECKLIST",
    "FIGURES",
    "IMPORTANCE",
    "KIND_LABELS",
    "PAIRWISE",
    "RUBRIC",
    "Figure",
    "KindFigures",
    "Unit",
]
