"""What the mock's models find in a prompt of somebody else's, which has headings in the place of our fences.

Two outputs stand under two lines that differ in one label alone ("Output (a):" and "Output (b):"). The verdict is to
be one of two phrases with "or" between them that differ in it too ("Output (a)" or "Output (b)"), a mark such as
``[[A]]``, a list of ranks, or two scores. A prompt with no two outputs is about one, or none, of which a score may be
asked for in double brackets or as an integer.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judges.backends.mock_material import Material

_LABELS = {"a": "b", "A": "B", "1": "2", "m": "M"}
_LABEL = re.compile(r"(?<![A-Za-z0-9])[aA1m](?![A-Za-z0-9])")
_OUTPUT = re.compile(r"\b(?:output|answer|response)\b", re.IGNORECASE)
_SCALE = re.compile(r"\b(?:of|from|between) (\d+) (?:to|and) (\d+)\b")
_LONGEST_HEADING, _LONGEST_PHRASE = 80, 60
_QUOTES = "\"'`"
_NO_REASONS = re.compile(r"\bnot (?:\w+ )?(?:any )?expla", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeadedPrompt:
    """Two outputs under headings, and the whole conversation that they stand in.

    Attributes
    ----------
    names : tuple of (str, str)
        The words of the headings that differ, such as "model_1" and "model_2".
    """

    text: str
    output_a: str
    output_b: str
    names: tuple[str, str]

    @property
    def material(self) -> Material:
        """The outputs, as those of our own prompts are found."""
        return Material("", "", self.output_a, self.output_b, wants_line=False)

    def verdicts(self) -> tuple[str, str]:
        """Return the two phrases of which one is to be the answer: quoted ones first, then the most frequent."""
        found: Counter[tuple[bool, str, str]] = Counter()
        for match in re.finditer(" or ", self.text):
            before = self.text[max(0, match.start() - _LONGEST_PHRASE) : match.start()]
            behind = self.text[match.end() :]
            for start in range(len(before)):
                phrase = before[start:]
                other = _swapped(phrase)
                if other and behind.startswith(other) and _is_whole(before[:start], phrase):
                    found[phrase[0] in _QUOTES, phrase.strip(_QUOTES), other.strip(_QUOTES)] += 1
                    break
        if not found:
            return "A", "B"
        _, first, second = max(found, key=lambda each: (each[0], found[each], len(each[1])))
        return first, second

    @property
    def wants_reasons(self) -> bool:
        """Whether an explanation is asked for."""
        return "expla" in self.text.lower() and not _NO_REASONS.search(self.text)

    def said(self, place: int, reasons: str) -> str:
        """Return a verdict in the form that is asked for: 0 for the first output, 1 for the second."""
        text = self.text
        if "[[A>B]]" in text:
            return f"{reasons}\n\n[[{('A>B', 'B>>A')[place]}]]"
        if "[[A]]" in text:
            return f"{reasons}\n\n[[{'AB'[place]}]]"
        if re.search(r"\[\[rating_\w+, ?rating_\w+\]\]", text):
            return f"{reasons}\n\n[[{('8,5', '5,8')[place]}]]"
        if "'rank': <" in text or '"rank": <' in text:
            return str(self.ranks(place))
        if re.search(r"\btwo (?:values|scores)\b", text):
            return f"{('8 5', '5 8')[place]}\n{reasons}"
        verdict = self.verdicts()[place]
        return f"{reasons}\n\n{verdict}" if self.wants_reasons else verdict

    def ranks(self, place: int) -> list[dict[str, Any]]:
        """Return the outputs by name with their ranks."""
        return [{"model": name, "rank": 1 if k == place else 2} for k, name in enumerate(self.names)]

    def arguments(self, schema: Mapping[str, Any], place: int) -> dict[str, Any]:
        """Return what of a function's parameters says the verdict: lists of ranks, and texts to be a phrase."""
        verdicts, found = self.verdicts(), dict[str, Any]()
        for name, part in schema.get("properties", {}).items():
            parts = part.get("items", {}).get("properties", {})
            if {"model", "rank"} <= set(parts):
                found[name] = self.ranks(place)
            elif part.get("type") == "string" and all(each in str(part) for each in verdicts):
                found[name] = verdicts[place]
        return found


