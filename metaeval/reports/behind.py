"""Which items a cell of a table or a point of a picture counts: the filter of a dataset's list of items."""

from typing import Any

from annotation.kinds import kind_of
from metaeval.figures import FIGURES
from metaeval.figures.groups import AVERAGE, CATEGORIES
from metaeval.inputs import GOLD, PEOPLE
from metaeval.reports.tables import OVERALL, Slice

# Rates of a confusion, with the right answer and the verdict of the items that each counts.
_RATES = {
    "true_positive_rate": ("1", ""),
    "true_negative_rate": ("2", ""),
    "precision": ("any", "positive"),
    "f1": ("any", "either"),
    "brier_score": ("any", "read"),
    "calibration_error": ("any", "read"),
}
# Figures of judges that compare them with annotators, whatever the others are compared with: with two or more.
_BESIDE_PEOPLE = ("minus_people", "below_best", "agreement_equal_overlap")
# What items have that a figure of a judge counts, where nothing is compared.
_OF_VERDICTS: dict[str, tuple[str, ...]] = {
    "positional_agreement": ("both_orders",),
    "positional_agreement_llmbar": ("both_orders",),
    "first_shown_rate": ("both_orders",),
    "length_bias": ("judgment", "lengths"),
    "prefers_longer": ("verdict", "lengths"),
    "win_rate": ("judgment",),
    **dict.fromkeys(("unparsed_rate", "cost_per_1000", "seconds_each", "test_retest"), ("judgment",)),
    **dict.fromkeys(
        (
            *("tie_rate", "expected_win_rate", "cannot_tell_rate", "mean_rating", "categories_per_label"),
            *("drfr", "drfr_micro", "tower", "tower_micro"),
        ),
        ("verdict",),
    ),
}
# Figures of annotators that one label is enough for.
_OF_ONE_LABEL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("length_bias", "prefers_longer", "first_label_prefers_longer"), ("label", "lengths")),
    **dict.fromkeys(
        (
            *("tie_rate", "first_shown_rate", "prefers_first", "cannot_tell_rate", "mean_rating"),
            *("categories_per_label", "drfr", "drfr_micro", "tower", "tower_micro"),
        ),
        ("label",),
    ),
}
# Figures of response sets, of a judge and of annotators: with sets, of two annotators where what few add is taken out.
_OF_SETS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("set_coverage", "set_hit_rate", "set_closeness", "set_consistency"), ("judgment", "set")
    ),
    "set_distance": ("judgment", "sets"),
}
_SETS_OF_PEOPLE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("set_coverage", "set_hit_rate"), ("labels", "set")),
    **dict.fromkeys(("set_size", "set_several"), ("set",)),
}
# Figures that compare what could be read alone; others count what could not as wrong.
_OF_READ = (
    "spearman",
    "pearson",
    "spearman_expected",
    "pearson_expected",
    "mean_absolute_error",
    "drfr_difference",
)
# What stands first in the list of a figure, where it is not the most disagreement.
_FIRST = {
    "positional_agreement": "orders_differ",
    "positional_agreement_llmbar": "orders_differ",
    "unparsed_rate": "unparsed",
}


def behind(
    kind: str,
    *,
    figure: str = "",
    place: Slice = OVERALL,
    fingerprint: str = "",
    against: str = PEOPLE,
    mark: float | None = None,
) -> dict[str, Any]:
    """The filter of the items that a figure counts at a place, those that lower it first.

    Parameters
    ----------
    kind : str
        Of the items.
    figure : str
        The name of a figure of judges or, without a judge, of annotators; empty: of annotators' agreement.
    place : Slice
        All items, a category, a subset, a mean over subsets (all below its path), or the adversarial gap: its subsets,
        or the "adversarial" or the "other" ones.
    fingerprint : str
        Of the judge; empty: what human annotators say of each other.
    against, mark
        With what judges are compared, and from where on a rating passes, of kinds whose options say so.
    """
    asked: dict[str, Any] = {"kind": kind, "judge": fingerprint}
    asked |= _of_judge(kind, figure, against, mark) if fingerprint else _of_people(figure)
    within = _place(place)
    asked["has"] = [*asked.get("has", ()), *within.pop("has", ())]
    return {name: value for name, value in (asked | within).items() if value not in (None, "", [])}


def _place(place: Slice) -> dict[str, Any]:
    """The part of the filter that says where."""
    if place.kind in ("category", "subset"):
        return {place.kind: place.name}
    if place.kind == "gap":
        return {"has": [{"adversarial": "adversarial", "other": "other_subset"}.get(place.name, "subset")]}
    if place.kind == "macro":
        means = {AVERAGE: {"has": ["subset"]}, CATEGORIES: {"has": ["category"]}}
        return dict(means.get(place.name, {"subset": place.name}))
    return {}


def _of_people(figure: str) -> dict[str, Any]:
    return {"has": (_OF_ONE_LABEL | _SETS_OF_PEOPLE).get(figure, ("labels",)), "sort": "split"}


def _of_judge(kind: str, figure: str, against: str, mark: float | None) -> dict[str, Any]:
    known = next((one for one in FIGURES[kind].judges if one.name == figure), None)
    name = figure.removesuffix("_gold")
    presented = kind_of(kind).presented
    is_gold = known is not None and (known.of_gold or (against == GOLD and known.compares and not presented))
    target = GOLD if is_gold else PEOPLE
    sort = "wrong" if is_gold else "disagreement"
    if name in _RATES:
        answer, verdict = _RATES[name]
        return {target: answer, "verdict": verdict, "mark": mark, "sort": sort}
    is_read = kind_of(kind).scale == "ranks" or figure in _OF_READ
    answered = "verdict" if is_read else "judgment"
    if figure in _BESIDE_PEOPLE:
        return {"has": (answered, "labels"), "sort": "disagreement"}
    if figure in _OF_SETS:
        return {"has": _OF_SETS[figure], "sort": "disagreement"}
    if figure in _OF_VERDICTS:
        return {"has": _OF_VERDICTS[figure], "sort": _FIRST.get(figure, "")}
    if FIGURES[kind].majority and not is_read:
        return {target: "any", "has": (answered,), "sort": sort}
    leaves_one_out = presented or (kind_of(kind).scale == "nominal" and not FIGURES[kind].majority)
    compared = "gold" if is_gold else "labels" if leaves_one_out else "label"
    return {"has": (answered, compared), "sort": sort}


def resampled(kind: str, role: str, figure: str = "") -> dict[str, Any]:
    """The filter, but for the judges, of the items from which the resamples of a choice draw.

    All judges judged these, and there is something to compare them with: two labels of a pair, a majority of a
    question, a label, a response set, or a gold answer.
    """
    asked = scoring_asked(kind, role, figure)
    return asked | {"has": ["all_judges", *asked["has"]], "sort": "disagreement"}


def scoring_asked(kind: str, role: str, figure: str = "") -> dict[str, Any]:
    """The filter, but for the judge, of the items on which a choice scores it: there is something to compare with.

    ``figure`` is what judges are ranked by where people decide; empty: the first of the kind.
    """
    asked: dict[str, Any] = {"has": [], "sort": "disagreement" if role == PEOPLE else "wrong"}
    if role == PEOPLE and figure in FIGURES[kind].further:
        asked["has"].append("set")
    elif kind_of(kind).presented:
        asked["has"].append("labels" if role == PEOPLE else "gold")
    elif FIGURES[kind].sides and "pass_mark" not in FIGURES[kind].options:
        asked[role] = "any"
    else:
        asked["has"].append("label" if role == PEOPLE else "gold")
    return asked
