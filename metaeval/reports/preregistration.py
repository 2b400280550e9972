"""A preregistration: what was planned before a study, as JSON with a hash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from annotation.kinds import DEFAULT_KIND
from metaeval.figures import KIND_LABELS
from metaeval.reports.figures import points_text
from metaeval.reports.planning import (
    POPULATION_WORDS,
    QUESTION_WORDS,
    PlanAsked,
    PlannedRow,
    plan_words,
)
from metaeval.reports.report import canonical_json
from metaeval.stats import AgreementModel
from web.version import software_version

SCHEMA = "touchstone.preregistration/1"
STOPPING_WORDS = {
    "fixed": "Stop when every item has its labels. Test once, at the end.",
    "sequence": "Check as labels arrive. Stop when the confidence sequence settles the question, or at full size.",
    "other": "As described below.",
}

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
    words = asked.words
    return {
        "schema": SCHEMA,
        "software": software_version(),
        "title": title,
        "question": question,
        "dataset": dict(dataset),
        "labels_before": labels_before,
        "kind": asked.kind,
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
        ("Figure", figure_planned(document)),
        ("Estimand", document["estimand"]),
        ("Hypothesis", QUESTION_WORDS[document["asked"]]),
        ("Population", POPULATION_WORDS[document["population"]]),
        ("Margin", points_text(document["margin"])),
        ("Epsilon of the alternative annotator test", epsilon_text(document["epsilon"])),
        ("Confidence level", f"{100 * document['confidence']:.0f}%"),
        ("Items", f"{design['n_items']:,}"),
        ("Labels per item", f"{design['labels_per_item']}"),
        ("Annotators", f"{design['n_people']:,}"),
        ("Judges", f"{design['n_judges']:,}"),
        ("Stopping rule", stopping_planned(document)),
        ("Expected half width", _both(expected, "half_width", points_text)),
        ("Expected power", _both(expected, "power", lambda share: f"{100 * share:.1f}%")),
        ("Assumptions from", document["assumptions"]["from"]),
        ("Labels before registration", f"{document['labels_before']:,}"),
    ]
    return [(name, text) for name, text in found if text]


def stopping_planned(document: Document) -> str:
    """The stopping rule, and what was noted on it."""
    return " ".join(filter(None, (STOPPING_WORDS[document["stopping"]], document["notes"])))


def epsilon_text(value: float | None) -> str:
    """Of the alternative annotator test; empty where there is none."""
    return "" if value is None else f"{value:g}"


def kind_planned(document: Document) -> str:
    """What came before other kinds could be planned is of pairs."""
    return str(document.get("kind", DEFAULT_KIND))


def figure_planned(document: Document) -> str:
    """What the figure is called."""
    return plan_words(kind_planned(document)).figures[document["figure"]]


def _both(expected: Mapping[str, Any], name: str, words: Any) -> str:
    these, alike = expected[name], expected[f"{name}_alike"]
    if these is None:
        return ""
    others = "unknown" if alike is None else words(alike)
    return f"{words(these)} with these annotators, {others} with others like them"
