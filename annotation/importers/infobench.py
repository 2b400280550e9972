"""InFoBench: complex instructions taken apart into yes-or-no questions, one model's answers and a judge's verdicts.

Source: https://github.com/qinyiwei/InfoBench (Qin et al., 2024); a file of evaluated outputs, one JSON object a line.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_SYSTEM, Row
from annotation.importers.tables import jsonl_rows
from annotation.kinds.checklist import Checklist, in_words
from annotation.kinds.importance import Importance

FIELDS = (
    "id",
    "instruction",
    "input",
    "category",
    "subset",
    "decomposed_questions",
    "question_label",
    "output",
    "eval",
)
JUDGE = "InFoBench's evaluation"


def read_infobench(path: str | Path, *, system: str | None = None) -> DatasetBundle:
    """Read the file. Each row gives a checklist of its output (when it has one) and the ranking of its questions by
    importance (when it has two or more).

    A checklist's id is the row's, a ranking's ``importance/ID``; the questions are the aspects ``q1``, ``q2``, ...
    `eval` holds the verdicts of a judge. The system that wrote the outputs is named after the file,
    ``gpt4`` of ``gpt4_eval.jsonl``, or `system`, the file's name without its suffix, where that lies under another.
    """
    file = Path(path)
    builder = BundleBuilder(f"infobench: {file.name}")
    system = (system or file.stem).removesuffix("_eval")[:MAX_SYSTEM]
    faults = Faults()
    faults.each(jsonl_rows(file, faults), partial(_add, builder, system))
    faults.check()
    return builder.finish(file)


def _add(builder: BundleBuilder, system: str, row: Row) -> None:
    row.only(FIELDS)
    external_id = row.identifier("id")
    aspects = _aspects(row)
    instruction = builder.instruction(
        row,
        text=row.text("instruction", required=True),
        context=row.text("input"),
        category=row.text("category", limit=100),
        subset=row.subset("subset"),
        key=external_id,
        aspects=aspects,
    )
    keys = [key for key, *_ in aspects]
    if row.get("output") is not None:
        response = builder.response(instruction, system=system, text=row.answer("output"))
        builder.item(
            row, external_id=external_id, kind=Checklist.name, instruction=instruction, responses=[response]
        )
        if row.get("eval") is not None:
            builder.verdict(
                row, item=external_id, judge=JUDGE, order=0, value=_answers(row, keys), field="eval"
            )
    if len(keys) > 1:
        builder.item(
            row, external_id=f"importance/{external_id}", kind=Importance.name, instruction=instruction
        )


def _aspects(row: Row) -> list[tuple[str, str, str | None, Mapping[str, Any]]]:
    questions, labels = row.items("decomposed_questions"), row.items("question_label")
    if not questions:
        row.fail("decomposed_questions", "expected at least one question, found none.")
    if labels and len(labels) != len(questions):
        row.fail("question_label", f"expected {len(questions)} labels, one a question, found {len(labels)}.")
    aspects: list[tuple[str, str, str | None, Mapping[str, Any]]] = []
    for place, question in enumerate(questions):
        field = f"decomposed_questions[{place}]"
        text = row.within(field, {"text": question}).text("text", required=True)
        metadata = {"labels": labels[place]} if labels else {}
        aspects.append((f"q{place + 1}", text, None, metadata))
    return aspects


def _answers(row: Row, keys: list[str]) -> dict[str, Any]:
    verdicts = row.items("eval")
    if len(verdicts) != len(keys):
        row.fail("eval", f"expected {len(keys)} verdicts, one a question, found {len(verdicts)}.")
    verdicts = [in_words(verdict) for verdict in verdicts]
    for place, verdict in enumerate(verdicts):
        if verdict is not None and not isinstance(verdict, bool):
            row.fail(f"eval[{place}]", f"expected true, false or null, found {verdict!r:.60}.")
    return {"answers": dict(zip(keys, verdicts, strict=True))}
