"""How the figures of a report on a kind were computed, in sentences that a paper's appendix can take over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports.kinds.measures import ANSWER_RANKING, CHECKLIST, IMPORTANCE, RUBRIC

_SPEARMAN = (
    "Spearman's rho of two people (average ranks for ties) is averaged over the pairs of people of an item, then over "
    "items; whoever puts all parts level orders nothing and has no rho."
)
_PEOPLE = {
    RUBRIC: (
        "Krippendorff's alpha is ordinal; over all criteria together it is of all ratings. Two people are compared "
        "pair by pair within an item, then items are averaged.",
        "Leave-one-out figures compare each rating with the mean of the other people's ratings of the same item: "
        "correlations are of each person who shares at least five items with others, averaged over people; distances "
        "and shares are averaged over an item's labels, then over items.",
    ),
    CHECKLIST: (
        "Krippendorff's alpha is nominal, over questions, with cannot tell as an answer of its own.",
        "Leave-one-out agreement compares each answer with the mode of the other people's answers to the same "
        "question, ties between modes by expectation; it and the agreement of two people are means over questions.",
        "DRFR is the share of an item's questions answered with yes, cannot tell counting as no; TOWER weighs a "
        "question by one over its level in the tree of aspects.",
    ),
    IMPORTANCE: (_SPEARMAN,),
    ANSWER_RANKING: (_SPEARMAN,),
}
_JUDGES = {
    RUBRIC: "Judges are ranked by Spearman's correlation of their mean rating of an item with {against}.",
    CHECKLIST: "Judges are ranked by the share of questions that they answer as {against}.",
    IMPORTANCE: "Judges are ranked by Spearman's rho with {against}, averaged over items.",
    ANSWER_RANKING: "Judges are ranked by Pearson's correlation with {against}, averaged over questions.",
}
_AGAINST = {
    (CHECKLIST, "people"): "most people did",
    (CHECKLIST, "gold"): "the gold answers",
    (IMPORTANCE, "people"): "each person who ranked the item",
    (ANSWER_RANKING, "people"): "each person who ranked the item",
    (IMPORTANCE, "gold"): "the gold ranks",
    (ANSWER_RANKING, "gold"): "people's votes, or the gold ranks",
    (RUBRIC, "people"): "people's mean ratings",
    (RUBRIC, "gold"): "the gold ratings",
}


def kind_methods(content: Mapping[str, Any]) -> list[str]:
    """Conventions of this report, one sentence or two each."""
    kind, options = content["kind"], content["options"]
    found = [*_PEOPLE[kind]] if content["people"]["n_labels"] else []
    if content["judges"]:
        if content["selection"]["leader"] is not None:
            found.append(_JUDGES[kind].format(against=_AGAINST[kind, options["against"]]))
        found.append(
            "Answers that could not be read are left out of correlations, scores and mean ratings, and count as wrong "
            "for agreement and for being within one point."
        )
    found.append(interval_words(content))
    if len(content["selection"]["differences"]) > 0 and options["n_resamples"]:
        found.append(
            "Differences to the leading judge are on the same items and resamples, and allow for the leader having "
            "been chosen as the best."
        )
    return found


def interval_words(content: Mapping[str, Any]) -> str:
    """What the intervals are."""
    options = content["options"]
    if not options["n_resamples"]:
        return "No intervals were asked for."
    return (
        f"Intervals are at {100 * options['confidence']:g} %, from {options['n_resamples']:,} bootstrap resamples of "
        f"instructions (seed {options['seed']}); of shares and means they are Wilson's, of correlations Fisher's, "
        "with the sample size that the variance between instructions gives."
    )
