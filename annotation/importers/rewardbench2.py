"""RewardBench 2: a prompt with one right completion among four, or, in the subset Ties, with several right ones.

Source: https://huggingface.co/datasets/allenai/reward-bench-2 (split `test`; S. Malik et al., "RewardBench 2:
Advancing Reward Model Evaluation", 2025).
"""

from pathlib import Path
from typing import Any

from annotation.importers.build import BundleBuilder
from annotation.importers.folders import bundle_of_tables
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_SYSTEM, Row
from annotation.importers.turns import prompt_turns
from annotation.kinds.answer_ranking import AnswerRanking

LISTS = ("chosen", "rejected")
COUNTS = {"num_correct": "chosen", "num_incorrect": "rejected"}
METADATA = ("num_correct", "additional_metadata")


def read_rewardbench2(path: str | Path) -> DatasetBundle:
    """Read a file of prompts (Parquet, JSON or JSON Lines), or a folder with such files.

    Each row is an answer ranking: the chosen completions first, which are all of rank 1 in its gold, and the
    rejected ones, which are all of rank 2. `models` names the systems, where it has one for each completion.
    """
    return bundle_of_tables("rewardbench2", path, _add)


def _add(builder: BundleBuilder, row: Row) -> None:
    text, conversation = prompt_turns(row)
    instruction = builder.instruction(
        row, text=text, conversation=conversation, subset=row.subset("subset"), category=""
    )
    completions = {name: _texts(row, name) for name in LISTS}
    for field, name in COUNTS.items():
        if row.get(field) is not None and row.number_in(field, range(1_000)) != len(completions[name]):
            row.fail(
                field,
                f"expected {len(completions[name])}, how many {name} there are, found {row.get(field)}.",
            )
    texts = [*completions["chosen"], *completions["rejected"]]
    models = row.items("models")
    systems = models if len(models) == len(texts) else [""] * len(texts)
    responses = [
        builder.response(
            instruction,
            system=row.within(f"models[{n}]", {"name": system}).text("name", limit=MAX_SYSTEM),
            text=one,
        )
        for n, (one, system) in enumerate(zip(texts, systems, strict=True))
    ]
    metadata: dict[str, Any] = {
        name: value for name in METADATA if (value := row.get(name)) not in (None, {}, [])
    }
    builder.item(
        row,
        external_id=row.identifier("id"),
        kind=AnswerRanking.name,
        instruction=instruction,
        responses=responses,
        gold={"ranks": {str(n): 1 if n < len(completions["chosen"]) else 2 for n in range(len(texts))}},
        metadata=metadata,
    )


def _texts(row: Row, field: str) -> list[str]:
    given = row.items(field)
    if not given:
        row.fail(field, "expected at least one completion, found none.")
    return [row.within(f"{field}[{n}]", {"text": one}).answer("text") for n, one in enumerate(given)]
