"""How the one answer of an exported judge is read: a regular expression for each thing that it may say.

The expressions are written so that Python, JavaScript and RE2 read them alike: no flags, no lookarounds. They are
narrower than our own readers: where one of them finds a label, our readers find the same one, and an answer in another
form than the prompt asks for is no verdict at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from judges.exports.errors import ExportRefusedError

_NO_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({})
_DRESS = r"[\s*_`\"']*"
_END = rf"(?:\*\*)?\.?{_DRESS}$"
_BESIDE = r"[ \t*_]*"

ALONE, LINE, JSON, DOUBLE, RESULT = "alone", "line", "json", "double", "result"
"""Where the label stands: alone, on the last line, in JSON, in ``[[ ]]``, behind ``[RESULT]``."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an answer may say, and where.

    Attributes
    ----------
    labels : tuple of str
        "A", "B" and perhaps "tie"; "yes", "no" and perhaps "cannot tell"; or whole numbers.
    form : {"alone", "line", "json", "double", "result"}
    name : str
        What the prompt calls it: "Verdict" on the last line, the field in JSON.
    words : mapping of str to tuple of str
        What stands for a label in place of itself.
    """

    labels: tuple[str, ...]
    form: str
    name: str = ""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_WORDS)

    @property
    def is_number(self) -> bool:
        """Whether it is a score."""
        return all(label.isdigit() for label in self.labels)

    @property
    def range(self) -> tuple[int, int]:
        """The lowest score and the highest; raises ValueError where it is none."""
        numbers = [int(label) for label in self.labels]
        return min(numbers), max(numbers)

    def pattern(self, *labels: str, group: str = "?:") -> str:
        """Return the expression that finds any of these labels in an answer that says it, and nothing in another.

        Parameters
        ----------
        group : str
            Empty: what it says is a group.
        """
        said = "|".join(
            "|".join(map(_escaped, self.words[label])) if label in self.words else _spelled(label)
            for label in labels
        )
        if self.form == ALONE:
            return rf"^{_DRESS}({group}{said}){_END}"
        if self.form == LINE:
            name = rf"[{self.name[0].upper()}{self.name[0].lower()}]{self.name[1:]}"
            return rf"(?:^|\n)[ \t*_#>]*(?:[Ff]inal )?{name}:{_BESIDE}({group}{said}){_END}"
        if self.form == JSON:
            return rf'"{self.name}"\s*:\s*"?({group}{said})"?\s*\}}[\s`]*$'
        if self.form == DOUBLE:
            return rf"(?:^|\n)(?:[^\[\n]*[:.!?])?{_BESIDE}\[\[({group}{said})\]\]{_END}"
        return rf"(?:^|\n)[^\[\n]*\[RESULT\]{_BESIDE}({group}{said}){_END}"

    def patterns(self) -> dict[str, str]:
        """Return the expression of each label."""
        return {label: self.pattern(label) for label in self.labels}

    def read(self, text: str) -> str | None:
        """Return the label that an answer says, as the exported expressions find it."""
        return next((label for label, pattern in self.patterns().items() if re.search(pattern, text)), None)


def _spelled(label: str) -> str:
    """Return a label as an expression: a word of more than a letter with a capital or without."""
    if len(label) > 1 and label[0].isalpha():
        return f"[{label[0].upper()}{label[0].lower()}]{label[1:]}"
    return label


def _escaped(word: str) -> str:
    # re.escape also escapes spaces, which JavaScript refuses in some modes.
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", word)


def whole_numbers(low: int, high: int) -> tuple[str, ...]:
    """Return the labels of a scale; raises ExportRefusedError for one of more than 101 points."""
    if high - low > 100 or low < 0:
        raise ExportRefusedError("params.high", f"a scale from {low} to {high} has too many points to list.")
    return tuple(str(number) for number in range(low, high + 1))
