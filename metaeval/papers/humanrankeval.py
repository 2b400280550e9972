"""HumanRankEval: votes by rank and topic, models by topic, other benchmarks.

The models that the paper evaluates are judges here: each gives every answer of a question a log-likelihood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metaeval.figures.answer_ranking import KIND, AnswerSample
from metaeval.figures.measures import judge_measures
from metaeval.figures.rankings import RankingJudge
from metaeval.figures.sample import Ratio
from metaeval.inputs import GOLD, PEOPLE, Booleans, Floats
from metaeval.papers.data import PaperData
from metaeval.papers.matrix import matrix_table
from metaeval.papers.model_names import ModelName
from metaeval.papers.names import distinct_names
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import (
    UNDEFINED,
    MissingPart,
    PaperCell,
    PaperTable,
    count_cell,
    number_cell,
    slug,
    word_cell,
)
from metaeval.reports.systems import OutsideTable
from metaeval.stats import (
    OneWayAnova,
    evaluator_correlations,
    family_monotonicity,
    one_way_anova,
    outside_correlation,
)
from metaeval.stats.errors import quiet

HRE = "HRE"
_METHODS = {
    "pearson": ("Pearson", "Figures 4 to 7", "f4"),
    "spearman": ("Spearman", "Figures 12 and 13", "f12"),
}
_PERMUTATIONS = 999
_NO_VOTES = (
    "No question has votes for each answer (metadata.votes). The importer of Stack Exchange keeps them."
)
_NO_MODEL = (
    "No model has ranked these answers. Run a judge of the strategy loglikelihood_ranking for each model, or import "
    "verdicts with scores."
)
_NO_RATINGS = (
    "It compares HRE with other benchmarks. Import one with: manage.py import_ratings FILE --name NAME"
)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
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


class Evaluation:
    """The questions, and the models that ranked their answers."""

    def __init__(self, data: PaperData) -> None:
        self.data, inputs = data, data.inputs["answer_ranking"]
        self.has_votes = bool(inputs.items.voted.any())
        against = GOLD if GOLD in inputs.targets() else PEOPLE
        self.sample = AnswerSample(inputs, replace(data.options, against=against, n_resamples=0))

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The categories, in the order of the questions."""
        return tuple(group.name for group in self.sample.layout.groups if group.kind == "category")

    @cached_property
    def members(self) -> dict[str, Booleans]:
        """By topic, its questions."""
        return {group.name: group.members for group in self.sample.layout.groups if group.kind == "category"}

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The judges but baselines, the smaller ones of a family first."""
        kind = KIND.only(*_METHODS)
        judges = [judge for judge in self.sample.judges if not judge.judge.baseline]
        names = distinct_names(judge.judge.name for judge in judges)
        with quiet():
            found = [
                Model(name, judge, judge_measures(kind, judge), _name_read(judge))
                for name, judge in zip(names, judges, strict=True)
            ]
        return tuple(sorted(found, key=lambda one: (one.read.family, one.read.size or 0.0)))

    @property
    def against(self) -> tuple[str, ...]:
        """What models are compared with, where it isn't votes alone."""
        sample = self.sample
        if not sample.against_gold:
            return ("No votes and no gold ranks: the correlation is with the rankings of human annotators.",)
        voted, all_of_them = int(sample.items.voted.sum()), int(sample.has_target("").sum())
        if voted == all_of_them:
            return ()
        return (
            f"{voted:,} of {all_of_them:,} questions are compared with votes, the others with gold ranks.",
        )

    @property
    def undefined(self) -> tuple[str, ...]:
        """How many questions have no correlation, and with what scores models are correlated."""
        notes = []
        for model in self.models:
            n = int(np.isnan(model.questions("pearson"))[model.judge.read & self.sample.has_target("")].sum())
            if n:
                notes.append(
                    f"{model.name}: {n:,} questions have no correlation (a constant side) and are left out."
                )
            if model.judge.judge.finer is None:
                notes.append(
                    f"{model.name} gives ranks and no likelihoods: Pearson's correlation is of its ranks."
                )
        return tuple(notes)


