"""Systems ranked by what people and judges said of pairs of them, and by ratings from elsewhere: a plain dict."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import numpy as np

from metaeval.reports.estimates import plain
from metaeval.reports.inputs import Floats, Integers
from metaeval.stats import (
    Estimate,
    Resamples,
    StatisticsWarning,
    bradley_terry,
    mean_estimate,
    outside_correlation,
    ppi_mean,
    system_correlation,
)

Method: TypeAlias = Literal["spearman", "kendall", "pearson"]

SCHEMA = "touchstone.systems/1"
PEOPLE = "people"
METHODS: tuple[Method, ...] = ("spearman", "kendall", "pearson")
N_RESAMPLES = 2_000
N_STRENGTH_RESAMPLES = 1_000
CONFIDENCE = 0.95
# Above this share of labelled pairs the judge has nothing to add to the labels.
_ALL_LABELLED = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Somebody's answers on pairs: all people together, or one judge.

    Attributes
    ----------
    key : str
        ``"people"`` or a judge's fingerprint.
    pair : ndarray of shape (n_answers,)
        The pair of each answer, a row of `SystemInputs`.
    outcome : ndarray of shape (n_answers,)
        1, 2 or 0 (tie), in canonical order.
    """

    key: str
    label: str
    pair: Integers
    outcome: Floats


