"""Does the monitor of a judge raise false alarms over years of looks, and how soon is a judge found that moved?

The tables of docs/statistics/drift.md. Anchors are uneven: most never change, some are tossed. The judge is asked again
when they are frozen, as often as is said, and then at every look.
"""

import numpy as np

from metaeval.stats import DriftMonitor, attribute_drift

LOOKS = 500
# Anchors, repetitions at freezing, share of anchors that are noisy, and how often these change.
STILL = [(100, 2, 0.0, 0.0), (100, 2, 0.1, 0.3), (30, 2, 0.5, 0.5), (200, 5, 0.2, 0.2)]
# Share of anchors whose verdict is another one from some look on, and looks before that.
MOVES = [(0.03, 0), (0.05, 0), (0.1, 0), (0.2, 0), (0.1, 100)]


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the share of monitors with any false alarm, and the looks until a move is found."""
    times = 20 if quick else 200
    result = {}
    for n, repeats, noisy, chance in STILL:
        rng = np.random.default_rng(0)
        false = 0
        for _ in range(times):
            often = np.where(rng.random(n) < noisy, chance, 0.0)
            monitor = DriftMonitor.of_anchors((rng.random((n, repeats)) < often[:, None]).astype(float))
            false += _ever(monitor, rng, often)
        result[f"drift_false_{n}_{repeats}_{noisy:g}_{chance:g}"] = false / times
        print(
            f"  {n} anchors, {repeats} repetitions, {noisy:.0%} change in {chance:.0%}: {false / times:.1%}"
        )
    rng = np.random.default_rng(1)
    often = np.repeat([0.5, 0.0], [10, 40])
    false = sum(_ever(DriftMonitor(0.1, direction="above"), rng, often) for _ in range(times))
    result["drift_false_known"] = false / times
    print(f"  50 anchors, noise known to be 10%: {false / times:.1%}", flush=True)
    for share, quiet in MOVES:
        found = [_looks_needed(seed, share, quiet) for seed in range(max(20, times // 2))]
        middle, late = np.quantile(found, [0.5, 0.9], method="inverted_cdf")
        result[f"drift_looks_{share:g}_{quiet}"] = float(middle)
        result[f"drift_found_{share:g}_{quiet}"] = float(np.mean(np.isfinite(found)))
        print(
            f"  {share:.0%} move after {quiet}: found in {np.isfinite(found).mean():.0%}, after a median of "
            f"{middle:.0f} looks, 90% within {late:.0f}",
            flush=True,
        )
    return result | _attributed(max(20, times // 2))


def _ever(monitor: DriftMonitor, rng: np.random.Generator, often: np.ndarray) -> bool:
    return any(monitor.update((rng.random(len(often)) < often).astype(float)).moved for _ in range(LOOKS))


def _looks_needed(seed: int, share: float, quiet: int) -> float:
    """With 100 anchors, 5 repetitions, and 1% noise that stays."""
    rng = np.random.default_rng(seed)
    monitor = DriftMonitor.of_anchors((rng.random((100, 5)) < 0.01).astype(float))
    for _ in range(quiet):
        monitor.update((rng.random(100) < 0.01).astype(float))
    moved = rng.random(100) < share
    for look in range(1, 101):
        changed = moved ^ (rng.random(100) < 0.01)
        if monitor.update(changed.astype(float)).moved:
            return float(look)
    return float("inf")


def _attributed(times: int) -> dict[str, float]:
    """What is said after 20 looks, each with 100 anchors and 50 newly labeled items; agreement was 80%, now 65%."""
    result = {}
    for who, flipped, right in (("judge", 0.1, 0.8), ("systems", 0.0, 0.65), ("neither", 0.0, 0.8)):
        rng = np.random.default_rng(3)
        said = []
        for _ in range(times):
            anchors = DriftMonitor.of_anchors((rng.random((100, 5)) < 0.01).astype(float), confidence=0.975)
            figure = DriftMonitor.of_values((rng.random(300) < 0.8).astype(float), confidence=0.975)
            moved = rng.random(100) < flipped
            for _ in range(20):
                one = anchors.update((moved ^ (rng.random(100) < 0.01)).astype(float))
                two = figure.update((rng.random(50) < right).astype(float))
            said.append(attribute_drift(one, two))
        shares = {answer: said.count(answer) / times for answer in sorted(set(said))}
        print(f"  moved: {who}; said: {shares}", flush=True)
        result[f"drift_said_{who}"] = shares.get(who, 0.0)
    return result
