"""A preregistration: what was planned before a study, as JSON with a hash, and what a report kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from annotation.kinds import DEFAULT_KIND
from metaeval.figures import KIND_LABELS
from metaeval.inputs import PEOPLE
from metaeval.reports.figures import points_text
from metaeval.reports.planning import (
    POPULATION_WORDS,
    QUESTION_WORDS,
    PlanAsked,
    PlannedRow,
    plan_words,
)
from metaeval.reports.report import ReportContent, canonical_json, software_version
from metaeval.stats import AgreementModel

SCHEMA = "touchstone.preregistration/1"
STOPPING_WORDS = {
    "fixed": "Stop when every item has its labels. Test once, at the end.",
    "sequence": "Look as labels arrive. Stop when the confidence sequence settles the question, or at full size.",
    "other": "As described below.",
}
PLANNED = "What was planned"
PLANNED_HEADS = ("", "Planned", "In this report", "Kept")
KEPT_WORDS = {True: "yes", False: "differs", None: "not checked"}

Document = Mapping[str, Any]


def preregistration_document(
    *,
    asked: PlanAsked,
    row: PlannedRow,
    model: AgreementModel,
    pilot: str,
    dataset: Mapping[str, Any],
    labels_before: int,
    title: str,
    question: str,
    epsilon: float | None,
    stopping: str,
    notes: str,
) -> dict[str, Any]:
    """Everything that is frozen, as plain JSON values; docs/report-schema.md explains them.

    Parameters
    ----------
    pilot : str
        What the assumptions come from, in words.
    epsilon : float or None
        None of kinds without an alternative annotator test.
    labels_before : int
        Labels that there are at this moment.
    """
    design = row.design
    words = plan_words(asked.kind)
    return {
        "schema": SCHEMA,
        "software": software_version(),
        "title": title,
        "question": question,
        "dataset": dict(dataset),
        "labels_before": labels_before,
        **({} if asked.kind == DEFAULT_KIND else {"kind": asked.kind}),
        "figure": asked.figure,
        "estimand": words.estimands[asked.figure],
        "asked": asked.question,
        "population": asked.population,
        "margin": asked.margin,
        "epsilon": epsilon,
        "confidence": asked.confidence,
        "target": asked.target,
        "true_difference": asked.difference,
        "design": {
            "n_items": design.n_items,
            "labels_per_item": design.labels_per_item,
            "n_people": design.n_people,
            "n_judges": design.n_judges,
        },
        "expected": {
            "value": _number(row.interval.value),
            "half_width": _number(row.interval.half_width),
            "half_width_alike": _number(row.interval.half_width_alike),
            "power": None if row.power is None else _number(row.power.these),
            "power_alike": None if row.power is None else _number(row.power.alike),
            "cost": _number(row.cost),
            "currency": asked.currency.strip(),
        },
        "assumptions": {"from": pilot}
        | {name: _number(value) for name, value in model.figures[asked.figure].stated.items()}
        | {"items_per_instruction": model.cluster_size},
        "stopping": stopping,
        "notes": notes,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def day_text(when: datetime) -> str:
    """The date of a registration: "22 Nov 2026, 14:05 UTC"."""
    return f"{when.astimezone(UTC):%-d %b %Y, %H:%M} UTC"


def preregistration_hash(document: Document) -> str:
    """SHA-256 of the canonical JSON."""
    return sha256(canonical_json(document).encode()).hexdigest()


def preregistration_facts(document: Document) -> list[tuple[str, str]]:
    """What is planned, line by line; the page, the Markdown file and the report share it."""
    design, expected = document["design"], document["expected"]
    found = [
        ("Research question", document["question"]),
        ("Kind", KIND_LABELS[document["kind"]] if "kind" in document else ""),
        ("Figure", _figure(document)),
        ("Estimand", document["estimand"]),
        ("Hypothesis", QUESTION_WORDS[document["asked"]]),
        ("Population", POPULATION_WORDS[document["population"]]),
        ("Margin", points_text(document["margin"])),
        ("Epsilon of the alternative annotator test", _epsilon(document["epsilon"])),
        ("Confidence level", f"{100 * document['confidence']:.0f}%"),
        ("Items", f"{design['n_items']:,}"),
        ("Labels per item", f"{design['labels_per_item']}"),
        ("Annotators", f"{design['n_people']:,}"),
        ("Judges", f"{design['n_judges']:,}"),
        ("Stopping rule", _stopping(document)),
        ("Expected half width", _both(expected, "half_width", points_text)),
        ("Expected power", _both(expected, "power", lambda share: f"{100 * share:.1f}%")),
        ("Assumptions from", document["assumptions"]["from"]),
        ("Labels before registration", f"{document['labels_before']:,}"),
    ]
    return [(name, text) for name, text in found if text]


def _stopping(document: Document) -> str:
    return " ".join(filter(None, (STOPPING_WORDS[document["stopping"]], document["notes"])))


def _kind(document: Document) -> str:
    """What came before other kinds could be planned is of pairs."""
    return str(document.get("kind", DEFAULT_KIND))


def _figure(document: Document) -> str:
    return plan_words(_kind(document)).figures[document["figure"]]


def _both(expected: Mapping[str, Any], name: str, words: Any) -> str:
    these, alike = expected[name], expected[f"{name}_alike"]
    if these is None:
        return ""
    others = "unknown" if alike is None else words(alike)
    return f"{words(these)} with these annotators, {others} with others like them"


# --- what a report kept --------------------------------------------------------------------------------------------


def planned_section(document: Document, date: str, report: ReportContent) -> dict[str, Any]:
    """What was planned and what became of it, as a report stores it."""
    return {
        "title": document["title"],
        "sha256": preregistration_hash(document),
        "registered": date,
        "lines": [
            {"what": what, "planned": planned, "seen": seen, "kept": kept}
            for what, planned, seen, kept in _lines(document, report)
        ],
    }


def _lines(document: Document, report: ReportContent) -> list[tuple[str, str, str, bool | None]]:
    design, people, options = document["design"], report.people, report.options
    least, most = people.labels_per_item.get("min"), people.labels_per_item.get("max")
    wanted = design["labels_per_item"]
    counted = bool(people.n_items_labelled) and least is not None and most is not None
    labels = (
        f"{least if least == most else f'{least} to {most}'} of each labeled item" if counted else "no labels"
    )
    judges = sum(not judge.needs_no_model for judge in report.judges)
    version = report.dataset.get("version")
    population = options.get("annotators", "alike")
    margin = options.get("margin", 0.0)
    confidence = options["confidence"]
    figure = document["figure"]
    has_figure = figure == "people" or judges >= (2 if figure == "judge_minus_judge" else 1)
    against_people = (
        report.kind == _kind(document)
        and options.get("against", PEOPLE) == PEOPLE
        and people.n_items_with_two_labels > 0
    )
    same_dataset = (report.dataset["name"], version) == (
        document["dataset"]["name"],
        document["dataset"]["version"],
    )
    stopping: bool | None = None
    if document["stopping"] == "fixed" and counted:
        stopping = least == most == wanted and people.n_items_labelled == design["n_items"]
    n_two = people.n_items_with_two_labels
    return [
        (
            "Dataset",
            f"{document['dataset']['name']}, version {document['dataset']['version']}",
            f"{report.dataset['name']}, version {version}",
            same_dataset,
        ),
        (
            "Estimand",
            _figure(document),
            "reported" if has_figure and against_people else "not in this report",
            has_figure and against_people,
        ),
        ("Items", f"{design['n_items']:,}", f"{n_two:,} with two labels or more", n_two == design["n_items"]),
        ("Labels per item", f"{wanted}", labels, counted and least == most == wanted),
        (
            "Annotators",
            f"{design['n_people']:,}",
            f"{people.n_annotators:,}",
            people.n_annotators >= design["n_people"],
        ),
        ("Judges", f"{design['n_judges']:,}", f"{judges:,}", judges == design["n_judges"]),
        (
            "Population",
            POPULATION_WORDS[document["population"]],
            POPULATION_WORDS[population],
            population == document["population"],
        ),
        (
            "Margin",
            points_text(document["margin"]),
            points_text(margin),
            math.isclose(margin, document["margin"], abs_tol=1e-9),
        ),
        *_epsilon_line(document["epsilon"], options.get("epsilon")),
        (
            "Confidence level",
            f"{100 * document['confidence']:.0f}%",
            f"{100 * confidence:.0f}%",
            math.isclose(confidence, document["confidence"], abs_tol=1e-9),
        ),
        (
            "Stopping rule",
            _stopping(document),
            f"{people.n_items_labelled:,} labeled items, {labels}" if counted else labels,
            stopping,
        ),
    ]


def _epsilon(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _epsilon_line(planned: float | None, seen: float | None) -> list[tuple[str, str, str, bool | None]]:
    """None where nothing was planned of it: other kinds than pairs have no alternative annotator test."""
    if planned is None:
        return []
    kept = seen is not None and math.isclose(seen, planned, abs_tol=1e-9)
    return [("Epsilon", _epsilon(planned), _epsilon(seen) or "none", kept)]


def planned_rows(report: ReportContent) -> list[tuple[str, str, str, str]]:
    """The lines in words, under `PLANNED_HEADS`; none where nothing was planned."""
    if report.planned is None:
        return []
    return [
        (line["what"], line["planned"], line["seen"], KEPT_WORDS[line["kept"]])
        for line in report.planned["lines"]
    ]


def planned_source(report: ReportContent) -> str:
    """Which plan it was, in a line."""
    planned = report.planned
    return (
        ""
        if planned is None
        else f"{planned['title']}, registered {planned['registered']}, {planned['sha256']}"
    )
