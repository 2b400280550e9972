"""Figures of how people work, from their answers: arithmetic of arrays and lists alone.

Figures of behaviour (times, answers as shown, runs) are over everything that a person answered, hidden checks,
repeats and labels that do not count included: it is the person that is looked at. What cannot be said is None, never 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from annotation.kinds import kind_of
from annotation.models import WorkRole
from metaeval.stats import Estimate, wilson_interval

Floats: TypeAlias = NDArray[np.float64]

# Suspiciously fast: in less than this share of the median time of the item, and never above the floor's seconds.
FAST_SECONDS = 2.0
FAST_SHARE = 0.3
TIMES_OF_AN_ITEM = 3  # below, the median of the study stands in for that of the item
RUN_CHANCE = 0.01  # a run that chance alone would bring about more rarely
FEW = 5  # nothing is said to stand out with fewer answers behind it


@dataclass(frozen=True, slots=True)
class AnnotatorAnswer:
    """One answer as it stands; `shown` is what it looked like to the person, `seconds` NaN where unknown."""

    annotator: int
    item: int
    role: str
    value: Mapping[str, Any]
    shown: str | None
    seconds: float
    pasted: int
    counts: bool
    is_surplus: bool
    is_set_aside: bool
    check_score: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What the answers of a person say of how they work."""

    labels: int = 0
    surplus: int = 0
    set_aside: int = 0
    seconds: float | None = None
    checks: Estimate | None = None
    consistency: Estimate | None = None
    first: float | None = None
    tie: float | None = None
    second: float | None = None
    run: int | None = None
    run_is_long: bool = False
    fast: float | None = None
    timed: int = 0
    pasted: int = 0


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """The figures of everybody by primary key, and of all together for comparison."""

    people: Mapping[int, Figures]
    everybody: Figures


def figures_compute(kind: str, answers: Sequence[AnnotatorAnswer]) -> StudyFigures:
    """The figures of these answers, which come in the order of time."""
    fast = fast_answers(
        np.array([answer.item for answer in answers], dtype=np.int64),
        np.array([answer.seconds for answer in answers], dtype=np.float64),
    )
    common = _most_common_share([answer.shown for answer in answers])
    mine: dict[int, list[int]] = {}
    for place, answer in enumerate(answers):
        mine.setdefault(answer.annotator, []).append(place)
    people = {
        annotator: _figures(kind, [answers[place] for place in places], fast[places], common)
        for annotator, places in mine.items()
    }
    return StudyFigures(people, _figures(kind, answers, fast, None))


def _figures(kind: str, answers: Sequence[AnnotatorAnswer], fast: Floats, common: float | None) -> Figures:
    work = [answer for answer in answers if answer.role == WorkRole.WORK]
    shown = [answer.shown for answer in answers if answer.shown is not None]
    seconds = np.array([answer.seconds for answer in answers], dtype=np.float64)
    timed = seconds[~np.isnan(seconds)]
    pairs = shown if kind_of(kind).scale == "preference" else []
    shares = [pairs.count(value) / len(pairs) if pairs else None for value in ("1", "0", "2")]
    run = longest_run(shown) if common is not None else None  # of everybody together, there is no run
    known = fast[~np.isnan(fast)]
    return Figures(
        labels=sum(answer.counts for answer in work),
        surplus=sum(answer.is_surplus for answer in work),
        set_aside=sum(answer.is_set_aside for answer in work),
        seconds=float(np.median(timed)) if len(timed) else None,
        checks=share_estimate(
            [
                answer.check_score
                for answer in answers
                if answer.role == WorkRole.CHECK and answer.check_score is not None
            ]
        ),
        consistency=share_estimate(_repeats(kind, answers)),
        first=shares[0],
        tie=shares[1],
        second=shares[2],
        run=run,
        run_is_long=run is not None and run_is_long(run, len(shown), common),
        fast=float(known.mean()) if len(known) else None,
        timed=len(known),
        pasted=sum(answer.pasted for answer in answers),
    )


def _repeats(kind: str, answers: Sequence[AnnotatorAnswer]) -> list[float]:
    """For each repeat, whether the person said the same again."""
    first = {
        (answer.annotator, answer.item): answer.value for answer in answers if answer.role == WorkRole.WORK
    }
    return [
        float(kind_of(kind).agrees(answer.value, first[answer.annotator, answer.item]))
        for answer in answers
        if answer.role == WorkRole.REPEAT and (answer.annotator, answer.item) in first
    ]


def share_estimate(scores: Sequence[float]) -> Estimate | None:
    """Mean of scores from 0 to 1; None without any.

    They are on different items, hence taken as independent: Wilson's interval. No numbers between 0 and 1 vary more
    about their mean than zeros and ones do, so where a score is a fraction it is wider than it need be, never narrower.
    """
    if not scores:
        return None
    value, n = float(np.mean(scores)), len(scores)
    low, high = wilson_interval(value, n)
    return Estimate(value, low, high, n=n, n_clusters=n, method="wilson")


def fast_answers(item: NDArray[np.int64], seconds: Floats) -> Floats:
    """1 for an answer that is suspiciously fast, 0 for one that is not, NaN where the time is unknown.

    Fast is below ``max(FAST_SECONDS, FAST_SHARE * median)``, the median being that of everybody's active time on
    the item, or on the study where the item has fewer than `TIMES_OF_AN_ITEM` of them.

    Examples
    --------
    >>> fast_answers(np.array([1, 1, 1, 1]), np.array([20.0, 22.0, 5.0, np.nan])).tolist()
    [0.0, 0.0, 1.0, nan]
    """
    result = np.full(len(seconds), np.nan)
    timed = np.flatnonzero(~np.isnan(seconds))
    if not len(timed):
        return result
    whole = float(np.median(seconds[timed]))
    order = timed[np.lexsort((seconds[timed], item[timed]))]
    _, start, count = np.unique(item[order], return_index=True, return_counts=True)
    ordered = seconds[order]
    medians = (ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2
    usual = np.where(count >= TIMES_OF_AN_ITEM, medians, whole)
    line = np.maximum(FAST_SECONDS, FAST_SHARE * np.repeat(usual, count))
    result[order] = ordered < line
    return result


def longest_run(answers: Sequence[str]) -> int | None:
    """How often the same answer was given in a row, at most; None without answers.

    Examples
    --------
    >>> longest_run(["1", "2", "2", "2", "1"])
    3
    """
    longest = run = 0
    before: str | None = None
    for answer in answers:
        run = run + 1 if answer == before else 1
        before = answer
        longest = max(longest, run)
    return longest or None


def run_is_long(run: int, n: int, common: float | None) -> bool:
    """Whether chance would hardly bring about such a run in `n` answers.

    `common` is the share of the commonest answer among everybody's. Of independent answers, n (1 - p) p^r runs of
    length r or more are to be expected.
    """
    if common is None or run < FEW:
        return False
    if common >= 1:
        return False  # everybody gives this answer only: nobody stands out
    return n * (1 - common) * common**run < RUN_CHANCE


def _most_common_share(shown: Sequence[str | None]) -> float | None:
    known = [value for value in shown if value is not None]
    if not known:
        return None
    _, counts = np.unique(np.array(known, dtype=np.str_), return_counts=True)
    return float(counts.max() / len(known))
