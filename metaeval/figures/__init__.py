"""Every figure once: what it is called, what it estimates, its unit, of which kind of item and of whom, its function.

Pages, reports, comparisons, decisions, files and the API read names, labels, units, definitions and values from here.
A kind has a module of its own, and an entry in `FIGURES`.
"""

from __future__ import annotations

from annotation.kinds import kind_of
from metaeval.figures import answer_ranking, checklist, classification, importance, pairwise, rubric
from metaeval.figures.figure import Figure, KindFigures, ScoreWords, Unit
from metaeval.figures.sample import JudgeSample, Sample

FIGURES: dict[str, KindFigures] = {
    "pairwise": pairwise.KIND,
    "rubric": rubric.KIND,
    "checklist": checklist.KIND,
    "importance": importance.KIND,
    "answer_ranking": answer_ranking.KIND,
    "classification": classification.KIND,
}
KIND_LABELS = {name: kind_of(name).label for name in FIGURES}
