"""Reading a verdict out of what a model wrote: tolerant of dress, never guessing.

Two readers. `read_choice` is for prompts that ask for the verdict alone: the text must *be* a verdict, in
whatever dress ("**B**", "Output (a)", "Answer: B.", {"choice": "B"}), or begin with one and explain it without taking
it back. `read_verdict_line` is for chain of thought: only the last line counts, and it must hold the verdict's marker
(or stand under it), conclude ("Therefore, Output (a) is better."), or set the verdict off in a box, a tag, JSON, or
a mark of a published prompt (`declared`).
What a model thought before its answer is separated before any of them reads (`judges.strategies.thoughts`).
All else is unparsed, with the whole text kept. Neither ever raises.
"""

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from judges.strategies.thoughts import EMPTY
from judges.strategies.types import Verdict

MAX_READ = 20_000
"""Longer texts are not a verdict; they are kept whole and left unparsed."""
MAX_STATEMENT = 200
"""No statement of a verdict is longer, white space folded."""
MAX_EXPLAINED = 1000
"""Nor one with its reason on the same line."""

_LABEL = r"""(?:
    (?:the\s+)?(?:output|response|option|candidate|assistant|model)?\s*
    (?:\(\s*(?P<round>[ab])\s*\)|\[\[\s*(?P<double>[ab])\s*\]\]|\[\s*(?P<square>[ab])\s*\]
      |\{\s*(?P<curly>[ab])\s*\}|(?P<bare>[ab])\)?)
  | (?:it\s+is\s+|it's\s+|it’s\s+)?(?:a\s+)?(?P<tie>tie|tied|draw|equal)
  | (?:they|both|(?:both|the\s+two|the)\s+(?:outputs|responses))\s+are\s+(?P<level>tied|equal|equally\s+good)
  | neither(?:\s+(?:output|response|one))?\s+is\s+(?P<neither>better)
)"""
_CONCLUDING = r"(?:therefore|thus|hence|so|overall|in\s+conclusion|in\s+summary)\s*[,:]?\s+"
_INTRODUCTION = r"""(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?
    (?:answer|verdict|choice|decision|preference|winner|judge?ment|(?:better|preferred)(?:\s+(?:output|response|one))?)
    (?:\s+is\s*:?|\s*[:=]|\s*[-–—])\s*"""
_OPINION = (
    r"""(?:i\s+(?:think|believe|(?:would\s+)?(?:choose|pick|prefer|select|go\s+with))(?:\s+that)?\s+)"""
)
_BETTER = r"""(?:\s+(?:is|was)\s+(?:the\s+)?(?:better|best|winner)(?:\s+(?:one|output|response|answer))?
      (?:\s+than\s+(?:the\s+)?(?:output|response|option)?\s*[(\[]?(?P<than>[ab])[)\]]?)?
    | \s+wins | \s*>{1,2}\s*(?:output|response)?\s*[(\[]?(?P<below>[ab])[)\]]?)"""
