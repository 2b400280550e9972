"""The models that HumanRankEval evaluates, as judges whose log-likelihoods rank the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.figures.answer_ranking import KIND, AnswerSample
from metaeval.figures.measures import judge_measures
from metaeval.figures.rankings import RankingJudge
from metaeval.figures.sample import Ratio
from metaeval.inputs import Floats
from metaeval.papers.model_names import ModelName
from metaeval.papers.names import distinct_names
from metaeval.stats.errors import quiet

_FIGURES = KIND.only("pearson", "spearman")


@dataclass(frozen=True, slots=True, eq=False)
class RankedModel:
    """A model, as a judge whose log-likelihoods rank the answers; figures as a report has them."""

    name: str
    judge: RankingJudge
    measures: dict[str, Any]
    read: ModelName

    def value(self, method: str, topic: str = "") -> float:
        """HRE, of a topic or of all questions: NaN where it is undefined."""
        found = self.measures[method]
        estimate = found.get("category", {}).get(topic) if topic else found["overall"]
        value = None if estimate is None else estimate["value"]
        return float("nan") if value is None else float(value)

    def questions(self, method: str) -> Floats:
        """Its correlation on every question: NaN where it is undefined."""
        part = KIND.of_judges(method).function(self.judge)
        assert isinstance(part, Ratio)
        return np.where(part.bottom > 0, part.top, np.nan)


def models_of(sample: AnswerSample) -> tuple[RankedModel, ...]:
    """The judges but baselines, the smaller ones of a family first."""
    judges = [judge for judge in sample.judges if not judge.judge.baseline]
    names = distinct_names(judge.judge.name for judge in judges)
    with quiet():
        found = [
            RankedModel(name, judge, judge_measures(_FIGURES, judge), _name_read(judge))
            for name, judge in zip(names, judges, strict=True)
        ]
    return tuple(sorted(found, key=lambda one: (one.read.family, one.read.size or 0.0)))


def _name_read(judge: RankingJudge) -> ModelName:
    """By the model's name, or the judge's where that alone says a size."""
    model, name = ModelName.read(judge.judge.model), ModelName.read(judge.judge.name)
    found = name if model.size is None else model
    return replace(found, tuned=model.tuned or name.tuned)
