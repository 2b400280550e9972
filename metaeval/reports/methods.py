"""How the figures of a report were computed, in sentences that a paper's appendix can take over."""

from typing import Any

_TIES = {
    "expected": (
        "Agreement leaves one label out at a time and compares with the modes of the others; ties between modes "
        "count by the exact expectation of breaking them at random."
    ),
    "random": (
        "Agreement leaves one label out at a time and compares with the mode of the others; ties between modes "
        "were broken at random (seed {seed})."
    ),
    "alpaca_eval": (
        "Agreement follows AlpacaEval's published convention: people are compared with the mode of the other "
        "labels, judges with the mode of all, and ties between two modes go to the second output."
    ),
}


def methods(content: dict[str, Any]) -> list[str]:
    """Conventions of this report, one sentence or two each."""
    options = content["options"]
    found = [_TIES[options["tie_break"]].format(seed=options["seed"])]
    found.append("A judge's figure is the mean of the presentation orders in which it judged.")
    found.append(
        "An unparsed verdict counts as wrong."
        if options["unparsed"] == "wrong"
        else "Unparsed verdicts are left out of agreement and accuracy."
    )
    if content["items"]["n_gold"]:
        found.append("Accuracy counts a tie as one half where the gold answer is none.")
    if options["unparsed_agree"]:
        found.append("Two unparsed verdicts count as the same verdict in both orders, as in LLMBar's tables.")
    found.append(
        "Lengths are in characters. Length bias is the share that prefers the longer response minus the share that "
        "prefers the shorter, averaged over the items whose responses differ in length."
    )
    if content["humans"].get("n_drawn_by_chance"):
        found.append(
            "Items that were drawn for labelling with a chance below 1 weigh one over that chance in what rests on "
            "labels."
        )
    if options["n_resamples"]:
        found.append(
            f"Intervals are at {100 * options['confidence']:g} %, from {options['n_resamples']:,} bootstrap "
            f"resamples of instructions (seed {options['seed']}), the same for all judges; of bounded figures they are "
            "Wilson's, with the sample size and degrees of freedom that the variance between instructions gives."
        )
        found.append(
            "Differences to the leading judge are paired by item, with Student intervals from the variance between "
            "instructions. They allow for the leader having been chosen as the best: the judges that are not "
            "significantly different from it and the leader are a model confidence set (Hansen, Lunde and Nason), "
            f"which holds all equally best judges in at least {100 * options['confidence']:g}% of datasets."
        )
    else:
        found.append("No intervals were asked for.")
    if any(judge["baseline"] for judge in content["judges"]):
        found.append("Baselines are judges without a model, computed from the lengths and the order alone.")
    return found
