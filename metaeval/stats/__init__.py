"""Statistics of judges and of people: arrays in, frozen results out. Knows neither Django nor the apps.

Values are numbers: of a pair 1 (first response better), 2 (second) and 0 (tie); NaN is a missing label or an
unparsed verdict. Every figure is an `Estimate` with an interval from resampled clusters; what is undefined
is NaN with a `StatisticsWarning`. Formulas and conventions: ``docs/statistics.md``.
"""

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
from metaeval.stats.alpha import krippendorff_alpha
from metaeval.stats.correlation import correlation, correlation_difference, person_correlation
from metaeval.stats.differences import critical_values, paired_difference
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.intervals import (
    macro_mean,
    mean_estimate,
    ratio_estimate,
    wilson_interval,
)
from metaeval.stats.leave_one_out import (
    best_reachable_agreement,
    leave_one_out_agreement,
    leave_one_out_contributions,
)
from metaeval.stats.pairs import pairwise_agreement, pairwise_agreement_contributions
from metaeval.stats.preference import (
    expected_win_rate,
    length_bias_rate,
    longer_preference_share,
    preference_share,
    tie_rate,
)
from metaeval.stats.rankings import RankPairs, rank_agreement, rank_agreement_contributions, rank_pairs
from metaeval.stats.resampling import Resamples

__all__ = [
    "Estimate",
    "InvalidInputError",
    "PairedDifference",
    "RankPairs",
    "Resamples",
    "StatisticsWarning",
    "accuracy",
    "accuracy_contributions",
    "best_reachable_agreement",
    "correlation",
    "correlation_difference",
    "critical_values",
    "expected_win_rate",
    "hedging_contributions",
    "hedging_rate",
    "krippendorff_alpha",
    "leave_one_out_agreement",
    "leave_one_out_contributions",
    "length_bias_rate",
    "longer_preference_share",
    "macro_mean",
    "mean_estimate",
    "paired_difference",
    "pairwise_agreement",
    "pairwise_agreement_contributions",
    "person_correlation",
    "positional_agreement",
    "positional_agreement_contributions",
    "preference_share",
    "rank_agreement",
    "rank_agreement_contributions",
    "rank_pairs",
    "rating_verdicts",
    "ratio_estimate",
    "tie_rate",
    "unparsed_rate",
    "wilson_interval",
]
