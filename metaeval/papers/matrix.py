"""Symmetric matrices of correlations as tables of a paper."""

from collections.abc import Sequence

from metaeval.papers.tables import PaperTable, number_cell, word_cell
from metaeval.stats.evaluators import EvaluatorCorrelations


def matrix_table(
    name: str, title: str, caption: str, found: EvaluatorCorrelations, notes: Sequence[str] = ()
) -> PaperTable:
    """A symmetric matrix of correlations, two decimals; a note says why any is undefined."""
    rows = [
        (word_cell(one), *(number_cell(value, 2, percent=False) for value in line))
        for one, line in zip(found.names, found.matrix.tolist(), strict=True)
    ]
    return PaperTable(name, title, caption, ("", *found.names), tuple(rows), (*notes, *_undefined(found)))


def _undefined(found: EvaluatorCorrelations) -> tuple[str, ...]:
    """Why correlations are undefined, a sentence a reason."""
    reasons: dict[str, list[str]] = {}
    for (one, two), estimate in found.estimates.items():
        if one != two and not estimate.defined:
            reasons.setdefault(estimate.reason or "undefined", []).append(f"{one} and {two}")
    return tuple(f"No correlation of {'; '.join(pairs)}: {reason}." for reason, pairs in reasons.items())
