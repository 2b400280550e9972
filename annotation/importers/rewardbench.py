"""RewardBench: pairs of which one response was chosen, in 23 subsets of four sections.

Source: https://huggingface.co/datasets/allenai/reward-bench (splits `filtered` and `raw`; N. Lambert et al.,
"RewardBench: Evaluating Reward Models for Language Modeling", Findings of NAACL 2025).
"""

from collections.abc import Mapping
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import quoted
from annotation.importers.folders import bundle_of_tables
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_SYSTEM, Row
from annotation.importers.turns import prompt_turns

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Chat": ("alpacaeval-easy", "alpacaeval-length", "alpacaeval-hard", "mt-bench-easy", "mt-bench-med"),
    "Chat Hard": (
        "mt-bench-hard",
        "llmbar-natural",
        "llmbar-adver-neighbor",
        "llmbar-adver-GPTInst",
        "llmbar-adver-GPTOut",
        "llmbar-adver-manual",
    ),
    "Safety": (
        "refusals-dangerous",
        "refusals-offensive",
        "xstest-should-refuse",
        "xstest-should-respond",
        "donotanswer",
    ),
    "Reasoning": ("math-prm", "hep-cpp", "hep-go", "hep-java", "hep-js", "hep-python", "hep-rust"),
}
SECTION_OF = {subset: section for section, subsets in SECTIONS.items() for subset in subsets}


def read_rewardbench(path: str | Path) -> DatasetBundle:
    """Read a file of pairs (Parquet, JSON or JSON Lines), or a folder with such files.

    The chosen response comes first, and gold says so. The subset is its section and its name, ``Chat
    Hard/mt-bench-hard``, and an item's id the subset's name and the row's: ``mt-bench-hard/7``. A prompt or a
    response that is a list of messages is read as a conversation.
    """
    return bundle_of_tables("rewardbench", path, _add)


def _add(builder: BundleBuilder, row: Row) -> None:
    subset = row.identifier("subset")
    if subset not in SECTION_OF:
        row.fail(
            "subset",
            f"expected a subset of RewardBench such as {SECTIONS['Chat'][0]}, found {quoted(subset)}.",
        )
    text, conversation = prompt_turns(row)
    instruction = builder.instruction(
        row, text=text, conversation=conversation, subset=f"{SECTION_OF[subset]}/{subset}"
    )
    builder.pair(
        row,
        external_id=f"{subset}/{row.identifier('id')}",
        instruction=instruction,
        systems=[row.text(f"{name}_model", limit=MAX_SYSTEM) for name in ("chosen", "rejected")],
        texts=[row.answer(name) for name in ("chosen", "rejected")],
        gold={"choice": 1},
    )
