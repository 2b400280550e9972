"""The figures of pairs of responses."""

from metaeval.figures.figure import CORRELATION, GROUPS, UNPARSED, Figure

PEOPLE = (
    Figure(
        "leave_one_out",
        "Leave-one-out agreement",
        "Chance that a human annotator's label is the mode of the other labels of the same pair.",
        axes=GROUPS,
    ),
    Figure(
        "best_reachable",
        "Upper bound (majority oracle)",
        "Leave-one-out agreement of a judge that gives the best possible verdict on every pair.",
        axes=GROUPS,
        short="Upper bound",
    ),
    Figure(
        "percent_agreement",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same label, averaged over items.",
    ),
    Figure(
        "krippendorff_alpha",
        "Krippendorff's alpha",
        "Agreement beyond chance, nominal: one minus observed over expected disagreement of labels.",
        "number",
        CORRELATION,
        axes=GROUPS,
    ),
    Figure(
        "fleiss_kappa",
        "Fleiss' kappa",
        "Pairwise agreement beyond what the shares of the values give by chance.",
        "number",
        CORRELATION,
    ),
    Figure(
        "gwet_ac1",
        "Gwet's AC1",
        "Pairwise agreement beyond chance, where only some labels are guesses.",
        "number",
        CORRELATION,
    ),
    Figure("tie_rate", "Ties", "Share of the labels that are ties.", axes=GROUPS),
    Figure(
        "prefers_first",
        "Prefers the first response",
        "Share of the labels that prefer the first response in stored order, a tie counting one half.",
    ),
    Figure(
        "prefers_longer",
        "Prefers the longer response",
        "Share of the labels that prefer the longer response, of pairs whose lengths differ.",
    ),
    Figure(
        "length_bias",
        "Length bias",
        "Share that prefers the longer response minus share that prefers the shorter, averaged over items whose "
        "lengths differ.",
        "points",
        CORRELATION,
    ),
    Figure(
        "first_label_prefers_longer",
        "First label prefers the longer (by more than 30 characters)",
        "AlpacaEval's probability to prefer the longer response: first label of each pair that differs by more than "
        "30 characters.",
    ),
)
AGREEMENT = Figure(
    "agreement",
    "Agreement with human annotators",
    "Leave-one-out agreement of the judge's verdict with human labels, averaged over presentation orders and items.",
    axes=GROUPS,
)
ACCURACY = Figure(
    "accuracy",
    "Accuracy",
    "Share of the verdicts that are the gold answer, averaged over presentation orders and items.",
    axes=GROUPS,
)
JUDGES = (
    AGREEMENT,
    ACCURACY,
    Figure(
        "positional_agreement",
        "Positional agreement",
        "Share of the items with the same verdict in both presentation orders; an unparsed verdict agrees with none.",
        axes=("subset",),
    ),
    Figure(
        "positional_agreement_llmbar",
        "Positional agreement (LLMBar's convention)",
        "Positional agreement where two unparsed verdicts count as the same, as in LLMBar's published tables.",
        in_pages=False,
    ),
    UNPARSED,
    Figure("tie_rate", "Ties", "Share of ties among the parsed verdicts."),
    Figure(
        "length_bias",
        "Length bias",
        "Share that prefers the longer response minus share that prefers the shorter, averaged over items whose "
        "lengths differ; an unparsed verdict prefers neither.",
        "points",
        CORRELATION,
    ),
    Figure(
        "first_shown_rate",
        "Position bias (first-position rate)",
        "Share of the decided verdicts that prefer the response shown first, of items parsed in both orders.",
        short="First-position rate",
    ),
    Figure(
        "expected_win_rate",
        "Expected win rate of the first response",
        "Wins of the first response plus half of the ties, averaged over items; unparsed verdicts are left out.",
        in_pages=False,
    ),
    Figure(
        "prefers_longer",
        "Prefers the longer response",
        "Share of the parsed verdicts that prefer the longer response, of pairs whose lengths differ.",
        in_pages=False,
    ),
    Figure("cost_per_1000", "Cost of 1,000 judgments", "US dollars of 1,000 judgments.", "money", None),
    Figure("seconds_each", "Seconds each", "Model time of one judgment, in seconds.", "seconds", None),
)
