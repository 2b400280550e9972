"""Differences of judges over several datasets with new annotators like these as well, where people play a part."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from metaeval.selection.objective import Objective
from metaeval.selection.scoring import judged_verdicts
from metaeval.selection.types import JudgedDataset
from metaeval.selection.verdict import Alike
from metaeval.stats import PairedDifference
from metaeval.stats.crossed import CrossedScores, People
from metaeval.stats.crossed_sums import sums_difference
from metaeval.stats.leave_one_out import LeaveOneOut

_NO_PEOPLE = "the labels of each annotator aren't known separately here"


def beside_labels(
    objective: Objective, datasets: Sequence[JudgedDataset], judge: str
) -> dict[str, dict[str, PairedDifference]]:
    """A judge's agreement minus people's own by dataset, and the upper bound minus it: with these annotators, and with
    others like them too. By the names that `Selection` has for them.
    """
    table = objective.table
    places = [
        place
        for place, dataset in enumerate(datasets)
        if dataset.role == "people"
        and ((dataset.labels is not None and dataset.people_apart) or _beside_people(dataset, judge))
    ]
    samples = {place: _Sample(objective, datasets[place], place) for place in places}
    return {
        name: {table.datasets[place]: found(sample, judge, people) for place, sample in samples.items()}
        for name, found, people in (
            ("minus_people", _Sample.minus_people, _THESE),
            ("minus_people_alike", _Sample.minus_people, _ALIKE),
            ("below_best", _Sample.below_best, _THESE),
            ("below_best_alike", _Sample.below_best, _ALIKE),
        )
    }


def objective_alike(objective: Objective, datasets: Sequence[JudgedDataset]) -> Alike | None:
    """The difference of two judges' objectives with new annotators; None where no dataset with a share has people's.

    Of several datasets the interval is put together from theirs by Zou and Donner's rule, as if their items and their
    annotators were others; of a dataset with gold answers annotators are no part.
    """
    table = objective.table
    deciding = [int(place) for place in np.flatnonzero(table.shares)]
    if not any(datasets[place].role == "people" for place in deciding):
        return None
    samples = {place: _Sample(objective, datasets[place], place) for place in deciding}

    def alike(first: str, second: str, confidence: float) -> PairedDifference:
        found = [samples[place].difference(first, second, confidence) for place in deciding]
        shares = table.shares[deciding]
        value = float(sum(share * one.value for share, one in zip(shares, found, strict=True)))
        reason = next((one.reason for one in found if math.isnan(one.low)), None)
        n, n_clusters = sum(one.n for one in found), sum(one.n_clusters or 0 for one in found)
        if len(found) == 1:
            return found[0]
        if reason is not None:
            return PairedDifference(value, math.nan, math.nan, n, n_clusters, reason=reason)
        parts = list(zip(shares, found, strict=True))
        down = math.sqrt(sum((share * (one.value - one.low)) ** 2 for share, one in parts))
        up = math.sqrt(sum((share * (one.high - one.value)) ** 2 for share, one in parts))
        low, high = max(-1.0, value - down), min(1.0, value + up)
        return PairedDifference(value, low, high, n, n_clusters, "t", None)

    return alike


def _beside_people(dataset: JudgedDataset, judge: str) -> bool:
    """Whether a judge of something else than pairs stands beside people there."""
    return dataset.scored_labels is not None and judge in dataset.scored_labels.beside_people


_THESE: People = "fixed"
_ALIKE: People = "sampled"


class _Sample:
    """One dataset: who labeled what, and each judge's scores, read once."""

    def __init__(self, objective: Objective, dataset: JudgedDataset, place: int) -> None:
        self._objective, self._dataset = objective, dataset
        self._items = objective.table.dataset == place
        self._scores: dict[str, CrossedScores] = {}
        labels = dataset.labels if dataset.role == "people" and dataset.people_apart else None
        self._labels = None if labels is None else LeaveOneOut(labels)

    def difference(self, first: str, second: str, confidence: float) -> PairedDifference:
        table, items = self._objective.table, self._items
        if self._dataset.role == "gold":
            columns = (table.scores[:, table.judges.index(key)] for key in (first, second))
            gaps = (np.where(items, column, np.nan) for column in columns)
            return self._objective.difference(*gaps, level=confidence)
        found = self._dataset.scored_labels
        if found is not None:
            return sums_difference(
                found.sums[first],
                found.sums[second],
                found.crossing,
                where=table.decides[items],
                confidence=confidence,
                **self._options,
            )
        if self._labels is None:
            return PairedDifference(math.nan, math.nan, math.nan, n=0, reason=_NO_PEOPLE)
        return self._labels.difference(
            self._judge(first),
            self._judge(second),
            people=_ALIKE,
            where=table.decides[items],
            confidence=confidence,
            **self._options,
        )

    def minus_people(self, judge: str, people: People) -> PairedDifference:
        scored, options = self._dataset.scored_labels, self._on_judged(judge, people)
        if scored is not None:
            return sums_difference(*scored.beside_people[judge], scored.crossing, **options)
        assert self._labels is not None
        return self._labels.difference(self._judge(judge), self._labels.people(), **options)

    def below_best(self, judge: str, people: People) -> PairedDifference:
        scored, options = self._dataset.scored_labels, self._on_judged(judge, people)
        if scored is not None:
            return sums_difference(*scored.beside_best[judge], scored.crossing, **options)
        assert self._labels is not None
        return self._labels.difference(self._labels.best_reachable(), self._judge(judge), **options)

    def _on_judged(self, judge: str, people: People) -> dict[str, Any]:
        found = self._objective.table.scores[self._items, self._objective.table.judges.index(judge)]
        return {
            "people": people,
            "where": ~np.isnan(found),
            "confidence": self._objective.confidence,
            **self._options,
        }

    @property
    def _options(self) -> dict[str, Any]:
        clusters = self._objective.table.cluster[self._items]
        return {"weights": self._dataset.weights, "clusters": clusters}

    def _judge(self, key: str) -> CrossedScores:
        if key not in self._scores:
            assert self._labels is not None
            self._scores[key] = self._labels.judge(*judged_verdicts(self._dataset, key))
        return self._scores[key]
