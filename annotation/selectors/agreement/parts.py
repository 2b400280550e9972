"""Agreement of kinds whose labels have parts (criteria, aspects, answers): reading them, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotation.domain.pseudonyms import SHORT, pseudonym
from annotation.models import Label, Study
from annotation.selectors.agreement.common import FEW_ITEMS, AnnotatorRow, People, seconds_of
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
    rows = (
        Label.objects.current()
        .filter(study=study, kind=study.kind)
        .order_by("item__position", "item_id", "pk")
        .values_list(
            "item_id",
            "item__instruction_id",
            "item__instruction__category",
            "annotator_id",
            "value",
            "active_ms",
            "supersedes_id",
            "annotator__public_id",
            "annotator__is_simulated",
        )
    )
    for item, instruction, category, annotator, value, ms, earlier, public_id, simulated in rows.iterator(
        chunk_size=2_000
    ):
        people[annotator] = (str(pseudonym(public_id, study=study.pk))[:SHORT], simulated)
        yield LabelRow(item, instruction, category, annotator, value, seconds_of(ms, earlier))
