"""Files of verdicts that judges gave elsewhere, in any of their formats."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from annotation.importers import VerdictRecord, read_llmbar_judgments, read_verdicts
from annotation.importers.archives import folder_or_zip
from annotation.importers.records import Origin
from annotation.models import Dataset
from annotation.selectors.datasets import gold_choices, item_value_rules
from judges.services.verdict_lines import has_verdict_lines, read_verdict_lines

VERDICT_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "generic": (
        "One verdict per row, or a file that touchstone judge wrote",
        (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq"),
    ),
    "llmbar": ("LLMBar: a zip of the authors' results, or a table of verdicts", (".zip", ".csv")),
}
"""By reader: its words, and how names of its files end."""
LABELS = "labels"
IMPORT_FORMATS = {
    **VERDICT_FORMATS,
    LABELS: ("Human labels: one label per row, or an export of labels", VERDICT_FORMATS["generic"][1]),
}
"""What is imported on the items of a dataset."""


def verdicts_read(
    *,
    form: str,
    path: Path,
    dataset: Dataset,
    progress: Callable[[str, int], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[VerdictRecord, ...]:
    """Read a file of verdicts on a dataset's items.

    Parameters
    ----------
    form : str
        One of `VERDICT_FORMATS`. Files of `touchstone judge` are recognized by their columns.
    note : callable, optional
        Called with a sentence for each thing that is left out.

    Raises
    ------
    ImportFileError
    """
    if form == "llmbar" and path.suffix.lower() == ".zip":
        with folder_or_zip(path) as folder:
            found = read_llmbar_judgments(folder, gold_choices(dataset.pk), progress, note)
        # The folder is gone, and the member is what a person knows.
        return tuple(
            replace(one, origin=Origin(one.origin.file.replace(str(folder), str(path), 1), one.origin.row))
            for one in found
        )
    if form == "llmbar":
        return read_llmbar_judgments(path, gold_choices(dataset.pk), progress, note)
    if has_verdict_lines(path):
        return read_verdict_lines(path, dataset, progress, note)
    return read_verdicts(path, item_value_rules(dataset.pk), progress)
