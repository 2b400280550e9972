"""What differs by kind of item lives in `annotation/kinds`; how often anything else names a kind can only fall."""

import ast
import re
from collections import Counter
from pathlib import Path

from annotation.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent
APPS = ("annotation", "judges", "metaeval", "config", "web")
LIMITS = {"metaeval": 13, "elsewhere": 12}

NAMES = frozenset(KINDS)
CONSTANTS = frozenset(name.upper() for name in NAMES)
TAG = re.compile(r"{%.*?%}")
WORD = re.compile(rf"\b({'|'.join(NAMES)})\b")
# What a file has to say somewhere to name a kind; most do not, and are not parsed.
ANY_NAME = re.compile("|".join((*NAMES, *CONSTANTS, "DEFAULT_KIND")))


def _names_a_kind(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in NAMES
    if isinstance(node, ast.Attribute):
        return node.attr in CONSTANTS
    return isinstance(node, ast.Name) and node.id in CONSTANTS and isinstance(node.ctx, ast.Load)


def _places_of(tree: ast.AST) -> int:
    """A table keyed by kinds is one place, a comparison is one, and so is any other line that names a kind."""
    within: set[ast.AST] = set()
    count = 0
    for node in ast.walk(tree):
        keys = node.keys if isinstance(node, ast.Dict) else [node] if isinstance(node, ast.Compare) else []
        named = {each for key in keys if key is not None for each in ast.walk(key) if _names_a_kind(each)}
        default = isinstance(node, ast.Compare) and "DEFAULT_KIND" in ast.unparse(node)
        count += bool(named - within) or default
        within |= {each for one in named for each in ast.walk(one)}
    return count + len({node.lineno for node in ast.walk(tree) if node not in within and _names_a_kind(node)})


def places() -> Counter[str]:
    """By file, the places outside of `annotation/kinds` that name a kind. Statistics of arrays know no kinds: there
    "pairwise" is a way to leave out what is missing. A table of a paper is of the kind that the paper is about, and
    files of other tools have words of their own.
    """
    found: Counter[str] = Counter()
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if (
                name.startswith(
                    (
                        *("annotation/kinds/", "annotation/peers/", "metaeval/stats/", "metaeval/papers/"),
                        "annotation/importers/healthbench.py",
                        "annotation/views/screens.py",  # an example of each
                        "judges/services/published_files.py",
                    )
                )
                or "/migrations/" in name
            ):
                continue
            source = path.read_text(encoding="utf-8")
            if ANY_NAME.search(source):
                found[name] += _places_of(ast.parse(source))
    for path in (ROOT / "templates").rglob("*.html"):
        for line in path.read_text(encoding="utf-8").splitlines():
            tags = [tag for tag in TAG.findall(line) if "kind" in tag and re.search(r"\b(if|elif)\b", tag)]
            found[path.relative_to(ROOT).as_posix()] += any(WORD.search(tag) for tag in tags)
            found[path.relative_to(ROOT).as_posix()] += any(
                WORD.search(t) for t in re.findall(r"kind:[\w|]+", line)
            )
    return +found


def test_hardly_anything_asks_which_kind_an_item_is():
    found = places()
    by_part: Counter[str] = Counter()
    for name, n in found.items():
        by_part["metaeval" if name.startswith(("metaeval/", "templates/metaeval/")) else "elsewhere"] += n
    listed = "\n".join(f"{n:4} {name}" for name, n in found.most_common())
    above = {part: n for part, n in by_part.items() if n > LIMITS[part]}
    assert not above, f"{above} places name a kind; ask `kind_of(name)` instead:\n{listed}"
