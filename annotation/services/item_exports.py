"""Items as a table in the generic format of imports, so that what is exported can be imported again."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.models import Item
from annotation.selectors.whole_items import criteria_as_files, items_whole
from web.tables import ExportTable, TableColumn

COLUMNS = (
    TableColumn("id", "text", "Identifier of the item in the dataset."),
    TableColumn("kind", "text", "Kind of the item."),
    TableColumn("category", "text", "Category of the instruction."),
    TableColumn("subset", "text", "Subset of the instruction, a path."),
    TableColumn("instruction", "text", "What was asked."),
    TableColumn("instruction_id", "text", "Identifier of the instruction."),
    TableColumn("context", "text", "What was given with the instruction."),
    TableColumn("conversation", "json", "Turns before the instruction: role and text."),
    TableColumn("reference", "text", "A human-written answer."),
    TableColumn("responses", "json", "Responses in canonical order: system and text, or messages."),
    TableColumn("gold", "json", "The known right answer, in canonical order."),
    TableColumn("explanation", "text", "Why it is right."),
    TableColumn("aspects", "json", "Requirements of the instruction: key, text and parent."),
    TableColumn("criteria", "json", "In the first row: the rubric of the dataset."),
    TableColumn("metadata", "json", "What else the source says of the item."),
)


def items_table(items: QuerySet[Item]) -> ExportTable:
    """Items in the order of their source."""

    def rows() -> Iterator[tuple[Any, ...]]:
        criteria = (
            criteria_as_files(set(items.order_by().values_list("dataset", flat=True).distinct())) or None
        )
        for one in items_whole(items):
            yield (
                one.id, one.kind, one.category or None, one.subset or None, one.instruction, one.instruction_id,
                one.context or None, one.conversation or None, one.reference, list(one.responses) or None,
                one.gold, one.explanation or None, list(one.aspects) or None, criteria, one.metadata or None,
            )  # fmt: skip
            criteria = None

    return ExportTable(COLUMNS, rows())
