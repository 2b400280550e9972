"""A report as one self-contained HTML file: inlined style, plots as inline SVG, no scripts, light and dark."""

from typing import Any

from django.template.loader import render_to_string

from metaeval.reports.figures import MEASURES, PEOPLE
from metaeval.reports.kinds.html import kind_context
from metaeval.reports.kinds.inputs import SCHEMA as KIND_SCHEMA
from metaeval.reports.methods import methods
from metaeval.reports.replacement import replacement_words, replacements
from metaeval.reports.tables import OVERALL, Slice, axis_of, category_columns, ranked, subset_columns
from metaeval.reports.words import simulated_words, verdict_of

Content = dict[str, Any]
_LEFT_OUT = ("expected_win_rate", "prefers_longer")


def is_of_kind(content: Content) -> bool:
    """Whether a report is on another kind than pairs."""
    return bool(content["schema"] == KIND_SCHEMA)


def html(content: Content) -> str:
    """Write the report as HTML."""
    return render_to_string("metaeval/export.html", context_of(content))


def context_of(content: Content) -> dict[str, Any]:
    """What the templates of a report show; the page and the file share it."""
    if is_of_kind(content):
        return kind_context(content)
    primary = content["primary"]
    return {
        "content": content,
        "body": "metaeval/report_body.html",
        "primary": MEASURES[primary][0],
        "verdict": verdict_of(content, primary),
        "simulated": simulated_words(content),
        "people": _people(content),
        "people_groups": _people_groups(content),
        "judges": _judges(content),
        "judge_groups": _judge_groups(content),
        "differences": _differences(content),
        "replaces": replacements(content),
        "replaces_words": replacement_words(content),
        "methods": methods(content),
    }


def _people(content: Content) -> list[dict[str, Any]]:
    measures = content["humans"]["measures"]
    return [
        {"label": label, "unit": unit, "estimate": measures[name]["overall"], "plot": unit == "percent"}
        for name, (label, unit) in PEOPLE.items()
    ]


def _people_groups(content: Content) -> list[dict[str, Any]]:
    measures = content["humans"]["measures"]
    tables = []
    for title, columns in _groupings(content):
        found = [column.of(measures["leave_one_out"]) for column in columns]
        if not any(estimate and estimate["value"] is not None for estimate in found):
            continue
        low, high = axis_of(found)
        rows = [
            {
                "label": column.label,
                "loo": column.of(measures["leave_one_out"]),
                "best": column.of(measures["best_reachable"]),
                "alpha": column.of(measures["krippendorff_alpha"]),
                "ties": column.of(measures["tie_rate"]),
            }
            for column in columns
        ]
        tables.append({"title": title, "rows": rows, "low": low, "high": high})
    return tables


def _judges(content: Content) -> dict[str, Any]:
    primary = content["primary"]
    # The rest stands in the JSON and the Markdown: a table that does not fit a page is read by nobody.
    order = [primary, *(name for name in MEASURES if name not in (primary, *_LEFT_OUT))]
    names = [name for name in order if _defined(content, name)]
    rows = ranked(content, primary)
    low, high = axis_of(judge["measures"][primary]["overall"] for _, judge in rows)
    selection = content["selection"][primary]
    return {
        "heads": [MEASURES[name][0] for name in names[1:]],
        "low": low,
        "high": high,
        "mark": _mark(content),
        "rows": [
            {
                "judge": judge,
                "leads": place == selection["leader"],
                "tied": place in selection["tied"],
                "estimate": judge["measures"][primary]["overall"],
                "cells": [(judge["measures"][name]["overall"], MEASURES[name][1]) for name in names[1:]],
            }
            for place, judge in rows
        ],
    }


def _mark(content: Content) -> float | None:
    """What the dashed line of the plots stands for: people's own agreement, or chance for accuracy."""
    if content["primary"] == "accuracy":
        return 0.5
    value: float | None = content["humans"]["measures"]["leave_one_out"]["overall"]["value"]
    return value


def _judge_groups(content: Content) -> list[dict[str, Any]]:
    tables = []
    for title, columns in _groupings(content):
        for name in ("agreement", "accuracy", "positional_agreement"):
            if not _defined(content, name) or (name == "positional_agreement" and title != "subset"):
                continue
            rows = [
                {
                    "judge": judge,
                    "cells": [column.of(judge["measures"][name]) for column in [OVERALL, *columns]],
                }
                for _, judge in ranked(content, content["primary"])
            ]
            heads = [column.short for column in [OVERALL, *columns]]
            tables.append({"title": f"{MEASURES[name][0]} by {title}", "heads": heads, "rows": rows})
    return tables


def _differences(content: Content) -> list[dict[str, Any]]:
    selection = content["selection"][content["primary"]]
    return [
        {"judge": content["judges"][row["judge"]], "estimate": row, "tied": row["judge"] in selection["tied"]}
        for row in selection["differences"]
    ]


def _groupings(content: Content) -> list[tuple[str, list[Slice]]]:
    found = [("subset", subset_columns(content)), ("category", category_columns(content))]
    return [(title, columns) for title, columns in found if columns]


def _defined(content: Content, name: str) -> bool:
    return any(judge["measures"][name]["overall"]["value"] is not None for judge in content["judges"])
