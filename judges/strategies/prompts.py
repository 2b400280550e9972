"""Prompts in files: loaded once, compiled, rendered in a single pass.

A prompt is a Markdown file ``judges/prompts/<kind>/<name>.v<version>.md`` with the sections ``# system`` (may
be missing) and ``# user``. In it

``{{name}}``
    is replaced by a value, once: what a value contains is never looked at again, so a response that holds
    ``{{reference}}`` stays as it is.
``{{#flag}} ... {{/flag}}`` and ``{{^flag}} ... {{/flag}}``
    keep their text if the flag is set, or is not. Flags do not nest in themselves.

The variable ``{{mark}}`` belongs in the tags that fence a text off, as in ``<output_a{{mark}}>``. It is
empty, unless a value contains something that looks like one of the prompt's tags; then it is a hash of the
values, so that a response cannot close its own fence and speak as the judge's instructions.

A prompt that has judged is never edited: a change is a new version in a new file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from annotation.kinds.values import DEFAULT_KIND
from judges.strategies.errors import UnknownStrategyError

PROMPTS = Path(__file__).resolve().parent.parent / "prompts"

_NAME = re.compile(r"[a-z][a-z0-9_]*\.v[1-9][0-9]*\Z")
_SECTION = re.compile(r"^# (system|user)\n", re.MULTILINE)
_BLOCK = re.compile(r"\{\{([#^])(\w+)\}\}\n?(.*?)\{\{/\2\}\}\n?", re.DOTALL)
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
_TAG = re.compile(r"</?(\w+)\{\{mark\}\}>")

Message: TypeAlias = tuple[str, str]
"""(role, content); roles are "system", "user" and "assistant"."""

_Compiled = tuple[tuple[str, str, tuple[str, ...]], ...]
"""Of each section its role, its text with ``%s`` in place of each variable, and the variables' names."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt.

    Attributes
    ----------
    name : str
        Such as ``"vanilla.v1"``.
    sha : str
        SHA-256 (64 hex digits) of the template text: the prompt's fingerprint.
    """

    name: str
    source: str = field(repr=False)
    sha: str

    def render(self, values: Mapping[str, str], flags: frozenset[str] = frozenset()) -> tuple[Message, ...]:
        """Return the messages, with every variable replaced by its value in one pass.

        Parameters
        ----------
        values : mapping of str to str
            Must hold every variable that the chosen flags leave in the template.
        flags : frozenset of str
            The conditional blocks to keep.

        Raises
        ------
        KeyError
            A variable has no value.
        """
        fence, sections = _compile(self.source, flags)
        mark = ""
        if fence is not None and _finds(fence, values.values()):
            digest = sha256("\x00".join(values.values()).encode("utf-8", "surrogatepass"))
            mark = "_" + digest.hexdigest()[:12]
        filled = {**values, "mark": mark}
        return tuple(
            [(role, text % tuple([filled[name] for name in names])) for role, text, names in sections]
        )


def _finds(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    for text in texts:  # noqa: SIM110 (a generator costs as much as the look)
        if "<" in text and pattern.search(text):
            return True
    return False


@lru_cache(maxsize=256)
def _compile(source: str, flags: frozenset[str]) -> tuple[re.Pattern[str] | None, _Compiled]:
    text = _resolve(source, flags)
    tags = sorted(set(_TAG.findall(text)))
    fence = re.compile(rf"<\s*/?\s*(?:{'|'.join(tags)})", re.IGNORECASE) if tags else None
    parts = _SECTION.split(text)
    sections = tuple(
        (role, *_with_places(_VARIABLE.split(body.strip())))
        for role, body in zip(parts[1::2], parts[2::2], strict=True)
    )
    return fence, sections


def _with_places(pieces: list[str]) -> tuple[str, tuple[str, ...]]:
    # Literal text at even places, names of variables at odd ones, as re.split leaves them.
    return "%s".join(piece.replace("%", "%%") for piece in pieces[::2]), tuple(pieces[1::2])


def _resolve(text: str, flags: frozenset[str]) -> str:
    def choose(match: re.Match[str]) -> str:
        sign, flag, body = match.groups()
        return _resolve(body, flags) if (flag in flags) == (sign == "#") else ""

    return _BLOCK.sub(choose, text)


def prompt_fingerprint(source: str) -> str:
    """Return the SHA-256 (64 hex digits) of a prompt's template text."""
    return sha256(source.encode("utf-8")).hexdigest()


@cache
def load_prompt(name: str, kind: str = DEFAULT_KIND) -> Prompt:
    """Load the prompt `name`, such as ``"vanilla.v1"``.

    Raises
    ------
    UnknownStrategyError
        There is no such prompt; the message lists those there are.
    """
    path = PROMPTS / kind / f"{name}.md"
    # The name may come from a form: it must not lead out of the folder.
    if not _NAME.match(name) or not path.is_file():
        known = ", ".join(prompt_names(kind))
        raise UnknownStrategyError(f"There is no {kind} prompt '{name}'. Known prompts: {known}.")
    source = path.read_text(encoding="utf-8")
    return Prompt(name=name, source=source, sha=prompt_fingerprint(source))


def prompt_names(kind: str = DEFAULT_KIND) -> tuple[str, ...]:
    """Return the names of the prompts of a kind, sorted."""
    return tuple(sorted(path.name.removesuffix(".md") for path in (PROMPTS / kind).glob("*.v*.md")))
