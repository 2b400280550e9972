"""Agreement of people who order aspects by importance, or answers from best to worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.kinds import kind_of
from annotation.models import Study
from annotation.selectors.agreement.common import (
    NO_PAIR,
    NOT_SHARED,
    AnnotatorRow,
    Floats,
    Integers,
    People,
    annotator_rows,
    median_known,
    one_cluster,
)
from annotation.selectors.agreement.parts import LabelRow, PartFigure, PartRow, PartsAgreement, label_values
from metaeval.stats import (
    Estimate,
    RankPairs,
    Resamples,
    mean_estimate,
    rank_agreement_contributions,
    rank_pairs,
)
from metaeval.stats.estimate import no_estimate

NO_RHO = "nobody orders the same parts differently from all equal"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Items with their rankings: a matrix (people, parts) each, and whose label each row is."""

    matrices: list[Floats]
    labels: list[list[int]]
    instruction: NDArray[np.int64]
    category: NDArray[np.str_]


def rankings_agreement_so_far(study: Study) -> PartsAgreement:
    people: People = {}
    return rankings_compute(study.kind, list(label_values(study, people)), people)


def rankings_compute(kind: str, labels: list[LabelRow], people: People) -> PartsAgreement:
    """The figures of these labels."""
    ranked = ranked_of(labels)
    resamples = Resamples(ranked.instruction)
    rho = rank_agreement_contributions(ranked.matrices)
    top = np.array([_same_top(matrix) for matrix in ranked.matrices], dtype=np.float64)
    pairs = np.array([len(matrix) >= 2 for matrix in ranked.matrices], dtype=np.bool_)
    figures = _figures(rho, top, resamples, kind, None)
    return PartsAgreement(
        kind=kind,
        labels=len(labels),
        items=len(ranked.matrices),
        items_with_two=int(pairs.sum()),
        annotators=len(people),
        simulated=sum(simulated for _, simulated in people.values()),
        seconds=median_known(np.array([label.seconds for label in labels], dtype=np.float64)),
        figures=figures,
        rows_of="Category",
        rows=_rows(ranked, rho, top, resamples, kind),
        by_annotator=_annotators(ranked, labels, people),
        agreement_means="mean Spearman's rho with each of the others",
        remark=_remark(ranked, rho, pairs),
    )


def ranked_of(labels: list[LabelRow]) -> Ranked:
    """Rankings by item. A label whose parts are not those of the item's first one (the item has changed) is left
    out.
    """
    place: dict[int, int] = {}
    names: list[list[str]] = []
    rows: list[list[list[float]]] = []
    index: list[list[int]] = []
    about: list[tuple[int, str]] = []
    for number, label in enumerate(labels):
        ranks: dict[str, Any] = label.value["ranks"]
        if label.item not in place:
            place[label.item] = len(names)
            names.append(sorted(ranks))
            rows.append([])
            index.append([])
            about.append((label.instruction, label.category))
        at = place[label.item]
        if sorted(ranks) == names[at]:
            rows[at].append([float(ranks[name]) for name in names[at]])
            index[at].append(number)
    return Ranked(
        matrices=[np.array(matrix, dtype=np.float64) for matrix in rows],
        labels=index,
        instruction=np.array([instruction for instruction, _ in about], dtype=np.int64),
        category=np.array([category for _, category in about], dtype=np.str_),
    )


def _same_top(matrix: Floats) -> float:
    """Share of the pairs of people who put the same parts first; NaN without a pair."""
    if len(matrix) < 2:
        return float("nan")
    top = matrix == matrix.min(axis=1, keepdims=True)
    same = (top[:, np.newaxis, :] == top[np.newaxis, :, :]).all(axis=2)
    n = len(matrix)
    return float((same.sum() - n) / (n * (n - 1)))


def _figures(
    rho: Floats, top: Floats, resamples: Resamples, kind: str, where: NDArray[np.bool_] | None
) -> tuple[PartFigure, ...]:
    first = kind_of(kind).part.lower()
    return (
        PartFigure(
            "Spearman's rho",
            "of two people, mean over items; 0 is chance",
            _mean(rho, resamples, where, NO_RHO, (-1.0, 1.0)),
            unit="number",
            low=-1.0,
            mark=0.0,
        ),
        PartFigure(f"Same first {first}", "of two people", _mean(top, resamples, where, NO_PAIR, (0.0, 1.0))),
    )


def _mean(
    values: Floats,
    resamples: Resamples,
    where: NDArray[np.bool_] | None,
    reason: str,
    bounds: tuple[float, float],
) -> Estimate:
    counted = ~np.isnan(values) if where is None else ~np.isnan(values) & where
    if not counted.any():
        return no_estimate(reason)
    if one_cluster(resamples, counted):
        return mean_estimate(values, bounds=bounds, where=where, n_resamples=0)
    return mean_estimate(values, bounds=bounds, where=where, resamples=resamples)


def _rows(ranked: Ranked, rho: Floats, top: Floats, resamples: Resamples, kind: str) -> tuple[PartRow, ...]:
    rows = []
    for name in np.unique(ranked.category).tolist():
        where = ranked.category == name
        rows.append(
            PartRow(
                name=name,
                items=int(where.sum()),
                labels=sum(len(ranked.matrices[k]) for k in np.flatnonzero(where)),
                mean=None,
                figures=_figures(rho, top, resamples, kind, where),
            )
        )
    return tuple(rows)


def _remark(ranked: Ranked, rho: Floats, pairs: NDArray[np.bool_]) -> str:
    """What a reader of rho has to know: items that can only give -1 or 1, and items that give nothing."""
    two = sum(1 for matrix in ranked.matrices if matrix.shape[1] == 2 and len(matrix) >= 2)
    constant = int((pairs & np.isnan(rho)).sum())
    remarks = []
    if two:
        remarks.append(f"{two} of {int(pairs.sum())} items have two parts, where rho can only be −1 or 1.")
    if constant:
        remarks.append(
            f"On {constant} item{'' if constant == 1 else 's'} no two people order the parts (all equal is no order): "
            "correlation undefined."
        )
    return " ".join(remarks)


def _annotators(ranked: Ranked, labels: list[LabelRow], people: People) -> tuple[AnnotatorRow, ...]:
    annotator = np.array([label.annotator for label in labels], dtype=np.int64)
    seconds = np.array([label.seconds for label in labels], dtype=np.float64)
    return annotator_rows(annotator, seconds, people, _with_others(ranked, len(labels)))


def _with_others(ranked: Ranked, n_labels: int) -> Callable[[Integers], Estimate]:
    """The mean rho of given labels with those of the others on their items."""
    per_label = rho_with_others(rank_pairs(ranked.matrices), ranked.labels, n_labels)

    def agreement(mine: Integers) -> Estimate:
        known = per_label[mine]
        known = known[~np.isnan(known)]
        if not len(known):
            return no_estimate(NOT_SHARED)
        return mean_estimate(known, bounds=(-1.0, 1.0), n_resamples=0 if len(known) == 1 else 2_000)

    return agreement


def rho_with_others(pairs: RankPairs, labels: list[list[int]], n_labels: int) -> Floats:
    """For each label, its mean rho with the other labels of its item; NaN where it has none."""
    total, count = np.zeros(n_labels), np.zeros(n_labels)
    known = ~np.isnan(pairs.rho)
    for side in (pairs.first, pairs.second):
        where = np.array(
            [labels[item][row] for item, row in zip(pairs.item[known], side[known], strict=True)],
            dtype=np.int64,
        )
        np.add.at(total, where, pairs.rho[known])
        np.add.at(count, where, 1)
    result: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result
