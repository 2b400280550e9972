"""Items as a table in the generic format of imports, so that what is exported can be imported again."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from django.db.models import QuerySet

from annotation.models import Item
from annotation.selectors.whole_items import CHUNK, declared_as_files, items_whole
from web.batches import batched
from web.tables import ExportTable, TableColumn

COLUMNS = (
    TableColumn("id", "text", "Identifier of the item in the dataset."),
    TableColumn("kind", "text", "Kind of the item."),
    TableColumn("category", "text", "Category of the instruction."),
    TableColumn("subset", "text", "Subset of the instruction, a path."),
    TableColumn("instruction", "text", "The instruction."),
    TableColumn("instruction_id", "text", "Identifier of the instruction."),
    TableColumn("context", "text", "Context given with the instruction."),
    TableColumn("conversation", "json", "Turns before the instruction: role and text."),
    TableColumn("reference", "text", "A human-written answer."),
    TableColumn("responses", "json", "Responses in canonical order: system and text, or messages."),
    TableColumn("gold", "json", "The known right answer, in canonical order."),
    TableColumn("explanation", "text", "Why it is right."),
    TableColumn("aspects", "json", "Requirements of the instruction: key, text and parent."),
    TableColumn("criteria", "json", "In the first row: the rubric of the dataset."),
    TableColumn("categories", "json", "In the first row: how items to classify use their categories."),
    TableColumn("metadata", "json", "Other information of the source on the item."),
)


def items_table(items: QuerySet[Item], *, only: Sequence[int] | None = None) -> ExportTable:
    """Items in the order of their source; or `only` some of them by their keys, in the order of these
    keys, which is that of the source too."""

    def rows() -> Iterator[tuple[Any, ...]]:
        declared = declared_as_files(items.order_by().values_list("dataset", flat=True).distinct())
        parts = [items] if only is None else (items.filter(pk__in=part) for part in batched(only, CHUNK))
        for one in chain.from_iterable(items_whole(part) for part in parts):
            yield (
                one.id, one.kind, one.category or None, one.subset or None, one.instruction, one.instruction_id,
                one.context or None, one.conversation or None, one.reference, list(one.responses) or None,
                one.gold, one.explanation or None, list(one.aspects) or None, declared.get("criteria"),
                declared.get("categories"), one.metadata or None,
            )  # fmt: skip
            declared = {}

    return ExportTable(COLUMNS, rows())
