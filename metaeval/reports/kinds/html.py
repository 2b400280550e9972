"""What the templates of a report on a kind show; the page and the file share it."""

from __future__ import annotations

from typing import Any

from metaeval.reports.kinds import tables
from metaeval.reports.kinds.latex import counted_words
from metaeval.reports.kinds.measures import KIND_LABELS, OF_ONE_PERSON
from metaeval.reports.kinds.methods import kind_methods
from metaeval.reports.words import simulated_words


def kind_context(content: dict[str, Any]) -> dict[str, Any]:
    """The names that `metaeval/report_kind_body.html` reads."""
    return {
        "content": content,
        "body": "metaeval/report_kind_body.html",
        "kind_label": KIND_LABELS[content["kind"]],
        "labels_words": tables.labels_words(content["people"]),
        "verdict": tables.verdict_of(content),
        "simulated": simulated_words({"humans": content["people"]}) if content["people"]["n_labels"] else [],
        "people": tables.people_figures(content),
        "people_tables": tables.people_tables(content),
        "one_person": OF_ONE_PERSON[content["kind"]],
        "info": tables.primary_info(content),
        "table": tables.main_table(content, of_judges=True),
        "groups": tables.group_tables(content, of_judges=True),
        "differences": tables.differences(content),
        "unit": tables.difference_unit(content),
        "counted": counted_words(content["kind"]),
        "methods": kind_methods(content),
    }
