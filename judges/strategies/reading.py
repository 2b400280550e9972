"""How an answer in a format of one's own is read: by words, a regular expression, a place in JSON, or as a score.

What is set in a judge's `params` becomes an `AnswerReading`. Regular expressions are RE2's: their time grows with the
text and no faster, whatever the expression, so that no judge can hold up a worker, and an answer is read the same on
every machine. They have no lookarounds and no back-references.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from annotation.kinds.grades import STRENGTHS
from judges.strategies.errors import SpecError
from judges.strategies.parsing import CUT_OFF, MAX_READ, undressed
from judges.strategies.parsing_ratings import read_rating, read_rating_line
from judges.strategies.structured import (
    Labels,
    Said,
    folded_name,
    read_json,
    read_label,
    read_last_label,
    scalar,
)
from judges.strategies.thoughts import EMPTY
from judges.strategies.types import Answer

WORDS, PATTERN, JSON, SCORE = "words", "pattern", "json", "score"
MAX_PATTERN = 2_000
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d{1,6})\]")
NO_MATCH = "the regular expression finds nothing"


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """How one answer is read.

    Attributes
    ----------
    read : {"words", "pattern", "json", "score"}
    words : mapping of str to tuple of str
        Of each verdict, the words that mean it; empty: the verdicts themselves.
    pattern : str
        RE2; what its first group matches counts, or the whole match of one without groups.
    path : tuple
        Names and places that lead to the verdict in JSON; empty: a usual name at the top.
    reasons : bool
        Reasons come first: the last match counts. Without: several that differ say nothing.
    low, high : int
        The range of scores, both allowed.
    """

    read: str
    words: Mapping[str, tuple[str, ...]]
    pattern: str
    path: tuple[str | int, ...]
    reasons: bool
    low: int
    high: int


def reading_of(params: Mapping[str, Any]) -> AnswerReading:
    """Return the reading of a judge's settings.

    Raises
    ------
    SpecError
        Names the setting and what is wrong with it.
    """
    low, high = int(params.get("low", 1)), int(params.get("high", 10))
    if low >= high:
        raise SpecError("params.high", f"expected more than low ({low}), found {high}.")
    pattern = str(params["pattern"])
    if (params["read"] == PATTERN) != bool(pattern):
        raise SpecError("params.pattern", "expected with read 'pattern', and only there.")
    if pattern:
        compiled(pattern)
    return AnswerReading(
        read=str(params["read"]),
        words=worded_verdicts(str(params.get("words", ""))),
        pattern=pattern,
        path=json_path(str(params["path"])),
        reasons=bool(params["reasons"]),
        low=low,
        high=high,
    )


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Return a regular expression of RE2; raises SpecError for one that it does not know."""
    if len(pattern) > MAX_PATTERN:
        raise SpecError(
            "params.pattern", f"expected at most {MAX_PATTERN:,} characters, found {len(pattern):,}."
        )
    try:
        re2 = importlib.import_module("re2")
    except ImportError:
        raise SpecError("params.pattern", "regular expressions need the package 'google-re2'.") from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        what = error.args[0] if error.args else error
        said = what.decode("utf-8", "replace") if isinstance(what, bytes) else str(what)
        raise SpecError("params.pattern", f"not a regular expression of RE2: {said}.") from None


