"""A report as Markdown: the decision, then tables with intervals."""

from collections.abc import Iterable, Sequence

from metaeval.figures import KIND_LABELS
from metaeval.reports.figures import ALIKE, THESE, alike_text, both_text, full_text, value_text
from metaeval.reports.methods import methods_section
from metaeval.reports.planned import PLANNED, PLANNED_HEADS, Section, planned_rows, planned_source
from metaeval.reports.replacement import HEADS, TITLE, replacement_words, replacements
from metaeval.reports.report import ReportContent
from metaeval.reports.tables import (
    FigureTable,
    difference_unit,
    differences,
    group_tables,
    has_alike,
    judges_table,
    labels_words,
    people_table,
    people_tables,
)
from metaeval.reports.words import simulated_words, verdict_of

DIFFERENCE_HEADS = (
    "Judge",
    "Difference to the leader (interval)",
    "Confidence that the leader is ahead",
    "Significantly different",
)


def markdown(report: ReportContent) -> str:
    """Write the report as Markdown, in GitHub's table syntax."""
    software, found, written = report.software, verdict_of(report), methods_section(report)
    parts = [
        f"# Agreement report: {plain_text(report.dataset['title'])}",
        facts(report),
        *(f"> **Simulated labels.** {plain_text(words)}" for words in simulated_words(report)),
        f"## {plain_text(found.headline)}",
        " ".join(map(plain_text, (*found.sentences, *found.cautions))),
        *_people(report),
        *_judges(report),
        *planned_markdown(report.planned),
        "## Methods",
        *map(plain_text, written.prose),
        "### References",
        "\n".join(
            f"{number}. {plain_text(one.text)}" for number, one in enumerate(written.bibliography, start=1)
        ),
        f"Inputs: `{report.inputs_hash}`  \nSoftware: {software['name']} {software['version']}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def planned_markdown(section: Section | None) -> list[str]:
    """What was planned and what was kept of it; nothing where nothing was planned."""
    rows = [tuple(map(plain_text, row)) for row in planned_rows(section)]
    if section is None or not rows:
        return []
    return [
        f"## {PLANNED}",
        f"{plain_text(planned_source(section))}.",
        *([plain_text(section["question"])] if section.get("question") else []),
        table_text(PLANNED_HEADS, rows, right=4),
    ]


def facts(report: ReportContent) -> str:
    """What was reported on, in a line of Markdown."""
    return f"dataset `{report.dataset['name']}` version {report.dataset['version']}; {plain_text(facts_text(report))}"


def facts_text(report: ReportContent) -> str:
    """Which items, how many, with which labels, of which study or sweep."""
    items = report.items
    found = [
        KIND_LABELS[report.kind].lower(),
        f"{items.n_items:,} items on {items.n_instructions:,} instructions",
        labels_words(report),
    ]
    if items.n_gold:
        found.insert(2, f"{items.n_gold:,} with a gold answer")
    if report.study:
        found.append(f"study {report.study['title']}")
    if report.dimension:
        found.append(f"dimension {report.dimension['name']}")
    if report.sweep:
        found.append(f"sweep {report.sweep['name']}")
    return "; ".join(found) + "."


def _people(report: ReportContent) -> list[str]:
    if not report.people.n_labels:
        return ["## Inter-annotator agreement", "There are no labels."]
    rows: list[tuple[str, ...]] = [
        (figure.label, full_text(estimate, figure.unit), f"{estimate['n']:,}")
        for figure, estimate in people_table(report)
    ]
    heads: tuple[str, ...] = ("Figure", "Value (interval)", "n")
    if has_alike(report):
        rows = [
            (
                figure.label,
                full_text(estimate, figure.unit),
                alike_text(estimate, figure.unit),
                f"{estimate['n']:,}",
            )
            for figure, estimate in people_table(report)
        ]
        heads = ("Figure", f"Value ({THESE.lower()})", ALIKE, "n")
    parts = ["## Inter-annotator agreement", table_text(heads, rows, right=1)]
    for table in people_tables(report):
        parts += [f"### {table.title}", _table(table)]
    one = report.figures.of_one_person
    if report.people.annotators:
        people = [
            (str(row.number), f"{row.n_labels:,}", full_text(row.agreement, one.unit))
            for row in report.people.annotators
        ]
        parts += ["### By annotator", table_text(("Annotator", "Labels", one.label), people, right=1)]
    return parts


def _judges(report: ReportContent) -> list[str]:
    if not report.judges:
        return []
    parts = ["## Judges", _table(judges_table(report))]
    for table in group_tables(report):
        parts += [f"### {table.title}", _table(table), *filter(None, [table.note])]
    return parts + _replacements(report) + _differences(report)


def _replacements(report: ReportContent) -> list[str]:
    rows = replacements(report)
    if not rows:
        return []
    table = table_text(
        HEADS,
        (
            (
                plain_text(row.name),
                row.word,
                f"{row.test['n_won']} of {row.test['n_tested']}",
                full_text(row.test["advantage_probability"]),
            )
            for row in rows
        ),
        right=2,
    )
    return [f"### {TITLE}", table, " ".join(plain_text(words) for words in replacement_words(report))]


def _differences(report: ReportContent) -> list[str]:
    rows = [
        (
            plain_text(judge.name),
            full_text(row, difference_unit(report)),
            value_text({"value": row.get("share_better")}),
            "yes" if differs else "no",
        )
        for judge, row, differs in differences(report)
    ]
    if not rows or report.selection.leader is None:
        return []
    leader = plain_text(report.judges[report.selection.leader].name)
    return [f"### Paired differences to {leader}", table_text(DIFFERENCE_HEADS, rows, right=1)]


def _table(table: FigureTable) -> str:
    rows = (
        (
            plain_text(row.name) + (" (baseline)" if row.status == "baseline" else ""),
            *(both_text(cell.estimate, cell.figure.unit) for cell in row.cells),
        )
        for row in table.rows
    )
    return table_text((table.first, *map(plain_text, table.heads)), rows, right=1)


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: int) -> str:
    """A table whose columns from `right` on are figures."""
    lines = [head, ["---"] * right + ["---:"] * (len(head) - right), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain_text(text: str) -> str:
    """Text of others as plain Markdown text: one line, and nothing in it means anything."""
    flat = " ".join(text.split())
    for sign in "\\`*_[]<>|#~":
        flat = flat.replace(sign, f"\\{sign}")
    return flat
