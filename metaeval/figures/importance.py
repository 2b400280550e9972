"""The figures of rankings of aspects by importance."""

from metaeval.figures.figure import UNPARSED, KindFigures
from metaeval.figures.rankings import (
    ALIKE,
    BELOW_BEST,
    EACH,
    MINUS_PEOPLE,
    OF_JUDGES,
    OF_ONE_PERSON,
    SO_FAR,
    SPEARMAN,
    UNDEFINED,
    RankingSample,
    people_figures,
    spearman_figure,
)

PEOPLE = people_figures("aspect", "instructions")
JUDGES = (
    spearman_figure(
        "Spearman, mean of instructions",
        "Spearman's rho of the judge with each human ranking (or the gold one), averaged over these, then over items.",
        OF_JUDGES["spearman"],
        ALIKE["spearman"],
    ),
    MINUS_PEOPLE,
    BELOW_BEST,
    UNDEFINED,
    UNPARSED,
)
KIND = KindFigures(
    sample=RankingSample,
    people=PEOPLE,
    judges=JUDGES,
    primaries=("spearman",),
    so_far=SO_FAR,
    of_one_person=OF_ONE_PERSON,
    of_everyone="spearman",
    methods=(SPEARMAN,),
    ranked="Judges are ranked by Spearman's rho with {against}, averaged over items.",
    against={"people": EACH, "gold": "the gold ranks"},
)
