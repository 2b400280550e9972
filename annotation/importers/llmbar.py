"""LLMBar: pairs with an objectively better output, in folders that name the subset.

Source: https://github.com/princeton-nlp/LLMBar (`Dataset/LLMBar/**/dataset.json`).
"""

from __future__ import annotations

from pathlib import Path

from annotation.importers.build import BundleBuilder, json_rows
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.files import read_document, require_folder
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import Row

FILE = "dataset.json"
FIELDS = ("input", "output_1", "output_2", "label")
LABELS = (1, 2)


def read_llmbar(path: str | Path) -> DatasetBundle:
    """Read the folder: an item's id is its subset path and its index there, ``Adversarial/Neighbor/12``.

    Gold is the file's `label`. An instruction that two subsets share is one instruction in each of them.
    """
    folder = Path(path)
    require_folder(folder)
    files = sorted(folder.rglob(FILE), key=lambda file: file.relative_to(folder).parts)
    if not files:
        raise ImportFileError(folder, None, None, f"expected a folder with files named {FILE}, found none.")
    builder = BundleBuilder(f"llmbar: {folder.name}")
    faults = Faults()
    for file in files:
        subset = file.parent.relative_to(folder).as_posix()
        if subset == ".":
            subset = folder.resolve().name
        with faults:
            for row in json_rows(read_document(file), file, faults):
                with faults:
                    _add(builder, row, subset)
    faults.check()
    return builder.finish(folder)


def _add(builder: BundleBuilder, row: Row, subset: str) -> None:
    row.only(FIELDS)
    gold = row.number_in("label", LABELS)
    instruction = builder.instruction(row, text=row.text("input", required=True), subset=subset)
    outputs = [row.answer("output_1"), row.answer("output_2")]
    builder.item(
        row,
        external_id=f"{subset}/{(row.origin.row or 1) - 1}",
        kind="pairwise",
        instruction=instruction,
        responses=[builder.response(instruction, system="", text=text) for text in outputs],
        gold={"choice": gold},
    )
