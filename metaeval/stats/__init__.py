"""Statistics of judges and of people: arrays in, frozen results out. Knows neither Django nor the apps.

Values are numbers: of a pair 1 (first response better), 2 (second) and 0 (tie); NaN is a missing label or an
unparsed verdict. Every figure is an `Estimate` with an interval from resampled clusters; what is undefined
is NaN with a `StatisticsWarning`. Formulas and conventions: ``docs/statistics.md``.
"""

from metaeval.stats.abstention import (
    AbstentionThreshold,
    RiskCoverage,
    abstention_threshold,
    risk_coverage,
)
from metaeval.stats.accuracy import (
    accuracy,
    accuracy_contributions,
    hedging_contributions,
    hedging_rate,
    positional_agreement,
    positional_agreement_contributions,
    rating_verdicts,
    unparsed_rate,
)
from metaeval.stats.active import (
    LabelPlan,
    active_probabilities,
    draw_items,
    items_to_label_next,
    judge_uncertainty,
)
from metaeval.stats.adversarial import (
    PositionalBias,
    SubsetRow,
    SubsetTable,
    adversarial_gap,
    positional_bias,
    subset_accuracy,
)
from metaeval.stats.agreement import (
    percent_agreement,
    self_consistency,
    self_consistency_contributions,
    tolerant_accuracy,
    tolerant_accuracy_contributions,
)
from metaeval.stats.alpha import krippendorff_alpha
from metaeval.stats.alternative_annotator import AlternativeAnnotatorTest, alternative_annotator_test
from metaeval.stats.annotators import leave_one_out_by, leave_one_out_by_annotator
from metaeval.stats.anova import OneWayAnova, one_way_anova
from metaeval.stats.best_of import (
    BestOfRow,
    BestOfScore,
    best_of_accuracy,
    best_of_contributions,
    best_of_score,
)
from metaeval.stats.bias_tables import BiasRow, bias_table, self_preference
from metaeval.stats.bias_variance import BiasAndVariance, bias_and_variance
from metaeval.stats.biases import (
    family_features,
    feature_contributions,
    feature_preference,
    first_shown_contributions,
    first_shown_preference,
    has_list,
    list_preference,
)
from metaeval.stats.bradley_terry import bradley_terry
from metaeval.stats.bradley_terry_result import BradleyTerry
from metaeval.stats.calibration import (
    BrierScore,
    CalibrationError,
    ReliabilityBin,
    brier_score,
    calibration_error,
)
from metaeval.stats.capacity import CapacityCurve, capacity_curve
from metaeval.stats.combined import macro_mean
from metaeval.stats.confusion import Confusion, confusion, error_cost, error_cost_contributions
from metaeval.stats.corrected import CorrectedRate, corrected_rate, rogan_gladen_interval
from metaeval.stats.correlation import correlation, correlation_difference, person_correlation
from metaeval.stats.correlation_by import GroupedCorrelation, correlation_by
from metaeval.stats.crossed import crossed_mean_estimate
from metaeval.stats.dawid_skene import DawidSkene, dawid_skene
from metaeval.stats.differences import critical_values, paired_difference
from metaeval.stats.distributions import distribution_contributions, distribution_distance
from metaeval.stats.drift import (
    DriftMonitor,
    DriftState,
    RepeatNoise,
    attribute_drift,
    repeat_noise,
    verdict_changes,
)
from metaeval.stats.elo import EloRatings, elo_ratings
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.evaluators import EvaluatorCorrelations, evaluator_correlations, evaluator_correlations_by
from metaeval.stats.following import (
    ScoreDifferences,
    aspect_levels,
    drfr,
    follow_rate_by_level,
    tower_drfr_differences,
    tower_score,
)
from metaeval.stats.generalizability import GeneralizabilityStudy, NextStep, generalizability_study
from metaeval.stats.gwet import agreement_weights, gwet_ac
from metaeval.stats.hypothesis_tests import TestResult, mcnemar_test, paired_permutation_test, paired_t_test
from metaeval.stats.importance import (
    ImportanceAgreement,
    ImportanceTable,
    importance_agreement,
    importance_agreement_by_annotator,
)
from metaeval.stats.intervals import mean_estimate, ratio_estimate, wilson_interval
from metaeval.stats.kappa import cohen_kappa, fleiss_kappa
from metaeval.stats.label_models import MajorityVote, aggregate_labels, majority_vote, soft_labels
from metaeval.stats.label_table import LabelTable, code_labels
from metaeval.stats.leave_one_out import (
    LeaveOneOut,
    best_reachable_agreement,
    leave_one_out_agreement,
    leave_one_out_difference,
)
from metaeval.stats.leave_one_out_scores import leave_one_out_contributions
from metaeval.stats.length_control import (
    LengthControlled,
    LengthControlledTable,
    RegularisingRows,
    length_controlled_win_rate,
    length_controlled_win_rates,
)
from metaeval.stats.likelihood import (
    FamilyOrder,
    LikelihoodCorrelation,
    family_monotonicity,
    likelihood_correlation,
)
from metaeval.stats.multiple_testing import Comparison, adjust_p_values, compare_all
from metaeval.stats.noninferiority import noninferiority_test
from metaeval.stats.outside import OutsideCorrelation, outside_correlation
from metaeval.stats.pairs import pairwise_agreement, pairwise_agreement_contributions
from metaeval.stats.planned_intervals import PlannedInterval, PlannedPower, StudyDesign
from metaeval.stats.planned_pilot import agreement_model_from
from metaeval.stats.planned_sums import ScoreModel, score_model
from metaeval.stats.planning import AgreementModel, agreement_model
from metaeval.stats.power import LabelsNeeded, labels_needed, labels_needed_from, power_of_difference
from metaeval.stats.prediction_powered import PredictionPowered, ppi_mean, ppi_win_rate
from metaeval.stats.preference import (
    expected_win_rate,
    length_bias_rate,
    longer_preference_share,
    preference_share,
    tie_rate,
)
from metaeval.stats.presets import PRESETS, Preset, preset
from metaeval.stats.rankings import RankPairs, rank_agreement, rank_agreement_contributions, rank_pairs
from metaeval.stats.recalibration import CalibrationMap, Recalibration, recalibrate
from metaeval.stats.resampling import Resamples
from metaeval.stats.response_sets import (
    ResponseSetDecisions,
    response_set_coverage,
    response_set_coverage_contributions,
    response_set_decisions,
    response_set_distance,
    response_set_distance_contributions,
    response_set_shares,
    sets_given_choices,
)
from metaeval.stats.results import to_frame
from metaeval.stats.rubric_points import rubric_points_contributions, rubric_points_score
from metaeval.stats.screening import excess_p_values, outlier_p_values
from metaeval.stats.sections import SectionAccuracy, SectionRow, section_accuracy
from metaeval.stats.sequences import ConfidenceSequence, SequenceDecision
from metaeval.stats.style_control import style_counts, style_covariates
from metaeval.stats.systems import SystemCorrelation, system_correlation
from metaeval.stats.votes import vote_agreement
from metaeval.stats.win_matrix import WinMatrix, win_matrix

