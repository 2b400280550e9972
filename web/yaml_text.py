"""YAML from a file that somebody wrote: plain values, and no more of them than its text promises."""

import re
from typing import Any

import yaml

MOST_VALUES = 100_000
"""Once every alias is written out. Nine lines of aliases of aliases would stand for a billion."""
MOST_DIGITS = 250
"""Of a whole number, however it is written: a floating-point number holds none of more than 308."""
MOST_LEVELS = 100
"""Of lists and objects in each other. Deeper ones take the parser seconds before it runs out of stack."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What no database and no file holds; YAML writes it as an escape."""
_WHOLE = "tag:yaml.org,2002:int"


class YamlError(Exception):
    """Not YAML, or more than can be read. Says where."""


class _Loader(yaml.SafeLoader):
    """Stops at a list or an object too deep, as soon as it begins."""

    def _level(self) -> None:
        if self.flow_level + len(self.indents) > MOST_LEVELS:
            line = self.get_mark().line + 1
            raise ValueError(
                f"line {line}: more than {MOST_LEVELS} levels of lists and objects in each other"
            )

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803  (the name in PyYAML)
        super().fetch_flow_collection_start(TokenClass)
        self._level()

    def add_indent(self, column: int) -> bool:
        added: bool = super().add_indent(column)
        self._level()
        return added


def yaml_read(text: str) -> Any:
    """Return the values of a document.

    Raises
    ------
    YamlError
    """
    try:
        loader = _Loader(text)
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
        if isinstance(node.value, str) and _UNSTORABLE.search(node.value):
            raise ValueError(f"line {node.start_mark.line + 1}: the character NUL, or half a surrogate pair")
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
