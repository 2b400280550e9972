"""Every figure once: what it is called, what it estimates, its unit, of which kind of item and of whom, its function.

Pages, reports, comparisons, decisions, files and the API read names, labels, units, definitions and values from here.
A kind has a module of its own, and an entry in `FIGURES`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from annotation.kinds import kind_of
from metaeval.figures import (
    answer_ranking,
    checklist,
    classification,
    importance,
    pairwise,
    published_checklists,
    published_pairs,
    published_rankings,
    published_replacement,
    rubric,
)
from metaeval.figures.figure import Figure, KindFigures, PublishedConvention, ScoreWords, Unit
from metaeval.figures.sample import JudgeSample, Sample

FIGURES: dict[str, KindFigures] = {
    "pairwise": replace(pairwise.KIND, published=published_pairs.PUBLISHED),
    "rubric": rubric.KIND,
    "checklist": replace(checklist.KIND, published=published_checklists.PUBLISHED),
    "importance": importance.KIND,
    "answer_ranking": replace(answer_ranking.KIND, published=published_rankings.PUBLISHED),
    "classification": replace(classification.KIND, published=published_replacement.OF_CATEGORIES),
}
KIND_LABELS = {name: kind_of(name).label for name in FIGURES}


def published_presets(kinds: Iterable[str] = FIGURES) -> dict[str, str]:
    """By the name of each preset whose figures some items of these kinds can have, the title of its paper."""
    return {name: one.title for kind in kinds for name, one in FIGURES[kind].published.items()}
