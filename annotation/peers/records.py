"""What the files of other annotation tools have in common: an item as flat fields of the generic format, and back."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.build import BundleBuilder
from annotation.importers.columns import mapped_by_name
from annotation.importers.errors import Faults
from annotation.importers.files import parse_json
from annotation.importers.generic import COLUMNS, declare, item_row_add
from annotation.importers.mapping import TableMapping
from annotation.importers.records import EMPTY, DatasetBundle
from annotation.importers.rows import Row
from annotation.importers.tables import json_rows
from annotation.kinds.reasonable import KEY as REASONABLE
from annotation.kinds.reasonable import PREFIX
from annotation.kinds.rubric import rating_typed
from annotation.peers.items import PeerItem

JSON_FIELDS = ("gold", "aspects", "metadata", "conversation", "responses", "criteria", "categories")
"""Fields that are JSON text in files whose fields hold text alone."""


def fields_of_item(item: PeerItem, declared: Mapping[str, object] = EMPTY) -> dict[str, str]:
    """The fields of an item as text, with what the file declares in it; what is empty is left out."""
    found: dict[str, Any] = {
        "id": item.id, "kind": item.kind, "category": item.category, "subset": item.subset,
        "instruction": item.instruction, "instruction_id": item.instruction_id, "context": item.context,
        "reference": item.reference, "explanation": item.explanation, "conversation": list(item.conversation),
        "gold": item.gold, "aspects": list(item.aspects), "metadata": item.metadata, **declared,
    }  # fmt: skip
    if any("messages" in one for one in item.responses):
        found["responses"] = list(item.responses)
    else:
        for number, one in enumerate(item.responses, start=1):
            found |= {f"response_{number}": one["text"], f"system_{number}": one["system"]}
    return {
        name: json.dumps(value, ensure_ascii=False) if name in JSON_FIELDS else str(value)
        for name, value in found.items()
        if value or (name.startswith("response_") and value == "")
    }


def row_of_fields(
    row: Row,
    data: Mapping[str, Any],
    labels: list[dict[str, Any]],
    mapping: TableMapping | None = None,
) -> Row:
    """A row of the generic format from fields and labels; fields of other names are left out, or are mapped."""
    given = Row(row.origin, data)
    if mapping is not None:
        given = mapped_by_name(given, mapping, COLUMNS.known)
    known = json_fields(given)
    fields = {name: value for name, value in known.items() if COLUMNS.known(name) and value not in (None, "")}
    for name in known:
        if name.startswith("response_") and COLUMNS.known(name):
            fields[name] = known[name] or ""
    return Row(row.origin, fields | ({"labels": labels} if labels else {}), named=given.named)


def json_fields(row: Row) -> dict[str, Any]:
    """The fields of a row, with values where `JSON_FIELDS` hold text."""
    fields = dict(row.data)
    for name in JSON_FIELDS:
        if fields.get(name) and isinstance(fields[name], str):
            fields[name] = parse_json(fields[name], row.origin.file, row.origin.row, name)
    return fields


def bundle_of_rows(
    path: Path, source: str, read: Callable[[Row], Row], mapping: TableMapping | None = None
) -> DatasetBundle:
    """A bundle of the objects of a JSON list, each read by `read` into a row of the generic format."""
    builder, faults = BundleBuilder(f"{source}: {path.name}"), Faults()
    if mapping is not None:
        declare(builder, mapping)

    def add(row: Row) -> None:
        item_row_add(builder, read(row), False)

    faults.each(json_rows(path, faults), add)
    faults.check()
    return builder.finish(path)


def set_questions(value: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The response sets of a label, as questions of several choices: one, or of a rubric one for each criterion."""
    sets = value.get(REASONABLE) or {}
    for name, answers in sets.items() if isinstance(sets, Mapping) else [("", sets)]:
        yield f"{PREFIX}{name}" if name else REASONABLE, [str(one) for one in answers]


def add_set(value: dict[str, Any], row: Row, question: str, answers: list[Any]) -> None:
    """Add what `set_questions` wrote of one question; the answers of a criterion are ratings."""
    if question == REASONABLE:
        value[REASONABLE] = answers
        return
    sets = value.setdefault(REASONABLE, {})
    if not isinstance(sets, dict):
        row.fail(
            "value",
            f"expected one response set, or one for each criterion, found {REASONABLE} and {question}.",
        )
    ratings = [rating_typed(one) if isinstance(one, str) else one for one in answers]
    sets[question.removeprefix(PREFIX)] = ratings


def json_list(objects: Iterable[object]) -> Iterator[bytes]:
    """A JSON list, an object a line."""
    encode = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    before = "[\n"
    for one in objects:
        yield f"{before}{encode(one)}".encode()
        before = ",\n"
    yield b"[]\n" if before == "[\n" else b"\n]\n"