def _name_read(judge: RankingJudge) -> ModelName:
    """By the model's name, or the judge's where that alone says a size."""
    model, name = ModelName.read(judge.judge.model), ModelName.read(judge.judge.name)
    found = name if model.size is None else model
    return replace(found, tuned=model.tuned or name.tuned)


def humanrankeval_parts(data: PaperData) -> Iterator[PaperPart]:
    """HumanRankEval's figures, as tables, in the order of the paper."""
    found = Evaluation(data)
    yield from _votes(found)
    if not found.models:
        for name, title in (
            ("f4", "Figures 4 to 7: HRE by topic and model"),
            ("f8", "Figures 8 to 10: other benchmarks"),
            ("f12", "Figures 12 and 13: HRE by topic and model, Spearman"),
        ):
            yield MissingPart(name, title, _NO_MODEL)
        return
    yield from _by_topic(found, "pearson")
    yield _order_checks(found)
    yield from _benchmarks(found)
    yield from _by_topic(found, "spearman")


# --- Figures 3 and 11 ------------------------------------------------------------------------------------------------


def _votes(found: Evaluation) -> Iterator[PaperPart]:
    if not found.has_votes:
        yield MissingPart("f3", "Figure 3: Votes by rank and topic", _NO_VOTES)
        yield MissingPart("f11", "Figure 11: Votes by topic", _NO_VOTES)
        return
    sample = found.sample
    voted, width = sample.items.voted, sample.items.width
    # The most voted first; beyond a question's own answers NaN.
    votes = -np.sort(np.where(voted[:, np.newaxis], sample.items.gold, np.nan), axis=1)
    groups = {name: members & voted for name, members in found.members.items()}
    groups = {name: members for name, members in groups.items() if members.any()}
    if len(groups) != 1:
        groups["All topics"] = voted
    left = int((~voted).sum())
    notes = (f"{left:,} questions without votes for each answer are left out.",) if left else ()
    yield PaperTable(
        "f3",
        "Figure 3: Mean votes by answer rank and topic",
        "Mean votes of the answer with most votes (rank 1) and of those that follow.",
        ("Topic", *(f"Rank {place + 1}" for place in range(width))),
        tuple(
            (word_cell(name), *(number_cell(_mean(column), percent=False) for column in votes[members].T))
            for name, members in groups.items()
        ),
        notes,
    )
    sums = np.nansum(votes, axis=1)
    yield PaperTable(
        "f11",
        "Figure 11: Votes by topic",
        "Votes of all answers of a question, and votes of an answer.",
        ("Topic", "Questions", "Mean per question", "Median per question", "Median per answer"),
        tuple(
            (
                word_cell(name),
                count_cell(int(members.sum())),
                number_cell(_mean(sums[members]), percent=False),
                number_cell(float(np.median(sums[members])), percent=False),
                number_cell(float(np.nanmedian(votes[members])), percent=False),
            )
            for name, members in groups.items()
        ),
        notes,
    )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


# --- Figures 4 to 7, 12 and 13 ---------------------------------------------------------------------------------------


def _families(models: Sequence[Model]) -> dict[str, list[Model]]:
    """Families of two sizes or more; the models of no such family under an empty name, last."""
    found: dict[str, list[Model]] = {}
    for model in models:
        found.setdefault(model.read.family if model.read.size is not None else "", []).append(model)
    whole = {name: own for name, own in found.items() if name and len({one.read.size for one in own}) > 1}
    others = [model for model in models if not any(model in own for own in whole.values())]
    return whole | ({"": others} if others else {})


def _by_topic(found: Evaluation, method: str) -> Iterator[PaperPart]:
    word, numbers, name = _METHODS[method]
    families = _families(found.models)
    for family, models in families.items():
        rows = [
            (
                word_cell(topic),
                *(number_cell(model.value(method, topic), 2, percent=False) for model in models),
            )
            for topic in found.topics
        ]
        rows.append(
            (word_cell(HRE), *(number_cell(model.value(method), 2, percent=False) for model in models))
        )
        yield PaperTable(
            f"{name}-{slug(family or 'models')}",
            f"{numbers}: HRE by topic and model, {word}" + (f": {family}" if family else ""),
            f"HumanRankEval of each model by topic, and over all questions (HRE): the mean over questions of {word}'s "
            "correlation with votes.",
            ("Topic", *(model.name for model in models)),
            tuple(rows),
            (*found.against, *(found.undefined if method == "pearson" else ())),
        )


