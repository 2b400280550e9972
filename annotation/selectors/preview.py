"""What a study shows to its people, for a researcher who looks at it beforehand. Nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from annotation.domain.presentation import shown_order
from annotation.kinds import from_canonical, kind_of, to_canonical
from annotation.models import Item, ItemRole, QualificationQuestion, QuestionPart, Stage, Study
from annotation.selectors.shown import item_shown, parts_count
from annotation.selectors.slices import slice_items, study_slice
from annotation.selectors.steps import Feedback, Question, steps_of

WORK_ITEMS = 5
NOBODY = UUID(int=0)
PARTS = {Stage.TRAINING: QuestionPart.TRAINING, Stage.QUALIFICATION: QuestionPart.TEST}
PURPOSE = {Stage.TRAINING: "training", Stage.QUALIFICATION: "qualification"}


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps of a study, and the items of the steps that have some."""

    study: Study
    steps: tuple[str, ...]
    items: Mapping[str, tuple[Item, ...]]

    def asker(self, step: str) -> Study:
        """Whose questions they are: a test may be another study's."""
        return self.study.test_study if step == Stage.QUALIFICATION else self.study

    def item(self, step: str, place: int) -> Item:
        return self.items[step][place]

    def order(self, step: str, item: Item) -> list[int]:
        """An order that somebody might see."""
        return shown_order(NOBODY, item.pk, parts_count(self.asker(step), item.pk))

    def question(self, step: str, place: int) -> Question:
        """An item of the training or the test as its page wants it; its number stands for its row."""
        item = self.item(step, place)
        order = self.order(step, item)
        row = QualificationQuestion(pk=place + 1, item=item, position=place, part=PARTS[Stage(step)])
        shown = item_shown(self.asker(step), item, order)
        return Question(row, place + 1, len(self.items[step]), order, shown, attempt=1)

    def feedback(self, place: int, given: dict[str, str], value: Mapping[str, Any]) -> Feedback:
        """What the training says of an answer, `value` in the order shown."""
        question = self.question(Stage.TRAINING, place)
        gold, kind = question.question.item.gold or {}, self.study.kind
        return Feedback(
            shown=question,
            is_right=kind_of(kind).agrees(to_canonical(kind, value, question.order), gold),
            given=given,
            right=kind_of(kind).fields(from_canonical(kind, gold, question.order)),
            explanation=question.question.item.explanation,
            is_last=place + 1 == len(self.items[Stage.TRAINING]),
        )


def preview_of(study: Study) -> Preview:
    """The study as it is; of a draft, items such as would be drawn."""
    items = {step: tuple(_items(study, step)) for step in (Stage.TRAINING, Stage.QUALIFICATION, Stage.WORK)}
    steps = tuple(step for step in steps_of(study) if step not in items or items[Stage(step)])
    return Preview(study, steps, {str(step): rows for step, rows in items.items()})


def _items(study: Study, step: Stage) -> list[Item]:
    if step == Stage.WORK:
        chosen = study.study_items.filter(role=ItemRole.WORK, withdrawn_at=None).order_by("position")
        rows = [one.item for one in chosen.select_related("item__dataset")[:WORK_ITEMS]]
        offered = study_slice(study).select_related("dataset").order_by("position", "pk")
        return rows or list(offered[:WORK_ITEMS])
    asker = study.test_study if step == Stage.QUALIFICATION else study
    size: int = getattr(asker, f"{PURPOSE[step]}_size")
    drawn = asker.qualification_questions.filter(part=PARTS[step]).order_by("position", "pk")
    if size and (rows := [one.item for one in drawn.select_related("item__dataset")]):
        return rows
    source: int = getattr(asker, f"{PURPOSE[step]}_dataset_id") or asker.dataset_id
    gold = slice_items(dataset_id=source, kind=asker.kind).filter(gold__isnull=False)
    return list(gold.select_related("dataset").order_by("position", "pk")[:size])