def headed_prompt(messages: list[tuple[str, str]], more: str = "") -> HeadedPrompt | None:
    """Return the two outputs of the last message; None if there are no two lines that differ in a label alone.

    Parameters
    ----------
    messages : list of (str, str)
        Roles and texts.
    more : str
        What else says how to answer, such as a function's description.
    """
    lines = messages[-1][1].splitlines()
    places: dict[str, int] = {}
    for place, line in enumerate(lines):
        places[line.strip()] = place
    for first in range(len(lines) - 1, -1, -1):
        line = lines[first].strip()
        if not 0 < len(line) <= _LONGEST_HEADING or re.search(r"\bend\b", line, re.IGNORECASE):
            continue
        other = _swapped(line)
        second = places.get(other, -1) if other else -1
        if second > first:
            names = _names(line, other)
            # Without an end the question stands under the second output too.
            paragraph = not any(_ends(each, line) for each in lines[second + 1 :])
            output_a, output_b = (_below(lines, each, line, paragraph=paragraph) for each in (first, second))
            return HeadedPrompt(
                "\n".join([*(content for _, content in messages), more]), output_a, output_b, names
            )
    return None


def score_asked(text: str) -> tuple[str, int, int] | None:
    """Return how a score is to be written, with ``{}`` for it, and its bounds; None where none is asked for."""
    scale = _SCALE.search(text)
    if scale is None:
        return None
    if "[[rating]]" in text:
        return "Rating: [[{}]]", int(scale[1]), int(scale[2])
    if re.search(r"\bONLY the (?:score|rating)\b", text, re.IGNORECASE):
        return "{}", int(scale[1]), int(scale[2])
    return None


def single_output(prompt: str) -> str:
    """Return the text under the last heading that names an output and has text; the whole prompt if there is none."""
    lines = prompt.splitlines()
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place].strip()
        is_heading = line[:1] in ("#", "[", "<") and "reference" not in line.lower()
        if is_heading and _OUTPUT.search(line) and (below := _below(lines, place, line)):
            return below
    return prompt


def _names(line: str, other: str) -> tuple[str, str]:
    """Return the word of each of two headings that has the label."""
    match = _LABEL.search(line)
    assert match is not None, "a heading without a label has no other"
    start = match.start() - len(re.search(r"[\w-]*\Z", line[: match.start()])[0])  # type: ignore[index]
    end = match.end() + len(re.match(r"[\w-]*", line[match.end() :])[0])  # type: ignore[index]
    return line[start:end], other[start:end]


def _swapped(text: str) -> str:
    """Return the text with its one label changed for the other; empty where it has none, or several."""
    found = list(_LABEL.finditer(text))
    if len(found) != 1:
        return ""
    (match,) = found
    return f"{text[: match.start()]}{_LABELS[match[0]]}{text[match.end() :]}"


def _is_whole(before: str, phrase: str) -> bool:
    """Whether a phrase begins where a word or a quotation does."""
    if phrase[0] in _QUOTES:
        return phrase[-1] == phrase[0]
    return (not before or not before[-1].isalnum()) and (phrase[0].isupper() or len(phrase) == 1)


def _below(lines: list[str], place: int, heading: str, *, paragraph: bool = False) -> str:
    """Return what stands under a heading, until one like it, or the end of a structure or of a paragraph."""
    found: list[str] = []
    for line in lines[place + 1 :]:
        if _ends(line, heading) or (paragraph and found and not line.strip()):
            break
        found.append(line)
    return "\n".join(found).strip()


def _ends(line: str, heading: str) -> bool:
    return line.strip().startswith(heading[0] if heading[0] in "#[<" else "}")
