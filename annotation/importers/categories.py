"""The categories of items to classify: a list that a file declares once, or that an item has of its own."""

from collections.abc import Sequence
from typing import Any

from annotation.domain.conversation import are_steps, step_categories, step_questions, steps_count, turns_of
from annotation.importers.build import AspectFields, BundleBuilder
from annotation.importers.cells import ResponseCell
from annotation.importers.errors import quoted
from annotation.importers.records import EMPTY
from annotation.importers.rows import MAX_ASPECT_KEY, Row, one_of
from annotation.kinds import ItemKind
from annotation.kinds.classification import LEVELS, CategoryScheme

FIELD = "categories"
STEPS = "steps"
"""In place of a list: the steps of the item's own trace."""
MOST = 200
MOST_QUESTIONS = 100


def read_categories(builder: BundleBuilder, row: Row) -> list[AspectFields]:
    """Return the categories of a row: its own list, or the one that an object in it or in an earlier row declares.

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    given = row.get(FIELD)
    if isinstance(given, dict):
        _declare(builder, row, given)
    elif given is not None and given != STEPS:
        return _listed(row, row.items(FIELD))
    return list(builder.shared_categories)


def step_aspects(row: Row, needs: ItemKind, responses: Sequence[ResponseCell]) -> list[AspectFields]:
    """Return the steps of a row's trace where it asks for them in place of categories or of aspects; else nothing.

    Raises
    ------
    ImportFileError
        There is no trace, or more steps than one person answers one after the other.
    """
    field = needs.parts_field or needs.parts
    if needs.parts != "aspects" or 1 not in needs.responses or row.get(field) != STEPS:
        return []
    n_steps = steps_count(turns_of(responses[0].messages)) if len(responses) == 1 else 0
    if not n_steps:
        row.fail(field, "expected one response with numbered steps, a trace; found none.")
    if field == FIELD:
        return [(key, words, None, EMPTY) for key, words in step_categories(n_steps)]
    if n_steps > MOST_QUESTIONS:
        row.fail(
            field,
            f"expected a trace of at most {MOST_QUESTIONS} steps, since each is a question, found {n_steps:,}; "
            f"ask for the first wrong step instead.",
        )
    return [(key, words, None, EMPTY) for key, words in step_questions(n_steps)]


def _declare(builder: BundleBuilder, row: Row, given: dict[str, Any]) -> None:
    declared = row.within(FIELD, given)
    declared.only(("list", "level", "several"))
    listed = _listed(declared, declared.items("list"), "list")
    level = declared.get("level") or "nominal"
    if level not in LEVELS:
        declared.fail("level", f"expected {one_of(LEVELS)}, found {quoted(level)}.")
    if level != "nominal" and not listed:
        declared.fail("list", f"expected the categories in their order for level {level}, found none.")
    for key, *_ in listed if level == "interval" else ():
        if not _is_number(key):
            declared.fail("list", f"expected names that are numbers for level {level}, found {quoted(key)}.")
    order = tuple(key for key, *_ in listed)
    builder.declare_categories(row, CategoryScheme(level, declared.flag("several"), order), listed)


def _listed(row: Row, given: Sequence[object], field: str = FIELD) -> list[AspectFields]:
    """Names, or objects with a key and a definition."""
    found: dict[str, AspectFields] = {}
    for position, data in enumerate(given):
        one = row.within(f"{field}[{position}]", data if isinstance(data, dict) else {"key": data})
        one.only(("key", "definition"))
        key = one.identifier("key", limit=MAX_ASPECT_KEY)
        if key in found:
            one.fail("key", f"expected each category once, found {quoted(key)} twice.")
        found[key] = (key, one.text("definition") or key, None, EMPTY)
    if len(found) > MOST and not are_steps([(key, words) for key, words, *_ in found.values()]):
        row.fail(field, f"expected at most {MOST} categories, found {len(found):,}.")
    if len(found) == 1:
        row.fail(field, "expected two categories or more, found one.")
    return list(found.values())


def _is_number(name: str) -> bool:
    try:
        number = float(name)
    except ValueError:
        return False
    return number == number and abs(number) != float("inf")
