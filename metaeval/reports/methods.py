"""How the figures of a report were computed, in sentences that a paper's appendix can take over."""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.reports.report import ReportContent

_TIES = {
    "expected": (
        "Leave-one-out agreement compares each label with the modes of the others; ties between modes count by the "
        "exact expectation of breaking them at random."
    ),
    "random": (
        "Leave-one-out agreement compares each label with the mode of the others; ties between modes were broken at "
        "random (seed {seed})."
    ),
    "alpaca_eval": (
        "Agreement follows AlpacaEval's published convention: human annotators are compared with the mode of the other "
        "labels, judges with the mode of all, and ties between two modes go to the second output."
    ),
}
_SPEARMAN = (
    "Spearman's rho of two annotators (average ranks for ties) is averaged over the pairs of annotators of an item, "
    "then over items; a constant ranking has no correlation and isn't counted."
)
_PEOPLE = {
    "rubric": (
        "Krippendorff's alpha is ordinal; over all criteria together it is of all ratings. Two annotators are compared "
        "pair by pair within an item, then items are averaged.",
        "Leave-one-out figures compare each rating with the mean of the other annotators' ratings of the same item: "
        "correlations are of each annotator who shares at least five items with others, averaged over annotators; "
        "distances and shares are averaged over an item's labels, then over items.",
    ),
    "checklist": (
        "Krippendorff's alpha is nominal, over questions, with cannot tell as an answer of its own.",
        "Leave-one-out agreement compares each answer with the mode of the other annotators' answers to the same "
        "question, ties between modes by expectation; it and pairwise agreement are means over questions.",
        "DRFR is the share of an item's questions answered with yes, cannot tell counting as no; TOWER weighs a "
        "question by one over its level in the tree of aspects.",
    ),
    "importance": (_SPEARMAN,),
    "answer_ranking": (_SPEARMAN,),
}
_RANKED = {
    "rubric": "Judges are ranked by Spearman's correlation of their mean rating of an item with {against}.",
    "checklist": "Judges are ranked by the share of questions that they answer as {against}.",
    "importance": "Judges are ranked by Spearman's rho with {against}, averaged over items.",
    "answer_ranking": "Judges are ranked by Pearson's correlation with {against}, averaged over questions.",
}
_EACH = "each human annotator who ranked the item"
_AGAINST = {
    ("rubric", "people"): "human annotators' mean ratings",
    ("rubric", "gold"): "the gold ratings",
    ("checklist", "people"): "most human annotators did",
    ("checklist", "gold"): "the gold answers",
    ("importance", "people"): _EACH,
    ("importance", "gold"): "the gold ranks",
    ("answer_ranking", "people"): _EACH,
    ("answer_ranking", "gold"): "human votes, or the gold ranks",
}


def methods(report: ReportContent) -> list[str]:
    """Conventions of this report, one sentence or two each."""
    of_kind = _pairs(report) if report.kind == "pairwise" else _others(report)
    return [*of_kind, *_drawn(report), *_intervals(report)]


def _pairs(report: ReportContent) -> Iterator[str]:
    options = report.options
    yield _TIES[options["tie_break"]].format(seed=options["seed"])
    yield "A judge's figure is the mean of the presentation orders in which it judged."
    if options["unparsed"] == "wrong":
        yield "An unparsed verdict counts as wrong."
    else:
        yield "Unparsed verdicts are left out of agreement and accuracy."
    yield "In positional agreement an unparsed verdict agrees with nothing."
    if report.items.n_gold:
        yield "Accuracy counts a tie as one half where the gold answer is none."
    yield (
        "Lengths are in characters. Length bias is the share that prefers the longer response minus the share that "
        "prefers the shorter, averaged over the items whose responses differ in length."
    )
    if any(judge.baseline for judge in report.judges):
        yield "Baselines are judges without an LLM, computed from the lengths and the order alone."


def _others(report: ReportContent) -> Iterator[str]:
    if report.people.n_labels:
        yield from _PEOPLE[report.kind]
    if report.judges:
        if report.selection.leader is not None:
            yield _RANKED[report.kind].format(against=_AGAINST[report.kind, report.against])
        yield (
            "Answers that could not be read are left out of correlations, scores and mean ratings, and count as wrong "
            "for agreement and for being within one point."
        )


def _drawn(report: ReportContent) -> Iterator[str]:
    if report.people.n_drawn_by_chance and not any("do not weigh" in one for one in report.remarks):
        yield (
            "Items that were drawn for labelling with a chance below 1 weigh one over that chance in what rests on "
            "labels."
        )


def _intervals(report: ReportContent) -> Iterator[str]:
    options = report.options
    if not options["n_resamples"]:
        yield "No intervals were asked for."
        return
    yield (
        f"Intervals are at {100 * options['confidence']:g}%, from {options['n_resamples']:,} bootstrap resamples of "
        f"instructions (seed {options['seed']}), the same for all judges; of shares and means they are Wilson's, of "
        "correlations Fisher's, with the sample size and degrees of freedom that the variance between instructions "
        "gives."
    )
    if not any(one.differences for one in report.selections.values()):
        return
    yield (
        "Differences to the leading judge are paired by item, with Student intervals. They allow for the leader having "
        "been chosen as the best."
    )
    if report.kind != "rubric":
        yield (
            "The leader and the judges that are not significantly different from it are a model confidence set "
            "(Hansen, Lunde and Nason), which holds all equally best judges in at least "
            f"{100 * options['confidence']:g}% of datasets."
        )
