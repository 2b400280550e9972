"""HumanRankEval: votes by rank and topic, models by topic, other benchmarks.

The models that the paper evaluates are judges here: each gives every answer of a question a log-likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from metaeval.figures.answer_ranking import AnswerSample
from metaeval.inputs import GOLD, PEOPLE, Booleans, Floats
from metaeval.papers.data import PaperData
from metaeval.papers.humanrankeval_benchmarks import HRE, benchmark_parts
from metaeval.papers.humanrankeval_models import RankedModel, models_of
from metaeval.papers.paper import PaperPart
from metaeval.papers.table_pictures import with_bars
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
from metaeval.stats import (
    OneWayAnova,
    family_monotonicity,
    one_way_anova,
)
from metaeval.stats.errors import quiet

_METHODS = {
    "pearson": ("Pearson", "Figures 4 to 7", "f4"),
    "spearman": ("Spearman", "Figures 12 and 13", "f12"),
}
_PERMUTATIONS = 999
_NO_VOTES = (
    "No question has votes for each answer.",
    "Import the questions with metadata.votes; the importer of Stack Exchange keeps them.",
)
_NO_MODEL = (
    "No model has ranked these answers.",
    "Run a judge of the strategy loglikelihood_ranking for each model, or import verdicts with scores.",
)


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
    def models(self) -> tuple[RankedModel, ...]:
        """The judges but baselines, the smaller ones of a family first."""
        return models_of(self.sample)

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
            yield MissingPart(name, title, *_NO_MODEL)
        return
    yield from _by_topic(found, "pearson")
    yield _order_checks(found)
    yield from benchmark_parts(data.outside, found.models)
    yield from _by_topic(found, "spearman")


# --- Figures 3 and 11 ------------------------------------------------------------------------------------------------


def _votes(found: Evaluation) -> Iterator[PaperPart]:
    if not found.has_votes:
        yield MissingPart("f3", "Figure 3: Votes by rank and topic", *_NO_VOTES)
        yield MissingPart("f11", "Figure 11: Votes by topic", *_NO_VOTES)
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
    table = PaperTable(
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
    yield from with_bars(table, ("Topic", "Answer", "Mean votes"))
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


def _families(models: Sequence[RankedModel]) -> dict[str, list[RankedModel]]:
    """Families of two sizes or more; the models of no such family under an empty name, last."""
    found: dict[str, list[RankedModel]] = {}
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
        table = PaperTable(
            f"{name}-{slug(family or 'models')}",
            f"{numbers}: HRE by topic and model, {word}" + (f": {family}" if family else ""),
            f"HumanRankEval of each model by topic, and over all questions (HRE): the mean over questions of {word}'s "
            "correlation with votes.",
            ("Topic", *(model.name for model in models)),
            tuple(rows),
            (*found.against, *(found.undefined if method == "pearson" else ())),
        )
        yield from with_bars(table, ("Topic", "Model", f"HRE ({word})"))


def _order_checks(found: Evaluation) -> PaperPart:
    """Does the score rise with size, and do the models differ?"""
    title = "Figures 4 to 7, 12 and 13: Order checks"
    families = {name: models for name, models in _families(found.models).items() if name}
    if not families:
        return MissingPart(
            "order-checks",
            title,
            "No two models of one family have a size in their name.",
            "Name the judges after models, such as pythia-70m and pythia-1.4b.",
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


def _checks(found: Evaluation, models: Sequence[RankedModel], method: str) -> tuple[PaperCell, ...]:
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