@lru_cache(maxsize=256)
def worded_verdicts(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of each verdict.

    >>> dict(worded_verdicts("A: [[A]], first; B: [[B]]"))
    {'A': ('[[A]]', 'first'), 'B': ('[[B]]',)}
    >>> dict(worded_verdicts('{"yes": ["it is; really"]}'))
    {'yes': ('it is; really',)}

    Raises
    ------
    SpecError
    """
    if text.lstrip().startswith("{"):
        try:
            values = json.loads(text)
            found = {
                str(label): tuple([words] if isinstance(words, str) else words)
                for label, words in values.items()
            }
        except (ValueError, TypeError):
            raise SpecError("params.words", "not JSON of verdicts and their words.") from None
    else:
        parts = [part.partition(":") for part in text.split(";") if part.strip()]
        if any(not colon for _, colon, _ in parts):
            raise SpecError("params.words", "expected 'verdict: word, word; verdict: word'.")
        found = {label.strip(): tuple(word.strip() for word in words.split(",")) for label, _, words in parts}
    if not all(found.values()) or not all(
        isinstance(word, str) and word for words in found.values() for word in words
    ):
        raise SpecError("params.words", "expected at least one word for each verdict.")
    said = [word for words in found.values() for word in words]
    if len(set(said)) < len(said):
        raise SpecError("params.words", "the same word stands for two verdicts.")
    return found


@lru_cache(maxsize=256)
def json_path(text: str) -> tuple[str | int, ...]:
    """Return the names and places of a path in JSON.

    >>> json_path("$.result.scores[0]"), json_path("")
    (('result', 'scores', 0), ())

    Raises
    ------
    SpecError
    """
    rest, found = text.strip().removeprefix("$"), []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise SpecError(
                "params.path", f"expected names and places such as 'result.scores[0]', found {text!r}."
            )
        found.append(step[1].strip() if step[2] is None else int(step[2]))
        rest = rest[step.end() :]
    return tuple(found)


def found_in(answer: Answer, reading: AnswerReading, usual: Sequence[str]) -> tuple[Any, str]:
    """Return what an answer says at the place that the reading names, or None and why there is nothing.

    Parameters
    ----------
    usual : sequence of str
        The names that are looked for in JSON where no path is given.
    """
    if answer.cut_off:
        return None, CUT_OFF
    if not answer.text.strip():
        return None, EMPTY
    if reading.read == PATTERN:
        return _matched(answer.text, reading)
    if reading.read != JSON:
        return answer.text, ""
    found, problem = read_json(answer.text, last=reading.reasons)
    if problem:
        return None, problem
    if not reading.path:
        named = next((found[name] for name in usual if isinstance(found, dict) and name in found), found)
        return named, ""
    for step in reading.path:
        try:
            found = found[step]
        except (
            KeyError,
            IndexError,
            TypeError,
        ):  # a name in a list, a place in an object, anything in a number
            return None, f"the JSON has no '{step}'"
    return found, ""


def read_verdict(answer: Answer, reading: AnswerReading, labels: Labels, usual: Sequence[str]) -> Said:
    """Read one label.

    Parameters
    ----------
    labels : mapping of str to tuple of str
        What may be answered, with other words for it. The reading's own words, where it has any, stand in their place.
    """
    found, problem = found_in(answer, reading, usual)
    if problem:
        return None, problem
    said = _worded(labels, reading)
    if reading.read == WORDS:
        label, why = (read_last_label if reading.reasons else read_label)(found, said)
        return (label, why) if label is not None or not reading.words else _marked(found, reading)
    text = _text_of(scalar(found))
    if text is None:
        return None, f"not one of {', '.join(said)}"
    exact = next((label for label, words in said.items() if text in (label, *words)), None)
    return (exact, "") if exact is not None else read_label(text, said)


def read_number_of(answer: Answer, reading: AnswerReading, usual: Sequence[str]) -> tuple[float | None, str]:
    """Read one score in the reading's range, or return None and why there is none."""
    found, problem = found_in(answer, reading, usual)
    if problem:
        return None, problem
    if reading.read in (WORDS, SCORE):
        read: Callable[..., Any] = read_rating_line if reading.reasons else read_rating
        rating = read(found, reading.low, reading.high)
        return (None, rating.reason) if rating.score is None else (float(rating.score), "")
    return number_within(scalar(found), reading)


def number_within(value: object, reading: AnswerReading) -> tuple[float | None, str]:
    """Return a value as a score in the reading's range, or None and why it is none."""
    text = _text_of(value)
    try:
        number = float(text) if text is not None and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        return None, "not a number"
    if not reading.low <= number <= reading.high:
        return None, f"{number:g} is off the scale from {reading.low} to {reading.high}"
    return number, ""


def _matched(text: str, reading: AnswerReading) -> tuple[Any, str]:
    pattern = compiled(reading.pattern)
    # Longer texts are read from their end, where a verdict stands behind reasons.
    tail = text[-MAX_READ:]
    found = [match.group(1 if pattern.groups else 0) for match in pattern.finditer(tail)]
    found = [undressed(each) for each in found if each]
    if not found:
        return None, NO_MATCH
    if not reading.reasons and len(set(found)) > 1:
        return None, f"the regular expression finds {len(set(found))} things that differ"
    return found[-1], ""


def _worded(labels: Labels, reading: AnswerReading) -> Labels:
    if not reading.words:
        return labels
    return {label: words for label, words in reading.words.items() if base_label(label) in labels}


def base_label(label: str) -> str:
    """Return the verdict of a label that also says how strong it is: "A much" is A.

    >>> base_label("A much"), base_label("cannot tell")
    ('A', 'cannot tell')
    """
    first, _, strength = label.rpartition(" ")
    return first if strength in STRENGTHS else label


def _marked(text: str, reading: AnswerReading) -> Said:
    """Read words that are marks, such as ``[[A]]``: they count wherever they stand, the last one behind reasons."""
    marks = {
        word: label
        for label, words in reading.words.items()
        for word in words
        if not (word[0].isalnum() or word[-1].isalnum())
    }
    tail = text[-MAX_READ:]
    ends = {word: tail.rfind(word) + len(word) for word in marks if word in tail}
    if not ends:
        return None, f"none of {', '.join(word for words in reading.words.values() for word in words)}"
    last = max(ends, key=lambda word: (ends[word], len(word)))
    line = tail.rfind("\n", 0, ends[last]) + 1 if reading.reasons else 0
    said = {marks[word] for word in ends if word in tail[line:]}
    return (marks[last], "") if len(said) == 1 else (None, "several marks that differ")


def _text_of(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def usual_names(name: str) -> tuple[str, ...]:
    """Return the names under which models give one thing, its own first."""
    same = ("verdict", "choice", "answer", "winner", "rating", "score", "result", "criteria_met")
    return (name, *(each for each in same if folded_name(each) != name))
