"""Simulations with known truth: corrected rates beside prediction-powered ones, calibration errors, thresholds.

The tables of docs/statistics/errors-and-confidence.md and of extreme weights in docs/statistics/few-labels.md.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from metaeval.stats import abstention_threshold, calibration_error, corrected_rate, ppi_mean
from metaeval.stats.abstention import METHODS
from metaeval.stats.errors import StatisticsWarning
from metaeval.stats.estimate import Estimate

# Labels, verdicts, and what else a call takes: of one dataset.
Drawn = tuple[Any, Any, dict[str, Any]]
Draw = Callable[[np.random.Generator], Drawn]

UNEVEN = (1,) * 180 + (20,) * 20


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the share of datasets by name."""
    times = 40 if quick else 400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return _rates(times) | _weights(times) | _calibration(times // 2) | _thresholds(times)


def _judge(rng: np.random.Generator, truth: Any, q0: float, q1: float) -> Any:
    return np.where(rng.random(len(truth)) < np.where(truth == 1, q1, q0), truth, 1 - truth)


def _single(share: float, q0: float, q1: float, m: int) -> Draw:
    def draw(rng: np.random.Generator) -> Drawn:
        truth = (rng.random(1000) < share).astype(float)
        return np.where(np.arange(1000) < m, truth, np.nan), _judge(rng, truth, q0, q1), {}

    return draw


def _clustered(share: float, q0: float, q1: float, m: int) -> Draw:
    """Instructions of 1 and of 20 items, intraclass correlation 0.3, ``m`` of 200 labelled as wholes."""
    codes = np.repeat(np.arange(len(UNEVEN)), UNEVEN)

    def draw(rng: np.random.Generator) -> Drawn:
        base = rng.random(len(UNEVEN)) < share
        own = rng.random(len(codes)) < share
        truth = np.where(rng.random(len(codes)) < math.sqrt(0.3), base[codes], own).astype(float)
        labelled = np.isin(codes, rng.permutation(len(UNEVEN))[:m])
        return np.where(labelled, truth, np.nan), _judge(rng, truth, q0, q1), {"clusters": codes}

    return draw


def _extreme(share: float, m: int, sd: float, *, related: bool) -> Draw:
    """Chances that vary by a log-normal factor; related: more where the judge is wrong."""

    def draw(rng: np.random.Generator) -> Drawn:
        truth = (rng.random(2000) < share).astype(float)
        said = _judge(rng, truth, 0.85, 0.85)
        odds = rng.normal(0, sd, 2000)
        if related:
            odds = np.where(said == truth, -sd, sd) * 0.7 + odds / 2
        chance = np.clip(m * np.exp(odds) / np.exp(odds).mean() / 2000, 1e-4, 1)
        return np.where(rng.random(2000) < chance, truth, np.nan), said, {"weights": 1 / chance}

    return draw


def _covers(name: str, share: float, draw: Draw, times: int) -> dict[str, float]:
    figures: dict[str, Callable[..., Estimate]] = {
        "corrected": corrected_rate,
        "ppi": lambda labels, said, **more: ppi_mean(labels, said, bounds=(0, 1), **more),
    }
    found, line = {}, f"  {name:44}"
    for key, figure in figures.items():
        rng = np.random.default_rng(0)
        ends = [figure(labels, said, **more) for labels, said, more in (draw(rng) for _ in range(times))]
        known = [one for one in ends if not math.isnan(one.low)]
        found[f"{key}_{name}"] = float(np.mean([one.low <= share <= one.high for one in known]))
        width = float(np.mean([one.high - one.low for one in known]))
        line += f"  {key} {found[f'{key}_{name}']:6.1%} width {width:.3f} undefined {times - len(known):3d}"
    print(line, flush=True)
    return found


def _rates(times: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in (0.5, 0.8, 0.95):
        for q0, q1 in ((0.7, 0.9), (0.9, 0.9), (0.6, 0.6)):
            for m in (40, 100, 400):
                found |= _covers(f"single_{share}_{q0}_{q1}_m{m}", share, _single(share, q0, q1, m), times)
        for m in (40, 120):
            found |= _covers(f"uneven_{share}_0.7_0.9_m{m}", share, _clustered(share, 0.7, 0.9, m), times)
    return found


def _weights(times: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in (0.5, 0.7, 0.9):
        for m in (60, 200):
            for sd, related in ((1.0, False), (2.0, False), (2.0, True)):
                name = f"weights_{share}_m{m}_sd{sd}{'_related' * related}"
                found |= _covers(name, share, _extreme(share, m, sd, related=related), times)
    return found


def _odds(rng: np.random.Generator, n: int, size: int, times: float) -> tuple[Any, Any, Any]:
    """Probabilities ``times`` as sure as they should be, outcomes, instructions of ``size`` items."""
    codes = np.repeat(np.arange(n // size), size)
    odds = 0.7 * rng.normal(1, 1, n // size)[codes] + rng.normal(0, 0.7, len(codes))
    outcome = rng.random(len(codes)) < 1 / (1 + np.exp(-odds))
    return 1 / (1 + np.exp(-times * odds)), outcome.astype(float), codes


def _calibration(times: int) -> dict[str, float]:
    found = {}
    for bold in (1.0, 1.5, 3.0):
        large = _odds(np.random.default_rng(9), 400_000, 1, bold)
        truth = calibration_error(large[0], large[1]).value
        for n in (60, 150, 500):
            for size in (1, 4):
                rng = np.random.default_rng(1)
                rows = [_odds(rng, n, size, bold) for _ in range(times)]
                ends = [calibration_error(said, seen, clusters=codes) for said, seen, codes in rows]
                key = f"calibration_{truth:.3f}_n{n}_size{size}"
                found[key] = float(np.mean([one.low <= truth <= one.high for one in ends]))
                plain = float(np.mean([one.plain for one in ends]))
                root = math.sqrt(float(np.mean([one.value**2 for one in ends])))
                print(
                    f"  {key:34} {found[key]:6.1%}  plain {plain:.3f}  this, root of mean square {root:.3f}",
                    flush=True,
                )
    return found


def _thresholds(times: int) -> dict[str, float]:
    """Continuous certainty, or shares of five votes; the truth from 200,000 items."""
    found = {}
    for votes in (False, True):

        def draw(rng: np.random.Generator, n: int, size: int, votes: bool = votes) -> tuple[Any, Any, Any]:
            codes = np.repeat(np.arange(n // size), size)
            sure = 0.5 + 0.5 * rng.beta(2, 1, len(codes))
            if votes:
                share = rng.binomial(5, sure) / 5
                sure = np.maximum(share, 1 - share)
            hard = np.where(rng.random(n // size) < 0.5, 1.6, 0.4)[codes] if size > 1 else 1.0
            return sure, (rng.random(len(codes)) < (1 - sure) * hard).astype(float), codes

        large = draw(np.random.default_rng(7), 200_000, 1)
        for risk, n, size in ((0.1, 300, 1), (0.1, 1000, 1), (0.2, 100, 1), (0.2, 300, 1), (0.2, 1000, 4)):
            for method in METHODS:
                rng = np.random.default_rng(2)
                risks, kept = [], []
                for _ in range(times):
                    sure, wrong, codes = draw(rng, n, size)
                    one = abstention_threshold(sure, wrong, risk=risk, method=method, clusters=codes)
                    inside = large[0] >= one.threshold if one.defined else np.zeros(len(large[0]), dtype=bool)
                    lost = float(large[1][inside].sum())
                    risks.append(
                        lost / (len(large[0]) if method == "conformal_risk" else max(1, inside.sum()))
                    )
                    kept.append(float(inside.mean()))
                key = f"{method}_risk{risk}_n{n}_size{size}{'_votes' * votes}"
                found[f"{key}_above"] = float(np.mean([one > risk for one in risks]))
                found[f"{key}_mean"] = float(np.mean(risks))
                print(
                    f"  {key:46} risk above {found[f'{key}_above']:6.1%}, mean risk {found[f'{key}_mean']:.3f},"
                    f" kept {np.mean(kept):.0%}, none {np.mean([one == 0 for one in kept]):.0%}",
                    flush=True,
                )
    return found
