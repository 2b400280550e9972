"""Labels on items that are stored already, one row a label: collected elsewhere, or exported by Touchstone."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.cells import read_evidence, read_value
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.records import LabelRecord
from annotation.importers.rows import Progress, Row, counted_rows
from annotation.importers.tables import ColumnTypes, table_rows
from annotation.importers.unescaping import unescaped
from annotation.kinds import ValueRules
from annotation.kinds.evidence import Markable

FIELDS = ("item", "annotator", "value", "simulated", "evidence")
NOT_COUNTED = {"superseded": "superseded", "is_surplus": "surplus", "is_set_aside": "excluded"}
"""Columns of an export that say of a label why it doesn't count."""
OTHER_ROLES = {"check": "hidden checks", "repeat": "repeats"}
EXPORTED = (
    *(
        "label_id",
        "study",
        "dataset",
        "item",
        "item_version",
        "replaced_in",
        "instruction",
        "category",
        "subset",
    ),
    *("kind", "annotator", "is_simulated", "value", "choice", "strength", "grade", "both_bad", "reasonable"),
    *("dimensions", "reasons", "reason_words", "evidence"),
    *(
        "chosen_system",
        "systems",
        "comment",
        "pasted_chars",
        "adjudicated",
        "shown_order",
        "guidelines_version",
    ),
    *("active_ms", "wall_ms", "probability", "created_at", "role", "check_score", *NOT_COUNTED),
    *("annotator_source", "annotator_external_id", "source"),
)
"""The columns of an export of labels; of rubrics there are more, by criterion, and of pairs by dimension."""
MARK = "label_id"
FLAGS = {"true": True, "false": False}
BY_PART = ("rating.", "not_applicable.", "dimension.", "dimension_grade.")
_JSON = (
    "evidence",
    "reasonable",
    "dimensions",
    "reasons",
    "reason_words",
    "systems",
    "adjudicated",
    "shown_order",
)
_COLUMNS = ColumnTypes(
    known=lambda name: name in FIELDS or name in EXPORTED or name.startswith(BY_PART),
    names=FIELDS,
    required=("item", "annotator", "value"),
    json=lambda name: name in _JSON,
    value=lambda name: name == "value",
)


def read_label_rows(
    path: str | Path,
    rules_by_item: Mapping[str, ValueRules],
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
    texts_of: Callable[[str], Sequence[Markable]] = lambda _: (),
) -> tuple[LabelRecord, ...]:
    """Read a table of labels on items that are stored already, one row a label: yours, or an export of labels.

    Of an export, labels that don't count and those on items as they were in an earlier version are left out.

    Parameters
    ----------
    rules_by_item : mapping
        The dataset's items by external id, with what decides which values are right.
    note : callable, optional
        Called with a sentence for each reason for which rows of an export are left out.
    texts_of : callable, optional
        What can be marked of an item's responses, by external id; asked where a label marks some.

    Raises
    ------
    ImportFileError
        With the file, the row and the field.
    """
    file = Path(path)
    builder = BundleBuilder("generic")
    left_out: Counter[str] = Counter()

    def add(row: Row) -> None:
        if reason := _left_out(row):
            left_out[reason] += 1
            return
        item = row.identifier("item")
        if item not in rules_by_item:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        rules = rules_by_item[item]
        if row.get("kind") not in (None, rules.kind):
            row.fail("kind", f"expected {rules.kind} as of the item here, found {quoted(row.get('kind'))}.")
        marked = row.get("evidence")
        builder.label(
            row,
            item=item,
            annotator=row.identifier("annotator"),
            value=read_value(row, "value", row.require("value"), rules),
            field="annotator",
            is_simulated=_flag(row, "simulated") or _flag(row, "is_simulated"),
            evidence=read_evidence(row, marked, texts_of(item) if marked else (), rules),
        )

    faults = Faults()
    rows = table_rows(file, _COLUMNS, faults)
    if file.suffix.lower() == ".csv":
        rows = map(unescaped, rows)
    faults.each(counted_rows(rows, progress), add)
    faults.check()
    if note is not None:
        for sentence in _notes(left_out):
            note(sentence)
    if not builder.labels:
        raise ImportFileError(file, None, None, "expected at least one label, found none.")
    return builder.labels


def _left_out(row: Row) -> str:
    """Why a row of an export is left out; empty where it isn't."""
    if row.get(MARK) is None:
        return ""
    for column, reason in NOT_COUNTED.items():
        if _flag(row, column):
            return reason
    if (role := row.text("role")) in OTHER_ROLES:
        return OTHER_ROLES[role]
    return "on an earlier version of their item" if row.get("replaced_in") is not None else ""


def _flag(row: Row, column: str) -> bool:
    """True or false; in CSV these are words."""
    said = row.get(column)
    return FLAGS[said] if isinstance(said, str) and said in FLAGS else row.flag(column)


def _notes(left_out: Counter[str]) -> Iterator[str]:
    for reason, n in left_out.items():
        yield f"{n:,} {'label' if n == 1 else 'labels'} left out: {reason}."
