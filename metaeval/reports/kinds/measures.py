"""The figures of each kind: what they are called, their units, and which of them says who leads."""

from dataclasses import dataclass

RUBRIC, CHECKLIST, IMPORTANCE, ANSWER_RANKING = "rubric", "checklist", "importance", "answer_ranking"
KIND_LABELS = {
    RUBRIC: "Rubric rating",
    CHECKLIST: "Checklist",
    IMPORTANCE: "Importance ranking",
    ANSWER_RANKING: "Answer ranking",
}


@dataclass(frozen=True, slots=True)
class MeasureInfo:
    """A figure of the table.

    Attributes
    ----------
    unit : {"number", "percent", "points"}
    low, high : float
        Ends of the axis that it is drawn on.
    per_group : bool
        Whether there is a table of it by criterion, subset or category.
    """

    key: str
    label: str
    unit: str = "number"
    low: float = 0.0
    high: float = 1.0
    per_group: bool = False


_UNPARSED = MeasureInfo("unparsed_rate", "Unparsed", "percent")
MEASURES: dict[str, tuple[MeasureInfo, ...]] = {
    RUBRIC: (
        MeasureInfo("spearman", "Spearman", low=-1.0, per_group=True),
        MeasureInfo("pearson", "Pearson", low=-1.0, per_group=True),
        MeasureInfo("spearman_expected", "Spearman, expected ratings", low=-1.0, per_group=True),
        MeasureInfo("pearson_expected", "Pearson, expected ratings", low=-1.0, per_group=True),
        MeasureInfo("mean_absolute_error", "Mean absolute error", high=4.0, per_group=True),
        MeasureInfo("within_one", "Within one point", "percent", per_group=True),
        MeasureInfo("mean_rating", "Mean rating", low=1.0, high=5.0, per_group=True),
        MeasureInfo("alpha", "Krippendorff's alpha of people", low=-1.0, per_group=True),
        _UNPARSED,
    ),
    CHECKLIST: (
        MeasureInfo("agreement", "Agreement per question", "percent", per_group=True),
        MeasureInfo("cannot_tell_rate", "Cannot tell", "percent"),
        MeasureInfo("drfr", "DRFR, mean of instructions", "percent", per_group=True),
        MeasureInfo("drfr_micro", "DRFR, pooled", "percent", per_group=True),
        MeasureInfo("tower", "TOWER, mean of instructions", "percent", per_group=True),
        MeasureInfo("tower_micro", "TOWER, pooled", "percent", per_group=True),
        MeasureInfo("drfr_difference", "DRFR minus the target's", "points", low=-1.0),
        MeasureInfo("alpha", "Krippendorff's alpha of people", low=-1.0),
        _UNPARSED,
    ),
    IMPORTANCE: (
        MeasureInfo("spearman", "Spearman, mean of instructions", low=-1.0, per_group=True),
        MeasureInfo("undefined_rate", "No rho", "percent"),
        _UNPARSED,
    ),
    ANSWER_RANKING: (
        MeasureInfo("pearson", "Pearson, mean of questions", low=-1.0, per_group=True),
        MeasureInfo("spearman", "Spearman, mean of questions", low=-1.0, per_group=True),
        MeasureInfo("undefined_rate", "No rho", "percent"),
        _UNPARSED,
    ),
}

# What a judge says of the responses: a figure that needs nothing to compare it with. DRFR as its paper defines it.
OF_RESPONSES: dict[str, str] = {RUBRIC: "mean_rating", CHECKLIST: "drfr_micro"}

# What people agree on among themselves, as a report lists it; `per_group` are the columns of its tables by group.
_ALPHA = "Krippendorff's alpha"
PEOPLE: dict[str, tuple[MeasureInfo, ...]] = {
    RUBRIC: (
        MeasureInfo("alpha", f"{_ALPHA}, ordinal", low=-1.0, per_group=True),
        MeasureInfo("pair_exact", "Two people give the same rating", "percent", per_group=True),
        MeasureInfo("pair_near", "Two people within one point", "percent", per_group=True),
        MeasureInfo("within_one", "Within one point of the mean of the others", "percent", per_group=True),
        MeasureInfo("spearman", "Spearman with the mean of the others", low=-1.0, per_group=True),
        MeasureInfo("pearson", "Pearson with the mean of the others", low=-1.0),
        MeasureInfo("mean_absolute_error", "Mean distance to the mean of the others", high=4.0),
        MeasureInfo("mean_rating", "Mean rating", low=1.0, high=5.0, per_group=True),
    ),
    CHECKLIST: (
        MeasureInfo("alpha", f"{_ALPHA}, nominal", low=-1.0, per_group=True),
        MeasureInfo("pair_exact", "Two people give the same answer", "percent", per_group=True),
        MeasureInfo("agreement", "Agreement per question, leave one out", "percent", per_group=True),
        MeasureInfo("cannot_tell_rate", "Cannot tell", "percent", per_group=True),
        MeasureInfo("drfr", "DRFR, mean of instructions", "percent", per_group=True),
        MeasureInfo("drfr_micro", "DRFR, pooled", "percent"),
        MeasureInfo("tower", "TOWER, mean of instructions", "percent", per_group=True),
        MeasureInfo("tower_micro", "TOWER, pooled", "percent"),
    ),
    IMPORTANCE: (
        MeasureInfo("spearman", "Spearman of two people, mean of instructions", low=-1.0, per_group=True),
        MeasureInfo("pair_exact", "Two people give the same order", "percent", per_group=True),
        MeasureInfo("same_first", "Two people put the same aspect first", "percent", per_group=True),
        MeasureInfo("undefined_rate", "No rho", "percent"),
    ),
    ANSWER_RANKING: (
        MeasureInfo("spearman", "Spearman of two people, mean of questions", low=-1.0, per_group=True),
        MeasureInfo("pair_exact", "Two people give the same order", "percent", per_group=True),
        MeasureInfo("same_first", "Two people put the same answer first", "percent", per_group=True),
        MeasureInfo("undefined_rate", "No rho", "percent"),
    ),
}
# What the agreement of one person with the others is.
_RHO_WITH = MeasureInfo("agreement", "Mean Spearman with each of the others", low=-1.0)
OF_ONE_PERSON: dict[str, MeasureInfo] = {
    RUBRIC: MeasureInfo("agreement", "Ratings within one point of the mean of the others", "percent"),
    CHECKLIST: MeasureInfo("agreement", "Answers that most of the others gave too", "percent"),
    IMPORTANCE: _RHO_WITH,
    ANSWER_RANKING: _RHO_WITH,
}


def primary_of(kind: str) -> str:
    """The figure by which judges of a kind are ranked: the first of its table."""
    return MEASURES[kind][0].key
