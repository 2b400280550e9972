"""Reading an aspect tree out of a model's JSON, and saying what is wrong with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from judges.strategies.structured import NAMING, TWICE, closed, number_in

Edge = tuple[str, str]
"""An aspect and the one it depends on, which is empty for a root: numbers as text, or what stood in their place."""

_WRAPPERS = ("tree", "parents", "roots", "aspects", "nodes")
_CHILDREN = ("children", "subaspects", "dependents")
_ROOT = frozenset({"", "0", "root", "none", "null"})
CONFLICT = "two different parents"
NO_TREE = "holds no tree"


def tree_schema(count: int) -> dict[str, Any]:
    """Return a JSON schema of ``{"1": 0, "2": 1}``: for each number the one it depends on, 0 for a root."""
    numbers = range(1, count + 1)
    return closed(
        {
            str(number): {"type": "integer", "enum": [0, *(other for other in numbers if other != number)]}
            for number in numbers
        }
    )


def read_tree(
    found: object, numbers: Mapping[str, str] = MappingProxyType({}), *, below_instruction: bool = False
) -> list[Edge]:
    """Return the edges of a tree: from ``{"2": 1}``, or from nodes with their children inside or their parent beside.

    Parameters
    ----------
    numbers : mapping of str to str
        As `structured.numbers_of` returns it: nodes may be named by the texts of the aspects.
    below_instruction : bool
        At the top stands the instruction on level 0, whatever it is called there: its children are the roots.

    >>> read_tree({"1": 0, "2": "1"})
    [('1', ''), ('2', '1')]
    >>> read_tree({"tree": [{"aspect": 1, "children": [2, {"aspect": 3}]}]})
    [('1', ''), ('2', '1'), ('3', '1')]
    >>> read_tree({"instruction": "Write.", "level": 0, "children": [{"aspect": 1}]}, below_instruction=True)
    [('1', '')]
    >>> read_tree({"aspect_question": "A poem?", "children": [{"aspect_question": 2}]}, {"a_poem": "1"})
    [('1', ''), ('2', '1')]
    """
    if below_instruction:
        found = _below_instruction(found, numbers)
    while isinstance(found, Mapping) and len(found) == 1:
        name, inner = next(iter(found.items()))
        if name not in _WRAPPERS or not isinstance(inner, Mapping | list):
            break
        found = inner
    if isinstance(found, Mapping) and not _is_node(found):
        return [(number_in(child, numbers), _parent(parent, numbers)) for child, parent in found.items()]
    return _nodes(found if isinstance(found, list) else [found], numbers)


def _below_instruction(found: object, numbers: Mapping[str, str]) -> object:
    """Return the children of the node that stands for the instruction, which is no aspect."""
    while isinstance(found, list | Mapping) and len(found) == 1:
        inner = found[0] if isinstance(found, list) else next(iter(found.values()))
        if not isinstance(inner, list | Mapping):
            break
        found = inner
    if not isinstance(found, Mapping):
        return found
    own = next((number_in(found[name], numbers) for name in NAMING if name in found), "")
    children = next((found[name] for name in _CHILDREN if isinstance(found.get(name), list)), None)
    return found if children is None or own in numbers.values() else children


def tree_problem(edges: Sequence[Edge], names: Mapping[str, str]) -> str:
    """Return what keeps the edges from being a tree of all aspects; empty when nothing does.

    Parameters
    ----------
    names : mapping of str to str
        Each aspect's number, and what to call it.

    >>> tree_problem([("1", "2"), ("2", "1")], {"1": "form", "2": "length"})
    'cycle form -> length -> form'
    >>> tree_problem([("1", "")], {"1": "form", "2": "length"})
    'missing aspect length'
    """
    if not edges:
        return NO_TREE
    counted = Counter(child for child, _ in edges)
    problems = [f"missing aspect {name}" for number, name in names.items() if number not in counted]
    problems += [
        f"aspect {names.get(child, child)} stands twice" for child, count in counted.items() if count > 1
    ]
    problems += [f"unknown aspect {child or '(empty)'}" for child in counted if child not in names]
    for child, parent in edges:
        if parent == CONFLICT:
            problems.append(f"aspect {names.get(child, child)} has {CONFLICT}")
        elif parent and parent not in names:
            problems.append(f"aspect {names.get(child, child)} depends on {parent}, which is no aspect")
    if problems:
        return "; ".join(problems)
    # Takes seconds to import, and most judges need none of it.
    from metaeval.stats import InvalidInputError, aspect_levels

    try:
        aspect_levels({names[child]: parent and names[parent] for child, parent in edges})
    except InvalidInputError as error:
        return str(error).removeprefix("parents: ")
    return ""


def _is_node(value: Mapping[str, Any]) -> bool:
    return any(name in value for name in NAMING)


def _nodes(found: Sequence[object], numbers: Mapping[str, str]) -> list[Edge]:
    edges: list[Edge] = []
    waiting: list[tuple[object, str]] = [(node, "") for node in reversed(found)]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, Mapping):
            number = next((number_in(node[name], numbers) for name in NAMING if name in node), "")
            parent = _parent(node["parent"], numbers) if "parent" in node else above
            children: list[object] = next(
                (node[name] for name in _CHILDREN if isinstance(node.get(name), list)), []
            )
            waiting += [(child, number) for child in reversed(children)]
        else:
            number, parent = number_in(node, numbers), above
        edges.append((number, parent))
    return edges


def _parent(raw: object, numbers: Mapping[str, str]) -> str:
    if raw is TWICE:
        return CONFLICT
    number = "" if raw is None else number_in(raw, numbers)
    return "" if number in _ROOT else number
