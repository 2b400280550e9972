"""Judges and items for the targets' tests, and what our own judge says of the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.domain.scales import Scale
from judges import Judge
from judges.exports.targets import export_target
from judges.exports.writing import ASPECTS, Exported, target_export
from judges.strategies.documents import JudgeDocument, document_read
from judges.strategies.types import CriterionView

SHOT = {
    "instruction": "Say yes.",
    "output_a": "Yes.",
    "output_b": "No.",
    "verdict": "A",
    "reason": "It does.",
}
NEEDS: dict[str, dict[str, Any]] = {
    "fewshot": {"shots": [SHOT]},
    "guidelines": {"guidelines": "Prefer the {shorter} one; {{never}} mind `style`."},
    "prometheus_pair": {"guidelines": "Is it to the point?"},
}
"""What a judge of a strategy can't be without."""
CRITERIA = (
    CriterionView("clear", "Is it {clear}?", Scale(words=tuple((k, f"level {k}") for k in range(1, 6)))),
    CriterionView("brief", "Is it brief?", Scale(words=tuple((k, f"grade {k}") for k in range(1, 6)))),
)
WORDS = [
    "tea",
    "is",
    "a",
    "drink",
    "of",
    "leaves",
    "and",
    "hot",
    "water",
    "that",
    "many",
    "people",
    "like",
    "in",
    "the",
    "morning",
    "or",
    "after",
    "their",
    "meal",
]


def pairs(n: int = 16) -> list[dict[str, str]]:
    """Pairs of several lengths, some with what templates trip over."""
    odd = ["", ' {"a": 1}', " {{ b }}", " $x & <b>'q\"", "\nTwo\nlines ", " 100% {% if %}"]
    return [
        {
            "instruction": f"Say something about tea, number {number}.{odd[number % len(odd)]}",
            "output_a": " ".join(WORDS[: 2 + number * 7 % 13]) + odd[(number + 1) % len(odd)],
            "output_b": " ".join(WORDS[: 2 + number * 5 % 11]) + odd[(number + 2) % len(odd)],
            "reference": " ".join(WORDS[: 3 + number % 9]),
        }
        for number in range(n)
    ]


def document_of(strategy: str, model: str, url: str, **fields: Any) -> JudgeDocument:
    """A judge of a strategy that asks the mock server."""
    return document_read(
        {"name": f"Our {strategy}", "strategy": strategy, "model": model, "endpoint": url}
        | NEEDS.get(strategy, {})
        | fields
    )


def exported_to(folder: Path, target: str, document: JudgeDocument, accept: tuple[str, ...] = ()) -> Exported:
    """Export a judge into a folder, whatever is lost unless it is said."""
    lost = accept or tuple(ASPECTS)
    exported = target_export(export_target(target), document, accept=lost, criteria=CRITERIA)
    for name, text in exported.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return exported


def choices(document: JudgeDocument, rows: list[dict[str, str]], swapped: list[bool]) -> list[int | None]:
    """What our own judge says of each pair in one presentation order, in the order of the row."""
    with Judge(document) as judge:
        answers = []
        for row, swap in zip(rows, swapped, strict=True):
            responses = [row["output_a"], row["output_b"]]
            about = {"instruction": row["instruction"], "reference": row["reference"]}
            found = judge.judge(
                {"responses": responses[::-1] if swap else responses, **about}, orders="original"
            )
            answers.append(found.choice if not swap or not found.choice else 3 - found.choice)
        return answers


def answers(
    document: JudgeDocument, rows: list[dict[str, str]], parts: dict[str, Any], place: str = "output_a"
) -> list[dict[str, Any]]:
    """What our own judge says of one response of each row, as the values of its judgments; empty for none."""
    with Judge(document) as judge:
        found = [
            judge.judge(
                {
                    "instruction": row["instruction"],
                    "reference": row["reference"],
                    "responses": [row[place]],
                    **parts,
                }
            )
            for row in rows
        ]
    return [dict(each.value) if each.status == "parsed" else {} for each in found]


RATED = {
    "criteria": [
        {"key": each.key, "question": each.question, "options": {str(k): text for k, text in each.options}}
        for each in CRITERIA
    ]
}
CHECKED = {"aspects": [{"key": "1", "text": "It names {tea} & more."}]}
