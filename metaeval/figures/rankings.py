"""The figures of rankings: of aspects by importance, of answers by quality."""

from metaeval.figures.figure import CORRELATION, GROUPS, UNPARSED, Figure

UNDEFINED = Figure(
    "undefined_rate",
    "Correlation undefined",
    "Share of the compared items on which a ranking is constant, so that there is no correlation.",
)


def _spearman(label: str, what: str) -> Figure:
    return Figure("spearman", label, what, "number", CORRELATION, GROUPS)


def _people(parts: str, over: str) -> tuple[Figure, ...]:
    return (
        _spearman(
            f"Spearman of two annotators, mean of {over}",
            f"Spearman's rho of two annotators' rankings, averaged over pairs of annotators, then over {over}.",
        ),
        Figure(
            "pair_exact",
            "Pairwise agreement on the order",
            "Share of the pairs of human annotators who give the same order, averaged over items.",
            axes=GROUPS,
        ),
        Figure(
            "same_first",
            f"Pairwise agreement on the first {parts}",
            f"Share of the pairs of human annotators who rank the same {parts} first, averaged over items.",
            axes=GROUPS,
        ),
        UNDEFINED,
    )


IMPORTANCE_PEOPLE = _people("aspect", "instructions")
IMPORTANCE_JUDGES = (
    _spearman(
        "Spearman, mean of instructions",
        "Spearman's rho of the judge with each human ranking (or the gold one), averaged over these, then over items.",
    ),
    UNDEFINED,
    UNPARSED,
)
ANSWER_PEOPLE = _people("answer", "questions")
ANSWER_JUDGES = (
    Figure(
        "pearson",
        "Pearson, mean of questions",
        "Pearson's correlation of the judge's scores with votes or human rankings, averaged over questions.",
        "number",
        CORRELATION,
        GROUPS,
    ),
    _spearman(
        "Spearman, mean of questions",
        "Spearman's rho of the judge's order with votes or human rankings, averaged over questions.",
    ),
    UNDEFINED,
    UNPARSED,
)
OF_ONE_PERSON = Figure(
    "agreement",
    "Mean Spearman with each of the others",
    "Mean of Spearman's rho of this annotator with each other annotator of the same items.",
    "number",
    CORRELATION,
)
