"""Simulations with known truth: few labels and many judgments, active labelling, the alternative annotator test.

``run()`` prints, for each case, the share of simulated datasets in which the 95% interval holds the truth and
its width against that of the labels alone; then how often the alternative annotator test calls a judge that is
exactly epsilon worse than a person good enough, and how often it finds one that is as good.
"""

from collections.abc import Callable, Iterator

import numpy as np

from metaeval.stats.active import active_probabilities, draw_items, items_to_label_next, judge_uncertainty
from metaeval.stats.alternative_annotator import alternative_annotator_test
from metaeval.stats.noninferiority import noninferiority_test
from metaeval.stats.prediction_powered import PredictionPowered, ppi_mean, ppi_win_rate

Dataset = Callable[[np.random.Generator], tuple[PredictionPowered, float]]

N_ITEMS = 1000
# Chance that the judge says what people say, where people say "win" and where they say "loss".
JUDGES = {"good": (0.9, 0.9), "useless": (0.5, 0.5), "biased": (0.95, 0.7), "near perfect": (0.98, 0.98)}


def flip(truth: np.ndarray, judge: str, rng: np.random.Generator) -> np.ndarray:
    """The judge's answers, 1 or 0, to items that people answer by ``truth``."""
    win, loss = JUDGES[judge]
    return np.where(rng.random(len(truth)) < np.where(truth == 1, win, loss), truth, 1 - truth)


def choices(wins: np.ndarray) -> np.ndarray:
    """Wins as verdicts: 1 is the first response, 2 the second, NaN stays."""
    return 2 - wins


