"""A name means one thing: no two public classes of the apps share theirs, and no two public functions."""

import ast
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("annotation", "judges", "metaeval", "web", "config")
# What a framework looks up by its name.
GIVEN = {"Command", "Migration", "Meta"}
DEFINING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# What starts a process.
PROGRAMS = {"main"}
# Pages are known by their address, filters and tags by what templates call them.
ADDRESSED = ("views", "api", "templatetags")


@lru_cache(maxsize=1)
def definitions() -> list[tuple[type[ast.stmt], str, str]]:
    """What each module defines at its top under a public name: of which kind, the name, the module."""
    found: list[tuple[type[ast.stmt], str, str]] = []
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, DEFINING) and not node.name.startswith("_"):
                    found.append((type(node), node.name, path.relative_to(ROOT).as_posix()))
    return found


def homes_of(*kinds: type[ast.stmt]) -> dict[str, list[str]]:
    """The modules that define each public name at their top."""
    homes: dict[str, list[str]] = defaultdict(list)
    for kind, name, module in definitions():
        if kind in kinds:
            homes[name].append(module)
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
