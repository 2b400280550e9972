"""A name means one thing: no two public classes of the apps share theirs."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("annotation", "judges", "metaeval", "web", "config")
# What a framework looks up by its name.
GIVEN = {"Command", "Migration", "Meta"}


def test_no_two_public_classes_have_one_name():
    homes: dict[str, list[str]] = defaultdict(list)
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(path.relative_to(ROOT).as_posix())
    shared = {name: found for name, found in homes.items() if len(found) > 1 and name not in GIVEN}
    assert not shared, shared
