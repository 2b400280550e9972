"""A report on pairs as LaTeX: people's agreement and the judges, over all items and by group."""

from __future__ import annotations

from typing import Any

from metaeval.reports.figures import MEASURES, PEOPLE
from metaeval.reports.latex_figures import caption, grid, listed, report_text, value_cell, with_unit
from metaeval.reports.latex_text import LatexTable, escape
from metaeval.reports.replacement import HEADS, TITLE, replacement_words, replacements
from metaeval.reports.tables import OVERALL, Slice, category_columns, ranked, subset_columns
from metaeval.reports.words import simulated_words

Content = dict[str, Any]
_OF_GROUPS = ("leave_one_out", "best_reachable", "krippendorff_alpha", "tie_rate")


def latex(content: Content) -> str:
    r"""Write the report as LaTeX tables, to be taken into a paper with \input. They need the package booktabs."""
    return report_text(content, [*_people(content), *_judges(content), *_replacements(content)])


def _people(content: Content) -> list[LatexTable]:
    people = content["humans"]
    if not people["n_labels"]:
        return []
    of = f"of {people['n_annotators']:,} people on {people['n_items_labelled']:,} pairs"
    notes = (f"{people['n_labels']:,} labels {of}.", *simulated_words(content))
    rows = [(label, unit, people["measures"][name]["overall"]) for name, (label, unit) in PEOPLE.items()]
    words = caption(content, "Agreement of people", *notes, "n counts pairs.")
    found = [listed("people", words, rows)]
    heads = [with_unit(*PEOPLE[name]) for name in _OF_GROUPS]
    for title, columns in _groupings(content):
        by_group = [
            (place.label, [(place.of(people["measures"][name]), PEOPLE[name][1]) for name in _OF_GROUPS])
            for place in columns
        ]
        words = caption(content, f"Agreement of people by {title}", *notes, "n counts pairs.")
        found.append(grid(f"people-{title}", words, title.title(), heads, by_group, counts=True))
    return found


def _judges(content: Content) -> list[LatexTable]:
    primary = content["primary"]
    order = [primary, *(name for name in MEASURES if name != primary)]
    names = [name for name in order if _defined(content, name)]
    if not names:
        return []
    judges = [(_name(judge), judge["measures"]) for _, judge in ranked(content, primary)]
    what = MEASURES[primary][0].lower()
    rows = [
        (name, [(measures[key]["overall"], MEASURES[key][1]) for key in names]) for name, measures in judges
    ]
    by = f"Judges by {what}" if primary in names else "Judges"
    words = caption(content, by, *simulated_words(content), "n counts pairs.")
    heads = [with_unit(*MEASURES[key]) for key in names]
    found = [grid("judges", words, "Judge", heads, rows, counts=True)]
    tables = [(primary, title, columns) for title, columns in _groupings(content)]
    # Positional agreement by subset, as in the tables of LLMBar.
    tables += [("positional_agreement", *one) for one in _groupings(content) if one[0] == "subset"]
    for key, title, columns in tables:
        places = [OVERALL, *columns]
        if key not in names:
            continue
        rows = [
            (name, [(place.of(measures[key]), "percent") for place in places]) for name, measures in judges
        ]
        words = caption(
            content, f"Judges: {MEASURES[key][0].lower()} by {title}, %", *simulated_words(content)
        )
        label = f"judges-{title}" if key == primary else f"judges-positional-{title}"
        found.append(grid(label, words, "Judge", [escape(place.short) for place in places], rows))
    return found


def _replacements(content: Content) -> list[LatexTable]:
    rows = replacements(content)
    if not rows:
        return []
    lines = tuple(
        (
            escape(name),
            escape(word),
            f"{test['n_won']} of {test['n_tested']}",
            value_cell(test["advantage_probability"], "percent"),
        )
        for name, word, test in rows
    )
    words = caption(content, TITLE, *replacement_words(content), *simulated_words(content))
    heads = (*HEADS[1:3], with_unit(HEADS[3], "percent"))
    return [LatexTable("replacement", words, HEADS[0], heads, lines)]


def _groupings(content: Content) -> list[tuple[str, list[Slice]]]:
    found = [("subset", subset_columns(content)), ("category", category_columns(content))]
    return [(title, columns) for title, columns in found if columns]


def _defined(content: Content, name: str) -> bool:
    return any(judge["measures"][name]["overall"]["value"] is not None for judge in content["judges"])


def _name(judge: dict[str, Any]) -> str:
    return str(judge["name"]) + (" (baseline)" if judge["baseline"] else "")
