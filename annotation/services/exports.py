"""Labels as a table, streamed so that memory does not grow with the study.

`docs/exports.md` says what each column means. Annotators are pseudonyms unless the caller asks otherwise, and the
caller is who checks that it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from annotation.domain.pseudonyms import pseudonym
from annotation.domain.scales import NOT_APPLICABLE, Scale
from annotation.kinds import KINDS, kind_of, kinds_with
from annotation.kinds.dimensions import Dimension, said_on
from annotation.kinds.grades import grade_of
from annotation.kinds.reasonable import KEY
from annotation.kinds.reasons import reason_words, reasons_in
from annotation.models import Adjudication, Aspect, Criterion, ItemResponse, Study
from annotation.models.work import LabelQuerySet
from annotation.selectors.dimensions import dimensions_asked
from web.batches import batched
from web.tables import ColumnType, ExportTable, TableColumn

CHUNK = 1_000
EMPTY: Mapping[str, Sequence[Scale]] = MappingProxyType({})
MADE = ""


class _Read(NamedTuple):
    """A column, and where it is read from: a path of fields, or that `_row` makes it."""

    column: TableColumn
    source: str


def _read(name: str, type: ColumnType, source: str, about: str) -> _Read:
    return _Read(TableColumn(name, type, about), source)


_READ = (
    _read("label_id", "integer", "pk", "Number of the label on this site; later labels have larger ones."),
    _read("study", "text", "study__slug", "Slug of the study; empty for an imported label."),
    _read("dataset", "text", "item__dataset__name", "Name of the dataset."),
    _read("item", "text", "item__external_id", "Identifier of the item in the dataset."),
    _read(
        "item_version",
        "integer",
        "item__since_version",
        "Version of the dataset that brought the item as it was labeled.",
    ),
    _read(
        "replaced_in",
        "integer",
        "item__until_version",
        "Version that changed or removed the item; empty: it is as it was labeled.",
    ),
    _read(
        "instruction",
        "text",
        "item__instruction__external_id",
        "Identifier of the instruction. Items of one instruction are not independent.",
    ),
    _read("category", "text", "item__instruction__category", "Category of the instruction."),
    _read("subset", "text", "item__instruction__subset", "Subset of the instruction, a path."),
    _read("kind", "text", "kind", "Kind of the item."),
    _read("annotator", "text", MADE, "Pseudonym of the annotator, another one in each study."),
    _read("is_simulated", "boolean", "annotator__is_simulated", "True: a simulation, not a person."),
    _read("value", "json", "value", "The label, in the canonical order of the responses."),
    _read("choice", "integer", "choice", "Of a pair: 1 or 2 = this response is better, 0 = tie."),
    _read("strength", "text", MADE, "Of a preference: slightly, better or much, where the study asks."),
    _read(
        "grade",
        "number",
        MADE,
        "Of a pair: how much better the first response is, 3 (much) to -3 (the second is much better).",
    ),
    _read("both_bad", "boolean", MADE, "Of a tie: both responses are bad, where the study allows it."),
    _read(
        "reasonable",
        "json",
        MADE,
        "Every answer that the annotator finds reasonable, of a rubric by criterion, where the study asks.",
    ),
    _read(
        "dimensions",
        "json",
        MADE,
        "Of a pair: the answer on each other dimension by its key, in the form of value, where the study asks.",
    ),
    _read("reasons", "texts", MADE, "Keys of the reasons that were picked, where the study offers some."),
    _read("reason_words", "texts", MADE, "Their words."),
    _read("chosen_system", "text", MADE, "System that wrote the preferred response; empty for a tie."),
    _read("systems", "texts", MADE, "Systems that wrote the responses, in canonical order."),
    _read(
        "evidence",
        "json",
        "evidence",
        "Passages that the annotator marked as reasons: response (1 is the first), start and end in code points of its "
        "text, quote, reason, and part of a criterion or question. Empty where the study doesn't ask.",
    ),
    _read("comment", "text", "comment", "The annotator's comment."),
    _read("pasted_chars", "integer", "pasted_chars", "Characters of the comment that were pasted."),
    _read("adjudicated", "json", MADE, "An expert's decision on the item, in the form of value."),
    _read("shown_order", "integers", "shown_order", "Positions in the order shown: [1, 0] is swapped."),
    _read("guidelines_version", "integer", "guidelines_version", "Version of the guidelines at that time."),
    _read("active_ms", "integer", "active_ms", "Milliseconds with the page visible and in use."),
    _read("wall_ms", "integer", "wall_ms", "Milliseconds from the assignment to the answer."),
    _read(
        "probability", "number", "probability", "Probability with which the item was sampled for labeling."
    ),
    _read("created_at", "time", MADE, "When the label was given, in UTC."),
    _read(
        "role",
        "text",
        "role",
        "work; check: a hidden check; repeat: an item that the annotator answered before.",
    ),
    _read("check_score", "number", "check_score", "Of a hidden check: how right the answer was, 0 to 1."),
    _read("superseded", "boolean", MADE, "A later label of the same annotator replaces it."),
    _read("is_surplus", "boolean", "is_surplus", "Came when the item had all of its labels."),
    _read("is_set_aside", "boolean", "is_set_aside", "Excluded."),
)
_IDENTITY = (
    _read("annotator_source", "text", "annotator__source", "Platform that the annotator comes from."),
    _read("annotator_external_id", "text", "annotator__external_id", "The annotator's ID on the platform."),
    _read("source", "text", "source", "File and row of an imported label."),
)
COLUMNS = tuple(each.column.name for each in _READ)
ALL_SOURCES = {each.column.name: each.source for each in _READ + _IDENTITY}
# What the other columns are made of.
MADE_OF = (
    *("item_id", "item__instruction_id", "item__dataset_id", "study_id"),
    *("annotator__public_id", "created_at", "superseded_by"),
)
# Of the shape with a row a part: after what identifies the label.
_PARTS = (
    TableColumn("part", "text", "Key of the criterion or aspect, or position of the answer."),
    TableColumn("part_text", "text", "Its text."),
    TableColumn("part_system", "text", "System that wrote the answer."),
    TableColumn("part_value", "json", "The rating, rank or answer."),
)
PART_COLUMNS = tuple(column.name for column in _PARTS)
SHAPES = ("labels", "parts")
RATING = "rating."
NOT_APPLICABLE_COLUMN = f"{NOT_APPLICABLE}."
DIMENSION = "dimension."
DIMENSION_GRADE = "dimension_grade."
NO_DIMENSIONS: Mapping[str, Dimension] = MappingProxyType({})


def label_columns(
    *,
    identify: bool,
    shape: str = "labels",
    criteria: Mapping[str, Sequence[Scale]] = EMPTY,
    dimensions: Mapping[str, Dimension] = NO_DIMENSIONS,
) -> tuple[TableColumn, ...]:
    """The columns of an export. A rubric has one a criterion, `rating.KEY`, and `not_applicable.KEY` where that is an
    answer; pairs have two for each other dimension, `dimension.KEY` and `dimension_grade.KEY`; the shape `parts` a row
    a part instead.
    """
    rated = tuple(column for key, scales in criteria.items() for column in _rating_columns(key, scales))
    rated += tuple(column for each in dimensions.values() for column in _dimension_columns(each))
    at = COLUMNS.index("value") + 1
    plain = tuple(each.column for each in _READ)
    identity = tuple(each.column for each in _IDENTITY) if identify else ()
    return plain[:at] + (_PARTS if shape == "parts" else rated) + plain[at:] + identity


def labels_table(
    labels: LabelQuerySet, *, history: bool = False, identify: bool = False, shape: str = "labels"
) -> ExportTable:
    """Labels as a table; the options as of `label_rows`. `ValueError` for another shape."""
    if shape not in SHAPES:
        raise ValueError(f"shape: expected {' or '.join(SHAPES)}, got {shape!r}")
    criteria, dimensions = _own_columns(labels, shape)
    columns = label_columns(identify=identify, shape=shape, criteria=criteria, dimensions=dimensions)
    names = [column.name for column in columns]
    rows = label_rows(labels, history=history, identify=identify, shape=shape)
    return ExportTable(columns, ([row[name] for name in names] for row in rows))


def _rating_columns(key: str, scales: Sequence[Scale]) -> Iterator[TableColumn]:
    listed = " or ".join(dict.fromkeys(map(str, scales)))
    yield TableColumn(f"{RATING}{key}", "integer", f"Rating by this criterion, {listed}.")
    if any(scale.not_applicable for scale in scales):
        words = "Whether the annotator says that this criterion does not apply."
        yield TableColumn(f"{NOT_APPLICABLE_COLUMN}{key}", "boolean", words)


def _dimension_columns(dimension: Dimension) -> Iterator[TableColumn]:
    name = dimension.name
    yield TableColumn(
        f"{DIMENSION}{dimension.key}",
        "integer",
        f"Choice on {name}: 1 or 2 = this response is better, 0 = tie.",
    )
    yield TableColumn(
        f"{DIMENSION_GRADE}{dimension.key}",
        "number",
        f"On {name}: how much better the first response is, 3 (much) to -3, where the study asks.",
    )


def _own_columns(
    labels: LabelQuerySet, shape: str
) -> tuple[Mapping[str, Sequence[Scale]], Mapping[str, Dimension]]:
    """What only some labels have a column for."""
    return (criteria_of(labels), dimensions_asked(labels)) if shape == "labels" else (EMPTY, NO_DIMENSIONS)


def criteria_of(labels: LabelQuerySet) -> dict[str, list[Scale]]:
    """The criteria that rubric labels among these may have, in the order of their rubrics, with their scales: of labels
    on several datasets one key may have several.
    """
    datasets = labels.filter(kind__in=kinds_with("criteria")).order_by().values("item__dataset")
    found: dict[str, list[Scale]] = {}
    for row in Criterion.objects.filter(dataset__in=datasets).order_by("position", "key"):
        found.setdefault(row.key, []).append(row.rated_on.numbers)
    return found


def label_rows(
    labels: LabelQuerySet, *, history: bool = False, identify: bool = False, shape: str = "labels"
) -> Iterator[dict[str, Any]]:
    """One dictionary a label (or a part of it) with the columns of `label_columns`, in the order of the items' source.

    Parameters
    ----------
    labels : queryset
        Which labels; the caller has filtered it by what may be seen.
    history : bool
        Also what does not count: superseded, surplus and set aside labels, hidden checks and repeats.
    identify : bool
        Also where an annotator comes from and their identifier there.
    shape : {"labels", "parts"}
        A row a label, or a row a rating, rank or answer in it.

    Notes
    -----
    One server-side cursor, and a few further queries for every 1,000 labels, for what belongs to their items.
    """
    criteria, dimensions = _own_columns(labels, shape)
    own = label_columns(identify=identify, criteria=criteria, dimensions=dimensions)
    columns = [column.name for column in own]
    chosen = labels if history else labels.current()
    rows = (
        chosen.order_by("item__dataset_id", "item__position", "item_id", "pk")
        .values(*filter(None, ALL_SOURCES.values()), *MADE_OF)
        .iterator(chunk_size=CHUNK)
    )
    for chunk in batched(rows, CHUNK):
        about = _About.of(chunk, parts=shape == "parts")
        for read in chunk:
            row = _row(read, about, columns)
            yield from _parts(row, read, about) if shape == "parts" else [row]


@dataclass(frozen=True, slots=True)
class _About:
    """What a chunk's labels need beside themselves."""

    systems: dict[int, list[str]]  # of an item's responses, in canonical order
    adjudicated: dict[tuple[int, int], Any]  # by study and item
    texts: dict[tuple[int, str], str]  # of criteria and aspects, by dataset or instruction, and key
    studies: dict[int, Study]  # that ask for more than an answer

    @classmethod
    def of(cls, chunk: list[dict[str, Any]], *, parts: bool) -> _About:
        return cls(_systems(chunk), _adjudicated(chunk), _part_texts(chunk) if parts else {}, _asking(chunk))


