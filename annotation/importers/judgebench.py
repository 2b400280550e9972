"""JudgeBench: pairs of which one response is objectively right, and verdicts of judges in both presentation orders.

Source: https://github.com/ScalerLab/JudgeBench (`data/*.jsonl`; `outputs/*.jsonl` repeat the pairs with `judgments`;
S. Tan et al., "JudgeBench: A Benchmark for Evaluating LLM-Based Judges", ICLR 2025).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.cells import MAX_STRATEGY, read_scores
from annotation.importers.errors import quoted
from annotation.importers.folders import bundle_of_tables
from annotation.importers.records import DatasetBundle, Value
from annotation.importers.rows import MAX_JUDGE, MAX_SUBSET, MAX_SYSTEM, Row, one_of

LABELS: Mapping[str, int] = {"A>B": 1, "B>A": 2}
DECISIONS: Mapping[str, int] = {**LABELS, "A=B": 0, "B=A": 0}
CATEGORIES: Mapping[str, str] = {
    "mmlu-pro": "Knowledge",
    "livebench-reasoning": "Reasoning",
    "livebench-math": "Math",
    "livecodebench": "Coding",
}
"""By what the source of a question begins with."""
NAMED = re.compile(r"(?:^|,)judge_model=([^,]+)\.jsonl\Z")
"""A file of judgments names its judge, with underscores for the slashes of a model."""


def read_judgebench(path: str | Path) -> DatasetBundle:
    """Read a file of pairs, of pairs with judgments, or a folder with such files.

    An item's id is its `pair_id`, gold its `label`, the subset its `source`. A judge is its `judge_name` and its model,
    by the file's name or by the row: ``arena_hard / gpt-4o``. Its second judgment had the responses swapped and is
    turned. A judgment or decision that is null is unparsed, because the judge failed or its answer couldn't be read.
    """
    return bundle_of_tables("judgebench", path, _add)


def _add(builder: BundleBuilder, row: Row) -> None:
    item = row.identifier("pair_id")
    label = row.require("label")
    if not isinstance(label, str) or label not in LABELS:
        row.fail("label", f"expected {one_of(LABELS)}, found {quoted(label)}.")
    source = row.text("source", required=True, limit=MAX_SUBSET)
    instruction = builder.instruction(
        row,
        text=row.text("question", required=True),
        category=next((words for start, words in CATEGORIES.items() if source.startswith(start)), ""),
        subset=row.subset("source"),
    )
    model = row.text("response_model", limit=MAX_SYSTEM)
    original = row.get("original_id")
    builder.pair(
        row,
        external_id=item,
        instruction=instruction,
        systems=(model, model),
        texts=(row.answer("response_A"), row.answer("response_B")),
        gold={"choice": LABELS[label]},
        metadata={} if original is None else {"original_id": str(original)},
        field="pair_id",
        again=True,
    )
    judgments = row.items("judgments")
    if judgments:
        _add_judgments(builder, row, item, judgments)


def _add_judgments(builder: BundleBuilder, row: Row, item: str, judgments: Sequence[object]) -> None:
    if len(judgments) > 2:
        row.fail("judgments", f"expected one judgment, or one in each order, found {len(judgments)}.")
    name = row.identifier("judge_name", limit=MAX_STRATEGY)
    given = [None if one is None else row.within(f"judgments[{n}]", one) for n, one in enumerate(judgments)]
    said = [None if one is None else one.within("judgment", one.mapping("judgment")) for one in given]
    # A row of which both judgments failed doesn't name the model, so the file's name comes first.
    found = NAMED.search(Path(row.origin.file).name)
    model = next((one.text("judge_model", limit=MAX_JUDGE // 2) for one in said if one is not None), "")
    model = found[1][: MAX_JUDGE // 2] if found else model
    for order, (judgment, details) in enumerate(zip(given, said, strict=True)):
        value = None if judgment is None else _value(judgment, order)
        scores = None if details is None else read_scores(details, details.get("scores"), 2)
        if scores is not None:
            value = (value or {}) | {"scores": scores[::-1] if order else scores}
        builder.verdict(
            row,
            item=item,
            judge=f"{name} / {model}" if model else name,
            order=order,
            value=value,
            status="parsed" if value is not None and "choice" in value else "unparsed",
            field=f"judgments[{order}]",
            raw="" if details is None else details.text("response"),
            model=model,
            strategy=name,
        )


def _value(judgment: Row, order: int) -> Value | None:
    decision = judgment.get("decision")
    if decision is None:
        return None
    if not isinstance(decision, str) or decision.replace(">>", ">").strip() not in DECISIONS:
        judgment.fail("decision", f"expected {one_of(DECISIONS)} or null, found {quoted(decision)}.")
    choice = DECISIONS[decision.replace(">>", ">").strip()]
    return {"choice": 3 - choice if choice and order else choice}
