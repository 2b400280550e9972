"""A report as Markdown: the decision, then tables with intervals."""

from collections.abc import Iterable, Sequence
from typing import Any

from metaeval.reports.figures import MEASURES, PEOPLE, full_text, value_text
from metaeval.reports.methods import methods
from metaeval.reports.replacement import HEADS, TITLE, replacement_words, replacements
from metaeval.reports.tables import OVERALL, Slice, category_columns, ranked, subset_columns
from metaeval.reports.words import simulated_words, verdict_of

Row = Sequence[str]


def markdown(content: dict[str, Any]) -> str:
    """Write the report as Markdown, in GitHub's table syntax."""
    software = content["software"]
    parts = [
        f"# Agreement report: {plain_text(content['dataset']['title'])}",
        _facts(content),
        *(f"> **Simulated labels.** {plain_text(words)}" for words in simulated_words(content)),
        *_decision(content),
        *_people(content),
        *_judges(content),
        "## How this was computed",
        "\n".join(f"- {plain_text(line)}" for line in methods(content)),
        f"Inputs: `{content['inputs_hash']}`  \nSoftware: {software['name']} {software['version']}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(content: dict[str, Any]) -> str:
    items, people, study, sweep = content["items"], content["humans"], content["study"], content["sweep"]
    facts = [
        f"dataset `{content['dataset']['name']}` version {content['dataset']['version']}",
        f"{items['n_items']:,} pairs on {items['n_instructions']:,} instructions",
        f"{items['n_gold']:,} with a gold answer",
        f"{people['n_labels']:,} labels of {people['n_annotators']:,} annotators",
    ]
    if study:
        facts.append(f"study {plain_text(study['title'])}")
    if sweep:
        facts.append(f"sweep {plain_text(sweep['name'])}")
    return "; ".join(facts) + "."


def _decision(content: dict[str, Any]) -> list[str]:
    found = verdict_of(content, content["primary"])
    return [
        f"## {plain_text(found.headline)}",
        " ".join(map(plain_text, (*found.sentences, *found.cautions))),
    ]


def _people(content: dict[str, Any]) -> list[str]:
    if not content["humans"]["n_labels"]:
        return ["## People", "There are no labels."]
    measures = content["humans"]["measures"]
    overall = table_text(
        ("Figure", "Value (interval)", "n"),
        (
            (label, full_text(measures[name]["overall"], unit), str(measures[name]["overall"]["n"]))
            for name, (label, unit) in PEOPLE.items()
        ),
        right=2,
    )
    names = ("leave_one_out", "best_reachable", "krippendorff_alpha", "tie_rate", "length_bias")
    parts = ["## People", overall]
    for title, columns in (("subset", subset_columns(content)), ("category", category_columns(content))):
        if columns:
            rows = (
                (
                    plain_text(column.label),
                    *(full_text(column.of(measures[name]), PEOPLE[name][1]) for name in names),
                )
                for column in columns
            )
            parts.append(f"### People by {title}")
            parts.append(table_text((title.title(), *(PEOPLE[name][0] for name in names)), rows, right=1))
    return parts


def _judges(content: dict[str, Any]) -> list[str]:
    if not content["judges"]:
        return []
    primary = content["primary"]
    names = [primary, *(name for name in MEASURES if name != primary)]
    names = [name for name in names if _defined(content, name)]
    table = table_text(
        ("Judge", *(MEASURES[name][0] for name in names)),
        (
            (
                _name(judge),
                *(full_text(judge["measures"][name]["overall"], MEASURES[name][1]) for name in names),
            )
            for _, judge in ranked(content, primary)
        ),
        right=1,
    )
    parts = ["## Judges", table]
    for title, columns in (("subset", subset_columns(content)), ("category", category_columns(content))):
        for name in ("agreement", "accuracy"):
            if columns and _defined(content, name):
                parts.append(f"### {MEASURES[name][0]} by {title}, %")
                parts.append(_by_group(content, name, columns))
    if subset_columns(content) and _defined(content, "positional_agreement"):
        parts.append(f"### {MEASURES['positional_agreement'][0]} by subset, %")
        parts.append(_by_group(content, "positional_agreement", subset_columns(content)))
    return parts + _replacements(content) + _differences(content)


def _replacements(content: dict[str, Any]) -> list[str]:
    rows = replacements(content)
    if not rows:
        return []
    table = table_text(
        HEADS,
        (
            (
                plain_text(name),
                word,
                f"{test['n_won']} of {test['n_tested']}",
                full_text(test["advantage_probability"]),
            )
            for name, word, test in rows
        ),
        right=2,
    )
    return [f"### {TITLE}", table, " ".join(plain_text(words) for words in replacement_words(content))]


def _by_group(content: dict[str, Any], name: str, columns: Sequence[Slice]) -> str:
    columns = [OVERALL, *columns]
    rows = (
        (
            _name(judge),
            *(full_text(column.of(judge["measures"][name])).replace(" %", "", 1) for column in columns),
        )
        for _, judge in ranked(content, content["primary"])
    )
    return table_text(("Judge", *(plain_text(column.short) for column in columns)), rows, right=1)


def _differences(content: dict[str, Any]) -> list[str]:
    selection = content["selection"][content["primary"]]
    if not selection["differences"]:
        return []
    leader = content["judges"][selection["leader"]]["name"]
    rows = (
        (
            _name(content["judges"][row["judge"]]),
            full_text(row, "points"),
            value_text({"value": row["share_better"]}),
            "no" if row["judge"] in selection["tied"] else "yes",
        )
        for row in selection["differences"]
    )
    head = ("Judge", "Behind the leader (interval)", "Confidence that the leader is ahead", "Told apart")
    return [f"### Paired differences to {plain_text(leader)}", table_text(head, rows, right=1)]


def _defined(content: dict[str, Any], name: str) -> bool:
    return any(judge["measures"][name]["overall"]["value"] is not None for judge in content["judges"])


def _name(judge: dict[str, Any]) -> str:
    return plain_text(judge["name"]) + (" (baseline)" if judge["baseline"] else "")


def table_text(head: Row, rows: Iterable[Row], *, right: int) -> str:
    """A table whose columns from `right` on are figures."""
    lines = [head, ["---"] * right + ["---:"] * (len(head) - right), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain_text(text: str) -> str:
    """Text of others as plain Markdown text: one line, and nothing in it means anything."""
    flat = " ".join(text.split())
    for sign in "\\`*_[]<>|#~":
        flat = flat.replace(sign, f"\\{sign}")
    return flat
