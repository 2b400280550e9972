"""The generic format: one row an item, nested (JSONL, Parquet) or flat (CSV, and the others too).

A table with other names of columns is one too, once it is known which of them is what (`importers.columns`).
Verdicts on a dataset that is stored already have a table of their own, one row a verdict.

`docs/data-format.md` documents it, with examples that the tests import.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.domain.conversation import turns_of
from annotation.importers.build import AspectFields, BundleBuilder, ReadStart, content_key
from annotation.importers.categories import read_categories, step_aspects
from annotation.importers.cells import (
    MAX_KNOWN,
    ValueReader,
    VerdictCell,
    label_cells,
    read_evidence,
    read_responses,
    read_scored,
    read_scores,
    read_value,
    verdict_cell,
    verdict_cells,
)
from annotation.importers.chat import read_turns
from annotation.importers.columns import (
    are_own_names,
    columns_resolve,
    has_label_rows,
    mapped,
    own_named,
)
from annotation.importers.criteria import read_criteria
from annotation.importers.errors import Faults, ImportFileError, LeftOutRows, quoted
from annotation.importers.fields import (
    DECLARATIONS,
    DIMENSION,
    EXPORTED,
    LABEL,
    NAMES,
    NESTED,
    PREFERENCE,
    RATING,
    REASONABLE,
    REASONS,
    VALUE,
    is_field_of_format,
)
from annotation.importers.files import FilePlace
from annotation.importers.mapping import TableMapping, table_mapping
from annotation.importers.paths import column_of
from annotation.importers.records import (
    EMPTY,
    CriterionRecord,
    DatasetBundle,
    Origin,
    ReadUntil,
    VerdictRecord,
)
from annotation.importers.rows import (
    MAX_ASPECT_KEY,
    MAX_CATEGORY,
    Progress,
    Row,
    counted_rows,
    one_of,
    suggestion,
)
from annotation.importers.tables import ColumnTypes, table_open, table_rows
from annotation.importers.unescaping import unescaped
from annotation.kinds import DEFAULT_KIND, KINDS, ValueRules
from annotation.kinds.dimensions import DIMENSIONS
from annotation.kinds.evidence import markable_of
from annotation.kinds.grades import BETWEEN, STRENGTHS, probability_given

INSTRUCTIONS = "instructions"
"""In place of a kind: the row is an instruction alone, which contestants may answer later; there is no item."""
OF_ITEMS = ("gold", "explanation", "labels", "verdicts", "responses")

PART_ROWS = 5_000
"""Rows of a part of a file that is read in parts."""

COLUMNS = ColumnTypes(
    known=is_field_of_format,
    names=NAMES,
    required=("instruction",),
    json=lambda name: name in NESTED,
    value=lambda name: (
        VALUE.match(name) is not None
        or name in (LABEL, PREFERENCE, REASONABLE, REASONS)
        or name.startswith((RATING, DIMENSION))
    ),
    text=lambda name: name.startswith("response_"),
)

VERDICT_FIELDS = (
    *("item", "judge", "order", "verdict", "raw", "model", "strategy", "score_1", "score_2"),
    *BETWEEN,
    "probability",
    "scores",
)
VERDICT_COLUMNS = ColumnTypes(
    known=lambda name: name in VERDICT_FIELDS,
    names=VERDICT_FIELDS,
    required=("item", "judge"),
    json=lambda name: name == "scores",
    value=lambda name: name in ("order", "verdict", "score_1", "score_2", "probability", *BETWEEN),
    any_of=("verdict", *BETWEEN, "score_1", "scores"),
)


def read_generic(
    path: str | Path,
    progress: Progress | None = None,
    *,
    criteria: Sequence[CriterionRecord] = (),
    mapping: TableMapping | Mapping[str, str] = EMPTY,
    faults: Faults | None = None,
) -> DatasetBundle:
    """Read a `.jsonl`, `.json`, `.csv`, `.tsv` or `.parquet` file of items of any kind.

    Parameters
    ----------
    progress : callable, optional
        Called with ("rows", number of rows so far) every 10,000 rows.
    criteria : optional
        Criteria of the dataset that the file does not have to declare.
    mapping : optional
        The field of each column that has another name, and what else the file does not say.
    faults : optional
        `LeftOutRows` for the good rows of a file that has bad ones; the dataset is then what the good rows say.

    Raises
    ------
    ImportFileError
        With everything that is wrong up to `MAX_ERRORS` rows (a `RefusedFileError`), or the only thing.
    UnknownColumnsError
        ColumnTypes of which somebody has to say what they are.
    """
    return read_tables(
        [Path(path)], Path(path), "generic", progress, criteria=criteria, mapping=mapping, faults=faults
    )


def read_tables(
    files: Sequence[Path],
    source: Path,
    form: str,
    progress: Progress | None = None,
    *,
    criteria: Sequence[CriterionRecord] = (),
    mapping: TableMapping | Mapping[str, str] = EMPTY,
    faults: Faults | None = None,
) -> DatasetBundle:
    """As `read_generic`, of a data set whose rows are in several files.

    Parameters
    ----------
    source
        The file or folder that the data set is of.
    form
        The name of the format, for where the data set says what it is from.
    """
    builder = BundleBuilder(f"{form}: {source.name}")
    builder.criteria.update({record.key: record for record in criteria})
    faults, mapping = Faults() if faults is None else faults, table_mapping(mapping)
    with faults.reading():
        for number, file in enumerate(files):
            for goes_on in _read(builder, file, mapping, faults, progress, declares=number == 0):
                if not goes_on:
                    break
            else:
                continue
            break
    faults.check()
    return builder.finish(source)


def read_generic_parts(
    path: str | Path,
    progress: Progress | None = None,
    *,
    criteria: Sequence[CriterionRecord] = (),
    mapping: TableMapping | Mapping[str, str] = EMPTY,
    faults: Faults | None = None,
    rows: int = PART_ROWS,
    any_size: bool = False,
    start: ReadStart | None = None,
) -> Iterator[DatasetBundle]:
    """As `read_generic`, in parts of so many rows: memory does not grow with the texts of a file of lines.

    Parameters
    ----------
    any_size
        As in `table_open`.
    start
        Where an earlier reading of the file, with the same options, stopped.

    What is wrong is raised once the file has been read, or `MAX_ERRORS` rows are: what was taken before has to be
    taken back.

    Raises
    ------
    ImportFileError
    """
    file = Path(path)
    builder = BundleBuilder(f"generic: {file.name}")
    builder.criteria.update({record.key: record for record in criteria})
    faults = Faults() if faults is None else faults
    at, before = FilePlace(), 0
    if start is not None:
        at, before = FilePlace(start.until.row, start.until.line, start.until.offset), start.until.n_left_out
        builder.continue_after(start, str(file))

    def part() -> DatasetBundle:
        left_out = before + (faults.n if isinstance(faults, LeftOutRows) else 0)
        until = ReadUntil(at.row, at.line, at.offset, left_out, builder.declared())
        return replace(builder.part(), until=until)

    reading = _read(
        *(builder, file, table_mapping(mapping), faults, progress),
        declares=start is None, each_row=True, any_size=any_size, at=at,
    )  # fmt: skip
    with faults.reading():
        for number, _ in enumerate(reading, 1):
            if number % rows == 0:
                faults.check()
                yield part()
    faults.check()
    if builder.is_empty:
        raise ImportFileError(file, None, None, "expected at least one item, found none.")
    yield part()


def _read(
    builder: BundleBuilder,
    file: Path,
    mapping: TableMapping,
    faults: Faults,
    progress: Progress | None,
    *,
    declares: bool = True,
    each_row: bool = False,
    any_size: bool = False,
    at: FilePlace | None = None,
) -> Iterator[bool]:
    """Add the rows of a file, and before them what the mapping declares; yields after each.

    The last is False where rows after it would look wrong.
    """
    rows, long = generic_rows(file, mapping, faults, each_row=each_row, any_size=any_size, at=at)
    if declares:
        declare(builder, mapping)
    for raw in counted_rows(rows, progress, after=0 if at is None else at.row):
        try:
            with builder.whole_row():
                item_row_add(builder, raw(), long)
        except ImportFileError as error:
            if raw.has_criteria and isinstance(faults, LeftOutRows):
                raise  # without the criteria every rubric after it would look wrong
            error.data = raw.raw.data
            faults.add(error)
            if raw.has_criteria:
                yield False
                return
        yield True


def declare(builder: BundleBuilder, mapping: TableMapping) -> None:
    """Add what the mapping declares for all rows, as a row of the file would."""
    if mapping.declared:
        item_row_add(builder, Row(Origin("mapping", 0), mapping.declared), long=False)


@dataclass(frozen=True, slots=True)
class GenericRow:
    """A row of the generic format, by the names that its file has; called, by those of the format."""

    raw: Row
    fields: Mapping[str, str]
    mapping: TableMapping
    own_names: bool = False

    @property
    def has_criteria(self) -> bool:
        return self.raw.data.get("criteria") is not None

    def __call__(self) -> Row:
        """Return the row with the names of the format; raises ImportFileError for one that it does not have."""
        if self.own_names and self.raw.data.keys() <= self.fields.keys():
            return own_named(self.raw)
        row = mapped(self.raw, self.fields, self.mapping)
        for name in row.data:
            if not COLUMNS.known(name):
                row.fail(name, f"unknown field{suggestion(name, COLUMNS.names)}.")
        return row


def generic_rows(
    file: Path,
    mapping: TableMapping | Mapping[str, str],
    faults: Faults,
    *,
    each_row: bool = False,
    any_size: bool = False,
    at: FilePlace | None = None,
) -> tuple[Iterator[GenericRow], bool]:
    """Return the rows of a file, read as they are asked for, and whether rows with the same texts are one item.

    Parameters
    ----------
    each_row, any_size, at
        As in `table_open`.
    """
    table = table_open(file, faults, COLUMNS.known, each_row=each_row, any_size=any_size, at=at)
    mapping = table_mapping(mapping)
    fields = columns_resolve(file, table, known=COLUMNS.known, names=COLUMNS.names, mapping=mapping)
    led_into = {column_of(name, table.header) for name in mapping.columns if name not in table.header}
    rows = table.rows(replace(COLUMNS, fields=fields, nested=led_into), faults)
    if file.suffix.lower() == ".csv" and set(EXPORTED) <= set(table.header):
        rows = map(unescaped, rows)
    own_names = are_own_names(fields, mapping)
    return (GenericRow(row, fields, mapping, own_names) for row in rows), has_label_rows(fields, mapping)


def item_row_add(builder: BundleBuilder, row: Row, long: bool) -> None:
    """Add a row of the generic format; with `long`, rows with the same texts are one item."""
    read_criteria(builder, row)
    categories = read_categories(builder, row)
    if set(row.data) <= set(DECLARATIONS):
        return
    kind = row.get("kind") or DEFAULT_KIND
    if kind == INSTRUCTIONS:
        _add_instruction(builder, row)
        return
    if not isinstance(kind, str) or kind not in KINDS:
        row.fail("kind", f"expected {one_of((*KINDS, INSTRUCTIONS))}, found {quoted(kind)}.")
    given = row.identifier("id") if "id" in row.data else None
    needs = KINDS[kind]
    least, most = needs.responses
    responses = read_responses(row, least)
    aspects = (
        step_aspects(row, needs, responses)
        or _read_aspects(row)
        or (categories if needs.parts_field == "categories" else [])
    )
    if needs.parts == "aspects" and not aspects:
        field = needs.parts_field or needs.parts
        row.fail(field, f"expected at least one {needs.part.lower()} for an item of kind {kind}, found none.")
    if needs.parts == "criteria" and not builder.criteria:
        row.fail(
            "criteria",
            "expected the rubric's criteria in this row or an earlier one, found none; "
            "declare them, or choose ready-made criteria.",
        )
    if len(responses) < least or (most is not None and len(responses) > most):
        wanted = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} or {most}"
        hint = "" if responses else f" A row without any is of kind {INSTRUCTIONS}."
        row.fail("responses", f"expected {wanted} for an item of kind {kind}, found {len(responses)}.{hint}")
    key = None if row.get("instruction_id") is None else row.identifier("instruction_id")
    instruction = _instruction(builder, row, key, aspects)
    read = _value_reader(builder, kind, len(responses), tuple(aspect[0] for aspect in aspects))
    gold = row.get("gold")
    keys = [
        builder.response(instruction, system=cell.system, text=cell.text, messages=cell.messages)
        for cell in responses
    ]
    external_id = given
    if external_id is None:
        # Of what is asked and nothing else, so that the same file names the same items however often it comes.
        external_id = content_key(kind, instruction, *keys)
        external_id = external_id if long else builder.free_id(external_id)
    builder.item(
        row,
        external_id=external_id,
        kind=kind,
        instruction=instruction,
        responses=keys,
        gold=None if gold is None else read(row, "gold", gold),
        metadata=row.mapping("metadata"),
        explanation=row.text("explanation"),
        again=long,
    )
    texts = [markable_of(cell.text, turns_of(cell.messages)) for cell in responses]
    for label in label_cells(row):
        builder.label(
            label.row,
            item=external_id,
            annotator=label.annotator,
            value=read(label.row, label.field, label.value),
            field=label.field,
            is_simulated=label.is_simulated,
            evidence=read_evidence(label.row, label.evidence, texts, read.rules),
        )
    for verdict in verdict_cells(row):
        _add_verdict(builder, verdict, external_id, read.rules)


def _value_reader(
    builder: BundleBuilder, kind: str, n_responses: int, aspects: tuple[str, ...]
) -> ValueReader:
    """What reads the values of an item; items with the same rules have one."""
    key = kind, n_responses, aspects, len(builder.criteria), builder.scheme.several
    known = builder.readers.get(key)
    if known is None:
        if len(builder.readers) >= MAX_KNOWN:
            builder.readers.clear()
        known = builder.readers[key] = ValueReader(
            ValueRules(
                kind,
                n_responses=n_responses,
                complete=False,
                both_bad=True,
                strengths=tuple(STRENGTHS),
                graded=True,
                response_sets=True,
                open_names=True,
                criteria=tuple(builder.criteria),
                aspects=aspects,
                several=builder.scheme.several,
                scales=builder.scales,
            )
        )
    return known


def _add_instruction(builder: BundleBuilder, row: Row) -> None:
    """Add an instruction without an item; `id` names it where there is no `instruction_id`."""
    for field in OF_ITEMS:
        if row.get(field) not in (None, "", [], ()):
            row.fail(
                field, f"expected none for kind {INSTRUCTIONS}: there is no item that it could belong to."
            )
    if read_responses(row, 0) or any(label_cells(row)) or any(verdict_cells(row)):
        row.fail("kind", f"expected no responses, labels or verdicts beside kind {INSTRUCTIONS}.")
    name = "id" if row.get("instruction_id") is None else "instruction_id"
    given = row.identifier(name) if name in row.data else None
    key = _instruction(builder, row, given, _read_aspects(row), metadata=row.mapping("metadata"))
    builder.instruction_alone(row, key=key, field=name, again=given is None)


def _instruction(
    builder: BundleBuilder,
    row: Row,
    key: str | None,
    aspects: Sequence[AspectFields],
    metadata: Mapping[str, Any] = EMPTY,
) -> str:
    """Add what is asked, and return its key."""
    return builder.instruction(
        row,
        text=row.text("instruction", required=True),
        context=row.text("context"),
        reference=row.text("reference") or None,
        category=row.text("category", limit=MAX_CATEGORY),
        subset=row.subset(),
        key=key,
        aspects=aspects,
        conversation=read_turns(row, "conversation", with_steps=False),
        metadata=metadata,
    )


def _add_verdict(builder: BundleBuilder, cell: VerdictCell, item: str, rules: ValueRules) -> None:
    scores = read_scores(cell.row, cell.scores, rules.n_responses)
    value: dict[str, Any] | None = None
    if cell.value is not None:
        value = read_value(cell.row, cell.field, cell.value, rules)
    elif cell.by_scores:
        value = read_scored(cell.row, scores, rules)
    if value is not None and (beside := [name for name in (DIMENSIONS, REASONS) if name in value]):
        cell.row.fail(f"{cell.field}.{beside[0]}", "expected it of labels alone: a judge gives one verdict.")
    if cell.probability is not None and "choice" not in (value or {}):
        cell.row.fail("probability", f"expected it of pairs alone; the item is of kind {rules.kind}.")
    probability = probability_given(cell.value) if cell.probability is None else cell.probability
    builder.verdict(
        cell.row,
        item=item,
        judge=cell.judge,
        order=cell.order,
        status="unparsed" if value is None else "parsed",
        value=value if scores is None else (value or {}) | {"scores": scores},
        field=cell.field,
        raw=cell.raw,
        model=cell.model,
        strategy=cell.strategy,
        details=EMPTY if probability is None else {"probability": probability},
    )


def _read_aspects(row: Row) -> list[AspectFields]:
    """Aspects as (key, text, parent, metadata); a parent comes before its children."""
    found: dict[str, AspectFields] = {}
    for position, data in enumerate(row.items("aspects")):
        aspect = row.within(f"aspects[{position}]", data)
        aspect.only(("key", "text", "parent", "metadata"))
        key = aspect.identifier("key", limit=MAX_ASPECT_KEY)
        if key in found:
            aspect.fail("key", f"expected a unique key, found {quoted(key)} twice.")
        parent = None if aspect.get("parent") is None else aspect.identifier("parent", limit=MAX_ASPECT_KEY)
        if parent is not None and parent not in found:
            aspect.fail("parent", f"expected the key of an aspect listed before it, found {quoted(parent)}.")
        found[key] = (key, aspect.text("text", required=True), parent, aspect.mapping("metadata"))
    return list(found.values())


def read_verdicts(
    path: str | Path, rules_by_item: Mapping[str, ValueRules], progress: Progress | None = None
) -> tuple[VerdictRecord, ...]:
    """Read a generic table of verdicts (JSONL, CSV or Parquet), one row a verdict.

    Parameters
    ----------
    rules_by_item : mapping
        The dataset's items by external id, with what decides which values are right.
    """
    file = Path(path)
    builder = BundleBuilder("generic")

    def add(row: Row) -> None:
        item = row.identifier("item")
        if item not in rules_by_item:
            row.fail("item", f"expected the id of an item of the dataset, found {quoted(item)}.")
        cell = verdict_cell(row, "verdict", _scores_of(row))
        _add_verdict(builder, cell, item, rules_by_item[item])

    faults = Faults()
    faults.each(counted_rows(table_rows(file, VERDICT_COLUMNS, faults), progress), add)
    faults.check()
    if not builder.verdicts:
        raise ImportFileError(file, None, None, "expected at least one verdict, found none.")
    return builder.verdicts


def _scores_of(row: Row) -> Any:
    """What a row says the judge gave each response: a list, or two columns of a pair; None where it doesn't."""
    pair = [row.get("score_1"), row.get("score_2")]
    has_pair = "score_1" in row.data and "score_2" in row.data
    if row.get("scores") is None:
        return pair if has_pair or pair != [None, None] else None
    if pair != [None, None]:
        row.fail("scores", "expected the scores once, found score_1 or score_2 too.")
    return row.get("scores")
