"""A choice of a judge as Markdown: the verdict, its reasons, then the tables."""

from metaeval.reports.anytime import anytime_meaning
from metaeval.reports.figures import full_text, value_text
from metaeval.reports.markdown import plain_text, planned_markdown, table_text
from metaeval.reports.replacement import TITLE
from metaeval.reports.selection import verdict as sections
from metaeval.reports.selection.report import SelectionReport
from metaeval.reports.selection.tables import STATUS, JudgeRow, selection_table
from metaeval.reports.selection.words import objective_words, words_of


def selection_markdown(report: SelectionReport) -> str:
    """Write a choice as Markdown, in GitHub's table syntax."""
    verdict, meaning = sections.selection_verdict(report), words_of(report).meaning
    parts = [
        f"# Judge selection: {plain_text(report.sweep['name'])}",
        f"## {plain_text(verdict.headline)}",
        plain_text(" ".join((*verdict.sentences, *verdict.cautions))),
        "## Selection criteria",
        _datasets(report),
        *([plain_text(meaning)] if meaning else []),
        f"Constraints: {plain_text(sections.constraints_sentence(report))}.",
        "## Expected score on new items",
        plain_text(" ".join(sections.held_out_words(report))),
        "## All judges",
        _judges(report),
        "## Composite",
        plain_text(" ".join(sections.composite_words(report))),
        *_replaces(report),
        *_section("Sample size needed", [sections.settling_words(report, row) for row in report.settling]),
        *_anytime(report),
        *planned_markdown(report.planned),
        *_section("Notes", report.notes),
        f"Inputs: `{report.inputs_hash}`  \nSoftware: {report.software['name']} {report.software['version']}",
    ]
    return "\n\n".join(parts) + "\n"


def _datasets(report: SelectionReport) -> str:
    words = words_of(report)
    rows = (
        (
            plain_text(row.title),
            plain_text(words.role(row.role)),
            f"{row.weight:g}",
            f"{row.n_items:,}",
            f"{row.n_instructions:,}",
        )
        for row in report.datasets
    )
    return table_text(("Dataset", "Role", "Weight", words.items.capitalize(), "Instructions"), rows, right=2)


def _judges(report: SelectionReport) -> str:
    table = selection_table(report)
    head = (
        *("Judge", "Status", objective_words(report).capitalize()),
        *(plain_text(row.title) for row in table.datasets),
        *(["Positional agreement"] if report.of_pairs else []),
        *("Unparsed", "$ / 1,000", "Time per judgment", "Selection frequency (bootstrap)"),
    )
    return table_text(head, (_row(row, of_pairs=report.of_pairs) for row in table.rows), right=2)


def _row(row: JudgeRow, *, of_pairs: bool) -> list[str]:
    standing = row.standing
    status = STATUS[row.status] + (f": {'; '.join(row.violations)}" if row.violations else "")
    cells = [
        full_text(standing.objective),
        *(full_text(score) for _, score in row.scores),
        *([full_text(standing.positional_agreement)] if of_pairs else []),
        full_text(standing.unparsed),
        full_text(standing.cost_per_1000, "money"),
        full_text(standing.seconds, "seconds"),
        value_text({"value": standing.chosen_share}),
    ]
    return [plain_text(row.judge.name), plain_text(status), *cells]


def _replaces(report: SelectionReport) -> list[str]:
    if report.leader is None or not report.of_pairs:
        return []
    people = [row.name for row in report.datasets if row.role == "people"]
    return _section(TITLE, [sections.replaces_words(report, name) for name in people])


def _anytime(report: SelectionReport) -> list[str]:
    if not report.anytime:
        return []
    lines = [" ".join((f"{label}.", *sentences)) for label, sentences in sections.anytime_sections(report)]
    meaning = plain_text(anytime_meaning(report.anytime, report.confidence))
    return [*_section("While labels arrive", lines), *([meaning] if meaning else [])]


def _section(title: str, lines: list[str] | tuple[str, ...]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {plain_text(line)}" for line in lines)] if lines else []
