"""How the figures of a report were computed, in sentences that a paper's appendix can take over."""

from collections.abc import Iterator

from metaeval.reports.report import ReportContent
from metaeval.reports.tables import has_alike, only_these, why_not_alike

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


def methods(report: ReportContent) -> list[str]:
    """Conventions of this report, one sentence or two each."""
    return [
        *(_of_pairs(report) if "tie_break" in report.options else _of_values(report)),
        *_drawn(report),
        *_intervals(report),
    ]


def _of_pairs(report: ReportContent) -> Iterator[str]:
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


def _of_values(report: ReportContent) -> Iterator[str]:
    if report.people.n_labels:
        yield from report.figures.methods
    if report.judges:
        if report.selection.leader is not None:
            against = report.figures.against["gold" if report.against == "gold" else "people"]
            yield report.figures.ranked.format(against=against)
        yield (
            "Answers that could not be read are left out of correlations, scores and mean ratings, and count as wrong "
            "for agreement and for being within one point."
        )


def _drawn(report: ReportContent) -> Iterator[str]:
    if report.people.n_drawn_by_chance and not any("do not weigh" in one for one in report.remarks):
        yield (
            "Items that were drawn for labeling with a chance below 1 weigh one over that chance in what rests on "
            "labels."
        )


def _populations(report: ReportContent) -> Iterator[str]:
    """Whom the intervals speak of."""
    why = why_not_alike(report)
    if not (why or has_alike(report)):
        return
    yield "Intervals speak of these annotators on new items, unless they say otherwise."
    if why:
        yield f"None speaks of annotators like these on new items: {why}."
        return
    yield (
        "Intervals for annotators like these on new items add the variance between annotators: what replacing one "
        "annotator's labels by those of the others of the same items does to the figure, with modes, means and ranks "
        "taken anew. "
        "What an annotator does on one instruction only is in the variance between instructions, and counts once "
        "(two-way clustering, Satterthwaite's degrees of freedom)."
    )
    for whose, reason, labels in only_these(report):
        yield f"There is none of these figures of {whose}: {', '.join(labels)}. Reason: {reason}."


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
    yield from _populations(report)
    if not any(one.differences for one in report.selections.values()):
        return
    yield (
        "Differences to the leading judge are paired by item, with Student intervals. They allow for the leader having "
        "been chosen as the best."
    )
    if report.primary in report.figures.primaries:
        yield (
            "The leader and the judges that are not significantly different from it are a model confidence set "
            "(Hansen, Lunde and Nason), which holds all equally best judges in at least "
            f"{100 * options['confidence']:g}% of datasets."
        )
