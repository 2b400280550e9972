"""A choice of a judge as Markdown: the verdict, its reasons, then the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports import selection_words as words
from metaeval.reports.figures import full_text, value_text
from metaeval.reports.markdown import plain_text, table_text
from metaeval.reports.replacement import TITLE
from metaeval.reports.selection_inputs import PAIRWISE
from metaeval.reports.selection_kinds import kind_of, words_of
from metaeval.reports.selection_tables import Row, table_of
from metaeval.reports.selection_verdict import verdict_of

STATUS = {
    "winner": "chosen",
    "leads": "leads",
    "in set": "not told apart from the leader",
    "behind": "behind",
    "violates": "may not be chosen",
    "not ranked": "not ranked",
    "baseline": "rule without a model",
}


def markdown(content: Mapping[str, Any]) -> str:
    """Write a choice as Markdown, in GitHub's table syntax."""
    verdict, software = verdict_of(content), content["software"]
    constraints = words.constraint_words(content["constraints"], kind_of(content))
    parts = [
        f"# Which judge to use: {plain_text(content['sweep']['name'])}",
        f"## {plain_text(verdict.headline)}",
        plain_text(" ".join((*verdict.sentences, *verdict.cautions))),
        "## What was asked",
        _datasets(content),
        *([plain_text(words_of(content).meaning)] if words_of(content).meaning else []),
        f"Constraints: {plain_text('; '.join(constraints))}." if constraints else "There are no constraints.",
        "## What to expect on new items",
        plain_text(" ".join(words.held_out_words(content))),
        "## All judges",
        _judges(content),
        "## A composite",
        plain_text(" ".join(words.composite_words(content))),
        *_replaces(content),
        *_settling(content),
        *_notes(content),
        f"Inputs: `{content['inputs_hash']}`  \nSoftware: {software['name']} {software['version']}",
    ]
    return "\n\n".join(parts) + "\n"


def _datasets(content: Mapping[str, Any]) -> str:
    rows = (
        (
            plain_text(row["title"]),
            plain_text(words_of(content).role(row["role"])),
            f"{row['weight']:g}",
            f"{row['n_items']:,}",
            f"{row['n_instructions']:,}",
        )
        for row in content["datasets"]
    )
    items = words_of(content).items.capitalize()
    return table_text(("Dataset", "Role", "Weight", items, "Instructions"), rows, right=2)


def _judges(content: Mapping[str, Any]) -> str:
    table = table_of(content)
    head = (
        *("Judge", "How it stands", f"{words.objective_words(content).capitalize()}"),
        *(plain_text(row["title"]) for row in table.datasets),
        *(["Same in both orders"] if kind_of(content) == PAIRWISE else []),
        *("Unreadable", "$ / 1,000", "Seconds each", "Would be chosen"),
    )
    return table_text(head, (_row(row, kind_of(content)) for row in table.rows), right=2)


def _row(row: Row, kind: str) -> list[str]:
    standing = row.standing
    how = STATUS[row.status] + (f": {'; '.join(row.violations)}" if row.violations else "")
    return [
        plain_text(row.judge["name"]),
        plain_text(how),
        full_text(standing["objective"]),
        *(full_text(score) for _, score in row.scores),
        *([full_text(standing["positional_agreement"])] if kind == PAIRWISE else []),
        full_text(standing["unparsed"]),
        full_text(standing["cost_per_1000"], "money"),
        full_text(standing["seconds"], "seconds"),
        value_text({"value": standing["chosen_share"]}),
    ]


def _replaces(content: Mapping[str, Any]) -> list[str]:
    people = [row["name"] for row in content["datasets"] if row["role"] == "people"]
    if not people or content["leader"] is None or kind_of(content) != PAIRWISE:
        return []
    lines = (f"- {plain_text(words.replaces_words(content, name))}" for name in people)
    return [f"## {TITLE}", "\n".join(lines)]


def _settling(content: Mapping[str, Any]) -> list[str]:
    if not content["settling"]:
        return []
    lines = (f"- {plain_text(words.settling_words(content, row))}" for row in content["settling"])
    return ["## What would settle it", "\n".join(lines)]


def _notes(content: Mapping[str, Any]) -> list[str]:
    lines = (f"- {plain_text(note)}" for note in content["notes"])
    return ["## What else to know", "\n".join(lines)] if content["notes"] else []
