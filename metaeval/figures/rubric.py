"""The figures of ratings by criteria."""

from metaeval.figures.figure import CORRELATION, UNPARSED, Figure

_PARTS = ("criterion",)
_RATINGS = (1.0, 5.0)
_DISTANCE = (0.0, 4.0)


def _correlation(name: str, label: str, what: str, axes: tuple[str, ...] = _PARTS) -> Figure:
    return Figure(name, label, what, "number", CORRELATION, axes)


MEAN = Figure("mean_rating", "Mean rating", "Mean of all ratings.", "number", _RATINGS, _PARTS)
PEOPLE = (
    _correlation(
        "alpha",
        "Krippendorff's alpha, ordinal",
        "Agreement beyond chance of ordered ratings, over all items and criteria.",
    ),
    Figure(
        "pair_exact",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same rating, averaged over items and criteria.",
        axes=_PARTS,
    ),
    Figure(
        "pair_near",
        "Pairwise agreement within one point",
        "Share of the pairs of human annotators whose ratings differ by one point at most.",
        axes=_PARTS,
    ),
    Figure(
        "within_one",
        "Within one point of the mean of the others",
        "Share of the ratings within one point of the mean of the other annotators' ratings of the item.",
        axes=_PARTS,
    ),
    _correlation(
        "spearman",
        "Spearman with the mean of the others",
        "Spearman's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
    ),
    _correlation(
        "pearson",
        "Pearson with the mean of the others",
        "Pearson's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
        (),
    ),
    Figure(
        "mean_absolute_error",
        "Mean distance to the mean of the others",
        "Mean distance of a rating to the mean of the other annotators' ratings of the item.",
        "number",
        _DISTANCE,
    ),
    MEAN,
)
JUDGES = (
    _correlation(
        "spearman", "Spearman", "Spearman's correlation of the judge's mean rating with the target's."
    ),
    _correlation("pearson", "Pearson", "Pearson's correlation of the judge's mean rating with the target's."),
    _correlation(
        "spearman_expected",
        "Spearman, expected ratings",
        "Spearman's correlation of the judge's probability-weighted rating with the target's.",
    ),
    _correlation(
        "pearson_expected",
        "Pearson, expected ratings",
        "Pearson's correlation of the judge's probability-weighted rating with the target's.",
    ),
    Figure(
        "mean_absolute_error",
        "Mean absolute error",
        "Mean distance of the judge's rating to the target's, over items and criteria.",
        "number",
        _DISTANCE,
        _PARTS,
    ),
    Figure(
        "within_one",
        "Within one point",
        "Share of the ratings within one point of the target's; one that could not be read is not.",
        axes=_PARTS,
    ),
    MEAN,
    UNPARSED,
)
OF_ONE_PERSON = Figure(
    "agreement",
    "Ratings within one point of the mean of the others",
    "Share of this annotator's ratings within one point of the mean of the others'.",
)
