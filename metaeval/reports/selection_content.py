"""The content of a choice of a judge: a plain dict in the schema `touchstone.selection/1`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from metaeval.reports.estimates import plain
from metaeval.reports.humans import label_slots
from metaeval.reports.inputs import Booleans, Floats
from metaeval.reports.kinds.item_scores import item_scores
from metaeval.reports.report import software_version
from metaeval.reports.selection_inputs import (
    PAIRWISE,
    SCHEMA,
    JudgeFacts,
    KindPartInputs,
    PartInputs,
    SelectionInputs,
)
from metaeval.selection.choosing import choose
from metaeval.selection.types import CompositeFinding, JudgedDataset, Selection, Settling, Standing
from metaeval.stats import Estimate, PairedDifference, StatisticsWarning

# Labels are a matrix of items and people; beyond this many cells (400 MB) who gave a label is forgotten.
MOST_CELLS = 50_000_000
Content = dict[str, Any]


def judged_dataset(part: PartInputs | KindPartInputs, keys: tuple[str, ...]) -> JudgedDataset:
    """A dataset as the library takes it; a judge that judged nothing of it is there without a judgment."""
    return _scored(part) if isinstance(part, KindPartInputs) else _compared(part, keys)


def _scored(part: KindPartInputs) -> JudgedDataset:
    """Items of a kind other than pairs, by how good each judge is on each of them."""
    found = item_scores(part.with_rules, part.part.role)

    def one_order(columns: Mapping[str, Any], empty: Any) -> dict[str, Any]:
        return {
            key: np.stack([column, np.full(len(column), empty)], axis=1) for key, column in columns.items()
        }

    return JudgedDataset(
        name=part.part.dataset,
        role=part.part.role,
        verdicts={},
        judged=one_order(found.judged, empty=False),
        clusters=np.array(part.instructions, dtype=np.str_),
        categories=np.array(categories_of(part)[1], dtype=np.str_),
        costs=one_order(part.costs, np.nan),
        seconds=one_order(part.seconds, np.nan),
        weights=found.weights,
        weight=part.part.weight,
        scores=found.scores,
        unparsed=found.unparsed,
        scorable=found.scorable,
    )


def _compared(part: PartInputs, keys: tuple[str, ...]) -> JudgedDataset:
    inputs, items = part.inputs, part.inputs.items
    judges = {judge.fingerprint: judge for judge in inputs.judges}
    blank, none = np.full((len(items), 2), np.nan), np.zeros((len(items), 2), dtype=np.bool_)

    def floats(name: str) -> dict[str, Floats]:
        return {key: getattr(judges[key], name) if key in judges else blank for key in keys}

    judged: dict[str, Booleans] = {key: judges[key].judged if key in judges else none for key in keys}
    people = part.part.role == "people"
    return JudgedDataset(
        name=part.part.dataset,
        role=part.part.role,
        verdicts=floats("verdicts"),
        judged=judged,
        clusters=np.array(part.instructions, dtype=np.str_),
        categories=np.array(categories_of(part)[1], dtype=np.str_),
        labels=label_matrix(part) if people else None,
        gold=None if people else items.gold,
        costs=floats("cost"),
        seconds=floats("seconds"),
        weights=part.weights,
        weight=part.part.weight,
    )


def categories_of(part: PartInputs | KindPartInputs) -> tuple[str, tuple[str, ...]]:
    """By what composites are made, and its values: categories, or subsets where there are no two categories."""
    items = part.columns
    if len(set(items.category)) < 2 and len(set(items.subset)) > 1:
        return "subset", items.subset
    return "category", items.category


def keeps_people_apart(part: PartInputs) -> bool:
    """Whether the labels of each person have a column of their own."""
    return len(part.inputs.items) * part.about_labels.n_annotators <= MOST_CELLS


def label_matrix(part: PartInputs) -> Floats:
    """Labels as (n_items, n_annotators), NaN where there is none."""
    labels, n_items = part.inputs.labels, len(part.inputs.items)
    if not keeps_people_apart(part):
        return label_slots(part.inputs.items, labels)
    matrix = np.full((n_items, part.about_labels.n_annotators), np.nan)
    matrix[labels.item, labels.annotator] = labels.choice
    return matrix


def content_of(inputs: SelectionInputs, found: Selection, *, inputs_hash: str) -> Content:
    """Put a choice into JSON values: what is undefined is null, with a reason."""
    # Only on pairs is it tested whether a judge may replace a person.
    pairs = [part for part in inputs.parts if isinstance(part, PartInputs)]
    apart = {part.part.dataset for part in pairs if keeps_people_apart(part)}
    crowd = [part.part.dataset for part in pairs if part.part.dataset not in apart]
    return {
        "schema": SCHEMA,
        "software": {"name": "touchstone", "version": software_version()},
        "inputs_hash": inputs_hash,
        "kind": inputs.choice.kind,
        "sweep": dict(inputs.sweep),
        "options": {
            **asdict(inputs.options),
            "confidence": inputs.choice.confidence,
            "epsilon": inputs.choice.epsilon,
            "n_folds": found.n_folds,
            "n_repeats": found.n_repeats,
        },
        "constraints": asdict(inputs.choice.constraints),
        "datasets": [_dataset(part, inputs) for part in inputs.parts],
        "judges": _judges(inputs),
        "verdict": found.verdict,
        "winner": found.winner,
        "leader": found.leader,
        "chosen": found.chosen,
        "standings": [_standing(standing, inputs.choice.kind) for standing in found.standings],
        "held_out": figure(found.held_out),
        "naive": _number(found.naive),
        "optimism": None if found.optimism is None else figure(found.optimism),
        "confidence_set": list(found.confidence_set),
        "confidence": found.confidence,
        "front": list(found.front),
        "composite": None if found.composite is None else _composite(found.composite),
        "replaces": {name: _plain(test) for name, test in found.replaces.items() if name in apart},
        "settling": [_settling(row) for row in found.settling],
        "notes": [
            *found.notes,
            *(f"{name} has too many people for the test whether a judge may replace one." for name in crowd),
        ],
    }


def _dataset(part: PartInputs | KindPartInputs, inputs: SelectionInputs) -> Content:
    labels = part.about_labels
    own = set(part.instructions)
    others = {name for other in inputs.parts if other is not part for name in other.instructions}
    by, values = categories_of(part)
    about = part.inputs.facts["dataset"]
    return {
        "name": part.part.dataset,
        "title": about["title"],
        "version": about["version"],
        "licence": about["licence"],
        "role": part.part.role,
        "weight": part.part.weight,
        "n_items": len(part.inputs.items),
        "n_instructions": len(own),
        "n_instructions_shared": len(own & others),
        "n_gold": labels.n_gold,
        "n_labels": labels.n_labels,
        "n_annotators": labels.n_annotators,
        "simulated_share": round(labels.n_simulated / labels.n_labels, 12) if labels.n_labels else None,
        "is_weighted": part.weights is not None,
        "composed_by": by,
        "n_categories": len(set(values)),
    }


def _judges(inputs: SelectionInputs) -> list[Content]:
    columns: dict[str, JudgeFacts] = {}
    judged: dict[str, dict[str, int]] = {candidate.key: {} for candidate in inputs.candidates}
    for part in inputs.parts:
        for judge in part.judges:
            columns.setdefault(judge.fingerprint, judge)
            judged[judge.fingerprint][part.part.dataset] = judge.n_judged
    return [
        {
            "key": one.key,
            "name": one.name,
            "fingerprint": one.key,
            "backend": columns[one.key].backend,
            "model": columns[one.key].model,
            "strategy": columns[one.key].strategy,
            "baseline": one.is_baseline,
            "is_open": one.is_open,
            "is_local": one.is_local,
            "n_judged": judged[one.key],
        }
        for one in inputs.candidates
    ]


def _standing(standing: Standing, kind: str) -> Content:
    # What a limit on a dataset of gold answers is a limit of.
    of = {} if kind == PAIRWISE else {"of": "score"}
    return {
        "judge": standing.key,
        "objective": figure(standing.objective),
        "scores": {name: figure(score) for name, score in standing.scores.items()},
        "positional_agreement": figure(standing.positional_agreement),
        "unparsed": figure(standing.unparsed),
        "cost_per_1000": figure(standing.cost_per_1000),
        "seconds": figure(standing.seconds),
        "violations": [
            {
                "name": one.name,
                "limit": _number(one.limit),
                "value": _number(one.value),
                "dataset": one.dataset,
                **of,
            }
            for one in standing.violations
        ],
        "chosen_share": _number(standing.chosen_share),
        "behind": None if standing.behind is None else figure(standing.behind),
        "in_confidence_set": standing.in_confidence_set,
        "on_front": standing.on_front,
        "is_ranked": standing.is_ranked,
    }


def _composite(found: CompositeFinding) -> Content:
    return {
        "parts": dict(found.parts),
        "naive": _number(found.naive),
        "held_out": figure(found.held_out),
        "gain": figure(found.gain),
        "worth_it": found.worth_it,
    }


def _settling(row: Settling) -> Content:
    return {**asdict(row), "difference": _number(row.difference), "power": _number(row.power)}


def figure(estimate: Estimate | PairedDifference) -> Content:
    """An estimate as JSON values, rounded to twelve digits."""
    return plain(estimate)


def _number(value: float) -> float | None:
    number = float(value)
    return float(f"{number:.12g}") + 0.0 if math.isfinite(number) else None


def _plain(value: Any) -> Any:
    """Any result of the library as JSON values, field by field."""
    if isinstance(value, Estimate):
        return figure(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return _number(value) if isinstance(value, float) else value


def selection_build(inputs: SelectionInputs, *, inputs_hash: str | None = None) -> Content:
    """Choose, and put the choice into JSON values. The same inputs give the same content."""
    keys = tuple(candidate.key for candidate in inputs.candidates)
    options = inputs.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the reason is kept with each figure
        found = choose(
            [judged_dataset(part, keys) for part in inputs.parts],
            list(inputs.candidates),
            inputs.choice.constraints,
            confidence=inputs.choice.confidence,
            n_resamples=options.n_resamples,
            n_folds=options.n_folds,
            n_repeats=options.n_repeats,
            epsilon=inputs.choice.epsilon,
            rng=options.seed,
        )
    return content_of(inputs, found, inputs_hash=inputs_hash or inputs.hash())
