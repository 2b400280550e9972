"""Catalogs of translations: gettext's .po files read and written, and compiled to the .mo files that are loaded.

Only what our files have: no obsolete messages, no previous sources. GNU gettext isn't needed. The formats are those of
the GNU gettext manual ("The Format of PO Files", "The Format of GNU MO Files").
"""

import ast
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MAGIC = 0x950412DE
_CONTEXT = "\x04"
_WIDTH = 100
FUZZY = "fuzzy"


class CatalogError(ValueError):
    """A .po file can't be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its English, and its translation in as many forms as the language has plurals.

    Attributes
    ----------
    source, plural : str
        The English; `plural` is empty for a message without a number.
    context : str
        Tells messages apart that are the same in English.
    forms : tuple of str
        One, or one for each plural form; empty ones aren't translated yet.
    notes, places, flags : tuple of str
        Comments for translators, the files it is in, and what gettext knows of it (``python-format``).
    """

    source: str
    plural: str = ""
    context: str = ""
    forms: tuple[str, ...] = ("",)
    notes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What a catalog has only once: messages with and without a plural share their translation's key."""
        return self.context, self.source

    @property
    def is_translated(self) -> bool:
        return all(self.forms) and FUZZY not in self.flags


@dataclass(frozen=True, slots=True)
class Catalog:
    """The messages of one language; `header` are the lines of its first entry, by name."""

    header: dict[str, str] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()

    @property
    def n_forms(self) -> int:
        """How many plural forms the language has."""
        start = self.header.get("Plural-Forms", "nplurals=2").partition("nplurals=")[2]
        return int(start.partition(";")[0])


def catalog_path(folder: Path, code: str, domain: str, suffix: str = "po") -> Path:
    """Where the catalog of a language is: ``locale/zh_Hans/LC_MESSAGES/django.po``."""
    language, _, script = code.partition("-")
    return (
        folder
        / (f"{language}_{script.title()}" if script else language)
        / "LC_MESSAGES"
        / f"{domain}.{suffix}"
    )


def catalog_of(path: Path) -> Catalog:
    """Read a .po file."""
    messages: list[Message] = []
    header: dict[str, str] = {}
    for entry in _entries(path):
        if entry.source:
            messages.append(entry)
        else:
            lines = (line.partition(": ") for line in entry.forms[0].splitlines())
            header = {name: value for name, _, value in lines}
    return Catalog(header, tuple(messages))


def _entries(path: Path) -> Iterator[Message]:
    for number, block in _blocks(path.read_text(encoding="utf-8")):
        try:
            yield _entry(block)
        except (ValueError, SyntaxError, KeyError) as error:
            raise CatalogError(f"{path}, line {number}: {error}") from error


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _entry(block: Iterable[str]) -> Message:
    texts: dict[str, str] = {}
    comments: dict[str, list[str]] = {"#.": [], "#:": [], "#,": []}
    last = ""
    for line in block:
        if line.startswith("#"):
            comments.get(line[:2], []).append(line[2:].strip())
        elif line.startswith('"'):
            texts[last] += ast.literal_eval(line)
        else:
            last, _, quoted = line.partition(" ")
            texts[last] = ast.literal_eval(quoted)
    indexed = sorted((name for name in texts if name.startswith("msgstr[")), key=lambda name: int(name[7:-1]))
    return Message(
        texts["msgid"],
        texts.get("msgid_plural", ""),
        texts.get("msgctxt", ""),
        tuple(texts[name] for name in indexed) if indexed else (texts["msgstr"],),
        tuple(comments["#."]),
        tuple(" ".join(comments["#:"]).split()),
        tuple(flag.strip() for line in comments["#,"] for flag in line.split(",")),
    )


def catalog_text(catalog: Catalog) -> str:
    """A catalog as a .po file."""
    header = "".join(f"{name}: {value}\n" for name, value in catalog.header.items())
    return "\n".join(_message_text(each) for each in (Message("", forms=(header,)), *catalog.messages))


def _message_text(message: Message) -> str:
    lines = [f"#. {note}" for note in message.notes]
    lines += [f"#: {place}" for place in message.places]
    lines += [f"#, {', '.join(message.flags)}"] if message.flags else []
    lines += [f"msgctxt {_quoted(message.context)}"] if message.context else []
    lines += [f"msgid {_quoted(message.source)}"]
    if message.plural:
        lines += [f"msgid_plural {_quoted(message.plural)}"]
        lines += [f"msgstr[{place}] {_quoted(form)}" for place, form in enumerate(message.forms)]
    else:
        lines += [f"msgstr {_quoted(message.forms[0])}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    def one(part: str) -> str:
        escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'

    if len(text) <= _WIDTH and "\n" not in text[:-1]:
        return one(text)
    pieces = [piece for line in text.splitlines(keepends=True) for piece in _wrapped(line)]
    return "\n".join(['""', *map(one, pieces)])


def _wrapped(line: str) -> Iterator[str]:
    piece = ""
    for word in line.split(" "):
        if piece and len(piece) + len(word) > _WIDTH:
            yield piece
            piece = ""
        piece += f"{word} "
    yield piece[:-1]


def catalog_compiled(catalog: Catalog) -> bytes:
    """A catalog as a .mo file: what is translated, sorted, so that the same catalog is the same bytes."""
    header = "".join(f"{name}: {value}\n" for name, value in catalog.header.items())
    pairs = {"": header}
    for one in catalog.messages:
        if one.is_translated:
            source = f"{one.source}\0{one.plural}" if one.plural else one.source
            pairs[f"{one.context}{_CONTEXT}{source}" if one.context else source] = "\0".join(one.forms)
    encoded = sorted((key.encode(), text.encode()) for key, text in pairs.items())
    keys = b"".join(key + b"\0" for key, _ in encoded)
    start = 28 + 16 * len(encoded)
    sources, texts = [], []
    at_key, at_text = start, start + len(keys)
    for key, words in encoded:
        sources += [len(key), at_key]
        texts += [len(words), at_text]
        at_key += len(key) + 1
        at_text += len(words) + 1
    head = struct.pack("<7I", _MAGIC, 0, len(encoded), 28, 28 + 8 * len(encoded), 0, start)
    tables = struct.pack(f"<{4 * len(encoded)}I", *sources, *texts)
    return head + tables + keys + b"".join(words + b"\0" for _, words in encoded)
