"""PandaLM's test set: pairs with three human labels each, ties included, and stored verdicts of judges.

Source: https://github.com/WeOpenML/PandaLM (`data/testset-v1.json`).
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.files import require_folder
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_JUDGE, MAX_SYSTEM, Row, whole
from annotation.importers.tables import json_rows

CHOICES = (0, 1, 2)

ITEMS = "testset-v1.json"
FIELDS = ("idx", "motivation_app", "cmp_key", "instruction", "input", "response1", "response2")
ANNOTATOR = re.compile(r"annotator([1-9][0-9]?)\Z")
RESULT = re.compile(r"[a-z0-9]+_result\Z")
VERDICTS: Mapping[str, int] = {"0": 0, "1": 1, "2": 2, "tie": 0}
"""What judges say; "Tie" is their word for two responses that "are similar in quality"."""


def read_pandalm(path: str | Path) -> DatasetBundle:
    """Read the folder: `testset-v1.json`, and one judge from each file `JUDGE-testset-v1.json`.

    An item's id is its `idx`. `input` is the instruction's context, the systems come from `cmp_key`. A
    verdict that is none of 0, 1, 2 and "Tie" is kept as unparsed: its text, and the judge's reason, in
    `raw`.
    """
    folder = Path(path)
    require_folder(folder)
    file = folder / ITEMS
    if not file.exists():
        raise ImportFileError(folder, None, None, f"expected a folder with a file {ITEMS}, found none.")
    builder = BundleBuilder(f"pandalm: {folder.name}")
    faults = Faults()
    known: set[str] = set()

    def add(row: Row) -> None:
        external_id = row.identifier("idx")
        known.add(external_id)  # first: verdicts of an item that is wrong are not
        _add_item(builder, row, external_id)

    faults.each(json_rows(file, faults), add)
    for judge_file in sorted(folder.glob(f"*-{ITEMS}")):
        judge = judge_file.name.removesuffix(f"-{ITEMS}")
        if not judge or len(judge) > MAX_JUDGE:
            raise ImportFileError(judge_file, None, None, f"expected a name such as JUDGE-{ITEMS}.")
        faults.each(json_rows(judge_file, faults), partial(_add_verdict, builder, judge, known))
    faults.check()
    return builder.finish(folder)


def _add_item(builder: BundleBuilder, row: Row, external_id: str) -> None:
    annotators = {name: match[1] for name in row.data if (match := ANNOTATOR.match(name))}
    row.only((*FIELDS, *annotators, "annotator1"))
    row.require("annotator1")
    systems = row.text("cmp_key", required=True).split("_")
    if len(systems) != 2 or max(map(len, systems)) > MAX_SYSTEM:
        row.fail("cmp_key", "expected the names of two systems joined by an underscore.")
    text, context = row.answer("instruction"), row.text("input")
    if not f"{text}{context}".strip():
        row.fail("instruction", "expected text here or in the field input, found none.")
    instruction = builder.instruction(row, text=text, context=context)
    texts = (_answer(row, "response1"), _answer(row, "response2"))
    app = row.text("motivation_app")
    builder.pair(
        row,
        external_id=external_id,
        instruction=instruction,
        systems=systems,
        texts=texts,
        metadata={"motivation_app": app} if app else {},
        field="idx",
    )
    for name, annotator in annotators.items():
        builder.label(
            row,
            item=external_id,
            annotator=annotator,
            value={"choice": row.number_in(name, CHOICES)},
            field=name,
        )


def _answer(row: Row, field: str) -> str:
    """A response. Some short ones ("True", "18") went through YAML on their way and are no text any more."""
    value = row.require(field)
    return str(value) if isinstance(value, bool | int | float) else row.answer(field)


def _add_verdict(builder: BundleBuilder, judge: str, known: set[str], row: Row) -> None:
    results = [name for name in row.data if RESULT.match(name)]
    if len(results) != 1:
        row.fail(None, f"expected one field such as gpt_result, found {len(results)}.")
    stem = results[0].removesuffix("_result")
    row.only(("idx", results[0], f"{stem}_reason", f"{stem}_reference"))
    item = row.identifier("idx")
    if item not in known:
        row.fail("idx", f"expected the idx of an item of {ITEMS}, found {item!r}.")
    result = row.get(results[0])
    choice = VERDICTS.get(result.strip().lower()) if isinstance(result, str) else whole(result)
    value = {"choice": choice} if choice in CHOICES else None
    words = [str(result), row.text(f"{stem}_reason")]
    builder.verdict(
        row,
        item=item,
        judge=judge,
        order=0,
        value=value,
        field=results[0],
        raw="\n".join(word for word in words if word),
        model=judge,
    )
