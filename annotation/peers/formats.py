"""The formats of datasets that are read, for the command and for the upload page: one list."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotation.importers import (
    DatasetBundle,
    read_alpaca_human,
    read_alternative_annotators,
    read_chatbot_arena,
    read_dices,
    read_generic,
    read_healthbench,
    read_href_pairs,
    read_infobench,
    read_judge_bench_nlp,
    read_judgebench,
    read_llmbar,
    read_mtbench,
    read_pandalm,
    read_rewardbench,
    read_rewardbench2,
    read_rmbench,
    read_stackexchange,
    read_summeval,
)
from annotation.importers.inspect_logs import read_inspect
from annotation.importers.langfuse import read_langfuse
from annotation.importers.otlp import read_otlp
from annotation.importers.traces import TraceOptions
from annotation.peers.argilla import read_argilla
from annotation.peers.hugging_face import read_hugging_face
from annotation.peers.label_studio import read_label_studio
from annotation.peers.potato_files import read_potato

GENERIC, HUGGING_FACE = "generic", "huggingface"
ZIP = ".zip"
TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq")
ROWS = (".jsonl", ".json", ".parquet")
"""What benchmarks are published as."""


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """A format of a dataset.

    Attributes
    ----------
    words : str
        For a choice.
    suffixes : tuple of str
        Of a file that is uploaded.
    read : callable
        From a path to a bundle.
    group : str
        For a choice.
    member : str
        What the reader calls the file inside of the folder that it reads; empty where it reads a file.
    """

    words: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], DatasetBundle]
    group: str
    member: str = ""


_TABLE, _PEOPLE, _JUDGES, _TRACES, _TOOLS = (
    "Your own table",
    "Human judgments",
    "Benchmarks of judges and reward models",
    "Traces of agents",
    "Annotation tools",
)

TRACES: Mapping[str, Callable[[Path, TraceOptions], DatasetBundle]] = {
    "inspect": read_inspect,
    "langfuse": read_langfuse,
    "opentelemetry": read_otlp,
}
"""Formats of which each trace becomes what is judged of it."""

FORMATS: Mapping[str, DatasetFormat] = {
    GENERIC: DatasetFormat(
        "JSONL, JSON, CSV, TSV or Parquet, one item per row; or a zip of it and its images",
        (*TABLES, ZIP),
        read_generic,
        _TABLE,
    ),
    HUGGING_FACE: DatasetFormat(
        "Hugging Face datasets, a zip of the folder", (ZIP,), read_hugging_face, _TABLE
    ),
    "alpaca-human": DatasetFormat("AlpacaEval's human annotations", (".json",), read_alpaca_human, _PEOPLE),
    "alternative-annotators": DatasetFormat(
        "Alternative annotator test, a zip of human and LLM annotations",
        (ZIP,),
        read_alternative_annotators,
        _PEOPLE,
    ),
    "chatbot-arena": DatasetFormat("Chatbot Arena conversations", ROWS, read_chatbot_arena, _PEOPLE),
    "dices": DatasetFormat("DICES, one row per rater", (".csv",), read_dices, _PEOPLE),
    "healthbench": DatasetFormat(
        "HealthBench, rubrics or physicians' labels", ROWS, read_healthbench, _PEOPLE
    ),
    "href": DatasetFormat("HREF's human agreement set", ROWS, read_href_pairs, _PEOPLE),
    "judge-bench-nlp": DatasetFormat(
        "JUDGE-BENCH's schema (20 NLP datasets)", (".json",), read_judge_bench_nlp, _PEOPLE
    ),
    "mtbench": DatasetFormat("MT-bench votes", ROWS, read_mtbench, _PEOPLE),
    "pandalm": DatasetFormat("PandaLM's test set", (".json",), read_pandalm, _PEOPLE, "testset-v1.json"),
    "stackexchange": DatasetFormat(
        "Stack Exchange, a dump's Posts.xml", (".xml",), read_stackexchange, _PEOPLE, "Posts.xml"
    ),
    "summeval": DatasetFormat("SummEval", (".jsonl",), read_summeval, _PEOPLE),
    "infobench": DatasetFormat("InFoBench, evaluated outputs", (".jsonl",), read_infobench, _JUDGES),
    "judgebench": DatasetFormat("JudgeBench (ScalerLab)", ROWS, read_judgebench, _JUDGES),
    "llmbar": DatasetFormat(
        "LLMBar, a dataset.json or a zip of the folder", (".json", ZIP), read_llmbar, _JUDGES, "dataset.json"
    ),
    "rewardbench": DatasetFormat("RewardBench", ROWS, read_rewardbench, _JUDGES),
    "rewardbench2": DatasetFormat("RewardBench 2", ROWS, read_rewardbench2, _JUDGES),
    "rmbench": DatasetFormat("RM-Bench", ROWS, read_rmbench, _JUDGES),
    "inspect": DatasetFormat("Inspect, a log of an evaluation", (".eval", ".json"), read_inspect, _TRACES),
    "langfuse": DatasetFormat(
        "Langfuse, traces or observations", (".json", ".jsonl"), read_langfuse, _TRACES
    ),
    "opentelemetry": DatasetFormat(
        "OpenTelemetry, gen_ai spans as OTLP JSON", (".json", ".jsonl"), read_otlp, _TRACES
    ),
    "label-studio": DatasetFormat(
        "Label Studio, tasks with annotations", (".json",), read_label_studio, _TOOLS
    ),
    "argilla": DatasetFormat("Argilla, records with responses", (".json",), read_argilla, _TOOLS),
    "potato": DatasetFormat("Potato, a zip of the project", (ZIP,), read_potato, _TOOLS),
}
"""By the name on the command line and in an address."""


def format_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """The formats by group, as choices of a form."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, one in FORMATS.items():
        groups.setdefault(one.group, []).append((name, one.words))
    return list(groups.items())
