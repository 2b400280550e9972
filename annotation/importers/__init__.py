"""Readers of datasets: files in, checked records out. Pure: no Django, no database."""

from annotation.importers.alpaca import read_alpaca_human
from annotation.importers.alternative_annotators import read_alternative_annotators
from annotation.importers.chatbot_arena import read_chatbot_arena
from annotation.importers.dices import read_dices
from annotation.importers.errors import ImportFileError
from annotation.importers.generic import read_generic, read_verdicts
from annotation.importers.healthbench import read_healthbench
from annotation.importers.href_pairs import read_href_pairs
from annotation.importers.infobench import read_infobench
from annotation.importers.judge_bench_nlp import read_judge_bench_nlp
from annotation.importers.judgebench import read_judgebench
from annotation.importers.labels import read_label_rows
from annotation.importers.llmbar import read_llmbar, read_llmbar_judgments
from annotation.importers.mtbench import read_mtbench
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
from annotation.importers.rewardbench import read_rewardbench
from annotation.importers.rewardbench2 import read_rewardbench2
from annotation.importers.rmbench import read_rmbench
from annotation.importers.stackexchange import HUMAN_RANK_EVAL, StackExchangeCriteria, read_stackexchange
from annotation.importers.summeval import read_summeval