_FLAGS = re.IGNORECASE | re.VERBOSE | re.ASCII
_INTRODUCED = re.compile(_INTRODUCTION, _FLAGS)
_STATEMENT = re.compile(
    rf"(?:{_CONCLUDING})?(?:{_INTRODUCTION}|{_OPINION})?{_LABEL}{_BETTER}?\s*[.!]?", _FLAGS
)
# With its reason on the same line: only behind a winner that is called one, or behind "because".
_EXPLAINED = re.compile(
    rf"""(?:{_CONCLUDING})?(?:{_INTRODUCTION}|{_OPINION})?{_LABEL}
    (?:{_BETTER}(?:\s*[.,;:!]\s+|\s*[-–—]\s+|\s+(?=(?:because|since|as)\b))|\s*,?\s+(?=because\b))(?P<reason>.+)""",
    _FLAGS,
)
_MARKER = r"(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?(?:verdict|answer)"
_MARKED = re.compile(
    rf"(?:[-•]\s+|\d\.\s+)?{_MARKER}\s*(?:is\s*:?|[:=]|\s[-–—])\s*{_LABEL}{_BETTER}?\s*[.!]?", _FLAGS
)
_CONCLUSION = re.compile(rf"{_CONCLUDING}{_LABEL}{_BETTER}\s*[.!]?", _FLAGS)
# An answer may be the one to the instruction; a verdict is the judge's.
_VERDICT = r"(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?(?:verdict|(?<=final\ )answer)"
_HEADING = re.compile(rf"{_VERDICT}\s*:?", _FLAGS)
_SENTENCE_END = re.compile(rf"[.!?]\s+(?={_VERDICT}\s*:)", _FLAGS)
# What, in an explanation, could take the verdict back: any other statement of a winner.
_CLAIM = re.compile(
    rf"""(?:{_INTRODUCTION}{_LABEL}(?![\w'’]))
    | (?:(?<![\w'’])(?:output|response|option)?\s*[(\[]?\b(?P<winner>[ab])\b[)\]]?\s+
        (?:is|was|would\s+be|might\s+be|seems|wins|follows)\b)
    | \b(?:choose|chose|pick|prefer|select|favou?r|go\s+with)\s+(?:output|response|option)?\s*
        [(\[]?\b(?P<picked>[ab])\b
    | (?P<drawn>\btied?\b|\bdraw\b|\bequally\b)
    | (?P<doubt>\b(?:actually|correction|however|wait|instead|on\s+second\s+thought|change\s+my)\b)""",
    _FLAGS,
)
_RESERVED = re.compile(
    r"\b(?:but|although|though|unless|if|except|or|maybe|perhaps|possibly|unsure|uncertain|not\s+(?:sure|certain)|same)\b",
    re.IGNORECASE,
)
_LETTER = {"A": 1, "B": 2}
CUT_OFF = "cut off at the token limit"
_DRESS = "*_`#>\"'“”‘’«»~|$ \t\r\n"
_BOXED = re.compile(r"\$?\\boxed\{(?:\\(?:text|textbf|mathrm)\{)?([^{}]{1,40})\}{1,2}\$?")
_TAGGED = re.compile(
    r"<(answer|verdict|choice|final_answer|final_verdict|result)>([^<>]{1,200})</\1>", re.IGNORECASE
)
_FENCED = re.compile(r"```(?:json)?\s*(\{[^{}]*\})\s*```", re.IGNORECASE)
_JSON = re.compile(r"(?:json)?\s*(\{.*\})", re.IGNORECASE | re.DOTALL)
_VERDICT_KEYS = frozenset({"choice", "verdict", "final_verdict", "answer", "winner", "preference", "better"})
# Marks of what is declared at the end: MT-bench's [[A]] and [[7]], Arena-Hard's [[A>>B]], Prometheus' [RESULT] A.
_DECLARED = re.compile(r"\[\[([^\[\]\n]{1,12})\]\]|\[RESULT\]\s*:?\s*([^\[\]\n]{1,12})", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|never|neither|nor|than|instead\s+of)\b[^.!?:]{0,30}\Z|n['’]t\b[^.!?:]{0,30}\Z", re.IGNORECASE
)
_COMPARED = re.compile(r"(?P<first>[ab])(?P<sign>>{1,2}|<{1,2}|=)(?P<second>[ab])", re.IGNORECASE)
_EXPLANATION = re.compile(r"(?:explanation|reason(?:ing)?|rationale|justification|because)\b", re.IGNORECASE)


def read_choice(text: str, *, allow_tie: bool, cut_off: bool = False) -> Verdict:
    """Read a verdict that was asked for alone.

    Parameters
    ----------
    text : str
    allow_tie : bool
        A tie that was not allowed is unparsed: it is clear, but it is no answer to the question.
    cut_off : bool
        The model ran into its token limit: "B" may have been about to be "Both".

    Returns
    -------
    Verdict
        The choice in presented order, or unparsed with a reason.
    """
    if cut_off:
        return unparsed(text, CUT_OFF)
    if (label := _LETTER.get(text)) is not None:  # what most models answer needs none of the reading below
        return Verdict(choice=label, status="parsed", raw_text=text)
    if len(text) > MAX_READ:
        return unparsed(text, "longer than a verdict can be")
    bare = undressed(text)
    if not bare:
        return unparsed(text, EMPTY)
    bare, before, strength = _set_off(bare, text)
    named = json_value(bare, _VERDICT_KEYS)
    match = _match(_STATEMENT, bare if named is None else named)
    if match and not before:
        return _verdict(match, text, allow_tie=allow_tie, strength=strength)
    first, _, rest = bare.partition("\n")
    if match is None:
        match = _match(_STATEMENT, first)
        # A bare line before running text may be its first words; an explanation is set off or says what it is.
        if match and not (rest.startswith("\n") or _EXPLANATION.match(undressed(rest))):
            match = None
    if match is None:
        match = _match(_EXPLAINED, first, longest=MAX_EXPLAINED)
        if match and (_RESERVED.search(match["reason"]) or _names_other(match["reason"], _choice_of(match))):
            match = None
        rest = f"{match['reason']}\n{rest}" if match else rest
    if match is None:
        return unparsed(text, "not a verdict")
    verdict = _verdict(match, text, allow_tie=allow_tie, strength=strength)
    if verdict.choice is not None and _takes_back(f"{before}\n{rest}", verdict.choice):
        return unparsed(text, "a verdict and an explanation that may take it back")
    return verdict


