"""AlpacaEval's human cross-annotations: several crowdworkers' preferences for each pair.

Source: https://huggingface.co/datasets/tatsu-lab/alpaca_eval (`alpaca_farm_human_crossannotations.json`).
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, quoted
from annotation.importers.records import DatasetBundle, Value
from annotation.importers.rows import Row
from annotation.importers.tables import json_rows
from annotation.kinds.grades import graded_value

FIELDS = ("instruction", "output_1", "output_2", "preference", "annotator_index", "dataset", "datasplit")
PREFERENCES: Mapping[float, int] = {1: 1, 2: 2, 0: 0, 1.5: 0}
"""What AlpacaEval means: the first or the second output, and a draw, which is 1.5 today and was 0 before."""


def read_alpaca_human(path: str | Path, labels_per_item: int | None = None) -> DatasetBundle:
    """Read the file: one row a label, grouped into pairs by (instruction, output_1, output_2).

    Items keep the order in which they first appear. The field `dataset` (koala, ...) is the subset,
    and an item's id its index there: ``koala/7``.

    Parameters
    ----------
    labels_per_item : int, optional
        Keep the first so many labels of each pair, in file order.
    """
    if labels_per_item is not None and labels_per_item < 1:
        raise ValueError(f"labels_per_item must be 1 or more, not {labels_per_item}")
    file = Path(path)
    builder = BundleBuilder(f"alpaca-human: {file.name}")
    faults = Faults()
    ids: dict[tuple[str, str, str, str], str] = {}
    per_subset: Counter[str] = Counter()
    n_labels: Counter[str] = Counter()

    def add(row: Row) -> None:
        row.only(FIELDS)
        pair = (
            row.text("instruction", required=True),
            row.answer("output_1"),
            row.answer("output_2"),
            row.subset("dataset"),
        )
        if pair not in ids:
            subset = pair[3]
            ids[pair] = f"{subset or 'item'}/{per_subset[subset]}"
            per_subset[subset] += 1
            _add_item(builder, row, ids[pair], pair)
        value = _preference(row)
        annotator = row.identifier("annotator_index")
        if labels_per_item is None or n_labels[ids[pair]] < labels_per_item:
            n_labels[ids[pair]] += 1
            builder.label(
                row,
                item=ids[pair],
                annotator=annotator,
                value=value,
                field="annotator_index",
            )

    faults.each(json_rows(file, faults), add)
    faults.check()
    return builder.finish(file)


def _preference(row: Row) -> Value:
    """A whole preference is a choice; one between is that and how strong it is."""
    value = row.require("preference")
    if isinstance(value, bool) or not isinstance(value, int | float) or not (1 <= value <= 2 or value == 0):
        row.fail("preference", f"expected 1 to 2, or 0 for a draw, found {quoted(value)}.")
    return {"choice": PREFERENCES[value]} if value in PREFERENCES else graded_value("preference", value)


def _add_item(builder: BundleBuilder, row: Row, external_id: str, pair: tuple[str, str, str, str]) -> None:
    text, first, second, subset = pair
    instruction = builder.instruction(row, text=text, subset=subset)
    split = row.text("datasplit")
    builder.pair(
        row,
        external_id=external_id,
        instruction=instruction,
        texts=(first, second),
        metadata={"datasplit": split} if split else {},
    )
