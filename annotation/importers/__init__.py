"""Readers of datasets: files in, checked records out. Pure: no Django, no database."""

from annotation.importers.alpaca import read_alpaca_human
from annotation.importers.dices import read_dices
from annotation.importers.errors import ImportFileError
from annotation.importers.generic import read_generic, read_label_rows, read_verdicts
from annotation.importers.infobench import read_infobench
from annotation.importers.llmbar import read_llmbar, read_llmbar_judgments
from annotation.importers.pandalm import read_pandalm
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
from annotation.importers.stackexchange import HUMAN_RANK_EVAL, StackExchangeCriteria, read_stackexchange
