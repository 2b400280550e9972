"""JSON that follows a schema, filled deterministically."""

import re
from typing import Any

from judges.backends.mock_models import fraction_of

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
        if order := _order(schema, root, path):
            return order
        n = max(int(schema.get("minItems", 0)), 0 if depth >= MAX_DEPTH else 1)
        n = min(n, int(schema.get("maxItems", n)))
        return [_fill(schema.get("items", {}), root, (*path, i), liking, depth + 1) for i in range(n)]
    if kind in {"integer", "number"}:
        return _number(schema, path, liking, whole=kind == "integer")
    if kind == "boolean":
        return fraction_of(*path) < 0.3 + 0.6 * liking
    if kind == "null":
        return None
    return f"A mock text, number {int(fraction_of(*path) * 1e6)}."


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
    if names and all(_resolved(properties[name], root).get("enum", [None])[0] == 0 for name in names):
        return _tree(names, path)
    return {name: _fill(properties[name], root, (*path, name), liking, depth + 1) for name in names}


def _order(schema: dict[str, Any], root: dict[str, Any], path: tuple[object, ...]) -> list[Any]:
    """Return each of n numbers once, alone or in a place of its own, where n places are to be filled with them."""
    items = _resolved(schema.get("items", {}), root)
    shared = items.get("type") == "array"
    numbers = (_resolved(items.get("items", {}), root) if shared else items).get("enum")
    if (
        not numbers
        or schema.get("maxItems") != len(numbers)
        or not all(type(each) is int for each in numbers)
    ):
        return []
    order = sorted(numbers, key=lambda each: fraction_of(*path, each))
    return [[each] for each in order] if shared else order


def _tree(names: list[str], path: tuple[object, ...]) -> dict[str, int]:
    """Return for each number an earlier one that it depends on, or 0."""
    return {name: int(fraction_of(*path, name) * place) for place, name in enumerate(names, start=1)}


def _one_of(options: list[Any], path: tuple[object, ...], liking: float) -> Any:
    numbers = [each for each in options if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) > 1:  # "not applicable" may stand beside them
        return sorted(numbers)[round(_spread(path, liking) * (len(numbers) - 1))]
    # What stands first is what is hoped for: yes, true, the better one.
    return options[0] if fraction_of(*path) < 0.3 + 0.6 * liking else options[1 % len(options)]


def _number(schema: dict[str, Any], path: tuple[object, ...], liking: float, *, whole: bool) -> float:
    low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", 10))
    value = low + (high - low) * _spread(path, liking)
    return round(value) if whole else round(value, 3)


def _spread(path: tuple[object, ...], liking: float) -> float:
    return min(max(liking + 0.5 * (fraction_of(*path) - 0.5), 0.0), 1.0)


def described_schema(tail: str, listed: str) -> dict[str, Any]:
    """Return the schema of the JSON object that a prompt describes in words.

    Parameters
    ----------
    tail : str
        The words, with an example such as ``{"1": ..., "2": ...}`` or ``{"ranking": [...]}``.
    listed : str
        The criteria with their options, where there are some: they say which numbers may be given.
    """
    count = re.search(r"\ball (\d+)\b", tail)
    if count and '"ranking"' in tail:
        number = {"type": "integer", "enum": list(range(1, int(count[1]) + 1))}
        place = {"type": "array", "items": number} if "[[" in tail else number
        return {"properties": {"ranking": {"type": "array", "items": place, "maxItems": int(count[1])}}}
    names = list(dict.fromkeys(re.findall(r'"([^"\n]+)": \.\.\.', tail)))
    if "or 0 if it is a root" in " ".join(tail.split()):
        return {"properties": {name: {"enum": [0]} for name in names}}
    numbers = [int(each) for each in re.findall(r"^\W*(\d+)\b", listed, re.MULTILINE)] or [1, 5]
    each: dict[str, Any] = {"enum": list(range(min(numbers), max(numbers) + 1))}
    if '"yes"' in tail:
        each = {"enum": ["yes", "no"]}
    properties: dict[str, Any] = dict.fromkeys(names, each)
    if '"ratings"' in tail:
        return {"properties": {"reasons": {"type": "string"}, "ratings": {"properties": properties}}}
    if '"reasons": "...",' in tail:
        return {"properties": {"reasons": {"type": "string"}, **_after_reasons(tail, each)}}
    return {"properties": properties}


def _after_reasons(tail: str, number: dict[str, Any]) -> dict[str, Any]:
    """Return the properties behind the reasons, of a prompt such as ``{"reasons": "...", "verdict": "A" or "B"}``."""
    rest = tail.partition('"reasons": "...",')[2].partition("}")[0]
    found = {}
    for name, words in re.findall(r'"(\w+)": ("[^"\n]+"(?:(?:, | or )"[^"\n]+")*|the number)', rest):
        found[name] = {"enum": re.findall(r'"([^"\n]+)"', words)} if words[0] == '"' else number
    return found


def nested_tree(listed: str, *seed: object) -> dict[str, Any]:
    """Return a tree of numbered requirements below their instruction, which is level 0."""
    texts = re.findall(r"^\d+\. (.+)$", listed, re.MULTILINE)
    top: dict[str, Any] = {"level": 0, "children": []}
    nodes = [top]
    for text in texts:
        above = nodes[int(fraction_of(*seed, text) * len(nodes))]
        node = {"aspect": text, "level": above["level"] + 1, "children": []}
        above["children"].append(node)
        nodes.append(node)
    return top
