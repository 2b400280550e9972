"""Readers of datasets: files in, checked records out. Pure: no Django, no database."""

from annotation.importers.alpaca import read_alpaca_human
from annotation.importers.errors import ImportFileError
from annotation.importers.llmbar import read_llmbar
from annotation.importers.records import (
    AspectRecord,
    CriterionRecord,
    DatasetBundle,
    InstructionRecord,
    ItemRecord,
    LabelRecord,
    Origin,
    ResponseRecord,
    VerdictRecord,
)

__all__ = [
    "AspectRecord",
    "CriterionRecord",
    "DatasetBundle",
    "ImportFileError",
    "InstructionRecord",
    "ItemRecord",
    "LabelRecord",
    "Origin",
    "ResponseRecord",
    "VerdictRecord",
    "read_alpaca_human",
    "read_llmbar",
]