def read_verdict_line(text: str, *, allow_tie: bool, finish_reason: str = "stop") -> Verdict:
    """Read the verdict of a chain of thought from its last line, such as ``Verdict: B``.

    A text that was cut off is unparsed, whatever its last line: the verdict was still to come.
    """
    if finish_reason == "length":
        return unparsed(text, CUT_OFF)
    bare = undressed(text[-MAX_READ:])
    if not bare:
        return unparsed(text, EMPTY)
    lines = bare.split("\n")
    # A rule that a model draws below its verdict is no last line.
    while len(lines) > 1 and not lines[-1].strip("-=*_ \t\r"):
        lines.pop()
    line, bare = lines[-1], "\n".join(lines)
    named = json_value(bare, _VERDICT_KEYS)
    if named is None:
        named = json_value(line, _VERDICT_KEYS)
    end = text[-MAX_READ:].rstrip(" \t\r\n*.")
    alone = _BOXED.fullmatch(end.rpartition("\n")[2].strip()) or next(
        (tag for tag in _TAGGED.finditer(end) if tag.end() == len(end)), None
    )
    said = alone[alone.lastindex or 0] if alone else named
    if alone and said in ("a", "b"):  # a quantity, or the answer to the instruction
        return unparsed(text, "the last line holds no verdict")
    strength = ""
    if said is None and (marked := declared(bare)):
        said, strength = _of_mark(marked[0])
    match = _last_statement(lines) if said is None else _match(_STATEMENT, said)
    if match is None:
        return unparsed(text, "the last line holds no verdict")
    return _verdict(match, text, allow_tie=allow_tie, strength=strength)


def declared(text: str) -> tuple[str, str] | None:
    """Return what a text declares at its end in a mark of a published prompt, and what stands before it.

    The marks are ``[[A]]`` (MT-bench), ``[[A>>B]]`` (Arena-Hard) and ``[RESULT] 4`` (Prometheus). Several on the last
    line that differ declare nothing.

    >>> declared("Both are right, but B is brief. [[B>A]]")
    ('B>A', 'Both are right, but B is brief.')
    """
    bare = undressed(text)
    begin = bare.rfind("\n", 0, max(bare.rfind("["), 0)) + 1
    found = list(_DECLARED.finditer(bare, begin))
    marks = {"".join(undressed(match[1] or match[2]).rstrip(".!").split()) for match in found}
    if len(marks) != 1 or bare[found[-1].end() :].strip(f"{_DRESS}.!"):
        return None
    if _DENIED.search(bare[begin : found[0].start()][-MAX_STATEMENT:]):
        return None
    return marks.pop(), bare[: found[-1].start()].rstrip()


def _of_mark(mark: str) -> tuple[str, str]:
    """Return a mark as a statement of a verdict, and how strong the preference is, where it says so."""
    if compared := _COMPARED.fullmatch(mark):
        first, sign, second = (compared[name] for name in ("first", "sign", "second"))
        if first.casefold() == second.casefold():
            return "", ""
        strength = "much" if len(sign) == 2 else "slightly"
        return ("tie", "") if sign == "=" else (first if ">" in sign else second, strength)
    return ("tie", "") if mark in ("C", "c") else (mark, "")


def _set_off(bare: str, said: str) -> tuple[str, str, str]:
    """Return the verdict that a text sets off at its end in a tag, a JSON block or a mark, what stands before it, and
    how strong it is, where a mark says so.
    """
    for pattern in (_TAGGED, _FENCED):
        found = list(pattern.finditer(said))
        if len(found) == 1 and not undressed(said[found[0].end() :]):
            return undressed(found[0][found[0].lastindex or 0]), undressed(said[: found[0].start()]), ""
    if marked := declared(bare):
        statement, strength = _of_mark(marked[0])
        before = "" if _INTRODUCED.fullmatch(marked[1]) else marked[1]
        return statement, before, strength
    return bare, "", ""


