"""Tests come in by the front: they neither patch nor import nor call what a module keeps to itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OURS = ("annotation", "bench", "config", "judges", "metaeval", "tests", "web")
PATCHING = {"setattr", "delattr", "patch", "object"}
# An import of a private name, a use of one, or one in a string that may be patched; other files are not parsed.
MAYBE = re.compile(
    r"""import .*\b_[a-zA-Z]|^\s+_\w+,?$|\w\._(?!_|meta\b|default_manager\b)|["'.]_(?!_)\w+["']""",
    re.MULTILINE,
)


def is_private(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.startswith("_") and not last.startswith("__")


def private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where a private name of another module is patched, imported or used, and which."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            for one in node.names:
                if is_private(one.name):
                    yield node.lineno, one.name
                modules.add(one.asname or one.name)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in modules and is_private(name):
                if name not in ("_meta", "_default_manager"):  # which Django documents
                    yield node.lineno, f"{owner}.{name}"
            case ast.Call(func=ast.Attribute(attr=called), args=args) if called in PATCHING:
                for one in args[:2]:
                    if isinstance(one, ast.Constant) and isinstance(one.value, str) and is_private(one.value):
                        yield node.lineno, one.value


@pytest.mark.parametrize(
    "line",
    [
        "from judges.tasks import _shared",
        "from judges.tasks import (\n    _shared,\n)",
        "from judges import tasks\ntasks._shared = 1",
        "monkeypatch.setattr(thing, '_step', None)",
        "monkeypatch.setattr('judges.tasks._shared', None)",
        "mock.patch.object(thing, '_step')",
    ],
)
def test_it_is_seen(line: str):
    assert MAYBE.search(line)
    assert list(private_names(ast.parse(line)))


def test_no_test_reaches_for_a_private_name():
    found = [
        f"{path.relative_to(HERE)}:{line}: {name}"
        for path in sorted(HERE.rglob("*.py"))
        if MAYBE.search(source := path.read_text(encoding="utf-8"))
        for line, name in private_names(ast.parse(source))
    ]
    assert not found, "\n".join(found)