@dataclass(frozen=True, slots=True)
class OutsideTable:
    """Ratings from elsewhere; more is better."""

    name: str
    title: str
    column: str
    source: str
    scores: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class SystemInputs:
    """All that a ranking depends on: pairs (systems in canonical order, instruction), answers, outside tables."""

    facts: dict[str, Any]
    first: tuple[str, ...]
    second: tuple[str, ...]
    cluster: Integers
    sources: tuple[Source, ...]
    outside: tuple[OutsideTable, ...]
    helper: str = ""
    """Fingerprint of the judge whose verdicts stand beside people's few labels."""
    weights: Floats | None = None
    """One over the chance with which each pair was drawn for labelling; None where all were certain."""

    def hash(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        rows = [SCHEMA, self.facts, self.first, self.second, self.cluster.tolist(), self.helper]
        rows += [[one.key, one.label, one.pair.tolist(), one.outcome.tolist()] for one in self.sources]
        rows += [
            [one.name, one.title, one.column, one.source, sorted(one.scores.items())] for one in self.outside
        ]
        rows += [] if self.weights is None else [self.weights.tolist()]
        return sha256(json.dumps(rows, sort_keys=True).encode("ascii")).hexdigest()


def systems_content(inputs: SystemInputs, *, inputs_hash: str | None = None) -> dict[str, Any]:
    """Rank the systems by each source and say how far the rankings agree."""
    names = sorted({*inputs.first, *inputs.second})
    table = _Table(inputs, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # reasons are kept with the estimates
        sources = [_source(table, source) for source in inputs.sources]
        rankings = [_rankings(table, source) for source in inputs.sources if source.key != PEOPLE]
        outside = [_outside(table, one) for one in inputs.outside]
        helped = _helped(table)
    return {
        "schema": SCHEMA,
        "inputs_hash": inputs_hash or inputs.hash(),
        "confidence": CONFIDENCE,
        "dataset": inputs.facts,
        "n_pairs": len(inputs.first),
        "n_instructions": len(np.unique(inputs.cluster)),
        "systems": names,
        "sources": sources,
        "rankings": [row for row in rankings if row is not None],
        "outside": outside,
        "helped": helped,
    }


class _Table:
    """Every pair twice, once for each of its systems, and what each source gave that system."""

    def __init__(self, inputs: SystemInputs, names: list[str]) -> None:
        self.inputs, self.names = inputs, names
        self.system = np.array([*inputs.first, *inputs.second])
        self.cluster = np.concatenate([inputs.cluster, inputs.cluster])
        self.resamples = Resamples(self.cluster, N_RESAMPLES)
        weights = np.ones(len(inputs.first)) if inputs.weights is None else inputs.weights
        # Only what rests on labels is of pairs that were drawn.
        self.weights = {
            source.key: np.concatenate(
                [weights, weights] if source.key == PEOPLE else [np.ones(len(self.system))]
            )
            for source in inputs.sources
        }
        self.credits = {source.key: self._credit(source) for source in inputs.sources}

    def _credit(self, source: Source) -> Floats:
        """1 for a win, 0 for a loss, one half for a tie; the mean of a pair's answers, NaN where there is none."""
        n_pairs = len(self.inputs.first)
        earned = np.where(source.outcome == 1, 1.0, np.where(source.outcome == 2, 0.0, 0.5))
        total = np.bincount(source.pair, weights=earned, minlength=n_pairs)
        n = np.bincount(source.pair, minlength=n_pairs)
        credit = np.where(n > 0, total / np.maximum(n, 1), np.nan)
        return np.concatenate([credit, 1 - credit])

    def draws(self, key: str) -> Floats:
        """Win rates of all systems in every resample, (n_resamples, n_systems)."""
        credit = self.credits[key]
        given = np.where(np.isnan(credit), 0.0, self.weights[key])
        members = self.system[:, np.newaxis] == np.array(self.names)
        won = (given * np.nan_to_num(credit))[:, np.newaxis] * members
        totals = self.resamples.totals(np.concatenate([won, given[:, np.newaxis] * members], axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            rates: Floats = totals[:, : len(self.names)] / totals[:, len(self.names) :]
        return rates

    def win_rates(self, key: str) -> list[Estimate]:
        """Of each system, over the pairs that it takes part in."""
        return [
            mean_estimate(
                self.credits[key],
                where=self.system == name,
                resamples=self.resamples,
                weights=self.weights[key],
                reason="no answer on a pair of this system",
            )
            for name in self.names
        ]


def _source(table: _Table, source: Source) -> dict[str, Any]:
    """Each system's win rate against those it met, and its strength, which allows for whom it met."""
    inputs = table.inputs
    rates = table.win_rates(source.key)
    strengths: dict[str, Estimate] = {}
    if len(table.names) > 2 and len(source.pair):
        first, second = np.array(inputs.first)[source.pair], np.array(inputs.second)[source.pair]
        fitted = bradley_terry(
            first,
            second,
            source.outcome,
            clusters=inputs.cluster[source.pair],
            weights=table.weights[source.key][source.pair],
            n_resamples=N_STRENGTH_RESAMPLES,
        )
        strengths = dict(fitted.table())
    return {
        "key": source.key,
        "label": source.label,
        "n_answers": len(source.pair),
        "n_pairs": len(np.unique(source.pair)),
        "systems": [
            {
                "system": name,
                "win_rate": plain(rate),
                "strength": plain(strengths[name]) if name in strengths else None,
            }
            for name, rate in zip(table.names, rates, strict=True)
        ],
    }


def _rankings(table: _Table, source: Source) -> dict[str, Any] | None:
    """How far a judge ranks the systems as people do, on the pairs that both answered."""
    if PEOPLE not in table.credits:
        return None
    people, judge = table.credits[PEOPLE], table.credits[source.key]
    found = {
        method: system_correlation(
            people,
            judge,
            table.system,
            method=method,
            resamples=table.resamples,
            weights=table.weights[PEOPLE],
        )
        for method in METHODS
    }
    return {
        "key": source.key,
        "label": source.label,
        **{method: plain(value) for method, value in found.items()},
    }


def _outside(table: _Table, outside: OutsideTable) -> dict[str, Any]:
    """The correlation of one outside table with every source, and which systems it has."""
    rows = []
    matched: dict[str, Any] = {"matched": [], "unmatched": [], "near": []}
    for source in table.inputs.sources:
        values = [rate.value for rate in table.win_rates(source.key)]
        ours = dict(zip(table.names, values, strict=True))
        found = {
            method: outside_correlation(
                ours,
                outside.scores,
                method=method,
                draws=table.draws(source.key),
                n_clusters=table.resamples.n_clusters,
            )
            for method in METHODS
        }
        one = found[METHODS[0]]
        matched = {
            "matched": list(one.systems),
            "unmatched": list(one.unmatched_ours),
            "near": [list(pair) for pair in one.near_misses],
        }
        rows.append(
            {
                "key": source.key,
                "label": source.label,
                **{str(name): plain(value) for name, value in found.items()},
            }
        )
    about = {key: getattr(outside, key) for key in ("name", "title", "column", "source")}
    return {**about, "n_systems": len(outside.scores), **matched, "sources": rows}


def _helped(table: _Table) -> dict[str, Any] | None:
    """People's win rates from their few labels and a judge's many verdicts; None where it adds nothing."""
    inputs = table.inputs
    label = next((source.label for source in inputs.sources if source.key == inputs.helper), None)
    if label is None or PEOPLE not in table.credits:
        return None
    people, judge = table.credits[PEOPLE], table.credits[inputs.helper]
    if np.mean(~np.isnan(people)) > _ALL_LABELLED or np.isnan(people).all():
        return None
    found = [
        ppi_mean(
            people,
            judge,
            clusters=table.cluster,
            where=table.system == name,
            bounds=(0.0, 1.0),
            weights=None if inputs.weights is None else table.weights[PEOPLE],
        )
        for name in table.names
    ]
    return {
        "key": inputs.helper,
        "label": label,
        "systems": [
            {"system": name, **one.as_dict(), "reason": one.reason}
            for name, one in zip(table.names, found, strict=True)
        ],
    }


def ordered(source: dict[str, Any]) -> list[dict[str, Any]]:
    """The systems of a source, the strongest first; those without a figure last."""

    def key(row: dict[str, Any]) -> tuple[bool, float]:
        for name in ("strength", "win_rate"):
            found = row[name]
            if found is not None and found["value"] is not None:
                return False, -found["value"]
        return True, 0.0

    rows: Sequence[dict[str, Any]] = source["systems"]
    return sorted(rows, key=key)