def _order_checks(found: Evaluation) -> PaperPart:
    """Does the score rise with size, and do the models differ?"""
    title = "Figures 4 to 7, 12 and 13: Order checks"
    families = {name: models for name, models in _families(found.models).items() if name}
    if not families:
        return MissingPart(
            "order-checks",
            title,
            "No two models of one family have a size in their name, such as pythia-70m and pythia-1.4b.",
        )
    rows = [
        (word_cell(family), word_cell(_METHODS[method][0]), *_checks(found, models, method))
        for method in _METHODS
        for family, models in families.items()
    ]
    return PaperTable(
        "order-checks",
        title,
        "Topics on which every larger model scores higher, Kendall's correlation of size and HRE, and a one-way ANOVA "
        "over the family's models.",
        ("Family", "Correlation", "Models", "Rising topics", "Kendall", "F", "p", "F", "p", "p permuted"),
        tuple(rows),
        (
            "The paper does not state the unit of its ANOVA: of topics' means, or of questions.",
            "Models answer the same questions, so that F assumes too much: the permutation test exchanges models "
            f"within instructions ({_PERMUTATIONS} permutations).",
            "Sizes are read from names: 70m is 0.07 billion parameters.",
        ),
        (("", 2), ("Size", 2), ("ANOVA of topics", 2), ("ANOVA of questions", 3)),
    )


def _checks(found: Evaluation, models: Sequence[Model], method: str) -> tuple[PaperCell, ...]:
    sizes = np.array([model.read.size for model in models], dtype=np.float64)
    rising, counted = 0, 0
    for topic in found.topics:
        scores = [model.value(method, topic) for model in models]
        if np.isnan(scores).any():
            continue
        counted += 1
        (order,) = family_monotonicity(sizes, scores).values()
        rising += order.in_order.value == 1
    (whole,) = family_monotonicity(sizes, [model.value(method) for model in models]).values()
    with quiet():
        of_topics = one_way_anova(
            [[model.value(method, topic) for topic in found.topics] for model in models]
        )
        of_questions = one_way_anova(
            [model.questions(method) for model in models],
            blocks=np.array(found.sample.items.cluster, dtype=np.str_),
            n_permutations=_PERMUTATIONS,
            rng=found.sample.options.seed,
        )
    return (
        count_cell(len(models)),
        PaperCell(f"{rising:,} of {counted:,}", float(rising)) if counted else PaperCell(UNDEFINED),
        number_cell(whole.correlation.value, 2, percent=False),
        *_anova_cells(of_topics),
        *_anova_cells(of_questions),
        p_cell(of_questions.permutation_p_value),
    )


def _anova_cells(found: OneWayAnova) -> tuple[PaperCell, PaperCell]:
    return number_cell(found.statistic, 2, percent=False), p_cell(found.p_value)


def p_cell(value: float) -> PaperCell:
    """A p-value: three decimals, and its order of magnitude below that.

    Examples
    --------
    >>> p_cell(0.048).text, p_cell(8.32e-12).text
    ('0.048', '8.3e-12')
    """
    if np.isnan(value):
        return PaperCell(UNDEFINED)
    return PaperCell(f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.1e}", float(value))


# --- Figures 8 to 10 -------------------------------------------------------------------------------------------------