__all__ = [
    "PRESETS",
    "AbstentionThreshold",
    "AgreementModel",
    "AlternativeAnnotatorTest",
    "BestOfRow",
    "BestOfScore",
    "BiasAndVariance",
    "BiasRow",
    "BradleyTerry",
    "BrierScore",
    "CalibrationError",
    "CalibrationMap",
    "CapacityCurve",
    "Comparison",
    "ConfidenceSequence",
    "Confusion",
    "CorrectedRate",
    "DawidSkene",
    "DriftMonitor",
    "DriftState",
    "EloRatings",
    "Estimate",
    "EvaluatorCorrelations",
    "FamilyOrder",
    "GeneralizabilityStudy",
    "GroupedCorrelation",
    "ImportanceAgreement",
    "ImportanceTable",
    "InvalidInputError",
    "LabelPlan",
    "LabelTable",
    "LabelsNeeded",
    "LeaveOneOut",
    "LengthControlled",
    "LengthControlledTable",
    "LikelihoodCorrelation",
    "MajorityVote",
    "NextStep",
    "OneWayAnova",
    "OutsideCorrelation",
    "PairedDifference",
    "PlannedInterval",
    "PlannedPower",
    "PositionalBias",
    "PredictionPowered",
    "Preset",
    "RankPairs",
    "Recalibration",
    "RegularisingRows",
    "ReliabilityBin",
    "RepeatNoise",
    "Resamples",
    "ResponseSetDecisions",
    "RiskCoverage",
    "ScoreDifferences",
    "ScoreModel",
    "SectionAccuracy",
    "SectionRow",
    "SequenceDecision",
    "StatisticsWarning",
    "StudyDesign",
    "SubsetRow",
    "SubsetTable",
    "SystemCorrelation",
    "TestResult",
    "WinMatrix",
    "abstention_threshold",
    "accuracy",
    "accuracy_contributions",
    "active_probabilities",
    "adjust_p_values",
    "adversarial_gap",
    "aggregate_labels",
    "agreement_model",
    "agreement_model_from",
    "agreement_weights",
    "alternative_annotator_test",
    "aspect_levels",
    "attribute_drift",
    "best_of_accuracy",
    "best_of_contributions",
    "best_of_score",
    "best_reachable_agreement",
    "bias_and_variance",
    "bias_table",
    "bradley_terry",
    "brier_score",
    "calibration_error",
    "capacity_curve",
    "code_labels",
    "cohen_kappa",
    "compare_all",
    "confusion",
    "corrected_rate",
    "correlation",
    "correlation_by",
    "correlation_difference",
    "critical_values",
    "crossed_mean_estimate",
    "dawid_skene",
    "distribution_contributions",
    "distribution_distance",
    "draw_items",
    "drfr",
    "elo_ratings",
    "error_cost",
    "error_cost_contributions",
    "evaluator_correlations",
    "evaluator_correlations_by",
    "excess_p_values",
    "expected_win_rate",
    "family_features",
    "family_monotonicity",
    "feature_contributions",
    "feature_preference",
    "first_shown_contributions",
    "first_shown_preference",
    "fleiss_kappa",
    "follow_rate_by_level",
    "generalizability_study",
    "gwet_ac",
    "has_list",
    "hedging_contributions",
    "hedging_rate",
    "importance_agreement",
    "importance_agreement_by_annotator",
    "items_to_label_next",
    "judge_uncertainty",
    "krippendorff_alpha",
    "labels_needed",
    "labels_needed_from",
    "leave_one_out_agreement",
    "leave_one_out_by",
    "leave_one_out_by_annotator",
    "leave_one_out_contributions",
    "leave_one_out_difference",
    "length_bias_rate",
    "length_controlled_win_rate",
    "length_controlled_win_rates",
    "likelihood_correlation",
    "list_preference",
    "longer_preference_share",
    "macro_mean",
    "majority_vote",
    "mcnemar_test",
    "mean_estimate",
    "noninferiority_test",
    "one_way_anova",
    "outlier_p_values",
    "outside_correlation",
    "paired_difference",
    "paired_permutation_test",
    "paired_t_test",
    "pairwise_agreement",
    "pairwise_agreement_contributions",
    "percent_agreement",
    "person_correlation",
    "positional_agreement",
    "positional_agreement_contributions",
    "positional_bias",
    "power_of_difference",
    "ppi_mean",
    "ppi_win_rate",
    "preference_share",
    "preset",
    "rank_agreement",
    "rank_agreement_contributions",
    "rank_pairs",
    "rating_verdicts",
    "ratio_estimate",
    "recalibrate",
    "repeat_noise",
    "response_set_coverage",
    "response_set_coverage_contributions",
    "response_set_decisions",
    "response_set_distance",
    "response_set_distance_contributions",
    "response_set_shares",
    "risk_coverage",
    "rogan_gladen_interval",
    "rubric_points_contributions",
    "rubric_points_score",
    "score_model",
    "section_accuracy",
    "self_consistency",
    "self_consistency_contributions",
    "self_preference",
    "sets_given_choices",
    "soft_labels",
    "style_counts",
    "style_covariates",
    "subset_accuracy",
    "system_correlation",
    "tie_rate",
    "to_frame",
    "tolerant_accuracy",
    "tolerant_accuracy_contributions",
    "tower_drfr_differences",
    "tower_score",
    "unparsed_rate",
    "verdict_changes",
    "vote_agreement",
    "wilson_interval",
    "win_matrix",
]
