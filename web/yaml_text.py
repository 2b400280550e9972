"""YAML from a file that somebody wrote: plain values, and no more of them than its text promises."""

from typing import Any

import yaml

MOST_VALUES = 100_000
"""Once every alias is written out. Nine lines of aliases of aliases would stand for a billion."""
MOST_DIGITS = 1_000
"""Of a whole number, however it is written: Python writes out none of more than 4,300."""
_WHOLE = "tag:yaml.org,2002:int"


class YamlError(Exception):
    """Not YAML, or more than can be read. Says where."""


def yaml_read(text: str) -> Any:
    """Return the values of a document.

    Raises
    ------
    YamlError
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _size(node, {})
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"not YAML ({' '.join(str(error).split())[:500]}).") from None


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for. Raises ValueError for one that holds itself, or for too many."""
    if not isinstance(node, yaml.CollectionNode):
        if node.tag == _WHOLE and len(node.value) > MOST_DIGITS:
            raise ValueError(f"line {node.start_mark.line + 1}: a whole number of {len(node.value):,} digits")
        return 1
    size = known.get(id(node))
    if size is None:
        known[id(node)] = 0  # being counted: met again, it is inside of itself
        parts = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
        size = known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    line = node.start_mark.line + 1
    if size == 0:
        raise ValueError(f"line {line}: an alias of what it is part of")
    if size > MOST_VALUES:
        raise ValueError(f"line {line}: more than {MOST_VALUES:,} values once aliases are written out")
    return size
