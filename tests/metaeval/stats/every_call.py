"""One call of every public function of the statistics, with the input that it takes."""

import inspect
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metaeval import stats
from metaeval.stats import Estimate, Resamples

N = 40
RESAMPLES = 30
_RNG = np.random.default_rng(20_250_301)


def _choices(*shape, right=0.75, ties=0.1):
    """Verdicts 1, 2 and 0 that follow one truth an item."""
    truth = np.resize([1.0, 2.0, 2.0, 1.0, 1.0], shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    said = np.where(_RNG.random(shape) < right, truth, 3 - truth)
    return np.where(_RNG.random(shape) < ties, 0.0, said)


def _ratings(*shape):
    level = np.resize([1, 2, 3, 4, 5], shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return np.clip(level + _RNG.integers(-1, 2, shape), 1, 5).astype(float)


def _rankings(n_people=None):
    """Orders of two to five parts, one matrix (or one list) an item."""
    sizes = np.resize([3, 4, 2, 5], N)
    if n_people is None:
        return [1.0 + _RNG.permutation(size) for size in sizes]
    return [np.stack([1.0 + _RNG.permutation(size) for _ in range(n_people)]) for size in sizes]


LABELS = _choices(N, 4)
VERDICTS = _choices(N, 2)
ONE_ORDER = _choices(N)
GOLD = np.resize([1.0, 2.0, 2.0, 1.0, 1.0], N)
RATINGS = _ratings(N, 3)
RIGHT = (_RNG.random((N, 3)) < [0.8, 0.6, 0.7]).astype(float)
TRUTH = np.resize([1.0, 0.0, 0.0, 1.0, 1.0], N)
CERTAINTY = np.resize([0.95, 0.6, 0.7, 0.8, 0.9, 0.65, 0.75, 0.85], N)
LENGTHS = _RNG.integers(100, 400, (N, 4))
CLUSTERS = np.arange(N) // 2
SUBSETS = np.resize(["Natural", "Adversarial/A", "Adversarial/B"], N)
BEST = np.tile([1.0, 0.0, 0.0, 0.0], (N, 1))
SCORES = _RNG.integers(1, 9, (N, 4)) + 2 * BEST
# Two items of ties follow each other, and are of one cluster.
SUBSETS_OF_FOUR = np.resize(["Math", "Math", "Ties", "Ties"], N)
IDS_OF_FOUR = np.array([f"{('ref', 'tied')[n % 2]}:{n // 2}" for n in range(N)])
FAMILIES = np.resize(["gpt", "llama", "gpt", ""], N), np.resize(["llama", "gpt", "qwen"], N)
TEXTS = np.resize(["- one\n- two", "plain", "1. a\n2. b"], N), np.resize(["plain", "words"], N)
SYSTEMS = np.resize(["a", "b", "c", "d", "e"], N)
PARTLY = np.where(np.arange(N) % 2, RIGHT[:, 0], np.nan)
PAIRS = np.array([(a, b) for a in "abcd" for b in "abcd" if a < b])[np.arange(N) % 6]
LONG = np.repeat(np.arange(N), 2), np.tile([0, 1], N), _ratings(N, 2).ravel()

_SETS_RNG = np.random.default_rng(5)
SETS = {answer: _SETS_RNG.integers(0, 2, (N, 4)).astype(float) for answer in (1, 2, 0)}
JUDGE_SETS = {answer: _SETS_RNG.integers(0, 2, (N, 2)).astype(float) for answer in (1, 2, 0)}


@dataclass
class Case:
    """One valid call. ``items`` are aligned with the items (or with the rows that are permuted); ``numbers`` are
    those of them that hold numbers with a meaning, NaN being missing; ``given`` are the other arguments."""

    name: str
    items: dict[str, Any]
    numbers: tuple[str, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)
    # The value may depend on the order of the rows (Elo by definition; draws and splits by a fixed seed).
    ordered: bool = False
    # The function gives one answer an item, which follows the items.
    itemwise: bool = False
    # `clusters`, `where` and such are not of the rows (long tables).
    long: bool = False

    @property
    def function(self):
        return getattr(stats, self.name)

    @cached_property
    def parameters(self):
        return inspect.signature(self.function).parameters

    def takes(self, option):
        options = self.parameters.get("options")
        return option in self.parameters or (options is not None and option != "weights")

    @cached_property
    def usual(self):
        """What the call as it stands gives, which many tests hold another one against."""
        return self.call()

    def call(self, items=None, **changed):
        given = dict(self.given)
        for option in ("n_resamples", "n_permutations", "n_draws"):
            if self.takes(option) and option in (*self.parameters, "n_resamples"):
                given.setdefault(option, RESAMPLES)
        return self.function(**{**given, **(self.items if items is None else items), **changed})


def case(name, items, numbers=None, given=None, **rest):
    return Case(name, items, tuple(items) if numbers is None else tuple(numbers), given or {}, **rest)


CASES = [
    case(
        "excess_p_values",
        {"events": np.resize([0.0, 1.0, 0.0, 3.0, 2.0, 9.0], N), "trials": np.resize([9.0, 12.0, 10.0], N)},
        itemwise=True,
    ),
    case("outlier_p_values", {"values": _RNG.normal(size=N)}, itemwise=True),
    case(
        "abstention_threshold",
        {"certainty": CERTAINTY, "wrong": (np.arange(N) % 7 == 3).astype(float)},
        given={"risk": 0.4},
    ),
    case("accuracy", {"verdicts": VERDICTS, "gold": GOLD}),
    case("accuracy_contributions", {"verdicts": VERDICTS, "gold": GOLD}, itemwise=True),
    case("active_probabilities", {"uncertainty": _RNG.random(N)}, given={"budget": 10}, itemwise=True),
    case("adjust_p_values", {"p_values": _RNG.random(N)}, itemwise=True),
    case("adversarial_gap", {"verdicts": VERDICTS, "gold": GOLD, "subsets": SUBSETS}, ["verdicts", "gold"]),
    case("aggregate_labels", {"labels": RATINGS}, given={"how": "mean"}, itemwise=True),
    case("agreement_model", {}, given={"people": 0.7, "judge": 0.7, "difference": 0.1, "discordance": 0.3}),
    case(
        "agreement_model_from",
        {"labels": LABELS, "first": ONE_ORDER, "second": GOLD},
    ),
    case("agreement_weights", {}, given={"values": [1.0, 2.0, 4.0], "weights": "quadratic"}),
    case("alternative_annotator_test", {"labels": LABELS, "verdicts": VERDICTS}),
    case("aspect_levels", {}, given={"parents": {"root": None, "leaf": "root"}}),
    case(
        "attribute_drift",
        {},
        given={"judge": stats.DriftMonitor(0.1).update(TRUTH), "systems": stats.DriftMonitor(0.6).state},
    ),
    case("best_reachable_agreement", {"labels": LABELS}),
    case("bias_and_variance", {"labels": LABELS, "samples": _choices(N, 3)}),
    case(
        "bias_table",
        {"verdicts": VERDICTS, "features": {"length": (LENGTHS[:, 0], LENGTHS[:, 1])}, "labels": LABELS},
        ["verdicts", "labels"],
    ),
    case("bradley_terry", {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER}, ["outcome"]),
    case("brier_score", {"probabilities": CERTAINTY, "outcomes": RIGHT[:, 0]}, given={"n_bins": 4}),
    case("calibration_error", {"probabilities": CERTAINTY, "outcomes": RIGHT[:, 0]}, given={"n_bins": 4}),
    case("capacity_curve", {"scores": dict(zip("abc", RIGHT.T, strict=True))}, ordered=True),
    case(
        "code_labels",
        {"labels": SUBSETS},
        [],
        {"coding": ["Natural", "Adversarial/A", "Adversarial/B"]},
        itemwise=True,
    ),
    case("cohen_kappa", {"first": RATINGS[:, 0], "second": RATINGS[:, 1]}),
    case("compare_all", {"scores": dict(zip("abc", RIGHT.T, strict=True))}),
    case("confusion", {"verdicts": RIGHT, "truth": TRUTH}),
    case(
        "corrected_rate",
        {
            "labels": np.where(np.arange(N) % 2, TRUTH, np.nan),
            "verdicts": np.where(RIGHT[:, 0], TRUTH, 1 - TRUTH),
        },
    ),
    case("correlation", {"first": RATINGS[:, 0], "second": RATINGS[:, 1]}),
    case(
        "correlation_by",
        {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "groups": np.arange(N) // 8},
        ["first", "second"],
    ),
    case(
        "correlation_difference", {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "target": RATINGS[:, 2]}
    ),
    case(
        "critical_values",
        {"columns": list(RIGHT.T)},
        [],
        {"n_candidates": 3, "resamples": Resamples(N, 0)},
        long=True,
    ),
    case(
        "crossed_mean_estimate",
        {"scores": (LONG[2] > 2).astype(float), "item": LONG[0], "annotator": np.arange(2 * N) % 6},
        ["scores"],
        long=True,
    ),
    case("dawid_skene", {"labels": LABELS}),
    case("distribution_contributions", {"labels": LABELS, "verdicts": VERDICTS}, itemwise=True),
    case("distribution_distance", {"labels": LABELS, "verdicts": VERDICTS}, given={"measure": "squared"}),
    case("draw_items", {"probabilities": np.full(N, 0.25)}, [], ordered=True),
    case("drfr", {"answers": RIGHT[:, 0], "items": CLUSTERS}, ["answers"], long=True),
    case(
        "elo_ratings",
        {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER},
        ["outcome"],
        {"n_permutations": 5},
        ordered=True,
    ),
    case("evaluator_correlations", {"ratings": dict(zip("abc", RATINGS.T, strict=True))}),
    case(
        "evaluator_correlations_by",
        {"ratings": dict(zip("abc", RATINGS.T, strict=True)), "criteria": np.arange(N) // 20},
        ["ratings"],
    ),
    case("error_cost", {"verdicts": RIGHT, "truth": TRUTH}, given={"false_positive": 3.0}),
    case("error_cost_contributions", {"verdicts": RIGHT, "truth": TRUTH}, itemwise=True),
    case("expected_win_rate", {"verdicts": VERDICTS}),
    case(
        "family_features",
        {"families_1": FAMILIES[0], "families_2": FAMILIES[1]},
        [],
        {"judge_family": "gpt"},
    ),
    case(
        "family_monotonicity",
        {
            "sizes": np.arange(1.0, 9),
            "scores": np.array([1.0, 3, 2, 4, 1, 2, 4, 5]),
            "families": list("aaaabbbb"),
        },
        ["sizes", "scores"],
    ),
    case(
        "feature_contributions",
        {"verdicts": VERDICTS, "feature_1": LENGTHS[:, 0], "feature_2": LENGTHS[:, 1]},
        itemwise=True,
    ),
    case(
        "feature_preference", {"verdicts": VERDICTS, "feature_1": LENGTHS[:, 0], "feature_2": LENGTHS[:, 1]}
    ),
    case("first_shown_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("first_shown_preference", {"verdicts": VERDICTS}),
    case("fleiss_kappa", {"labels": LABELS}),
    case(
        "follow_rate_by_level",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case(
        "generalizability_study",
        {"scores": LONG[2], "item": LONG[0], "annotator": np.arange(2 * N) % 6},
        ["scores"],
        long=True,
    ),
    case("gwet_ac", {"labels": RATINGS}, given={"weights": "linear"}),
    case("has_list", {}, given={"text": "- a\n- b"}),
    case("hedging_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("hedging_rate", {"verdicts": VERDICTS}),
    case("importance_agreement", {"first": _rankings(), "second": _rankings()}),
    case(
        "importance_agreement_by_annotator",
        {"people": {"A": _rankings(), "B": _rankings()}, "methods": {"tree": _rankings()}},
    ),
    case(
        "items_to_label_next",
        {"judgments": RIGHT[:, 1], "uncertainty": _RNG.random(N), "labels": PARTLY},
        ["judgments", "labels"],
        {"budget": 5},
        ordered=True,
    ),
    case("judge_uncertainty", {"answers": VERDICTS}, itemwise=True),
    case("krippendorff_alpha", {"labels": RATINGS}, given={"level": "ordinal"}),
    case("labels_needed", {}, given={"difference": 0.1, "discordance": 0.2}),
    # A large difference: of a small one the exact test is tried with thousands of items.
    case("labels_needed_from", {"first": RIGHT[:, 0], "second": 1 - RIGHT[:, 1]}),
    case("leave_one_out_agreement", {"labels": LABELS, "verdicts": VERDICTS}),
    case(
        "leave_one_out_by",
        {"labels": LABELS, "groups": SYSTEMS, "verdicts": VERDICTS},
        ["labels", "verdicts"],
    ),
    case("leave_one_out_by_annotator", {"labels": LABELS, "verdicts": VERDICTS}),
    case("leave_one_out_contributions", {"labels": LABELS, "verdicts": VERDICTS}, itemwise=True),
    case(
        "leave_one_out_difference",
        {"labels": np.concatenate([LABELS, VERDICTS], axis=1), "first": ONE_ORDER, "second": GOLD},
        given={"people": "sampled"},
    ),
    case("length_bias_rate", {"verdicts": VERDICTS, "length_1": LENGTHS[:, 0], "length_2": LENGTHS[:, 1]}),
    case(
        "length_controlled_win_rate",
        {"preferences": ONE_ORDER, "length_baseline": LENGTHS[:, 0], "length_model": LENGTHS[:, 1]},
        given={"penalty": 1.0},
    ),
    case(
        "length_controlled_win_rates",
        {"preferences": _choices(N, 3), "length_baseline": LENGTHS[:, 0], "length_models": LENGTHS[:, 1:]},
        given={"penalty": 1.0},
    ),
    case("likelihood_correlation", {"scores": _rankings(), "votes": _rankings()}),
    case("list_preference", {"verdicts": VERDICTS, "texts_1": TEXTS[0], "texts_2": TEXTS[1]}, ["verdicts"]),
    case(
        "longer_preference_share",
        {"verdicts": VERDICTS, "length_1": LENGTHS[:, 0], "length_2": LENGTHS[:, 1]},
    ),
    case("macro_mean", {"contributions": RIGHT[:, 0], "groups": SYSTEMS}, ["contributions"]),
    case("majority_vote", {"labels": LABELS}),
    case("mcnemar_test", {"first_right": RIGHT[:, 0], "second_right": RIGHT[:, 1]}),
    case("mean_estimate", {"contributions": RIGHT[:, 0]}),
    case("noninferiority_test", {"differences": RIGHT[:, 0] - RIGHT[:, 1]}, given={"margin": 0.2}),
    case(
        "one_way_anova",
        {"groups": list(RIGHT.T), "blocks": np.arange(N)},
        ["groups"],
        ordered=True,
        long=True,
    ),
    case(
        "outside_correlation",
        {},
        given={
            "ours": dict(zip("abcdef", [1, 3, 2, 5, 4, 6], strict=True)),
            "outside": dict(zip("abcdef", [2, 3, 1, 4, 5, 6], strict=True)),
        },
    ),
    case("paired_difference", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("paired_permutation_test", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("paired_t_test", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("pairwise_agreement", {"labels": RATINGS}, given={"tolerance": 1}),
    case("pairwise_agreement_contributions", {"labels": RATINGS}, itemwise=True),
    case("percent_agreement", {"labels": LABELS}),
    case("person_correlation", {"labels": LONG}, [], {"n_items": N}, long=True),
    case("positional_agreement", {"verdicts": VERDICTS}),
    case("positional_agreement_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("positional_bias", {"verdicts": VERDICTS}),
    case("power_of_difference", {}, given={"difference": 0.1, "n": 200, "discordance": 0.2}),
    case("ppi_mean", {"labels": PARTLY, "judgments": RIGHT[:, 1]}),
    case("ppi_win_rate", {"labels": np.where(np.arange(N) % 2, GOLD, np.nan), "verdicts": VERDICTS}),
    case("preference_share", {"verdicts": VERDICTS}),
    case("preset", {}, given={"name": "llmbar"}),
    case("rank_agreement", {"rankings": _rankings(3)}),
    case("rank_agreement_contributions", {"rankings": _rankings(3)}, itemwise=True),
    case("rank_pairs", {"rankings": _rankings(3)}, ordered=True),
    case("rating_verdicts", {"score_1": RATINGS[:, 0], "score_2": RATINGS[:, 1]}, itemwise=True),
    case("ratio_estimate", {"numerator": RIGHT[:, 0], "denominator": np.ones(N)}, []),
    case(
        "recalibrate",
        {"probabilities": CERTAINTY, "outcomes": RIGHT[:, 0]},
        given={"n_folds": 4},
        ordered=True,
    ),
    case("risk_coverage", {"certainty": CERTAINTY, "wrong": 1 - RIGHT[:, 0]}),
    case(
        "rogan_gladen_interval",
        {},
        given=dict(
            zip(
                ("judged", "true_negative_rate", "true_positive_rate", "n", "n_negative", "n_positive"),
                (0.4, 0.7, 0.9, 1000.0, 200.0, 200.0),
                strict=True,
            )
        ),
    ),
    case("repeat_noise", {"changes": 1 - RIGHT}),
    case("response_set_coverage", {"sets": SETS, "verdicts": VERDICTS}),
    case("response_set_coverage_contributions", {"sets": SETS, "verdicts": VERDICTS}, itemwise=True),
    case("response_set_decisions", {"sets": SETS, "judge": JUDGE_SETS}, given={"positive": 1}),
    case("response_set_distance", {"sets": SETS, "judge": JUDGE_SETS}),
    case("response_set_distance_contributions", {"sets": SETS, "judge": JUDGE_SETS}, itemwise=True),
    case("response_set_shares", {"sets": SETS}, itemwise=True),
    case(
        "score_model",
        {},
        given={"value": 0.7, "items_sd": 0.1, "within_sd": 0.2, "person_sd": 0.05},
    ),
    case("self_consistency", {"samples": RATINGS}),
    case("self_consistency_contributions", {"samples": RATINGS}, itemwise=True),
    case(
        "self_preference",
        {"verdicts": VERDICTS, "families_1": FAMILIES[0], "families_2": FAMILIES[1], "labels": LABELS},
        ["verdicts", "labels"],
        {"judge_family": "gpt"},
    ),
    case("sets_given_choices", {"choices": LABELS, "sets": SETS}),
    case("best_of_accuracy", {"scores": SCORES, "right": BEST}, ["scores"]),
    case("best_of_contributions", {"scores": SCORES, "right": BEST}, ["scores"], itemwise=True),
    case(
        "best_of_score",
        {"scores": SCORES, "right": BEST, "subsets": SUBSETS_OF_FOUR, "ids": IDS_OF_FOUR},
        ["scores"],
        given={"sections": ("Math", "Ties")},
    ),
    case("soft_labels", {"labels": LABELS}, itemwise=True),
    case("style_counts", {"texts": TEXTS[0]}, [], itemwise=True),
    case("style_covariates", {"first": LENGTHS[:, :2], "second": LENGTHS[:, 2:]}, [], itemwise=True),
    case(
        "rubric_points_contributions",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "points": np.resize([5.0, 3.0, -2.0, 4.0], N)},
        ["answers", "points"],
        long=True,
    ),
    case(
        "rubric_points_score",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "points": np.resize([5.0, 3.0, -2.0, 4.0], N)},
        ["answers", "points"],
        long=True,
    ),
    case(
        "section_accuracy",
        {"verdicts": VERDICTS, "gold": GOLD, "subsets": SUBSETS},
        ["verdicts", "gold"],
        given={"sections": {"Plain": {"Natural": 2}, "Hard": {"Adversarial/A": 1, "Adversarial/B": 3}}},
    ),
    case("subset_accuracy", {"verdicts": VERDICTS, "gold": GOLD, "subsets": SUBSETS}, ["verdicts", "gold"]),
    case(
        "system_correlation",
        {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "systems": SYSTEMS},
        ["first", "second"],
    ),
    case("tie_rate", {"verdicts": VERDICTS}),
    case("to_frame", {}, given={"results": Estimate(0.5, 0.4, 0.6, 9)}),
    case("tolerant_accuracy", {"verdicts": RATINGS[:, :2], "gold": RATINGS[:, 2]}),
    case(
        "tolerant_accuracy_contributions", {"verdicts": RATINGS[:, :2], "gold": RATINGS[:, 2]}, itemwise=True
    ),
    case(
        "tower_drfr_differences",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case(
        "tower_score",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case("unparsed_rate", {"verdicts": VERDICTS}),
    case("wilson_interval", {}, given={"share": 0.5, "n": 20}),
    case("verdict_changes", {"frozen": GOLD, "now": ONE_ORDER}, itemwise=True),
    case("vote_agreement", {"labels": LABELS, "verdicts": VERDICTS}),
    case("win_matrix", {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER}, ["outcome"]),
]
BY_NAME = {each.name: each for each in CASES}
# What speaks of a subset of the rows, has an interval by resampling, and so on.
WITH_ITEMS = [each for each in CASES if each.items]
WITH_NUMBERS = [each for each in CASES if each.numbers]
