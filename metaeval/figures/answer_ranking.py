"""The figures of rankings of answers."""

from __future__ import annotations

from metaeval.figures.figure import (
    CORRELATION,
    GROUPS,
    OPTIONS,
    UNPARSED,
    Convention,
    Figure,
    KindFigures,
    ScoreWords,
)
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
from metaeval.inputs import JudgeAnswers


class AnswerSample(RankingSample):
    """Answers, ranked by how good they are: how far apart they are counts."""

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """The longer the better; none where lengths are not known."""
        if not self.items.lengths.shape[1]:
            return ()
        rows = zip(self.items.lengths.tolist(), self.n_parts.tolist(), strict=True)
        keys = [[-length for length in lengths[:n]] for lengths, n in rows]
        return self.ranked_by("answer_ranking longest", "longest", keys)

    def remarks(self) -> tuple[str, ...]:
        found = list(super().remarks())
        if self.against_gold:
            n = int(self.has_target("").sum())
            found.append(
                f"{int(self.items.voted.sum()):,} of {n:,} items are compared with people's votes, the others with the "
                "gold ranks."
            )
        return (
            *found,
            "Pearson's correlation is of the log-likelihood for its length, or of the score, where a judge gives one; "
            "else of minus the rank.",
        )


PEOPLE = people_figures("answer", "questions")
JUDGES = (
    Figure(
        "pearson",
        "Pearson, mean of questions",
        "Pearson's correlation of the judge's scores with votes or human rankings, averaged over questions.",
        OF_JUDGES["pearson"],
        "number",
        CORRELATION,
        GROUPS,
        compares=True,
        alike=ALIKE["pearson"],
    ),
    spearman_figure(
        "Spearman, mean of questions",
        "Spearman's rho of the judge's order with votes or human rankings, averaged over questions.",
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
    sample=AnswerSample,
    people=PEOPLE,
    judges=JUDGES,
    primaries=("pearson",),
    so_far=SO_FAR,
    of_one_person=OF_ONE_PERSON,
    of_everyone="spearman",
    options=(*OPTIONS, "preset"),
    finer=("normalised", "expected", "scores"),
    methods=(SPEARMAN,),
    conventions=(Convention(("pearson",), "likelihood_correlation", {"method": "pearson"}),),
    ranked="Judges are ranked by Pearson's correlation with {against}, averaged over questions.",
    against={"people": EACH, "gold": "human votes, or the gold ranks"},
    scores={
        "pearson": ScoreWords(
            "sets of answers",
            "correlation with human annotators, (1 + r) / 2",
            "correlation with votes or gold ranks, (1 + r) / 2",
            "correlation, (1 + r) / 2",
            "The score is (1 + r) / 2 with Pearson's r between a judge's ranks and the annotators' votes or "
            "ranks: 100% is perfect agreement, 50% is chance, 0% is the reverse.",
        ),
    },
)