def _last_statement(lines: list[str]) -> re.Match[str] | None:
    """The verdict that the last line holds: behind its marker, under it, or as a conclusion."""
    line = lines[-1]
    match = _match(_MARKED, line) or _match(_CONCLUSION, line)
    if match is None:
        # "It keeps to the format. Verdict: A", where the line names no other.
        sentences = _SENTENCE_END.split(" ".join(undressed(line).split())[-MAX_EXPLAINED:])
        if len(sentences) == 2 and not _MARKED.search(sentences[0]):
            match = _match(_MARKED, sentences[1])
    if match is None and len(lines) > 1:
        heading = next(each for each in (*reversed(lines[:-1]), "x") if each.strip())
        if _match(_HEADING, heading):
            match = _match(_STATEMENT, line)
    return match


def unparsed(text: str, reason: str) -> Verdict:
    """Return an unparsed verdict that keeps the text."""
    return Verdict(choice=None, status="unparsed", raw_text=text, reason=reason)


def parsed(text: str, value: dict[str, Any]) -> Verdict:
    """Return the verdict on an item that is no pair."""
    return Verdict(choice=None, status="parsed", raw_text=text, value=value)


def json_value(bare: str, keys: Collection[str]) -> str | None:
    """Return what a JSON object holds under one of these keys, as text.

    Parameters
    ----------
    bare : str
        A text out of its dress; more than an object is none.
    keys : collection of str
        In lower case.

    Returns
    -------
    str or None
        None: it is no JSON object. Empty: there is no such key, or two that differ.
    """
    match = _JSON.fullmatch(bare)
    if match is None:
        return None
    try:
        pairs = json.loads(match[1], object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    found = {
        str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        for name, value in pairs
        if name.strip().lower() in keys
    }
    return found.pop() if len(found) == 1 else ""


def _match(pattern: re.Pattern[str], text: str, *, longest: int = MAX_STATEMENT) -> re.Match[str] | None:
    """Match a whole text whose dress and white space are folded; folding also keeps matching linear."""
    folded = " ".join(undressed(text).split())
    match = pattern.fullmatch(folded) if len(folded) <= longest else None
    groups = match.groupdict() if match else {}
    if match and (than := groups.get("than") or groups.get("below")):
        # "A is better than A" says nothing.
        other = 1 if than in "aA" else 2
        return match if _choice_of(match) == 3 - other else None
    return match


def undressed(text: str) -> str:
    """Return a text out of its dress: full-width letters folded, no emphasis marks, no quotes or spaces around it."""
    folded = unicodedata.normalize("NFKC", text).replace("**", "").replace("__", "").replace("`", "")
    folded = _BOXED.sub(r"\1", folded)
    return folded.strip(_DRESS)


def _verdict(match: re.Match[str], text: str, *, allow_tie: bool, strength: str = "") -> Verdict:
    choice = _choice_of(match)
    if choice == 0 and not allow_tie:
        return unparsed(text, "a tie, which was not allowed")
    value = {"strength": strength} if strength and choice else None
    return Verdict(choice=choice, status="parsed", raw_text=text, value=value)


def _choice_of(match: re.Match[str]) -> int:
    groups = match.groupdict()
    if any(groups.get(name) for name in ("tie", "level", "neither", "drawn")):
        return 0
    names = ("round", "double", "square", "curly", "bare", "winner", "picked")
    label = next(groups[name] for name in names if groups.get(name))
    return 1 if label in "aA" else 2


def _names_other(reason: str, choice: int) -> bool:
    """Whether a reason on the verdict's own line speaks of the other output, for or against."""
    return choice == 0 or re.search(r"\b[Bb]\b" if choice == 1 else r"\bA\b|\(a\)", reason) is not None


def _takes_back(rest: str, choice: int) -> bool:
    for line in rest.split("\n"):
        match = _match(_STATEMENT, line)
        if match and _choice_of(match) != choice:
            return True
    return any(
        claim["doubt"] is not None or _choice_of(claim) != choice
        for claim in _CLAIM.finditer(undressed(rest))
    )
