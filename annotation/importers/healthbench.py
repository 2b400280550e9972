"""HealthBench: conversations about health with criteria that a physician wrote for each, weighted by points.

Source: https://github.com/openai/simple-evals (`healthbench_eval.py`, `healthbench_meta_eval.py`; R. K. Arora et al.,
"HealthBench: Evaluating Large Language Models Towards Improved Human Health", 2025). Any file of this form is read.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from annotation.importers.build import BundleBuilder, content_key
from annotation.importers.errors import Faults, quoted
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_CATEGORY, Progress, Row, counted_rows
from annotation.importers.tables import plain_rows
from annotation.importers.turns import prompt_turns
from annotation.importers.votes import Voters
from annotation.kinds.checklist import Checklist

CRITERION = "criterion"
THEME = "theme:"
IDEAL = "physician"
"""The system of the completion that a physician wrote."""


def read_healthbench(path: str | Path, progress: Progress | None = None) -> DatasetBundle:
    """Read a file of prompts with rubrics, or of completions with physicians' judgments (JSON Lines, JSON, Parquet).

    A prompt's rubric is a checklist of its ideal completion, each criterion an aspect with its `points` in the
    metadata; without a completion it is an instruction alone, to which contestants can answer. A row with
    `binary_labels` is a checklist of one criterion, whether the completion meets it, with a label of each
    physician.
    """
    file = Path(path)
    builder = BundleBuilder(f"healthbench: {file.name}")
    faults = Faults()
    faults.each(counted_rows(plain_rows(file, faults), progress), partial(_add, builder))
    faults.check()
    return builder.finish(file)


def _add(builder: BundleBuilder, row: Row) -> None:
    if row.get("binary_labels") is not None:
        _add_judged(builder, row)
    else:
        _add_rubric(builder, row)


def _add_rubric(builder: BundleBuilder, row: Row) -> None:
    key = row.identifier("prompt_id")
    text, conversation = prompt_turns(row)
    tags = [
        row.within(f"example_tags[{n}]", {"t": one}).text("t")
        for n, one in enumerate(row.items("example_tags"))
    ]
    theme = next((tag.removeprefix(THEME) for tag in tags if tag.startswith(THEME)), "")
    instruction = builder.instruction(
        row,
        text=text,
        conversation=conversation,
        category=theme[:MAX_CATEGORY],
        key=key,
        aspects=_aspects(row),
        metadata={"tags": tags} if tags else {},
    )
    ideal = row.within("ideal_completions_data", row.mapping("ideal_completions_data"))
    if ideal.get("ideal_completion") is None:
        builder.instruction_alone(row, key=instruction, field="prompt_id")
        return
    builder.item(
        row,
        external_id=key,
        kind=Checklist.name,
        instruction=instruction,
        responses=[builder.response(instruction, system=IDEAL, text=ideal.answer("ideal_completion"))],
        field="prompt_id",
    )


def _aspects(row: Row) -> list[tuple[str, str, str | None, Mapping[str, Any]]]:
    rubrics = row.items("rubrics")
    if not rubrics:
        row.fail("rubrics", "expected at least one criterion, found none.")
    aspects: list[tuple[str, str, str | None, Mapping[str, Any]]] = []
    for place, data in enumerate(rubrics):
        one = row.within(f"rubrics[{place}]", data)
        points = one.require("points")
        if isinstance(points, bool) or not isinstance(points, int | float) or points == 0:
            one.fail("points", f"expected a number other than 0, found {quoted(points)}.")
        metadata: dict[str, Any] = {"points": points}
        if tags := one.items("tags"):
            metadata["tags"] = tags
        aspects.append((f"c{place + 1}", one.text(CRITERION, required=True), None, metadata))
    return aspects


def _add_judged(builder: BundleBuilder, row: Row) -> None:
    criterion, completion = row.text("rubric", required=True), row.identifier("completion_id", limit=150)
    text, conversation = prompt_turns(row)
    instruction = builder.instruction(
        row,
        text=text,
        conversation=conversation,
        category=row.text("category", limit=MAX_CATEGORY),
        # Its aspect is a part of an instruction, so each criterion of a prompt is one.
        key=content_key(row.identifier("prompt_id"), criterion),
        aspects=[(CRITERION, criterion, None, {})],
    )
    item = f"{completion}/{content_key(criterion)}"
    builder.item(
        row,
        external_id=item,
        kind=Checklist.name,
        instruction=instruction,
        responses=[builder.response(instruction, system="", text=row.answer("completion"))],
        metadata={"prompt_id": row.identifier("prompt_id")},
        field="completion_id",
    )
    labels, people = row.items("binary_labels"), row.items("anonymized_physician_ids")
    if len(people) != len(labels):
        row.fail("anonymized_physician_ids", f"expected {len(labels)} ids, one a label, found {len(people)}.")
    voters = Voters()
    for place, (label, person) in enumerate(zip(labels, people, strict=True)):
        one = row.within(f"binary_labels[{place}]", {"label": label, "id": person})
        one.require("label")
        builder.label(
            row,
            item=item,
            annotator=voters.name(item, one.identifier("id")),
            value={"answers": {CRITERION: one.flag("label")}},
            field=f"binary_labels[{place}]",
        )