def masked(values: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    return np.where(labelled, values, np.nan)


def win_rate(judge: str, share: float, n: int, tuning: str | float = "cross_fitted") -> Dataset:
    """Independent items, ``n`` of them labelled."""

    def dataset(rng: np.random.Generator) -> tuple[PredictionPowered, float]:
        truth = (rng.random(N_ITEMS) < share).astype(float)
        said = flip(truth, judge, rng)
        labels = masked(choices(truth), np.arange(N_ITEMS) < n)
        return ppi_win_rate(labels, choices(said), tuning=tuning), share

    return dataset


def rating(judge: str, n: int) -> Dataset:
    """Mean of ratings from 1 to 5, three people an item; a good judge, a useless one, one that is a point too kind."""
    noise, shift = {"good": (0.5, 0.0), "useless": (50.0, 0.0), "biased": (0.5, 1.0)}[judge]

    def dataset(rng: np.random.Generator) -> tuple[PredictionPowered, float]:
        quality = rng.normal(0, 1, N_ITEMS)
        people = np.clip(np.round(3 + quality[:, None] + rng.normal(0, 0.7, (N_ITEMS, 3))), 1, 5)
        said = np.clip(np.round(3 + shift + quality + rng.normal(0, noise, N_ITEMS)), 1, 5)
        return ppi_mean(masked(people, (np.arange(N_ITEMS) < n)[:, None]), said), 3.0

    return dataset


def clustered(judge: str, n_clusters: int, *, whole: bool) -> Dataset:
    """Five items an instruction, intraclass correlation 0.3 for people and judge alike; instructions labelled as
    wholes, or one item in five at random."""
    size, every = 5, 5

    def dataset(rng: np.random.Generator) -> tuple[PredictionPowered, float]:
        codes = np.repeat(np.arange(n_clusters * every), size)
        easy = rng.random(n_clusters * every) < 0.7
        shared = rng.random(len(codes)) < np.sqrt(0.3)
        truth = np.where(shared, easy[codes], rng.random(len(codes)) < 0.7).astype(float)
        said = flip(truth, judge, rng)
        # The judge errs by instruction too.
        wrong = (rng.random(n_clusters * every) < 0.1)[codes]
        said = np.where(wrong, 1 - said, said)
        labelled = codes < n_clusters if whole else rng.random(len(codes)) < 1 / every
        return ppi_win_rate(masked(choices(truth), labelled), choices(said), clusters=codes), 0.7

    return dataset


def active(budget: int, *, informative: bool, rounds: int = 1) -> Dataset:
    """A judge that gives probabilities, right ones or ones that say nothing of its errors; labels drawn by doubt."""

    def dataset(rng: np.random.Generator) -> tuple[PredictionPowered, float]:
        chance = rng.beta(0.6, 0.4, N_ITEMS)
        truth = (rng.random(N_ITEMS) < chance).astype(float)
        stated = chance if informative else rng.permutation(chance)
        doubt = judge_uncertainty(probability=stated)
        if rounds == 1:
            chances = active_probabilities(doubt, budget=budget)
            labelled = draw_items(chances, rng)
        else:
            first = active_probabilities(doubt, budget=budget / 2, tau=1.0)
            labelled = draw_items(first, rng)
            plan = items_to_label_next(
                chance, doubt, budget=budget // 2, labels=masked(truth, labelled), weights=1 / first, rng=rng
            )
            labelled[plan.items] = True
            chances = plan.probabilities
        return ppi_mean(masked(truth, labelled), chance, weights=1 / chances, bounds=(0, 1)), 0.6

    return dataset


def fixed_items(judge: str, n: int) -> Dataset:
    """The target is the mean over the very items."""

    def dataset(rng: np.random.Generator) -> tuple[PredictionPowered, float]:
        truth = (rng.random(N_ITEMS) < 0.7).astype(float)
        labels = masked(choices(truth), np.arange(N_ITEMS) < n)
        return ppi_win_rate(labels, choices(flip(truth, judge, rng)), target="items"), float(truth.mean())

    return dataset


def cases() -> Iterator[tuple[str, Dataset]]:
    for n in (40, 100, 400):
        for share in (0.5, 0.8, 0.95):
            for judge in JUDGES:
                yield f"win rate {share}, {n} labels, {judge} judge", win_rate(judge, share, n)
    for n in (40, 100):
        for judge in ("good", "useless", "biased"):
            yield f"mean rating, {n} labels, {judge} judge", rating(judge, n)
    for n_clusters in (40, 100):
        for judge in ("good", "useless", "biased"):
            yield f"{n_clusters} instructions of 5, {judge} judge", clustered(judge, n_clusters, whole=True)
        yield (
            f"{n_clusters * 5} labels over {n_clusters * 5} instructions",
            clustered("good", n_clusters, whole=False),
        )
    for n in (40, 100, 400):
        yield f"active, {n} labels, doubt that is right", active(n, informative=True)
        yield f"active, {n} labels, doubt that says nothing", active(n, informative=False)
    yield "active, 100 labels in two rounds", active(100, informative=True, rounds=2)
    for judge in JUDGES:
        yield f"these very items, 100 labels, {judge} judge", fixed_items(judge, 100)
    for weight in ("cross_fitted", "optimal", 0.9, 0.0):
        yield (
            f"win rate 0.8, 40 labels, near perfect, weight {weight}",
            win_rate("near perfect", 0.8, 40, weight),
        )


def coverage(dataset: Dataset, repeats: int, seed: int = 0) -> dict[str, float]:
    """Shares of datasets in which either interval holds the truth, mean widths, bias in standard deviations."""
    found = []
    for repeat in range(repeats):
        result, truth = dataset(np.random.default_rng([seed, repeat]))
        classical = result.classical
        assert classical is not None
        found.append(
            (
                result.low <= truth <= result.high,
                classical.low <= truth <= classical.high,
                result.high - result.low,
                classical.high - classical.low,
                result.value - truth,
            )
        )
    columns = np.array(found, dtype=float)
    deviation = float(columns[:, 4].std())
    return {
        "coverage": float(columns[:, 0].mean()),
        "classical": float(columns[:, 1].mean()),
        "width": float(columns[:, 2].mean()),
        "ratio": float(columns[:, 2].mean() / columns[:, 3].mean()),
        "bias": float(columns[:, 4].mean()) / deviation if deviation else 0.0,
    }


def losses(n: int, worse: float, better: float, rng: np.random.Generator) -> np.ndarray:
    """Differences 1 (the person is the better one), -1 (the judge is) or 0."""
    return rng.choice([1.0, 0.0, -1.0], size=n, p=[worse, 1 - worse - better, better])


def rejection(n: int, worse: float, better: float, test: str, repeats: int, *, size: int = 1) -> float:
    """How often one person is won over at 5%, epsilon 0.2; ``size`` items an instruction that go together."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(n // size), size) if size > 1 else None
    count = 0
    for _ in range(repeats):
        found = losses(n, worse, better, rng)
        if codes is not None:
            own = losses(n // size, worse, better, rng)[codes]
            found = np.where(rng.random(n) < 0.6, own, found)
        count += noninferiority_test(found, margin=0.2, clusters=codes, test=test) <= 0.05
    return count / repeats


def passes(accuracy: float, n: int, repeats: int, epsilon: float = 0.2) -> float:
    """How often a judge passes among five people who are right in 80% of pairs."""
    rng = np.random.default_rng(6)
    count = 0
    for _ in range(repeats):
        truth = rng.integers(1, 3, n).astype(float)
        people = np.where(rng.random((n, 5)) < 0.8, truth[:, None], 3 - truth[:, None])
        verdicts = np.where(rng.random(n) < accuracy, truth, 3 - truth)
        count += bool(alternative_annotator_test(people, verdicts, epsilon=epsilon).passed)
    return count / repeats


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the result holds the worst coverage and the sizes."""
    repeats = 200 if quick else 2000
    worst, best = 1.0, 0.0
    print(f"{'':52s} covers  labels alone  width ratio  bias (s.d.)")
    for seed, (name, dataset) in enumerate(cases()):
        row = coverage(dataset, repeats, seed)
        worst, best = min(worst, row["coverage"]), max(best, row["coverage"])
        print(
            f"{name:52s} {row['coverage']:6.1%} {row['classical']:13.1%} {row['ratio']:12.2f} {row['bias']:12.2f}",
            flush=True,
        )
    figures = {"ppi_coverage_min": worst, "ppi_coverage_max": best}
    print("\nA judge exactly 0.2 worse wins one person over, nominal 5%:   score test   t test")
    for n in (30, 50, 100, 300):
        for better in (0.0, 0.05, 0.15):
            sizes = [rejection(n, better + 0.2, better, test, 10 * repeats) for test in ("score", "t")]
            print(f"  {n} items, judge better on {better:.0%}: {sizes[0]:32.1%} {sizes[1]:8.1%}", flush=True)
            for test, size in zip(("score", "t"), sizes, strict=True):
                key = f"alt_test_size_{test}"
                figures[key] = max(figures.get(key, 0.0), size)
    for test in ("score", "t"):
        size = rejection(200, 0.3, 0.1, test, 5 * repeats, size=5)
        print(f"  40 instructions of 5 items, {test} test by cluster: {size:.1%}")
        figures[f"alt_test_size_clustered_{test}"] = size
    print("\nHow often a judge passes (five people, right in 80% of pairs; epsilon 0.2)")
    for accuracy in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9):
        shares = [passes(accuracy, n, max(50, repeats // 4)) for n in (50, 100, 300)]
        print(
            f"  judge right in {accuracy:.0%}: "
            + " ".join(f"{share:7.1%}" for share in shares)
            + "  of 50, 100, 300"
        )
        figures[f"alt_test_passes_{accuracy:g}_100"] = shares[1]
    return figures


if __name__ == "__main__":
    run()
