"""The rows and columns of HREF's table of agreement: methods in order, categories by their short names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.groups import Group
from metaeval.figures.measures import judge_measures
from metaeval.figures.pairwise import PairJudge, PairSample

_AGREEMENT = FIGURES["pairwise"].only("agreement")
# In the paper's order; a category is known by the first letters of its name.
_CATEGORIES = (
    ("Brn", ("brainstorm",)),
    ("OQA", ("open qa", "open question")),
    ("CQA", ("closed qa", "closed question")),
    ("Ext", ("extract",)),
    ("Gen", ("generat",)),
    ("Rew", ("rewrit",)),
    ("Sum", ("summar",)),
    ("Cls", ("classif",)),
    ("FC", ("fact check", "fact-check")),
    ("MDS", ("multi-document", "multi document")),
    ("RND", ("reasoning over num", "numerical reason")),
)
# Kinds of methods, in the order of the rows.
_RULES, _PERPLEXITY, _EMBEDDING, _OVERLAP, _MODEL, _COMPOSED = range(6)
_STRATEGIES = {
    "perplexity_reference": _PERPLEXITY,
    "loglikelihood": _PERPLEXITY,
    "embedding": _EMBEDDING,
    "rouge_l": _OVERLAP,
    "ngram": _OVERLAP,
    "longest": _RULES,
    "shortest": _RULES,
    "always_a": _RULES,
    "random": _RULES,
    "composite": _COMPOSED,
}
BEST = "Best per category"
NO_LABELS = "No pair has labels from two annotators, so there is no agreement to compute."
BRING_LABELS = "Open a study of the dataset with an overlap of 4, or import labels with the pairs."


@dataclass(frozen=True, slots=True, eq=False)
class AgreementMethod:
    """A method as a row: a judge, its place among the rows, and which reference it reads."""

    judge: PairJudge
    label: str
    rank: tuple[int, str, str, str]
    reference: str
    """Empty for none, "human-written", or the system whose response it is."""


def labelled(one: AgreementMethod) -> str:
    """Its label, which says whether it reads a reference."""
    return (
        one.label if not one.reference or "reference" in one.label.lower() else f"{one.label}, with reference"
    )


def short_category(name: str) -> str:
    """The paper's head of a category; its own name where the paper has none.

    Examples
    --------
    >>> short_category("Closed QA"), short_category("Reasoning Over Numerical Data"), short_category("Coding")
    ('CQA', 'RND', 'Coding')
    """
    flat = name.strip().lower().replace("_", " ")
    return next((short for short, begins in _CATEGORIES if flat.startswith(begins)), name)


def category_groups(sample: PairSample) -> tuple[Group, ...]:
    """The categories in the paper's order, others behind; where the dataset has none, its subsets."""
    order = [short for short, _ in _CATEGORIES]
    groups = [group for group in sample.layout.groups if group.kind == "category"]
    if not groups:
        names = [group.name for group in sample.layout.groups if group.kind == "subset"]
        ends = {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
        groups = [group for group in sample.layout.groups if group.kind == "subset" and group.name in ends]

    def place(group: Group) -> int:
        short = short_category(group.name)
        return order.index(short) if short in order else len(order)

    return tuple(sorted(groups, key=place))


def reference_of(specification: Mapping[str, Any], strategy: str) -> str:
    """Which reference a judge reads: none, the human-written one, or a system's response."""
    needs = strategy in ("reference", "embedding", "rouge_l", "ngram", "perplexity_reference")
    if not (specification.get("use_reference") or needs):
        return ""
    return str(specification.get("reference_system") or "human-written")


def agreement_methods(
    sample: PairSample, specifications: Mapping[str, Mapping[str, Any]]
) -> list[AgreementMethod]:
    """All judges as rows: rules, perplexity, embeddings, overlap, models without and with a reference, composites."""
    found = []
    for judge in sample.judges:
        answers = judge.judge
        reference = reference_of(specifications.get(answers.fingerprint, {}), answers.strategy)
        kind = _STRATEGIES.get(answers.strategy, _MODEL)
        rank = (kind, answers.model, reference, answers.name)
        found.append(AgreementMethod(judge, answers.name, rank, reference))
    return sorted(found, key=lambda one: one.rank)


def agreement_values(judge: PairJudge, groups: Sequence[Group]) -> list[float | None]:
    """Agreement in each group, then over all items."""
    found: dict[str, Any] = judge_measures(_AGREEMENT, judge).get("agreement", {})
    estimates = [found.get(group.kind, {}).get(group.name) for group in groups] + [found.get("overall")]
    return [None if estimate is None else estimate["value"] for estimate in estimates]


def best_per_category(
    sample: PairSample,
    methods: Sequence[AgreementMethod],
    groups: Sequence[Group],
    values: Sequence[Sequence[Any]],
) -> tuple[PairJudge | None, list[str]]:
    """The judge that in each category answers as the method that agrees best there, and the names of those methods."""
    if not groups or not methods:
        return None, []
    chosen = []
    for place in range(len(groups)):
        known = [(row[place], -index) for index, row in enumerate(values) if row[place] is not None]
        if not known:
            return None, []
        chosen.append(-max(known)[1])
    names = ("values", "judged", "unparsed", "failed", "cost", "seconds")
    first = methods[0].judge.judge
    taken = {name: np.array(getattr(first, name)) for name in names}
    taken["judged"][:] = False
    for group, index in zip(groups, chosen, strict=True):
        for name in names:
            taken[name][group.members] = getattr(methods[index].judge.judge, name)[group.members]
    arrays: dict[str, Any] = taken
    combined = replace(first, name=BEST, finer=None, probability=None, **arrays)
    return PairJudge(sample, combined), [methods[index].label for index in chosen]
