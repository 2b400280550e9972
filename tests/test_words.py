"""How the interface speaks: none of the home-made words, metaphors and formats of numbers that it once had.

Read are the texts of templates, the sentences in scripts, and the strings of Python that are no docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.cases import over

ROOT = Path(__file__).parents[1]
PHRASES = """
people among themselves|two people say the same|agreement, leave one out|best reachable|same verdict in both orders
prefers the first shown|told apart|judges that need no model|would be chosen|what is asked of|decides nothing
may it replace a person|people won over|what would settle it|flatter\\w*|put aside|same again|no rho
drfr minus the target|how this was computed|labels to take away|a dataset offered to people under rules
what it will take|patience|what answers|holding the model to a choice|weights are public|let loose|let them loose
what is needed now and then|slots? given back|given back|set aside|sets? aside|the doors of|way in
leave this one out|why do you leave it out|somebody else gets it|i cannot tell what is asked
tells something private|the one before|the next one|undo the last one|what you rank comes here
onto another is a tie|if you wish|is sent by itself|does not answer just now|is free for others meanwhile
cannot go on afterwards|answer below, or go on|that answer stands|give it to whoever invited you
we do not know you|please answer as it is|dock|desk|minder|doors?|take away|won over|hang on|lying
go on|leave it out|is the judge to use|which is chance|little luck|more than chance explains
alone satisfies the constraints
""".replace("\n", "|").strip("|")
LATER = """
somebody|everybody|whoever|in force|is like that|keeps the books|the floor|floor to beat|anchors stand still
comes? in from|came in|has come in|who brings|taken anew|drawn anew|computed anew|freed of|handed in|latest word
most people|least per hour|here already|goes on|any more|judges without a model|ask again for the
""".replace("\n", "|").strip("|")
FORBIDDEN = re.compile(rf"(?<![\w-])(?:{PHRASES})(?![\w-])", re.IGNORECASE)
FORBIDDEN_TOO = re.compile(rf"(?<![\w-])(?:{LATER})(?![\w-])", re.IGNORECASE)
BRITISH = re.compile(
    r"\b(?:un)?labell(?:ed|ing)\b|\b(?:favour|colour|behaviour|neighbour)|\bprioritis|\b(?:summ|norm)(?:ar|al)is[ei]"
    r"|\b(?:recogn|organ|pseudonym|standard|regular|token|real|optim|minim)is(?:e|ed|es|ing|ation)\b|\blicences?\b",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d\s%(?![\w(])|\}\}\s%(?!\w)")
"""A space before a percent sign."""
_HIDDEN = re.compile(r"\{#.*?#\}|\{%\s*comment.*?endcomment\s*%\}|<!--.*?-->|\{%.*?%\}", re.DOTALL)
_SHOWN = re.compile(
    r'\b(?:title|placeholder|aria-label|data-confirm[\w-]*|data-announce|data-key-label|alt)="([^"]*)"'
)
_INCLUDED = re.compile(r'\b(?:label|note|title|text|words|button|how|why)="([^"{}]*)"')
_VARIABLE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SCRIPT_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`")
_SENTENCE = re.compile(r"[A-Z][^ ]* [a-z]|[a-z]+ [a-z]+ [a-z]+")


def template_texts(source: str) -> Iterator[str]:
    """What is on the page, and what is said of it to a screen reader; a text for each line."""
    yield from (text for tag in re.findall(r"\{% include.*?%\}", source) for text in _INCLUDED.findall(tag))
    shown = _VARIABLE.sub("{{ }}", _HIDDEN.sub("", source))
    yield from _SHOWN.findall(shown)
    yield from (text for line in _TAG.sub("\n", shown).split("\n") if (text := line.strip()))


def script_texts(source: str) -> Iterator[str]:
    for double, template in _SCRIPT_STRING.findall(re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)):
        if _SENTENCE.match(double or template):
            yield double or template


def python_texts(source: str) -> Iterator[str]:
    """Strings with several words, in one piece with what is put into them; docstrings apart."""
    tree = ast.parse(source)
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs: set[int] = set()
    for node in ast.walk(tree):  # what holds a docstring comes before it
        if isinstance(node, owners):
            docs.update(id(each.value) for each in node.body if isinstance(each, ast.Expr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from [node.value] if " " in node.value.strip() else []


READ = {".html": template_texts, ".txt": template_texts, ".js": script_texts, ".py": python_texts}
FOLDERS = ("templates", "static/js", "annotation", "judges", "web", "metaeval", "config")


def files() -> list[str]:
    found = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in READ)
    names = sorted(file.relative_to(ROOT).as_posix() for file in found)
    return [name for name in names if "/migrations/" not in name and "metaeval/stats/" not in name]


@over(files())
def test_no_word_that_was_replaced_comes_back(name: str) -> None:
    path = ROOT / name
    texts = READ[path.suffix](path.read_text())
    patterns = (FORBIDDEN, FORBIDDEN_TOO, BRITISH, NUMBER)
    found = [text for text in texts if any(pattern.search(text) for pattern in patterns)]
    assert not found, "\n".join(found)


# Where the words have their ordinary meaning: "the next one", "go on working", "a way in which", "leave it out" of a
# mean; and definitions, which say in words what a term means.
ORDINARY = {
    "go on",
    "the next one",
    "way in",
    "leave it out",
    "same verdict in both orders",
    "would be chosen",
    "told apart",
    "most people",
}
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|\$[^$\n]*\$", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
)


@over(PAGES)
def test_the_documentation_speaks_the_same_language(name: str) -> None:
    lines = _CODE.sub("", (ROOT / name).read_text(encoding="utf-8")).split("\n")
    found = [line for line in lines if NUMBER.search(line) or BRITISH.search(line)]
    for pattern in (FORBIDDEN, FORBIDDEN_TOO):
        found += [line for line in lines if {match[0].lower() for match in pattern.finditer(line)} - ORDINARY]
    assert not found, "\n".join(found)


def test_each_reader_finds_what_is_read() -> None:
    assert [*template_texts('<p title="Go on">The doors of {{ door }}{# dock #}</p>')] == [
        "Go on",
        "The doors of {{ }}",
    ]
    assert [*script_texts('// "Go on with it"\nsay("Told apart by it", `Leave it out`, ".dock b")')] == [
        "Told apart by it",
        "Leave it out",
    ]
    assert [*python_texts('"""Go on."""\nx = "told apart"\n')] == ["told apart"]
