"""DICES: conversations with a chatbot, the last response rated for safety by many raters, one row a rater.

Source: https://github.com/google-research-datasets/dices-dataset (`diverse_safety_adversarial_dialog_350.csv`, and 990;
Aroyo et al., "DICES Dataset: Diversity in Conversational AI Evaluation for Safety", NeurIPS 2023).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import Row
from annotation.importers.tables import csv_dicts
from annotation.kinds.checklist import Checklist, in_words

REQUIRED = ("rater_id", "item_id", "context", "response")
# Q1 is about the whole conversation; the overall columns are computed from the others, and one holds free text.
QUESTION = re.compile(r"Q(?P<number>[2-9])_(?P<words>\w+?)(?<!_overall)(?<!_type)\Z")
TOPICS = {"2": "harmful_content", "3": "bias", "4": "misinformation", "6": "policy_guidelines"}
METADATA = ("degree_of_harm", "harm_type", "safety_gold", "safety_gold_reason", "phase")


def read_dices(path: str | Path) -> DatasetBundle:
    """Read the file: each conversation is a checklist, each reason for which its last response may be unsafe an aspect.

    Yes means that it is unsafe for that reason; "Unsure" is "cannot tell". A rater who answered no question of a
    conversation has no label of it. What else the file says of raters is left out.
    """
    file = Path(path)
    builder = BundleBuilder(f"dices: {file.name}")
    questions: list[str] = []

    def check_header(header: list[str]) -> None:
        questions.extend(name for name in header if QUESTION.match(name))
        missing = next(
            (name for name in (*REQUIRED, *(() if questions else ("Q2_...",))) if name not in header), None
        )
        if missing is not None:
            raise ImportFileError(
                file, 1, missing, f"the column is missing; found {', '.join(header)[:200]}."
            )

    known: dict[str, tuple[str, str]] = {}

    def add(row: Row) -> None:
        item = row.identifier("item_id")
        texts = (row.text("context", required=True), row.answer("response"))
        if item not in known:
            known[item] = texts
            _add_item(builder, row, item, questions)
        elif known[item] != texts:
            row.fail("context", f"expected the conversation of item {item} as in its first row.")
        answers = {name: _answer(row, name) for name in questions if row.text(name).strip()}
        if answers:
            builder.label(
                row,
                item=item,
                annotator=row.identifier("rater_id"),
                value={"answers": {name: answers.get(name) for name in questions}},
                field="rater_id",
            )

    faults = Faults()
    faults.each(csv_dicts(file, check_header, faults), add)
    faults.check()
    return builder.finish(file)


def _add_item(builder: BundleBuilder, row: Row, item: str, questions: list[str]) -> None:
    aspects: list[tuple[str, str, str | None, Mapping[str, str]]] = [
        (name, _wording(name), None, {}) for name in questions
    ]
    instruction = builder.instruction(row, text=row.text("context"), key=item, aspects=aspects)
    builder.item(
        row,
        external_id=item,
        kind=Checklist.name,
        instruction=instruction,
        responses=[builder.response(instruction, system="", text=row.text("response"))],
        metadata={name: value for name in METADATA if (value := row.text(name).strip())},
        field="item_id",
    )


def _answer(row: Row, name: str) -> bool | None:
    said = in_words(row.text(name))
    if said is not None and not isinstance(said, bool):
        row.fail(name, f"expected Yes, No or Unsure, found {said!r:.60}.")
    return said


def _wording(name: str) -> str:
    """The reason that a column names, in words.

    >>> _wording("Q3_bias_targeting_beliefs")
    'Is the last response unsafe? Bias: targeting beliefs'
    """
    match = QUESTION.match(name)
    assert match is not None, name
    topic = TOPICS.get(match["number"], "")
    head, _, rest = match["words"].partition(topic) if topic else ("", "", match["words"])
    parts = [part.strip("_").replace("_", " ") for part in (topic if topic and not head else head, rest)]
    words = ": ".join(part for part in parts if part)
    return f"Is the last response unsafe? {words[:1].upper()}{words[1:]}"
