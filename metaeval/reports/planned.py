"""What was kept of a preregistration: by a report, a comparison, or a choice between judges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.inputs import PEOPLE
from metaeval.reports.figures import points_text
from metaeval.reports.planning import POPULATION_WORDS, QUESTION_WORDS
from metaeval.reports.preregistration import (
    Document,
    epsilon_text,
    figure_planned,
    kind_planned,
    preregistration_hash,
    stopping_planned,
)
from metaeval.reports.report import ReportContent

PLANNED = "Preregistered plan"
PLANNED_HEADS = ("", "Planned", "Done", "Kept")
KEPT_WORDS = {True: "yes", False: "differs", None: "not checked"}

Section = Mapping[str, Any]
Line = tuple[str, str, str, bool | None]


@dataclass(frozen=True, slots=True)
class WhatWasDone:
    """What was done, as far as it can be compared with what was planned; None: nothing here tells.

    Attributes
    ----------
    dataset : str
        Its name and version; ``others`` are datasets that take part beside it.
    figures : tuple of str
        The planned figures that are said here.
    fewest, most : int or None
        Labels of a labeled item.
    """

    dataset: str
    others: int
    figures: tuple[str, ...]
    n_labels: int
    n_labeled: int | None
    n_two: int | None
    fewest: int | None
    most: int | None
    n_annotators: int
    n_judges: int
    population: str
    margin: float
    epsilon: float | None
    confidence: float


def done_by_report(report: ReportContent, document: Document) -> WhatWasDone:
    """Of a report or a comparison."""
    people, options = report.people, report.options
    judges = sum(not judge.needs_no_model for judge in report.judges)
    compared = options.get("against", PEOPLE) == PEOPLE and people.n_items_with_two_labels > 0
    return WhatWasDone(
        dataset=f"{report.dataset['name']}, version {report.dataset.get('version')}",
        others=0,
        figures=figures_said(judges, asked=compared and report.kind == kind_planned(document)),
        n_labels=people.n_labels,
        n_labeled=people.n_items_labelled,
        n_two=people.n_items_with_two_labels,
        fewest=people.labels_per_item.get("min"),
        most=people.labels_per_item.get("max"),
        n_annotators=people.n_annotators,
        n_judges=judges,
        population=options.get("annotators", "alike"),
        margin=options.get("margin", 0.0),
        epsilon=options.get("epsilon"),
        confidence=options["confidence"],
    )


def figures_said(judges: int, *, asked: bool) -> tuple[str, ...]:
    """The planned figures that so many judges beside people have; none where nothing of the kind is asked."""
    if not asked:
        return ()
    found = ("people", "judge", "judge_minus_people", "judge_minus_judge")
    return found[: 1 if not judges else 3 if judges == 1 else 4]


def planned_section(document: Document, date: str, done: WhatWasDone) -> dict[str, Any]:
    """What was planned and what became of it, as a report stores it."""
    return {
        "title": document["title"],
        "question": document["question"],
        "sha256": preregistration_hash(document),
        "registered": date,
        "lines": [
            {"what": what, "planned": planned, "seen": seen, "kept": kept}
            for what, planned, seen, kept in _lines(document, done)
        ],
    }


def _lines(document: Document, done: WhatWasDone) -> list[Line]:
    design, figure, margin = document["design"], document["figure"], document["margin"]
    dataset = f"{document['dataset']['name']}, version {document['dataset']['version']}"
    beside = f" and {done.others} other{'s' if done.others > 1 else ''}" if done.others else ""
    reported = figure in done.figures
    return [
        ("Dataset", dataset, done.dataset + beside, done.dataset == dataset and not done.others),
        ("Estimand", figure_planned(document), "reported" if reported else "not reported", reported),
        ("Hypothesis", QUESTION_WORDS[document["asked"]], "read from the interval", None),
        *_sizes(design, done),
        (
            "Annotators",
            f"{design['n_people']:,}",
            f"{done.n_annotators:,}",
            done.n_annotators >= design["n_people"],
        ),
        ("Judges", f"{design['n_judges']:,}", f"{done.n_judges:,}", done.n_judges == design["n_judges"]),
        (
            "Population",
            POPULATION_WORDS[document["population"]],
            POPULATION_WORDS[done.population],
            done.population == document["population"],
        ),
        ("Margin", points_text(margin), points_text(done.margin), _same(done.margin, margin)),
        *_epsilon(document["epsilon"], done.epsilon),
        (
            "Confidence level",
            f"{100 * document['confidence']:.0f}%",
            f"{100 * done.confidence:.0f}%",
            _same(done.confidence, document["confidence"]),
        ),
        _stopping(document, done),
    ]


def _sizes(design: Mapping[str, int], done: WhatWasDone) -> list[Line]:
    if done.n_two is None:
        wanted = design["n_items"] * design["labels_per_item"]
        return [("Labels", f"{wanted:,}", f"{done.n_labels:,}", done.n_labels == wanted)]
    labels, wanted = design["labels_per_item"], design["n_items"]
    return [
        ("Items", f"{wanted:,}", f"{done.n_two:,} with two labels or more", done.n_two == wanted),
        ("Labels per item", f"{labels}", _labels(done), done.fewest == done.most == labels),
    ]


def _labels(done: WhatWasDone) -> str:
    if not done.n_labeled or done.fewest is None:
        return "no labels"
    each = done.fewest if done.fewest == done.most else f"{done.fewest} to {done.most}"
    return f"{each} of each labeled item"


def _stopping(document: Document, done: WhatWasDone) -> Line:
    design, kept, seen = document["design"], None, f"{done.n_labels:,} labels"
    if done.n_labeled is not None:
        seen = f"{done.n_labeled:,} labeled items, {_labels(done)}" if done.n_labeled else "no labels"
        if document["stopping"] == "fixed" and done.n_labeled:
            each = done.fewest == done.most == design["labels_per_item"]
            kept = each and done.n_labeled == design["n_items"]
    return "Stopping rule", stopping_planned(document), seen, kept


def _epsilon(planned: float | None, seen: float | None) -> list[Line]:
    """None where nothing was planned of it: other kinds than pairs have no alternative annotator test."""
    if planned is None:
        return []
    kept = seen is not None and _same(seen, planned)
    return [("Epsilon", epsilon_text(planned), epsilon_text(seen) or "none", kept)]


def _same(one: float, two: float) -> bool:
    return math.isclose(one, two, abs_tol=1e-9)


def planned_rows(section: Section | None) -> list[tuple[str, str, str, str]]:
    """The lines in words, under `PLANNED_HEADS`; none where nothing was planned."""
    if section is None:
        return []
    return [
        (line["what"], line["planned"], line["seen"], KEPT_WORDS[line["kept"]]) for line in section["lines"]
    ]


def planned_source(section: Section | None) -> str:
    """Which plan it was, in a line."""
    if section is None:
        return ""
    return f"{section['title']}, registered {section['registered']}, {section['sha256']}"


def planned_context(section: Section | None) -> dict[str, Any]:
    """What `metaeval/planned.html` shows."""
    return {
        "planned": planned_rows(section),
        "planned_heads": PLANNED_HEADS,
        "planned_section": section,
    }
