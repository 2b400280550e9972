"""What a prompt may say: its language checked before it is saved, in words that name the place.

The language is that of `judges.strategies.prompts`. Which variables and flags a kind of item knows is read off the
project's own prompts of that kind, so that there is one list of them: the prompts themselves.
"""

import re
from dataclasses import dataclass
from functools import cache

from judges.strategies.prompts import load_prompt, prompt_names

_BRACES = re.compile(r"\{\{([#^/]?)(\s*)(\w*)(\s*)\}\}")
_SECTION = re.compile(r"^# (.*)$", re.MULTILINE)
_SECTIONS = ("system", "user")
_FENCE = re.compile(r"</?([A-Za-z_]\w*)>")
MARK = "mark"


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The variables and flags that a template names."""

    variables: frozenset[str]
    flags: frozenset[str]

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Both in alphabetical order."""
        return sorted(self.variables), sorted(self.flags)


@dataclass(frozen=True, slots=True)
class PromptProblems:
    """What is wrong with a template: with `errors` it cannot be used, `warnings` are to be looked at."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def prompt_parts(source: str) -> PromptParts:
    """Return the names that a template uses.

    >>> sorted(prompt_parts("{{#tie}}{{instruction}}{{/tie}}").flags)
    ['tie']
    """
    found = [(match[1], match[3]) for match in _BRACES.finditer(source)]
    return PromptParts(
        variables=frozenset(name for sign, name in found if not sign and name != MARK),
        flags=frozenset(name for sign, name in found if sign),
    )


@cache
def known_parts(kind: str) -> PromptParts:
    """Return all variables and flags of the project's prompts of a kind."""
    parts = [prompt_parts(load_prompt(name, kind).source) for name in prompt_names(kind)]
    return PromptParts(
        variables=frozenset().union(*(each.variables for each in parts)),
        flags=frozenset().union(*(each.flags for each in parts)),
    )


def prompt_check(kind: str, source: str, *, base: str = "") -> PromptProblems:
    """Check a template.

    Parameters
    ----------
    base : str
        The template that it was made from: what that names is sure to have a value.
    """
    known, own, usual = known_parts(kind), prompt_parts(source), prompt_parts(base)
    errors = [
        *_section_errors(source),
        *_block_errors(source),
        *(
            f"There is no variable {_braced(name)} for this kind of item."
            for name in sorted(own.variables - known.variables - usual.variables)
        ),
        *(
            f"There is no flag '{name}' for this kind of item."
            for name in sorted(own.flags - known.flags - usual.flags)
        ),
    ]
    warnings = [] if own.variables else ["The prompt has no variable, so the model would see no item."]
    if base:
        warnings += [
            f"The prompt that this was made from has no {_braced(name)}: check in the preview whether its strategy "
            "gives it a value."
            for name in sorted((own.variables & known.variables) - usual.variables)
        ]
        warnings += [
            f"{_braced(name)} is no longer used." for name in sorted(usual.variables - own.variables)
        ]
    warnings += [
        f"<{tag}> is a delimiter that a response can close: write <{tag}{_braced(MARK)}> and </{tag}{_braced(MARK)}>."
        for tag in sorted(set(_FENCE.findall(source)))
    ]
    return PromptProblems(tuple(errors), tuple(warnings))


def _braced(name: str) -> str:
    return f"{{{{{name}}}}}"


def _section_errors(source: str) -> list[str]:
    titles = [title.strip() for title in _SECTION.findall(source)]
    sections = [title for title in titles if title in _SECTIONS]
    errors = []
    if "user" not in sections:
        errors.append(
            "There is no section '# user': add a line with these words, and the message to the model below it."
        )
    elif source.lstrip("\ufeff\n\r ").partition("\n")[0].rstrip() not in {f"# {name}" for name in _SECTIONS}:
        errors.append(
            "The prompt must start with '# system' or '# user'; text before them would not be sent."
        )
    if "system" in sections[1:]:
        errors.append("'# system' must come first, and only once.")
    return errors


def _block_errors(source: str) -> list[str]:
    errors: list[str] = []
    open_blocks: list[tuple[str, int]] = []
    for match in _BRACES.finditer(source):
        sign, before, name, after = match.groups()
        line = source.count("\n", 0, match.start()) + 1
        if before or after or not name:
            errors.append(
                f"Line {line}: '{match[0]}' isn't a variable; write a name without spaces between the braces."
            )
        elif sign in ("#", "^"):
            if any(name == each for each, _ in open_blocks):
                errors.append(f"Line {line}: the block '{name}' is inside itself.")
            open_blocks.append((name, line))
        elif sign == "/":
            if not open_blocks:
                errors.append(f"Line {line}: {_braced('/' + name)} ends a block that wasn't started.")
            elif open_blocks[-1][0] != name:
                inner, begun = open_blocks.pop()
                errors.append(
                    f"Line {line}: {_braced('/' + name)} comes before the end of '{inner}', started in line {begun}."
                )
            else:
                open_blocks.pop()
    errors += [f"Line {line}: the block '{name}' has no end." for name, line in open_blocks]
    stripped = _BRACES.sub("", source)
    if "{{" in stripped or "}}" in stripped:
        place = min(at for at in (stripped.find("{{"), stripped.find("}}")) if at >= 0)
        errors.append(
            f"Line {stripped.count(chr(10), 0, place) + 1}: braces that are neither a variable nor a block."
        )
    return errors
