"""Systems ranked by what people and judges said of pairs of them, and by ratings from elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from metaeval.figures.estimates import plain
from metaeval.figures.evaluators import capacity_section
from metaeval.inputs import Floats, Integers
from metaeval.reports.json_values import json_of, read_as
from metaeval.stats import (
    Estimate,
    OutsideCorrelation,
    Resamples,
    bradley_terry,
    mean_estimate,
    outside_correlation,
    ppi_mean,
    system_correlation,
)
from metaeval.stats.errors import quiet
from metaeval.stats.systems import SystemsAre

FigureJson: TypeAlias = Mapping[str, Any]
"""An estimate as JSON: value, low and high, null with a reason where undefined."""
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


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system: its win rate against those it met, and its strength, which allows for whom it met."""

    system: str
    win_rate: FigureJson
    strength: FigureJson | None


@dataclass(frozen=True, slots=True)
class SourceRanking:
    """The systems by one source: people, or a judge."""

    key: str
    label: str
    n_answers: int
    n_pairs: int
    systems: tuple[RankedSystem, ...]
    capacity: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """Of the source, in a sentence."""
        return "human annotators" if self.key == PEOPLE else self.label

    @property
    def ordered(self) -> list[RankedSystem]:
        """The systems, the strongest first; those without a figure last."""

        def key(row: RankedSystem) -> tuple[bool, float]:
            for found in (row.strength, row.win_rate):
                if found is not None and found["value"] is not None:
                    return False, -found["value"]
            return True, 0.0

        return sorted(self.systems, key=key)


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """How far a source ranks the systems as others do."""

    key: str
    label: str
    spearman: FigureJson
    kendall: FigureJson
    pearson: FigureJson

    @property
    def correlations(self) -> tuple[FigureJson, FigureJson, FigureJson]:
        """In the order of the columns."""
        return self.spearman, self.kendall, self.pearson


@dataclass(frozen=True, slots=True)
class OutsideAgreement:
    """A table from elsewhere: which systems it has, and how far each source ranks them alike.

    ``near`` are pairs of names that are alike but not the same, ours first.
    """

    name: str
    title: str
    column: str
    source: str
    n_systems: int
    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    near: tuple[tuple[str, str], ...]
    sources: tuple[RankAgreement, ...]


@dataclass(frozen=True, slots=True)
class HelpedRates:
    """People's win rates from their few labels and a judge's many verdicts; each with the name of its system."""

    key: str
    label: str
    systems: tuple[FigureJson, ...]


@dataclass(frozen=True, slots=True)
class SystemsReport:
    """All that is said of the systems of a dataset."""

    inputs_hash: str
    confidence: float
    dataset: Mapping[str, Any]
    n_pairs: int
    n_instructions: int
    systems: tuple[str, ...]
    sources: tuple[SourceRanking, ...]
    rankings: tuple[RankAgreement, ...]
    outside: tuple[OutsideAgreement, ...]
    helped: HelpedRates | None

    def as_json(self) -> dict[str, Any]:
        """As JSON values, in the schema `touchstone.systems/1`."""
        return {"schema": SCHEMA, **json_of(self)}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """The report that JSON holds."""
        return read_as(cls, content)


def systems_report(inputs: SystemInputs, *, inputs_hash: str | None = None) -> SystemsReport:
    """Rank the systems by each source and say how far the rankings agree."""
    names = sorted({*inputs.first, *inputs.second})
    table = _Table(inputs, names)
    judges = [source for source in inputs.sources if source.key != PEOPLE]
    with quiet():  # reasons are kept with the estimates
        return SystemsReport(
            inputs_hash=inputs_hash or inputs.hash(),
            confidence=CONFIDENCE,
            dataset=inputs.facts,
            n_pairs=len(inputs.first),
            n_instructions=len(np.unique(inputs.cluster)),
            systems=tuple(names),
            sources=tuple(_source(table, source) for source in inputs.sources),
            rankings=tuple(_ranking(table, judge) for judge in judges if PEOPLE in table.credits),
            outside=tuple(_outside(table, one) for one in inputs.outside),
            helped=_helped(table),
        )


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


def _source(table: _Table, source: Source) -> SourceRanking:
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
    return SourceRanking(
        source.key,
        source.label,
        n_answers=len(source.pair),
        n_pairs=len(np.unique(source.pair)),
        systems=tuple(
            RankedSystem(name, plain(rate), plain(strengths[name]) if name in strengths else None)
            for name, rate in zip(table.names, rates, strict=True)
        ),
        capacity=_capacity(table, source.key),
    )


def _capacity(table: _Table, key: str) -> dict[str, Any] | None:
    """How many instructions distinguish the systems; None where pairs were drawn by unequal chances.

    A system's score of an instruction is the mean of its credits there.
    """
    if table.inputs.weights is not None and key == PEOPLE:
        return None
    credit = table.credits[key]
    cluster, at = np.unique(table.cluster, return_inverse=True)
    place = {name: column for column, name in enumerate(table.names)}
    cell = at * len(place) + np.array([place[name] for name in table.system])
    known = ~np.isnan(credit)
    size = len(cluster) * len(place)
    total = np.bincount(cell[known], weights=credit[known], minlength=size)
    n = np.bincount(cell[known], minlength=size)
    scores = np.where(n > 0, total / np.maximum(n, 1), np.nan).reshape(len(cluster), len(place))
    return capacity_section(scores, np.arange(len(cluster)), np.asarray((~np.isnan(scores)).any(axis=1)))


def _ranking(table: _Table, source: Source) -> RankAgreement:
    """How far a judge ranks the systems as people do, on the pairs that both answered."""
    people, judge = table.credits[PEOPLE], table.credits[source.key]

    def of(method: Method, systems_are: SystemsAre) -> FigureJson:
        found = system_correlation(
            people,
            judge,
            table.system,
            method=method,
            systems_are=systems_are,
            resamples=table.resamples,
            weights=table.weights[PEOPLE],
        )
        return plain(found)

    found: dict[str, FigureJson] = {
        method: {**of(method, "fixed"), "like_these": of(method, "sampled")} for method in METHODS
    }
    return RankAgreement(source.key, source.label, **found)


def _outside(table: _Table, outside: OutsideTable) -> OutsideAgreement:
    """The correlation of one outside table with every source, and which systems it has."""
    rows = []
    one: OutsideCorrelation | None = None
    for source in table.inputs.sources:
        values = [rate.value for rate in table.win_rates(source.key)]
        found = {
            method: outside_correlation(
                dict(zip(table.names, values, strict=True)),
                outside.scores,
                method=method,
                draws=table.draws(source.key),
                n_clusters=table.resamples.n_clusters,
            )
            for method in METHODS
        }
        one = found[METHODS[0]]
        of_source = {str(name): plain(value) for name, value in found.items()}
        rows.append(RankAgreement(source.key, source.label, **of_source))
    about = {key: getattr(outside, key) for key in ("name", "title", "column", "source")}
    return OutsideAgreement(
        **about,
        n_systems=len(outside.scores),
        matched=one.systems if one else (),
        unmatched=one.unmatched_ours if one else (),
        near=one.near_misses if one else (),
        sources=tuple(rows),
    )


def _helped(table: _Table) -> HelpedRates | None:
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
    rows = zip(table.names, found, strict=True)
    systems = tuple({"system": name, **one.as_dict(), "reason": one.reason} for name, one in rows)
    return HelpedRates(inputs.helper, label, systems)
