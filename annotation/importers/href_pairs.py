"""HREF's human agreement set: pairs of responses with the preferences of four people.

Source: https://huggingface.co/datasets/allenai/href_preference (split `dev`; X. Lyu et al., "HREF: Human
Response-Guided Evaluation of Instruction Following in Language Models", 2024).
"""

from pathlib import Path

from annotation.importers.build import BundleBuilder, content_key
from annotation.importers.folders import bundle_of_tables
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_CATEGORY, MAX_SYSTEM, Row
from annotation.importers.votes import Voters

CHOICES = (0, 1, 2)
NAMES = ("annotaters", "annotators")
"""The published file has the first."""


def read_href_pairs(path: str | Path) -> DatasetBundle:
    """Read a file of pairs (Parquet, JSON or JSON Lines), or a folder with such files.

    `annotations` are 1 where `output_a` is better, 2 where `output_b` is, and 0 for a tie, each of the person at
    the same place of `annotaters`; where a file doesn't name people, of the place itself. `reference` is the human
    response.
    """
    return bundle_of_tables("href", path, _add)


def _add(builder: BundleBuilder, row: Row) -> None:
    instruction = builder.instruction(
        row,
        text=row.text("instruction", required=True),
        reference=row.text("reference") or None,
        category=row.text("category", required=True, limit=MAX_CATEGORY),
    )
    systems = [row.identifier(f"generator_{side}", limit=MAX_SYSTEM) for side in "ab"]
    texts = [row.answer(f"output_{side}") for side in "ab"]
    external_id = builder.free_id(content_key(instruction, *systems, *texts))
    builder.pair(row, external_id=external_id, instruction=instruction, systems=systems, texts=texts)
    said = row.items("annotations")
    if not said:
        row.fail("annotations", "expected at least one preference, found none.")
    field = next((name for name in NAMES if row.get(name)), NAMES[0])
    people = row.items(field) or [f"annotator {n}" for n in range(1, len(said) + 1)]
    if len(people) != len(said):
        row.fail(field, f"expected {len(said)} names, one a preference, found {len(people)}.")
    voters = Voters()
    for place, (preference, person) in enumerate(zip(said, people, strict=True)):
        one = row.within(f"annotations[{place}]", {"choice": preference, "annotator": person})
        builder.label(
            row,
            item=external_id,
            annotator=voters.name(external_id, one.identifier("annotator")),
            value={"choice": one.number_in("choice", CHOICES)},
            field=f"annotations[{place}]",
        )
