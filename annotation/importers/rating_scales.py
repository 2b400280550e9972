"""The scale that a column of ratings is on, guessed from its name and its first values, or typed on a page."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotation.domain.scales import NAMED_SCALES, PASS_FAIL, STANDARD, Scale, ScaleError
from annotation.importers.fields import criterion_key
from annotation.importers.rows import whole_text

PASS_OR_FAIL = NAMED_SCALES[PASS_FAIL]
SUGGESTED = ("1 to 5", "1 to 7", "1 to 10", "0 to 4", "0 to 10", "0 to 100", "-3 to 3", "pass or fail")
"""Scales as a person may type them."""
_WORDS = frozenset(("pass", "fail", "true", "false"))
"""What a rating of pass or fail may be in a file, beside 0 and 1."""
_USUAL = ((1, 5), (1, 7), (1, 10), (0, 5), (0, 10), (-1, 1), (-2, 2), (-3, 3), (-5, 5), (0, 100))
"""From the one that is tried first; a scale from 0 to fewer points than 5 is taken as it is found."""
_COUNTED = re.compile(
    r"(^|_)(id|idx|index|length|len|turns?|tokens?|words|year|age|rank|seconds|time|n|num|count|votes|likes|seed|version)"
    r"($|_)"
)
"""Names of whole numbers that are no ratings."""
_RATED = re.compile(
    r"rat(e|ed|ing)|scor|grad|quality|points|stars|likert|percent|pct|help|clear|clarit|coheren|fluen|relevan|consisten"
    r"|accura|correct|complet|safe|toxic|factual|faithful|harm|pass|fail|success|valid|useful|engag|style|tone|natural"
)
"""Names without which 0 and 1, or numbers above 10, are no ratings: they may be flags and counts."""
_ENDS = re.compile(r"(?<!\d)(-?\d{1,3})\s*(?:-|–|to|\.\.|_to_|_)\s*(\d{1,3})(?!\d)")
_OUT_OF = re.compile(r"(?:/|out[ _]of[ _])\s*(\d{1,3})(?!\d)")


def scale_guess(name: str, values: Sequence[Any]) -> Scale | None:
    """Return the scale of a column; None where it seems to hold no ratings.

    Ends that the name says come first, then the usual scales from the smallest that has all values.

    Examples
    --------
    >>> [str(scale_guess("fluency", seen)) for seen in ([3, 5], ["7", "2"], [0, 4, 1], [0, 9], [55, 80], [1, 0])]
    ['1 to 5', '1 to 7', '0 to 4', '0 to 10', '0 to 100', '0 to 1']
    >>> str(scale_guess("Tone (1-9)", [2, 3])), scale_guess("n_words", [3, 5]), scale_guess("kept", [0, 1])
    ('1 to 9', None, None)
    """
    low_name = name.strip().lower()
    if not values or _COUNTED.search(re.sub(r"[^a-z0-9]+", "_", low_name)):
        return None
    is_rated = _RATED.search(low_name) is not None
    if all(isinstance(value, bool) or str(value).strip().lower() in _WORDS for value in values):
        return PASS_OR_FAIL if is_rated else None
    numbers = _whole(values)
    if numbers is None:
        return None
    seen = set(numbers)
    if (named := _named(low_name, min(seen), max(seen))) is not None:
        return named
    if seen == {0, 1}:
        return PASS_OR_FAIL if is_rated else None
    low, high = min(seen), max(seen)
    if low == 0 and 2 <= high < STANDARD.high:
        return Scale(0, high)
    found = next((ends for ends in _USUAL if ends[0] <= low and high <= ends[1]), None)
    if found is None or (found == _USUAL[-1] and not is_rated):
        return None
    return Scale(*found)


def _whole(values: Sequence[Any]) -> list[int] | None:
    """The values as whole numbers; None where one is none."""
    try:
        numbers = [float(value) for value in values if not isinstance(value, bool | list | dict)]
    except ValueError:
        return None
    if len(numbers) != len(values) or not all(number.is_integer() for number in numbers):
        return None
    return [int(number) for number in numbers]


def _named(name: str, low: int, high: int) -> Scale | None:
    """The scale whose ends a name says, if all values are on it."""
    for first, last in _ENDS.findall(name):
        if int(first) <= low and high <= int(last):
            return _scale_or_none(int(first), int(last))
    if (said := _OUT_OF.search(name)) and high <= int(said[1]):
        return _scale_or_none(min(low, 1) if low >= 0 else low, int(said[1]))
    return PASS_OR_FAIL if re.search(r"pass|fail", name) and {low, high} <= {0, 1} else None


def _scale_or_none(low: int, high: int) -> Scale | None:
    try:
        return Scale(low, high)
    except ScaleError:
        return None


def scale_typed(text: str) -> Scale:
    """Read a scale such as ``"0 to 10"``, ``"1-7"``, ``"0 to 100 in steps of 5"`` or ``"pass or fail"``.

    Raises
    ------
    ValueError
        Says what was expected.
    """
    plain = " ".join(text.lower().replace("−", "-").split())
    if plain in ("pass or fail", "pass/fail", "pass_fail"):
        return PASS_OR_FAIL
    found = re.fullmatch(r"(-?\d{1,4}) ?(?:-|–|to|\.\.) ?(-?\d{1,4})(?: in steps of (\d{1,4}))?", plain)
    if found is None:
        raise ValueError(
            f"expected a scale such as {SUGGESTED[0]}, {SUGGESTED[5]} or {SUGGESTED[7]}, found {text!r}."
        )
    low, high, step = (int(number or 1) for number in found.groups())
    try:
        return Scale(low, high, step)
    except ScaleError as error:
        raise ValueError(error.message) from None


def scale_text(scale: Scale) -> str:
    """Return a scale as `scale_typed` reads it."""
    return SUGGESTED[-1] if scale.numbers == PASS_OR_FAIL.numbers else str(scale)


def criterion_on(column: str, scale: Scale = STANDARD) -> dict[str, Any]:
    """Declare the criterion of a column of ratings, as a row of the generic format does."""
    found: dict[str, Any] = {"key": criterion_key(column), "question": column}
    if scale.numbers == PASS_OR_FAIL.numbers:
        return found | {"scale": PASS_FAIL}
    if scale.numbers == STANDARD:
        return found | {"options": {str(point): str(point) for point in STANDARD.points}}
    steps = {} if scale.step == 1 else {"step": scale.step}
    return found | {"scale": {"low": scale.low, "high": scale.high, **steps}}


def criterion_scale(declared: Mapping[str, Any]) -> Scale:
    """Return the scale of a declared criterion; the standard one where it declares none that there is."""
    said = declared.get("scale")
    try:
        return NAMED_SCALES[said] if isinstance(said, str) else Scale.of_json(said or {})
    except (ScaleError, KeyError, AttributeError):
        return STANDARD


def criterion_changed(declared: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """Return a declared criterion on another scale: its question stays, and so do words for points that remain."""
    new = criterion_on(str(declared.get("key", "")), scale)
    words: Iterable[tuple[str, Any]] = (declared.get("options") or {}).items()
    kept = {
        point: text
        for point, text in words
        if (number := whole_text(point)) is not None and number in scale and text != point
    }
    found: dict[str, Any] = dict(declared) | {name: new[name] for name in ("scale", "options") if name in new}
    if "scale" not in new:
        found.pop("scale", None)
        options: dict[str, Any] = {**new["options"], **kept}
        return {**found, "options": options}
    found.pop("options", None)
    return found | ({"options": kept} if kept else {})
