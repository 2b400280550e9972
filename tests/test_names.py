"""A name means one thing: no two public classes of the apps share theirs, and no two public functions."""

import re
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("annotation", "judges", "metaeval", "web", "config")
# What a framework looks up by its name.
GIVEN = {"Command", "Migration", "Meta"}
# What starts a process.
PROGRAMS = {"main"}
# Pages are known by their address, filters and tags by what templates call them.
ADDRESSED = ("views", "api", "templatetags")


# At the top of a module: to parse them all takes seconds.
DEFINITION = re.compile(r"^(class|def|async def) ([A-Za-z]\w*)", re.MULTILINE)


@lru_cache(maxsize=1)
def definitions() -> list[tuple[str, str, str]]:
    """What each module defines at its top under a public name: by which word, the name, the module."""
    return [
        (word, name, path.relative_to(ROOT).as_posix())
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
        for word, name in DEFINITION.findall(path.read_text(encoding="utf-8"))
    ]


def homes_of(*words: str) -> dict[str, list[str]]:
    """The modules that define each public name at their top."""
    homes: dict[str, list[str]] = defaultdict(list)
    for word, name, module in definitions():
        if word in words:
            homes[name].append(module)
    return homes


def test_no_two_public_classes_have_one_name():
    homes = homes_of("class")
    shared = {name: found for name, found in homes.items() if len(found) > 1 and name not in GIVEN}
    assert not shared, shared


def test_no_two_public_functions_have_one_name():
    homes = homes_of("def", "async def")
    named = {
        name: [path for path in found if not set(ADDRESSED) & set(Path(path).parts)]
        for name, found in homes.items()
    }
    shared = {name: found for name, found in named.items() if len(found) > 1 and name not in PROGRAMS}
    assert not shared, shared


def test_an_entry_point_is_no_door():
    homes = homes_of("class", "def", "async def")
    assert not [name for name in homes if "door" in name.casefold()]
