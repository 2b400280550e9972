"""MT-bench: votes of experts, and verdicts of GPT-4, on pairs of answers to 80 questions of two turns.

Source: https://huggingface.co/datasets/lmsys/mt_bench_human_judgments (splits `human` and `gpt4_pair`), and the
files that FastChat's `compute_agreement.py` reads (L. Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and
Chatbot Arena", NeurIPS 2023 Datasets and Benchmarks).
"""

from functools import partial
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, quoted
from annotation.importers.folders import table_files
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_JUDGE, Row
from annotation.importers.tables import plain_rows
from annotation.importers.votes import INCONSISTENT, Vote, Voters, add_pair, read_vote

PEOPLE = ("expert", "author")
CATEGORIES = ("Writing", "Roleplay", "Reasoning", "Math", "Coding", "Extraction", "STEM", "Humanities")
"""Of the questions 81 to 160, ten each."""
FIRST = 81


def read_mtbench(path: str | Path) -> DatasetBundle:
    """Read a file of votes (JSON, JSON Lines or Parquet), or a folder with several.

    Models are in alphabetical order, and votes that had them the other way are turned. An item is a question, two
    models and a turn: ``81/gpt-4/vicuna-13b-v1.2/1``. Of the first turn the responses are the first answers, of the
    second the conversations up to the second answer; a turn is a subset.

    A judge whose name begins with "expert" or "author" is a person; any other is a judge. What a person said of a
    pair for a second time is kept as that of ``NAME#2``. "tie (inconsistent)" of a judge is a tie with that text.
    """
    path = Path(path)
    builder = BundleBuilder(f"mtbench: {path.name}")
    faults = Faults()
    voters = Voters()
    for file in table_files(path):
        faults.each(plain_rows(file, faults), partial(_add, builder, voters))
    faults.check()
    return builder.finish(path)


def _add(builder: BundleBuilder, voters: Voters, row: Row) -> None:
    vote = read_vote(row)
    if vote.models[0] > vote.models[1]:
        vote = vote.swapped()
    item = "/".join((vote.question, *vote.models, str(vote.turn)))
    instruction = builder.instruction(
        row,
        text=vote.asked,
        context=vote.context,
        category=_category(vote.question),
        subset=f"Turn {vote.turn}",
        key=f"{vote.question}/{vote.turn}",
    )
    add_pair(builder, row, vote, item=item, instruction=instruction, again=True)
    _add_vote(builder, voters, row, vote, item)


def _add_vote(builder: BundleBuilder, voters: Voters, row: Row, vote: Vote, item: str) -> None:
    judge = row.require("judge")
    # FastChat's own files have the model and the prompt that it was asked with.
    parts = judge if isinstance(judge, list) else [judge]
    if len(parts) not in (1, 2):
        row.fail("judge", f"expected a name, or a model and a prompt, found {quoted(judge)}.")
    names = [row.within("judge", {"name": part}).identifier("name", limit=MAX_JUDGE // 2) for part in parts]
    if len(names) == 1 and names[0].startswith(PEOPLE):
        person = voters.name(item, names[0])
        builder.label(row, item=item, annotator=person, value=vote.value, field="judge")
        return
    builder.verdict(
        row,
        item=item,
        judge=" / ".join(names),
        order=0,
        value=vote.value,
        field="judge",
        raw=INCONSISTENT if vote.winner == INCONSISTENT else "",
        model=names[0],
    )


def _category(question: str) -> str:
    """The category of a question by its number, empty for other numbers.

    >>> _category("111"), _category("7")
    ('Math', '')
    """
    place = int(question) - FIRST if question.isascii() and question.isdigit() and len(question) < 6 else -1
    return CATEGORIES[place // 10] if 0 <= place < 10 * len(CATEGORIES) else ""
