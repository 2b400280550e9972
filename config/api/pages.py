"""The schema as its page shows it: operations by resource, with what they take and answer."""

import json
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

Schema = dict[str, Any]
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field or a parameter."""

    name: str
    kind: str
    required: bool
    words: SafeString


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One method at one address."""

    anchor: str
    method: str
    path: str
    summary: str
    words: SafeString
    scope: str
    parameters: list[FieldRow]
    body: list[FieldRow]
    answer: list[FieldRow]
    statuses: list[tuple[str, str]]
    example: str
    answered: str


def operations_listed(schema: Schema) -> list[tuple[str, list[OperationRow]]]:
    """The operations by tag, in the order of the schema."""
    tags: dict[str, list[OperationRow]] = {}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            tags.setdefault(operation["tags"][0], []).append(_operation(schema, path, method, operation))
    return list(tags.items())


def _operation(schema: Schema, path: str, method: str, operation: Schema) -> OperationRow:
    words, _, scope = operation.get("description", "").partition("\n\nScope: ")
    parameters = [
        FieldRow(
            one["name"],
            _kind(schema, one["schema"]),
            one.get("required", False),
            with_code(one.get("description", "")),
        )
        for one in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    answers = [
        (status, answer.get("content", {}).get("application/json", {}).get("schema"))
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    shown: Schema = next((found for _, found in answers if found), {})
    examples = [one["value"] for one in body.get("examples", {}).values()]
    return OperationRow(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"].replace("`", ""),
        with_code(words),
        scope.strip("`."),
        parameters,
        _fields(schema, body.get("schema", {})),
        _fields(schema, shown),
        [(status, answer["description"]) for status, answer in operation["responses"].items()],
        json.dumps(examples[0], indent=2) if examples else "",
        next(
            (
                json.dumps(found, indent=2)
                for found in map(_answered, operation["responses"].values())
                if found
            ),
            "",
        ),
    )


def with_code(words: str) -> SafeString:
    """What stands between backticks as code."""
    parts = words.split("`")
    shown = ((format_html("<code>{}</code>", part) if k % 2 else part,) for k, part in enumerate(parts))
    return format_html_join("", "{}", shown)


def _answered(answer: Schema) -> Any:
    media = answer.get("content", {}).get("application/json", {})
    return next((one["value"] for one in media.get("examples", {}).values()), None)


def _resolved(schema: Schema, part: Schema) -> Schema:
    while "$ref" in part:
        part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    if len(part.get("allOf", ())) == 1:
        return _resolved(schema, part["allOf"][0])
    return part


def _fields(schema: Schema, part: Schema, prefix: str = "", depth: int = 0) -> list[FieldRow]:
    part = _resolved(schema, part)
    if part.get("type") == "array":
        return _fields(schema, part["items"], prefix, depth)
    rows: list[FieldRow] = []
    for name, field in part.get("properties", {}).items():
        whole = _resolved(schema, field)
        words = field.get("description", "") or whole.get("description", "")
        is_required = name in part.get("required", ())
        rows.append(FieldRow(prefix + name, _kind(schema, field), is_required, with_code(words)))
        inner = _resolved(schema, whole.get("items", {})) if whole.get("type") == "array" else whole
        if "properties" in inner and depth < DEEPEST:
            dots = f"{prefix}{name}{'[]' if inner is not whole else ''}."
            rows += _fields(schema, inner, dots, depth + 1)
    return rows


def _kind(schema: Schema, field: Schema) -> str:
    part = _resolved(schema, field)
    if choices := part.get("enum"):
        return " | ".join(str(choice) for choice in choices if choice not in ("", None))
    if options := part.get("oneOf") or part.get("anyOf"):
        return " | ".join(dict.fromkeys(_kind(schema, one) for one in options))
    kind = part.get("type", "any")
    if kind == "array":
        return f"list of {_kind(schema, part.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(part.get("format", kind))
