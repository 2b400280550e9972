"""The fields of the generic format, and what else a column of somebody's table may be."""

import re
from functools import lru_cache

from annotation.importers.rows import suggestion

KEEP = "metadata."
"""The column is kept in the metadata under its own name; a document says "metadata"."""
LEAVE_OUT = "-"
FIELDS = (
    "id",
    "kind",
    "category",
    "subset",
    "instruction",
    "instruction_id",
    "context",
    "conversation",
    "reference",
    "responses",
    "gold",
    "explanation",
    "labels",
    "verdicts",
    "aspects",
    "criteria",
    "categories",
    "trace",
    "metadata",
)
NESTED = (
    "conversation",
    "trace",
    "responses",
    "labels",
    "verdicts",
    "aspects",
    "criteria",
    "categories",
    "metadata",
)
NAMES = (*FIELDS, "response_1", "response_2", "system_1", "system_2", "annotator:NAME", "judge:NAME")
"""What messages name."""
DECLARATIONS = ("criteria", "categories")
"""What a row may declare for the rows after it, without being an item."""
RESERVED = ("kind", *DECLARATIONS)
"""Fields that are members of a mapping of their own, and so no constants of it."""
FLAT = re.compile(r"(response|system)_[1-9][0-9]?\Z|annotator:.|judge:.")
VALUE = re.compile(r"gold\Z|annotator:|judge:(?!.*:raw\Z)")
CHOSEN, REJECTED, PREFERENCE = "chosen", "rejected", "preference"
ANNOTATOR, LABEL, JUDGE = "annotator", "label", "judge"
REASONABLE = "reasonable"
"""The column holds every answer that the annotator of the row finds reasonable."""
REASONS = "reasons"
"""The column holds the keys of the reasons that the annotator of the row picked."""
OF_COLUMN = ("annotator:", "judge:")
"""The column holds the labels of one annotator or the verdicts of one judge, whose name is that of the column."""
RATING = "rating:"
"""The column holds ratings on the criterion whose key follows; alone, on the one with the name of the column."""
DIMENSION = "dimension:"
"""The column holds the label of the row's annotator on the dimension whose key follows; alone, on the one with the name
of the column."""
MAPPED = (CHOSEN, REJECTED, PREFERENCE, ANNOTATOR, LABEL, JUDGE, REASONABLE, REASONS)
"""Fields that only a mapping knows: `mapped` makes those of the generic format of them."""
FIELD_CHOICES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Other",
        ((KEEP, "Keep as metadata"), (LEAVE_OUT, "Leave out")),
    ),
    (
        "Instruction",
        (
            ("instruction", "Instruction (prompt)"),
            ("context", "Context"),
            ("conversation", "Conversation before it"),
            ("reference", "Reference answer"),
            ("category", "Category"),
            ("subset", "Subset"),
            ("instruction_id", "ID of the instruction"),
        ),
    ),
    (
        "Responses",
        (
            ("responses", "List of responses"),
            ("trace", "Trace or chat messages"),
            *((f"response_{n}", f"Response {n}") for n in range(1, 5)),
            *((f"system_{n}", f"Model of response {n}") for n in range(1, 5)),
            (CHOSEN, "Chosen response (gold)"),
            (REJECTED, "Rejected response"),
        ),
    ),
    (
        "Answers",
        (
            ("gold", "Gold: 1, 2 or 0 for a tie"),
            (PREFERENCE, "Preference: 1 to 2; 0 or 1.5 is a tie"),
            (OF_COLUMN[0], "Labels of one annotator"),
            (OF_COLUMN[1], "Verdicts of one judge"),
            (ANNOTATOR, "Annotator of the row"),
            (LABEL, "Label of this annotator"),
            (REASONABLE, "Reasonable answers beside the label"),
            (DIMENSION, "Label on another dimension"),
            (REASONS, "Reasons beside the label"),
            (JUDGE, "Judge of the preference"),
            (RATING, "Ratings on one criterion"),
            ("labels", "List of labels"),
            ("verdicts", "List of verdicts"),
            ("explanation", "Explanation of gold"),
        ),
    ),
    (
        "Item",
        (
            ("id", "ID of the item"),
            ("kind", "Kind of item"),
            ("aspects", "Aspects"),
            ("criteria", "Criteria"),
            ("categories", "Categories to choose from"),
            ("metadata", "Metadata (an object)"),
        ),
    ),
)
"""What a column may be, in words and in groups."""


def of_column(field: str, column: str) -> str:
    """The field of a column; of those that end in a colon, with the name of the column after it."""
    if field == RATING:
        return f"{RATING}{criterion_key(column)}"
    if field == DIMENSION:
        return f"{DIMENSION}{criterion_key(column).lower().lstrip('_')[:40] or 'dimension'}"
    return f"{field}{column}" if field in OF_COLUMN else field


def criterion_key(column: str) -> str:
    """The name of a column as the key of a criterion: letters, digits, hyphens and underscores."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", column).strip("-")[:64] or "rating"


EXPORTED = (
    *(
        "id",
        "kind",
        "category",
        "subset",
        "instruction",
        "instruction_id",
        "context",
        "conversation",
        "reference",
    ),
    *("responses", "gold", "explanation", "aspects", "criteria", "categories", "metadata"),
)
"""The columns of a table of items that Touchstone wrote."""


@lru_cache(maxsize=4096)
def is_field_of_format(name: str) -> bool:
    """Whether it is a field of the generic format itself."""
    return name in FIELDS or FLAT.match(name) is not None


def is_field(name: str) -> bool:
    """Whether a column can be this."""
    is_own = name in (KEEP, LEAVE_OUT, *MAPPED, *OF_COLUMN) or name.startswith((RATING, DIMENSION))
    return is_own or is_field_of_format(name)


def suggested_field(name: str) -> str:
    """Words to follow what is no field: what was probably meant, or what there is."""
    return suggestion(name, (*NAMES, *MAPPED))
