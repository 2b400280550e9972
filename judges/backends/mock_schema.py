"""JSON that follows a schema, filled deterministically."""

from __future__ import annotations

from typing import Any

from judges.backends.mock_models import draw

MAX_DEPTH = 6
"""Beyond it, what may be empty is left empty: a schema may contain itself."""


def fill(schema: dict[str, Any], *seed: object, liking: float = 0.5) -> Any:
    """Return a value that follows the schema.

    Parameters
    ----------
    seed : values
        What the value depends on, beside the schema.
    liking : float
        In [0, 1]: where numbers lie between their bounds, and how likely what is asked is found to be so.
    """
    return _fill(schema, schema, (*seed,), liking, 0)


def _fill(
    schema: dict[str, Any], root: dict[str, Any], path: tuple[object, ...], liking: float, depth: int
) -> Any:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if options := schema.get("enum"):
        return _one_of(list(options), path, liking)
    kind = schema.get("type")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        return _object(schema, root, path, liking, depth)
    if kind == "array":
        n = max(int(schema.get("minItems", 0)), 0 if depth >= MAX_DEPTH else 1)
        n = min(n, int(schema.get("maxItems", n)))
        return [_fill(schema.get("items", {}), root, (*path, i), liking, depth + 1) for i in range(n)]
    if kind in {"integer", "number"}:
        return _number(schema, path, liking, whole=kind == "integer")
    if kind == "boolean":
        return draw(*path) < 0.3 + 0.6 * liking
    if kind == "null":
        return None
    return f"A mock text, number {int(draw(*path) * 1e6)}."


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    for _ in range(MAX_DEPTH):
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            schema = options[0]
        elif "$ref" in schema:
            target: Any = root
            for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
                target = target.get(part, {}) if part else target
            schema = target
        else:
            break
    return schema


def _object(
    schema: dict[str, Any], root: dict[str, Any], path: tuple[object, ...], liking: float, depth: int
) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    required = schema.get("required", list(properties))
    names = [name for name in properties if name in required or depth < MAX_DEPTH]
    if ranks := _ranks(properties, names, root, path):
        return ranks
    return {name: _fill(properties[name], root, (*path, name), liking, depth + 1) for name in names}


def _ranks(
    properties: dict[str, Any], names: list[str], root: dict[str, Any], path: tuple[object, ...]
) -> dict[str, int]:
    """Return the places 1 to n where each of n names is to get one of them; empty if that is not what is asked."""
    places = list(range(1, len(names) + 1))
    if len(names) < 2:
        return {}
    for name in names:
        each = _resolved(properties[name], root)
        bounds = each.get("enum") or [each.get("minimum"), each.get("maximum")]
        if (bounds[0], bounds[-1]) != (1, len(names)):
            return {}
    order = sorted(names, key=lambda name: draw(*path, name))
    given = dict(zip(order, places, strict=True))
    return {name: given[name] for name in names}


def _one_of(options: list[Any], path: tuple[object, ...], liking: float) -> Any:
    numbers = [each for each in options if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) == len(options):
        return sorted(numbers)[round(_spread(path, liking) * (len(numbers) - 1))]
    # What stands first is what is hoped for: yes, true, the better one.
    return options[0] if draw(*path) < 0.3 + 0.6 * liking else options[1 % len(options)]


def _number(schema: dict[str, Any], path: tuple[object, ...], liking: float, *, whole: bool) -> float:
    low, high = schema.get("minimum", 0), schema.get("maximum", 10)
    value = low + (high - low) * _spread(path, liking)
    return round(value) if whole else round(value, 3)


def _spread(path: tuple[object, ...], liking: float) -> float:
    return min(max(liking + 0.5 * (draw(*path) - 0.5), 0.0), 1.0)
