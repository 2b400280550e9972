"""A report on a kind as Markdown: what there is, people, judges, how it was computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports.figures import full_text, value_text
from metaeval.reports.kinds import tables
from metaeval.reports.kinds.measures import KIND_LABELS, OF_ONE_PERSON
from metaeval.reports.kinds.methods import kind_methods
from metaeval.reports.markdown import plain_text, table_text
from metaeval.reports.words import simulated_words

Content = Mapping[str, Any]


def kind_markdown(content: dict[str, Any]) -> str:
    """Write the report as Markdown, in GitHub's table syntax."""
    software, found = content["software"], tables.verdict_of(content)
    simulated = simulated_words({"humans": content["people"]})
    parts = [
        f"# Agreement report: {plain_text(content['dataset']['title'])}",
        facts(content),
        *(f"> **Simulated labels.** {plain_text(words)}" for words in simulated),
        f"## {plain_text(found.headline)}",
        " ".join(map(plain_text, (*found.sentences, *found.cautions))),
        *_people(content),
        *_judges(content),
        "## How this was computed",
        "\n".join(f"- {plain_text(line)}" for line in kind_methods(content)),
        f"Inputs: `{content['inputs_hash']}`  \nSoftware: {software['name']} {software['version']}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def facts(content: Content) -> str:
    """What the report is about, in a sentence."""
    items, study = content["items"], content["study"]
    found = [
        f"dataset `{content['dataset']['name']}` version {content['dataset']['version']}",
        f"{KIND_LABELS[content['kind']].lower()}",
        f"{items['n_items']:,} items on {items['n_instructions']:,} instructions",
        tables.labels_words(content["people"]),
    ]
    if study:
        found.append(f"study {plain_text(study['title'])}")
    return "; ".join(found) + "."


def _people(content: Content) -> list[str]:
    if not content["people"]["n_labels"]:
        return ["## People", "There are no labels."]
    rows = [
        (info.label, full_text(estimate, info.unit), f"{estimate['n']:,}")
        for info, estimate in tables.people_figures(content)
    ]
    parts = ["## People", table_text(("Figure", "Value (interval)", "n"), rows, right=1)]
    for table in tables.people_tables(content):
        parts += [f"### {table.title}", _kind_table(table, "")]
    info = OF_ONE_PERSON[content["kind"]]
    people = [
        (str(row["number"]), f"{row['n_labels']:,}", full_text(row["agreement"], info.unit))
        for row in content["people"]["annotators"]
    ]
    return [*parts, "### Person by person", table_text(("Person", "Labels", info.label), people, right=1)]


def _judges(content: Content) -> list[str]:
    if not content["judges"]:
        return []
    main = tables.main_table(content, of_judges=True)
    parts = ["## Judges", _kind_table(main, "Judge")]
    for table in tables.group_tables(content, of_judges=True):
        parts += [f"### {table.title}", _kind_table(table, "Judge")]
    rows = [
        (
            plain_text(name),
            full_text(row, tables.difference_unit(content)),
            value_text({"value": row["share_better"]}),
            "no" if tied else "yes",
        )
        for name, row, tied in tables.differences(content)
    ]
    if rows:
        head = (
            "Judge",
            "Behind the leader (interval)",
            "Confidence that the leader is ahead",
            "Told apart",
        )
        parts += ["### Differences to the leading judge", table_text(head, rows, right=1)]
    return parts


def _kind_table(table: tables.KindTable, first: str) -> str:
    rows = (
        (plain_text(row.name), *(full_text(cell.estimate, cell.info.unit) for cell in row.cells))
        for row in table.rows
    )
    return table_text((first, *map(plain_text, table.heads)), rows, right=1)
