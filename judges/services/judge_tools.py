"""A judge as files of another tool, for pages and the API."""

import io
import zipfile
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from annotation.selectors.datasets import criteria_for_judging
from judges.exports.targets import TARGETS, export_target
from judges.exports.writing import Exported, ExportOffer, target_export, target_offer
from judges.strategies.documents import document_read
from judges.strategies.types import CriterionView


def judge_for_tool(
    values: Mapping[str, Any], *, to: str, accept: Collection[str] = (), dataset_id: int | None = None
) -> Exported:
    """Return a judge's document as files of a tool.

    Parameters
    ----------
    values : mapping
        As `judge_document` returns it, with what a promotion found.
    accept : collection of str
        What of it may be lost (`judges.exports.writing.ASPECTS`).
    dataset_id : int or None
        Whose criteria a rubric has.

    Raises
    ------
    SpecError
        The tool can't carry this judge, or loses something that isn't accepted.
    """
    criteria = _criteria(dataset_id)
    return target_export(export_target(to), document_read(values), accept=accept, criteria=criteria)


def tool_offers(values: Mapping[str, Any], *, dataset_id: int | None = None) -> list[ExportOffer]:
    """Return what each tool would make of a judge's document: what is carried, what is lost, or why it is refused."""
    document, criteria = document_read(values), _criteria(dataset_id)
    return [target_offer(target, document, criteria) for target in TARGETS.values()]


def _criteria(dataset_id: int | None) -> Sequence[CriterionView]:
    return () if dataset_id is None else [CriterionView(*row) for row in criteria_for_judging(dataset_id)]


def tool_archive(exported: Exported) -> bytes:
    """Return the files of an export as a ZIP archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in exported.files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return held.getvalue()
