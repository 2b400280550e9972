"""Agreement of kinds whose labels have parts (criteria, aspects, answers): reading them, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotation.models import Study
from annotation.selectors.agreement.common import FEW_ITEMS, AnnotatorRow, People, labels_read
from metaeval.stats import Estimate


@dataclass(frozen=True, slots=True)
class PartFigure:
    """A figure with its words: `unit` is `percent` or `number`, `low` the left end of its axis."""

    name: str
    note: str
    estimate: Estimate
    unit: str = "percent"
    low: float = 0.0
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class PartRow:
    """A line of the table: a criterion or a category, with its figures.

    `mean` is the mean rating of a criterion, the share of yes of a category of checklists, or None.
    """

    name: str
    items: int
    labels: int
    mean: float | None
    figures: tuple[PartFigure, ...]


@dataclass(frozen=True, slots=True)
class PartsAgreement:
    """What the labels of a rubric, checklist or ranking study say so far."""

    kind: str
    labels: int
    items: int
    items_with_two: int
    annotators: int
    simulated: int
    seconds: float | None
    figures: tuple[PartFigure, ...]  # of all rows together; their names head the columns of the table
    rows_of: str  # "Criterion" or "Category"
    rows: tuple[PartRow, ...]
    by_annotator: tuple[AnnotatorRow, ...]
    agreement_means: str  # what the agreement of one annotator is
    remark: str = ""

    @property
    def is_early(self) -> bool:
        return self.items_with_two < FEW_ITEMS


@dataclass(frozen=True, slots=True)
class LabelRow:
    item: int
    instruction: int
    category: str
    annotator: int
    value: dict[str, Any]
    seconds: float


def label_values(study: Study, people: People) -> Iterator[LabelRow]:
    """The labels that count, by item; fills `people` on the way. One query."""
    for item, instruction, category, annotator, seconds, value in labels_read(study, people, "value"):
        yield LabelRow(item, instruction, category, annotator, value, seconds)