def _systems(chunk: list[dict[str, Any]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    links = ItemResponse.objects.filter(item__in={read["item_id"] for read in chunk})
    for item_id, system in links.order_by("item_id", "position").values_list("item_id", "response__system"):
        found.setdefault(item_id, []).append(system)
    return found


def _adjudicated(chunk: list[dict[str, Any]]) -> dict[tuple[int, int], Any]:
    studies = {read["study_id"] for read in chunk if read["study_id"]}
    if not studies:
        return {}
    standing = Adjudication.objects.filter(
        study__in=studies, item__in={read["item_id"] for read in chunk}, superseded_by=None
    )
    return {
        (study, item): value for study, item, value in standing.values_list("study_id", "item_id", "value")
    }


def _asking(chunk: list[dict[str, Any]]) -> dict[int, Study]:
    asks = {
        read["study_id"] for read in chunk if said_on(read["value"]) or reasons_in(read["value"]) is not None
    }
    return Study.objects.only("dimensions", "reasons").in_bulk(asks - {None}) if asks else {}


def _part_texts(chunk: list[dict[str, Any]]) -> dict[tuple[int, str], str]:
    texts: dict[tuple[int, str], str] = {}
    parts = {kind.name: kind.parts for kind in KINDS.values()}
    if datasets := {read["item__dataset_id"] for read in chunk if parts[read["kind"]] == "criteria"}:
        criteria = Criterion.objects.filter(dataset__in=datasets).values_list("dataset_id", "key", "question")
        texts |= {(dataset, key): question for dataset, key, question in criteria}
    if instructions := {read["item__instruction_id"] for read in chunk if parts[read["kind"]] == "aspects"}:
        aspects = Aspect.objects.filter(instruction__in=instructions).values_list(
            "instruction_id", "key", "text"
        )
        texts |= {(instruction, key): text for instruction, key, text in aspects}
    return texts


def _row(read: Mapping[str, Any], about: _About, columns: Sequence[str]) -> dict[str, Any]:
    choice, value = read["choice"], read["value"]
    study, reasons = about.studies.get(read["study_id"]), reasons_in(value)
    systems = about.systems.get(read["item_id"], [])
    name = pseudonym(read["annotator__public_id"], study=read["study_id"], dataset=read["item__dataset_id"])
    made = {
        "annotator": str(name),
        "strength": value.get("strength"),
        "grade": grade_of(value) if choice is not None else None,
        "both_bad": value.get("both_bad", False) if choice is not None else None,
        "reasonable": value.get(KEY),
        "dimensions": dict(said_on(value)) or None,
        "reasons": reasons,
        "reason_words": None
        if reasons is None
        else reason_words(reasons, study.reasons_offered if study else ()),
        "chosen_system": systems[choice - 1] if choice and len(systems) >= choice else None,
        "systems": systems,
        "adjudicated": about.adjudicated.get((read["study_id"], read["item_id"])),
        "created_at": utc_text(read["created_at"]),
        "superseded": read["superseded_by"] is not None,
    }
    ratings = value.get("ratings", {})
    others = said_on(value)
    for column in columns:
        key = column.partition(".")[2]
        said = ratings.get(key)
        if column.startswith(DIMENSION):
            made[column] = others[key]["choice"] if key in others else None
        elif column.startswith(DIMENSION_GRADE):
            made[column] = grade_of(others[key]) if key in others else None
        if column.startswith(RATING):
            made[column] = None if said == NOT_APPLICABLE else said
        elif column.startswith(NOT_APPLICABLE_COLUMN):
            made[column] = None if said is None else said == NOT_APPLICABLE
    return {column: made[column] if column in made else read[ALL_SOURCES[column]] for column in columns}


def utc_text(moment: datetime) -> str:
    """A time as files have it: `2026-11-22T14:05:00Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parts(row: dict[str, Any], read: Mapping[str, Any], about: _About) -> Iterator[dict[str, Any]]:
    """A row each rating, rank or answer; where there are no parts, one, with the choice or the value."""
    kind = kind_of(read["kind"])
    owners = {"criteria": read["item__dataset_id"], "aspects": read["item__instruction_id"]}
    study = about.studies.get(read["study_id"])
    names = {each.part: each.name for each in study.dimensions_asked} if study else {}
    for key, said in kind.said_of_parts(read["value"]).items():
        text = about.texts.get((owners.get(kind.parts, 0), key), "") or names.get(key, "")
        system = row["chosen_system"]
        if key and kind.column == "choice":
            system = row["systems"][said - 1] if said and len(row["systems"]) >= said else None
        if kind.parts == "responses":
            system = row["systems"][int(key)] if int(key) < len(row["systems"]) else None
        yield row | dict(zip(PART_COLUMNS, (key, text, system, said), strict=True))
