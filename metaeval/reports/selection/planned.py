"""What a choice between judges kept of a preregistration."""

from __future__ import annotations

from metaeval.inputs import PEOPLE
from metaeval.reports.planned import WhatWasDone, figures_said
from metaeval.reports.preregistration import Document, kind_planned
from metaeval.reports.selection.report import SelectionReport


def done_by_choice(report: SelectionReport, document: Document) -> WhatWasDone:
    """Of a choice between judges: of the dataset that was planned for, where it takes part."""
    name = document["dataset"]["name"]
    row = next((one for one in report.datasets if one.name == name), report.datasets[0])
    judges = sum(not judge.baseline for judge in report.judges)
    asked = row.role == PEOPLE and report.kind == kind_planned(document)
    return WhatWasDone(
        dataset=f"{row.name}, version {row.version}",
        others=len(report.deciding) - (row in report.deciding),
        figures=figures_said(judges, asked=asked),
        n_labels=row.n_labels,
        n_labeled=None,
        n_two=None,
        fewest=None,
        most=None,
        n_annotators=row.n_annotators,
        n_judges=judges,
        population=report.annotators,
        margin=report.margin,
        epsilon=report.options.epsilon if report.of_pairs else None,
        confidence=report.options.confidence,
    )
