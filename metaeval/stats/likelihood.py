"""Likelihood against votes: does a model find likely the answers that people voted for (HumanRankEval)?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_floats, as_items, as_list, as_mask, check_option
from metaeval.stats.combined import macro_mean
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.grouped_correlation import sums_within_groups
from metaeval.stats.ids import as_codes, as_ids
from metaeval.stats.intervals import Sampling, mean_estimate, percentiles
from metaeval.stats.options import as_count, as_level
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples
from metaeval.stats.weighted_correlation import METHODS, Method, correlation_of

Average: TypeAlias = Literal["micro", "macro"]

_NO_QUESTION = "no question has a correlation: a side is constant, or the answers are too few"


@dataclass(frozen=True, slots=True)
class LikelihoodCorrelation(Estimate):
    """Mean correlation over questions; ``n`` counts the questions that have one.

    Attributes
    ----------
    n_undefined : int
        Questions without a correlation: a side is constant, or there are too few answers.
    share_two : float
        Of the questions with a correlation, the share that has two answers, where it can only be -1 or 1.
    values : ndarray of float, shape (n_questions,)
        NaN where there is none.
    topics : mapping of str to Estimate
        The mean of each topic's questions, on the same resamples.
    """

    n_undefined: int = 0
    share_two: float = float("nan")
    values: Floats = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    topics: Mapping[str, Estimate] = field(default_factory=dict, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, with the questions that have no correlation and the topics."""
        topics = {name: each.as_dict() for name, each in self.topics.items()}
        return {**Estimate.as_dict(self), "n_undefined": self.n_undefined, "topics": topics}


@aligned(rows=("questions", "scores", "votes", "lengths"))
def likelihood_correlation(
    scores: Any,
    votes: Any,
    *,
    questions: Any = None,
    lengths: Any = None,
    topics: Any = None,
    method: Method = "pearson",
    average: Average = "micro",
    fewest: int = 2,
    **options: Unpack[Sampling],
) -> LikelihoodCorrelation:
    """Correlation of answers' log-likelihoods with their votes, per question, and its mean over questions.

    Parameters
    ----------
    scores, votes : sequence of array_like of shape (n_answers,), or array_like of shape (n_all_answers,)
        The log-likelihood of each answer given its question, and people's votes; an answer with NaN in either takes no
        part. With ``questions`` they are flat.
    questions : array_like of shape (n_all_answers,), optional
        The question of each answer; questions are then in sorted order.
    lengths : as ``scores``, optional
        The length of each answer in characters, which the scores are divided by. Default: they have been already.
    topics : array_like of shape (n_questions,), optional
    method : {"pearson", "spearman", "kendall"}
    average : {"micro", "macro"}
        Over questions, or over the topics' means.
    fewest : int, default 2
        Answers that a question must have. Of two the correlation is -1 or 1; the published code has no limit.
    **options
        See `metaeval.stats.intervals.Sampling`; the items are the questions.

    Returns
    -------
    LikelihoodCorrelation
        In [-1, 1]; NaN where no question has a correlation. The published code lets one question with constant votes
        turn the mean into NaN; here it is counted in ``n_undefined``.

    Raises
    ------
    InvalidInputError
        For a mean of topics without topics, and lengths that are not above 0.

    References
    ----------
    M. Gritta, G. Lampouras and I. Iacobacci, "HumanRankEval: Automatic Evaluation of LMs as Conversational Assistants",
    NAACL 2024, and its repository: log-likelihood over characters, Pearson per question, micro-average.

    Examples
    --------
    >>> likely, voted = [[-90, -40, -60], [-10, -30, -20]], [[1, 7, 4], [2, 1, 9]]
    >>> found = likelihood_correlation(likely, voted, lengths=[[30, 20, 24], [10, 20, 10]], n_resamples=100)
    >>> found.values.round(4).tolist()
    [1.0, -0.803]
    """
    check_option(method, METHODS, "method")
    check_option(average, ("micro", "macro"), "average")
    fewest = as_count(fewest, "fewest", 2)
    if average == "macro" and topics is None:
        raise InvalidInputError("topics: expected for average='macro'")
    codes, n_questions = _questions(scores, questions)
    likely, voted = (
        _flat(values, name, codes, questions is None)
        for values, name in ((scores, "scores"), (votes, "votes"))
    )
    if lengths is not None:
        long = _flat(lengths, "lengths", codes, questions is None)
        if not (long[~np.isnan(likely)] > 0).all():
            raise InvalidInputError("lengths: expected numbers above 0")
        likely = likely / long
    counted = ~np.isnan(likely) & ~np.isnan(voted)
    sums = sums_within_groups(likely[counted], voted[counted], codes[counted], n_questions, method)
    sizes = np.bincount(codes[counted], minlength=n_questions)
    values = np.where(sizes >= fewest, correlation_of(sums), np.nan)
    return _over_questions(values, sizes, topics, average, with_resamples(options, n_questions))


