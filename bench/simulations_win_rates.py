"""Do the intervals of strengths, ranks, chances, style coefficients and length-controlled win rates cover 95%?

Systems differ by fixed log odds; every instruction is kind to some of them (a normal effect per instruction and
system), so that comparisons of one instruction belong together. The truth is what a study of a million instructions
finds.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.stats.bradley_terry import bradley_terry
from metaeval.stats.errors import StatisticsWarning
from metaeval.stats.length_control import length_controlled_win_rate

Columns = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """A kind of study."""

    clusters: int
    each: int
    systems: int
    taste: float
    ties: str = "half"
    style: bool = False

    @property
    def name(self) -> str:
        extra = (" style" if self.style else "") + ("" if self.ties == "half" else f" {self.ties}")
        return f"{self.clusters} x {self.each}, {self.systems} systems, taste {self.taste:g}{extra}"


SETTINGS = (
    Setting(40, 1, 4, 0.0),
    Setting(40, 8, 4, 0.0),
    Setting(40, 8, 4, 0.8),
    Setting(40, 12, 10, 0.8),
    Setting(100, 4, 6, 0.8),
    Setting(400, 2, 8, 0.8),
    Setting(40, 8, 4, 0.8, ties="davidson"),
    Setting(40, 8, 4, 0.8, ties="rao_kupper"),
    Setting(60, 8, 4, 0.8, style=True),
)


def run(quick: bool = False) -> dict[str, float]:
    """Simulate; the share of intervals that hold the truth, by name."""
    studies = 100 if quick else 300
    figures: dict[str, float] = {}
    print(f"  {'clusters x comparisons':45} strength  chance   tie/style  rank   none")
    for setting in SETTINGS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)
            shares = _coverage(setting, studies)
        print(f"  {setting.name:45} " + "  ".join(f"{share:7.3f}" for share in shares.values()), flush=True)
        figures |= {f"coverage_{part} [{setting.name}]": share for part, share in shares.items()}
    for n in (60, 200, 800):
        share = _length_control(n, 3 * studies)
        print(f"  length-controlled win rate, {n} instructions: {share:.3f}", flush=True)
        figures[f"coverage_length_controlled [{n}]"] = share
    return figures


def _study(setting: Setting, n_clusters: int, each: int, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    size = setting.systems
    clusters = np.repeat(np.arange(n_clusters), each)
    first = rng.integers(0, size, len(clusters))
    second = (first + rng.integers(1, size, len(clusters))) % size
    strength, taste = np.linspace(-0.7, 0.7, size), rng.normal(0, setting.taste, (n_clusters, size))
    d = strength[first] - strength[second] + taste[clusters, first] - taste[clusters, second]
    style = rng.normal(size=len(clusters))
    if setting.style:
        d = d + 0.5 * style
    outcome = np.where(rng.random(len(d)) < 1 / (1 + np.exp(-d)), 1, 2)
    outcome[rng.random(len(d)) < 0.4 * np.exp(-(d**2))] = 0
    columns: Columns = {"first": first, "second": second, "outcome": outcome, "clusters": clusters}
    if setting.style:
        columns["covariates"] = {"style": style}
    return columns


def _coverage(setting: Setting, studies: int) -> dict[str, float]:
    options: Columns = {"ties": setting.ties, "scale": "log"}
    truth = bradley_terry(**_study(setting, 1_000_000, 1, 10**6), **options, n_resamples=0)
    strengths, chances, extra, ranks, none = [], [], [], [], 0
    last = setting.systems - 1
    for seed in range(studies):
        found = bradley_terry(
            **_study(setting, setting.clusters, setting.each, seed), **options, n_resamples=400
        )
        if np.isnan(found.strengths[0].low) or len(found.names) < setting.systems:
            none += 1
            continue
        strengths += [_holds(a, b.value) for a, b in zip(found.strengths, truth.strengths, strict=True)]
        ranks += [_holds(a, b.value) for a, b in zip(found.ranks, truth.ranks, strict=True)]
        chances.append(_holds(found.win_probability(last, 0), truth.win_probability(last, 0).value))
        if found.tie_parameter and truth.tie_parameter:
            extra.append(_holds(found.tie_parameter, truth.tie_parameter.value))
        elif setting.style:
            extra.append(_holds(found.coefficients["style"], truth.coefficients["style"].value))
    return {
        "strength": float(np.mean(strengths)),
        "chance": float(np.mean(chances)),
        "extra": float(np.mean(extra)) if extra else float("nan"),
        "rank": float(np.mean(ranks)),
        "none": none / studies,
    }


def _length_control(n: int, studies: int) -> float:
    """A judge that leans to the longer response, and instructions of unequal difficulty."""
    hits = []
    for seed in range(studies):
        values, truth = _judged(n, seed)
        found = length_controlled_win_rate(*values, n_resamples=400)
        hits.append(_holds(found, truth))
    return float(np.mean(hits))


def _judged(n: int, seed: int) -> tuple[tuple[Any, ...], float]:
    rng = np.random.default_rng(seed)
    baseline, model = rng.integers(200, 1_200, n), rng.integers(400, 1_600, n)
    difficulty = rng.normal(0, 1.5, n)
    gap = np.tanh((baseline - model) / np.hypot(1_000, 1_200) * np.sqrt(12))
    log_odds = 0.4 + 0.9 * difficulty
    preferences = 1 + (rng.random(n) < 1 / (1 + np.exp(1.5 * gap - log_odds)))
    # Over all instructions: by quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float((weights / (1 + np.exp(-(0.4 + 0.9 * 1.5 * nodes)))).sum() / weights.sum())
    return (preferences, baseline, model, difficulty), truth


def _holds(estimate: Any, truth: float) -> bool:
    return bool(estimate.low <= truth <= estimate.high)
