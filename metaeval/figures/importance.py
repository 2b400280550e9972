"""The figures of rankings of aspects by importance."""

from metaeval.figures.figure import UNPARSED, KindFigures, ScoreWords
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
from metaeval.figures.retest import RETEST

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
    *RETEST,
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
    scores={
        "spearman": ScoreWords(
            "importance rankings",
            "rank agreement with human annotators, (1 + rho) / 2",
            "rank agreement with the gold ranks, (1 + rho) / 2",
            "rank agreement",
            "Rank agreement is (1 + rho) / 2 with Spearman's rho between a judge and each annotator, averaged over "
            "annotators (or the gold ranks): 100% is the same order, 50% is chance, 0% is the reverse order.",
        ),
    },
)
