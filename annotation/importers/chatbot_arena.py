"""Chatbot Arena: conversations with two models side by side, and which of them a user preferred.

Source: https://huggingface.co/datasets/lmsys/chatbot_arena_conversations (33,000 conversations; L. Zheng et al.,
"Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023 Datasets and Benchmarks).
"""

from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults
from annotation.importers.folders import table_files
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_CATEGORY, Progress, Row, counted_rows
from annotation.importers.tables import plain_rows
from annotation.importers.votes import add_pair, read_vote

METADATA = ("anony", "tstamp", "toxic_chat_tag")


def read_chatbot_arena(path: str | Path, progress: Progress | None = None) -> DatasetBundle:
    """Read a file of conversations (JSON, JSON Lines or Parquet), or a folder with several.

    Each row is a pair with one label, that of its user. Models keep the order in which they were shown, so that
    position bias can be looked at. A conversation of one turn has its answers as responses, one of several its
    messages after the first of the user. "tie (bothbad)" is a tie of which both are bad. The language is the
    category; whether the models were anonymous, the time and the toxicity tags are metadata, and OpenAI's
    moderation scores are left out.
    """
    path = Path(path)
    builder = BundleBuilder(f"chatbot-arena: {path.name}")
    faults = Faults()
    for file in table_files(path):
        faults.each(counted_rows(plain_rows(file, faults), progress), partial(_add, builder))
    faults.check()
    return builder.finish(path)


def _add(builder: BundleBuilder, row: Row) -> None:
    vote = read_vote(row)
    instruction = builder.instruction(
        row, text=vote.asked, context=vote.context, category=row.text("language", limit=MAX_CATEGORY)
    )
    metadata: dict[str, Any] = {name: value for name in METADATA if (value := row.get(name)) is not None}
    add_pair(builder, row, vote, item=vote.question, instruction=instruction, metadata=metadata)
    builder.label(row, item=vote.question, annotator=row.identifier("judge"), value=vote.value, field="judge")
