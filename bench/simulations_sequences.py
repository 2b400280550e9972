"""Do confidence sequences hold their level when one looks after every instruction, and when do they settle?

The tables of docs/statistics/distributions-and-sequences.md. People and judges are simulated, agreement is that of
verdicts with the modes of four people, left out one by one, and a miss at any time is a miss.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from bench.simulations_kinds import dataset
from bench.simulations_people import Setting
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports.selection.inputs import Part, dataset_inputs
from metaeval.selection.anytime import difference_so_far
from metaeval.stats import ConfidenceSequence, leave_one_out_contributions, mean_estimate

N_CLUSTERS = 500
# How many pairs an instruction has.
SIZES = {
    "single": lambda _, n: np.ones(n, dtype=int),
    "1 to 20": lambda rng, n: rng.integers(1, 21, n),
    "Pareto": lambda rng, n: np.minimum(200, 1 + rng.pareto(1.5, n)).astype(int),
}
LARGEST = {"single": 1, "1 to 20": 20, "Pareto": 200}
# A sequence of agreement or of a difference, sizes, method.
ROWS = [
    ("agreement", "single", "betting"),
    ("agreement", "1 to 20", "betting"),
    ("agreement", "single", "asymptotic"),
    ("agreement", "Pareto", "asymptotic"),
    ("difference", "single", "betting"),
    ("difference", "1 to 20", "betting"),
    ("difference", "1 to 20", "asymptotic"),
]
# Points by which the better of two judges is right more often, of which budgets and stops are told.
AHEAD = (0.0, 0.02, 0.1)


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the share of datasets with any miss, and where labeling stops."""
    times = 40 if quick else 400
    result = {}
    truth = _truth()
    for what, sizes, method in ROWS:
        rng = np.random.default_rng(0)
        missed = 0
        for _ in range(times):
            values, cluster = _values(rng, what, sizes, 0.0)
            mean = truth if what == "agreement" else 0.0
            missed += _ever_missed(what, sizes, method, values, cluster, mean)
        key = f"sequence_missed_{what}_{sizes.replace(' ', '_')}_{method}"
        result[key] = missed / times
        print(f"  {key:55} {100 * result[key]:5.1f}%", flush=True)
    result["fixed_interval_missed"] = _fixed(times, truth)
    print(
        f"  fixed interval, every 10 instructions from 30     {100 * result['fixed_interval_missed']:5.1f}%"
    )
    for ahead in AHEAD:
        result |= _stops(max(20, times // 4), ahead)
    return result | of_kinds(times)


def of_kinds(times: int, kinds: tuple[str, ...] = ("rubric", "checklist", "importance")) -> dict[str, float]:
    """Of other kinds than pairs: people's own figure, and the difference of two judges, as pages have them.

    Labels of an item are by three of so many people that nobody labels much: these annotators are any annotators.
    """
    result = {}
    for kind in kinds:
        figures = FIGURES[kind]
        of_people = figures.of_people(figures.of_everyone)
        for clusters in ("single", "uneven"):
            rng = np.random.default_rng(3)
            setting = Setting(300, 900, 3, clusters=clusters)
            found: dict[str, list[Any]] = {"people": [], "difference": []}
            for _ in range(times):
                inputs = dataset(rng, kind, setting)
                part = dataset_inputs(Part("d", "people", 1.0), inputs, inputs.items.cluster)
                arrival = np.random.default_rng(0).permutation(setting.n_items) + 1
                pair = inputs.judges[0].fingerprint, inputs.judges[1].fingerprint
                so_far = difference_so_far(part.judged, arrival.tolist(), pair, most=part.most or None)
                found["difference"].append(so_far.decision.estimate)
                sample = figures.sample(inputs, Options(n_resamples=0))
                ratio = of_people.function(sample)
                top, size = (
                    each.reshape(setting.n_items, -1).sum(axis=1) for each in (ratio.top, ratio.bottom)
                )
                cluster = np.array(inputs.items.cluster)
                most = np.bincount(np.unique(cluster, return_inverse=True)[1], weights=sample.most).max()
                sequence = ConfidenceSequence(bounds=of_people.bounds, largest=float(most))
                found["people"].append(sequence.update(top / size, clusters=cluster, weights=size))
            for what, rows in found.items():
                truth = float(np.mean([one.value for one in rows]))
                # Betting: what was left out at any look is left out in the end.
                missed = float(np.mean([not one.low <= truth <= one.high for one in rows]))
                width = float(np.median([one.high - one.low for one in rows]))
                result[f"sequence_missed_{kind}_{clusters}_{what}"] = missed
                print(
                    f"  {kind}, {clusters}, {what}: {100 * missed:.1f}% missed, median width {width:.3f}",
                    flush=True,
                )
    return result


def _values(rng: np.random.Generator, what: str, sizes: str, ahead: float) -> tuple[Any, Any]:
    """Contributions of a judge, or differences of two, of pairs in instructions that are hard together."""
    size = SIZES[sizes](rng, N_CLUSTERS)
    cluster = np.repeat(np.arange(N_CLUSTERS), size)
    hard = rng.random(N_CLUSTERS)[cluster] < 0.3
    n = len(cluster)
    labels = np.where(rng.random((n, 4)) < np.where(hard, 0.6, 0.9)[:, None], 1.0, 2.0)
    chance = np.where(hard, 0.55, 0.85)
    first = leave_one_out_contributions(labels, np.where(rng.random(n) < chance + ahead, 1.0, 2.0))
    if what == "agreement":
        return first, cluster
    second = leave_one_out_contributions(labels, np.where(rng.random(n) < chance, 1.0, 2.0))
    return first - second, cluster


def _truth() -> float:
    """Agreement on so many pairs that what is left of chance does not matter; it is the same for all sizes."""
    rng = np.random.default_rng(9)
    return float(np.mean([_values(rng, "agreement", "single", 0.0)[0].mean() for _ in range(1_500)]))


def _ever_missed(what: str, sizes: str, method: Any, values: Any, cluster: Any, mean: float) -> bool:
    bounds = (0.0, 1.0) if what == "agreement" else (-1.0, 1.0)
    sequence = ConfidenceSequence(bounds=bounds, method=method, largest=LARGEST[sizes])
    if method == "betting":  # what was left out once stays so
        found = sequence.update(values, clusters=cluster)
        return not found.low <= mean <= found.high
    ends = np.searchsorted(cluster, np.arange(N_CLUSTERS + 1))
    for start, end in pairwise(ends.tolist()):
        found = sequence.update(values[start:end], clusters=cluster[start:end])
        if not found.low <= mean <= found.high:
            return True
    return False


def _fixed(times: int, mean: float) -> float:
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(times):
        values, _ = _values(rng, "agreement", "single", 0.0)
        looks = (mean_estimate(values[:n], n_resamples=1) for n in range(30, N_CLUSTERS + 1, 10))
        missed += any(not one.low <= mean <= one.high for one in looks)
    return missed / times


def _stops(times: int, ahead: float) -> dict[str, float]:
    """Two judges on single pairs, a margin of 5 points, a budget of 2,000: what is said in the end, and when."""
    rng = np.random.default_rng(2)
    said, when = list[str](), list[int]()
    for _ in range(times):
        sequence = ConfidenceSequence(bounds=(-1.0, 1.0))
        answer = "open"
        for _ in range(4):
            values, _ = _values(rng, "difference", "single", ahead)
            for start in range(0, len(values), 20):
                sequence.update(values[start : start + 20])
                answer = sequence.decide(margin=0.05, reference=0.0, budget=2_000).answer
                if answer != "open":
                    break
            if answer != "open":
                break
        said.append(answer)
        when.append(sequence.n_clusters)
    shares = {
        one: said.count(one) / times for one in ("above", "below", "within", "not at this budget", "open")
    }
    print(f"  {100 * ahead:.0f} points ahead: {shares}, median {np.median(when):.0f} pairs", flush=True)
    return {f"stop_{100 * ahead:.0f}_{name.replace(' ', '_')}": share for name, share in shares.items()} | {
        f"stop_{100 * ahead:.0f}_pairs": float(np.median(when))
    }