def _over_questions(
    values: Floats, sizes: Integers, topics: Any, average: Average, options: Sampling
) -> LikelihoodCorrelation:
    known = ~np.isnan(values)
    where = np.ones(len(values), dtype=np.bool_)
    if options.get("where") is not None:
        where = where & np.asarray(as_mask(options["where"], len(values)))
    by_topic: dict[str, Estimate] = {}
    if topics is not None:
        names, codes = as_ids(topics, "topics", len(values))
        for code, name in enumerate(names.tolist()):
            chosen: Sampling = {**options, "where": where & (codes == code)}
            by_topic[str(name)] = mean_estimate(values, bounds=(-1.0, 1.0), reason=_NO_QUESTION, **chosen)
    if average == "macro":
        whole = macro_mean(values, topics, bounds=(-1.0, 1.0), **options)
    else:
        whole = mean_estimate(values, bounds=(-1.0, 1.0), reason=_NO_QUESTION, **options)
    plain = {each.name: getattr(whole, each.name) for each in fields(Estimate)}
    taken = known & where
    return LikelihoodCorrelation(
        **plain,
        n_undefined=int((where & ~known).sum()),
        share_two=float((sizes[taken] == 2).mean()) if taken.any() else float("nan"),
        values=values,
        topics=by_topic,
    )


def _questions(scores: Any, questions: Any) -> tuple[Integers, int]:
    """(the question of each answer, how many questions there are)."""
    if questions is not None:
        return as_codes(questions, "questions")
    sizes = [as_floats(each, f"scores[{place}]").size for place, each in enumerate(as_list(scores, "scores"))]
    return np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def _flat(values: Any, name: str, codes: Integers, ragged: bool) -> Floats:
    if not ragged:
        return as_items(values, name, len(codes))
    parts: Sequence[Floats] = [
        as_floats(each, f"{name}[{place}]").ravel() for place, each in enumerate(as_list(values, name))
    ]
    expected = np.bincount(codes, minlength=len(parts))
    if len(parts) != len(expected) or [len(part) for part in parts] != expected.tolist():
        raise InvalidInputError(f"{name}: expected as many answers to each question as there are scores")
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(frozen=True, slots=True)
class FamilyOrder(Result):
    """Whether the larger models of a family score higher.

    Attributes
    ----------
    correlation : Estimate
        Of size and score; NaN with one size or one score.
    in_order : Estimate
        Share of neighbors in size of which the larger scores higher, equal scores counting one half.
    share_monotone : float
        Share of the draws in which all neighbors are in order; NaN without draws.
    n_models : int
    """

    correlation: Estimate
    in_order: Estimate
    share_monotone: float
    n_models: int