class Benchmarks:
    """HRE beside other benchmarks: by benchmark the score of each model, NaN where it has none."""

    def __init__(self, found: Evaluation) -> None:
        self.models = found.models
        self.tables = found.data.outside
        scores = {_column(table): self._matched(table) for table in self.tables}
        scores[HRE] = np.array([model.value("pearson") for model in self.models])
        self.scores: dict[str, Floats] = dict(sorted(scores.items()))

    def _matched(self, table: OutsideTable) -> Floats:
        known = {name.strip().casefold(): score for name, score in table.scores.items()}
        found = []
        for model in self.models:
            answered = model.judge.judge.model
            names = (model.name, model.judge.judge.name, answered, answered.rpartition("/")[2])
            own = [known[name.strip().casefold()] for name in names if name.strip().casefold() in known]
            found.append(own[0] if own else np.nan)
        return np.array(found, dtype=np.float64)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """What share of the models each benchmark has, and names that are nearly the same."""
        notes = []
        ours = {model.name: score for model, score in zip(self.models, self.scores[HRE], strict=True)}
        for table in self.tables:
            n = int((~np.isnan(self.scores[_column(table)])).sum())
            text = f"{_column(table)} has {n:,} of the {len(self.models):,} models."
            with quiet():
                near = outside_correlation(ours, table.scores, n_resamples=0).near_misses
            if near:
                text += (
                    " Nearly the same names: "
                    + ", ".join(f"{one} and {other}" for one, other in near[:3])
                    + "."
                )
            notes.append(text)
        return tuple(notes)


def _column(table: OutsideTable) -> str:
    return table.title or table.name


def _benchmarks(found: Evaluation) -> Iterator[PaperPart]:
    if not found.data.outside:
        for name, title in (
            ("f8", "Figure 8: Normalized scores by benchmark"),
            ("f9", "Figure 9: Correlations of benchmarks"),
            ("f10", "Figure 10: Base models and tuned variants"),
        ):
            yield MissingPart(name, title, _NO_RATINGS)
        return
    benchmarks = Benchmarks(found)
    scores, models = benchmarks.scores, found.models
    normal = {name: _normalized(values) for name, values in scores.items()}
    yield PaperTable(
        "f8",
        "Figure 8: Normalized scores by benchmark",
        "Each benchmark's scores of these models, from 0 (its lowest) to 1 (its highest).",
        ("Model", *scores),
        tuple(
            (word_cell(model.name), *(number_cell(values[k], 2, percent=False) for values in normal.values()))
            for k, model in enumerate(models)
        ),
        ("How the paper normalizes is not stated.", *benchmarks.unmatched),
    )
    with quiet():
        whole = evaluator_correlations(scores, method="pearson", n_resamples=0)
    counts = _pairs_counted(whole.names, whole.n)
    yield matrix_table(
        "f9",
        "Figure 9: Correlations of benchmarks",
        "Pearson's correlation of two benchmarks over the models that both have.",
        whole,
        (counts, *benchmarks.unmatched),
    )
    yield _tuned(models, scores)


def _normalized(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not len(known) or np.ptp(known) == 0:
        return np.full(len(values), np.nan)
    return np.asarray((values - known.min()) / np.ptp(known))


def _pairs_counted(names: Sequence[str], n: Any) -> str:
    pairs = [
        f"{names[a]} and {names[b]} {int(n[a, b])}"
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]
    return f"Models in common: {', '.join(pairs)}."


def _tuned(models: Sequence[Model], scores: dict[str, Floats]) -> PaperTable:
    tuned = np.array([model.read.tuned for model in models])
    groups = {
        "All models": np.ones(len(models), dtype=np.bool_),
        "Base models": ~tuned,
        "Tuned models": tuned,
    }
    others = [name for name in scores if name != HRE]
    rows, notes = [], []
    for group, members in groups.items():
        with quiet():
            found = evaluator_correlations(scores, method="pearson", where=members, n_resamples=0)
        cells: list[PaperCell] = [word_cell(group), count_cell(int(members.sum()))]
        for name in others:
            estimate = found.estimate(HRE, name)
            cells.append(number_cell(estimate.value, 2, percent=False))
            if not estimate.defined:
                notes.append(f"{group}, {name}: {estimate.reason}.")
        rows.append(tuple(cells))
    listed = _listed(model.name for model in models if model.read.tuned)
    notes.append(f"Tuned models are told from their names (chat, instruct, it, sft, dpo): {listed}.")
    return PaperTable(
        "f10",
        "Figure 10: Base models and tuned variants",
        "Pearson's correlation of HRE with each benchmark, over base models and over tuned variants.",
        ("", "Models", *others),
        tuple(rows),
        tuple(notes),
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
