"""The criteria that a file declares: a question, the scale that it is answered on, and words for points of it."""

from collections.abc import Collection
from typing import Any

from annotation.domain.scales import MAX_OPTIONS, NAMED_SCALES, STANDARD, Scale, ScaleError
from annotation.importers.build import BundleBuilder
from annotation.importers.errors import quoted
from annotation.importers.rows import SLUG, Row, one_of, whole

MAX_KEY = 64
LISTED = MAX_OPTIONS
"""Points that an error lists."""


def read_criteria(builder: BundleBuilder, row: Row) -> None:
    """Add the criteria of a row; an `ImportFileError` names the field at fault and what was expected."""
    for position, data in enumerate(row.items("criteria")):
        criterion = row.within(f"criteria[{position}]", data)
        criterion.only(("key", "question", "options", "scale"))
        key = criterion.identifier("key", limit=MAX_KEY)
        if not SLUG.match(key):
            criterion.fail("key", f"expected letters, digits, hyphens and underscores, found {quoted(key)}.")
        scale = _read_scale(criterion)
        words = _read_words(criterion, scale)
        builder.criterion(
            row,
            key=key,
            question=criterion.text("question", required=True),
            options=words,
            scale=scale.as_json(),
        )


def _read_scale(criterion: Row) -> Scale:
    """The scale that a criterion says, without the words that it has beside it."""
    given: Any = criterion.get("scale")
    if given is None:
        return STANDARD
    if isinstance(given, str):
        if given not in NAMED_SCALES:
            names = one_of(NAMED_SCALES)
            criterion.fail(
                "scale", f'expected {names}, or an object with "low" and "high", found {quoted(given)}.'
            )
        return NAMED_SCALES[given]
    declared = criterion.within("scale", given)
    declared.only(("low", "high", "step", "not_applicable"))
    given = [name for name in ("low", "high", "step") if declared.get(name) is not None]
    numbers = {name: _read_number(declared, name) for name in given}
    for name in ("low", "high"):
        if name not in numbers and numbers:
            declared.fail(name, "expected a whole number, found none.")
    low, high, step = (numbers.get(name, default) for name, default in (("low", 1), ("high", 5), ("step", 1)))
    try:
        return Scale(low, high, step, not_applicable=declared.flag("not_applicable"))
    except ScaleError as error:
        declared.fail(error.field, error.message)


def _read_number(declared: Row, name: str) -> int:
    value = declared.require(name)
    number = whole(value)
    if number is None:
        declared.fail(name, f"expected a whole number, found {quoted(value)}.")
    return number


def _read_words(criterion: Row, scale: Scale) -> dict[str, str]:
    """The words by point: of every point where no scale is said, else of those that have some."""
    if criterion.get("scale") is None:
        options = criterion.within("options", criterion.require("options"))
        points = tuple(map(str, STANDARD.points))
        _only(options, points, f'{STANDARD}; other points need a "scale"')
        return {point: options.text(point, required=True) for point in points}
    if criterion.get("options") is None:
        return {str(point): text for point, text in scale.words}
    options = criterion.within("options", criterion.get("options"))
    points = tuple(map(str, scale.points))
    _only(options, points, str(scale))
    # A Parquet struct has a null for each point of any other criterion.
    return {point: options.text(point, required=True) for point in points if options.get(point) is not None}


def _only(options: Row, points: Collection[str], expected: str) -> None:
    for point, words in options.data.items():
        if point not in points and words is not None:
            options.fail(point, f"expected points from {expected}; found {quoted(point)}.")
