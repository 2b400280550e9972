"""The figures of checklists: questions about aspects, answered with yes, no or cannot tell."""

from metaeval.figures.figure import CORRELATION, GROUPS, UNPARSED, Figure

_MACRO = "Share of an item's questions answered with yes, cannot tell counting as no, averaged over items."
_MICRO = "Share of all questions answered with yes, cannot tell counting as no."
_TOWER = (
    "Share of an item's aspects followed, each weighing one over its level in the tree, averaged over items."
)
_TOWER_MICRO = "Weight of the aspects followed over the weight of all aspects, all items together."
CANNOT_TELL = "Share of the answers that are cannot tell."

PEOPLE = (
    Figure(
        "alpha",
        "Krippendorff's alpha, nominal",
        "Agreement beyond chance over questions, cannot tell being an answer of its own.",
        "number",
        CORRELATION,
        GROUPS,
    ),
    Figure(
        "pair_exact",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same answer, averaged over questions.",
        axes=GROUPS,
    ),
    Figure(
        "agreement",
        "Leave-one-out agreement per question",
        "Chance that a human annotator's answer is the mode of the other answers to the question.",
        axes=GROUPS,
    ),
    Figure("cannot_tell_rate", "Cannot tell", CANNOT_TELL, axes=GROUPS),
    Figure("drfr", "DRFR, mean of instructions", _MACRO, axes=GROUPS),
    Figure("drfr_micro", "DRFR, pooled", _MICRO),
    Figure("tower", "TOWER, mean of instructions", _TOWER, axes=GROUPS),
    Figure("tower_micro", "TOWER, pooled", _TOWER_MICRO),
)
JUDGES = (
    Figure(
        "agreement",
        "Agreement per question",
        "Share of the decided questions that the judge answers as the target does.",
        axes=GROUPS,
    ),
    Figure("cannot_tell_rate", "Cannot tell", CANNOT_TELL),
    Figure("drfr", "DRFR, mean of instructions", _MACRO, axes=GROUPS),
    Figure("drfr_micro", "DRFR, pooled", _MICRO, axes=GROUPS),
    Figure("tower", "TOWER, mean of instructions", _TOWER, axes=GROUPS),
    Figure("tower_micro", "TOWER, pooled", _TOWER_MICRO, axes=GROUPS),
    Figure(
        "drfr_difference",
        "DRFR bias (judge − target)",
        "DRFR of the judge minus DRFR of the target, averaged over items.",
        "points",
        CORRELATION,
    ),
    UNPARSED,
)
OF_ONE_PERSON = Figure(
    "agreement",
    "Answers that most of the others gave too",
    "Share of this annotator's answers that are the mode of the others'.",
)