@aligned(apart=("draws",))
def family_monotonicity(
    sizes: ArrayLike,
    scores: ArrayLike,
    families: Any = None,
    *,
    method: Method = "kendall",
    draws: ArrayLike | None = None,
    confidence: float = 0.95,
) -> dict[Any, FamilyOrder]:
    """Does the score rise with the size of the model, within each family?

    Parameters
    ----------
    sizes, scores : array_like of shape (n_models,)
        Parameters (or any size) and score of each model; a model with NaN in either takes no part.
    families : array_like of shape (n_models,), optional
        The family of each. Default: one family.
    method : {"kendall", "spearman", "pearson"}
    draws : array_like of shape (n_resamples, n_models), optional
        The scores in each resample of the questions: intervals come from these. A family is fixed: there is no other
        sampling error.
    confidence : float

    Returns
    -------
    dict of family to FamilyOrder
        Models of one size are one step, with their mean score. A family of one size has NaN and a reason.

    Raises
    ------
    InvalidInputError
        For draws of another number of models.

    References
    ----------
    M. Gritta et al., "HumanRankEval", NAACL 2024 (scores that rise with the size of a family's models).

    Examples
    --------
    >>> found = family_monotonicity([7, 13, 70, 1, 3], [0.2, 0.1, 0.4, 0.1, 0.3], ["L", "L", "L", "P", "P"])
    >>> {name: (round(each.correlation.value, 3), each.in_order.value) for name, each in found.items()}
    {'L': (0.333, 0.5), 'P': (1.0, 1.0)}
    """
    check_option(method, METHODS, "method")
    confidence = as_level(confidence, "confidence")
    size = as_items(sizes, "sizes")
    score = as_items(scores, "scores", len(size))
    distinct, codes = as_ids(["all"] * len(size) if families is None else families, "families", len(size))
    names, n_families = distinct.tolist(), len(distinct)
    drawn = np.zeros((0, len(size))) if draws is None else as_floats(draws, "draws")
    if drawn.ndim != 2 or drawn.shape[1] != len(size):
        raise InvalidInputError(f"draws: expected shape (n_resamples, {len(size)}), got {drawn.shape}")
    counted = ~np.isnan(size) & ~np.isnan(score)
    return {
        names[family]: _order(size[mine], np.vstack([score[mine], drawn[:, mine]]), method, confidence)
        for family in range(n_families)
        for mine in [np.flatnonzero(counted & (codes == family))]
    }


def _order(sizes: Floats, scores: Floats, method: Method, confidence: float) -> FamilyOrder:
    """Of the models of one family: scores (1 + n_resamples, n_models), the first row being those seen."""
    n = len(sizes)
    steps, codes = np.unique(sizes, return_inverse=True)
    if len(steps) < 2:
        nothing = Estimate(np.nan, np.nan, np.nan, n, reason="the family has one size of model")
        return FamilyOrder(nothing, nothing, float("nan"), n)
    rows = np.repeat(np.arange(len(scores)), n)
    sums = sums_within_groups(np.tile(sizes, len(scores)), scores.ravel(), rows, len(scores), method)
    member = codes.reshape(-1)[:, np.newaxis] == np.arange(len(steps))
    rises = np.diff(scores @ (member / member.sum(axis=0)), axis=1)
    in_order = ((rises > 0) + (rises == 0) / 2).mean(axis=1)
    monotone = (rises[1:] > 0).all(axis=1)
    return FamilyOrder(
        _from_draws(correlation_of(sums), n, confidence, "the scores are all the same"),
        _from_draws(in_order, n, confidence, None),
        float(monotone.mean()) if len(monotone) else float("nan"),
        n,
    )


def _from_draws(values: Floats, n: int, confidence: float, reason: str | None) -> Estimate:
    value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
    if np.isnan(value):
        return Estimate(np.nan, np.nan, np.nan, n, reason=reason)
    if not len(drawn):
        return Estimate(value, np.nan, np.nan, n)
    return Estimate(value, *percentiles(value, drawn, confidence), n, method="percentile")
