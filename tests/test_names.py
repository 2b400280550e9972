"""A name means one thing: no two public classes of the apps share theirs, and no two public functions."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("annotation", "judges", "metaeval", "web", "config")
# What a framework looks up by its name.
GIVEN = {"Command", "Migration", "Meta"}
# What starts a process.
PROGRAMS = {"main"}
# Pages are known by their address, filters and tags by what templates call them.
ADDRESSED = ("views", "api", "templatetags")


def homes_of(*kinds: type[ast.stmt]) -> dict[str, list[str]]:
    """The modules that define each public name at their top."""
    homes: dict[str, list[str]] = defaultdict(list)
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, kinds) and not node.name.startswith("_"):  # type: ignore[attr-defined]
                    homes[node.name].append(path.relative_to(ROOT).as_posix())
    return homes


def test_no_two_public_classes_have_one_name():
    homes = homes_of(ast.ClassDef)
    shared = {name: found for name, found in homes.items() if len(found) > 1 and name not in GIVEN}
    assert not shared, shared


def test_no_two_public_functions_have_one_name():
    homes = homes_of(ast.FunctionDef, ast.AsyncFunctionDef)
    named = {
        name: [path for path in found if not set(ADDRESSED) & set(Path(path).parts)]
        for name, found in homes.items()
    }
    shared = {name: found for name, found in named.items() if len(found) > 1 and name not in PROGRAMS}
    assert not shared, shared


def test_an_entry_point_is_no_door():
    homes = homes_of(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    assert not [name for name in homes if "door" in name.casefold()]
