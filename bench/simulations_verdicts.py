"""Verdicts with known truth, of the whole public `choose`: how often are they wrong?

``run()`` prints the tables of docs/statistics/choosing.md and docs/statistics/replacing-people.md: the confidence set
with even and uneven clusters, equivalence at the margin, a clear winner among judges that are equal in the population
of annotators, and the alternative annotator test of the best of 20 judges at the boundary.
"""

import numpy as np

from metaeval.selection import Candidate, JudgedDataset, Selection, choose
from metaeval.stats import adjust_p_values, alternative_annotator_test

PEOPLE = 0.8
"""How often a person says what is right."""
FEW_LARGE = np.array([1] * 36 + [20, 24, 27, 30])


def sizes_of(setting: str, rng: np.random.Generator) -> np.ndarray:
    """Items of each cluster."""
    if setting == "even":
        return np.full(40, 5)
    if setting == "Pareto":
        return np.clip(np.ceil(rng.pareto(1.2, 100)).astype(int), 1, 60)
    return FEW_LARGE


def gold_dataset(
    accuracies: np.ndarray, sizes: np.ndarray, together: float, rng: np.random.Generator
) -> JudgedDataset:
    """Judges whose verdicts on the items of a cluster go together: ``together`` is their intraclass correlation."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    strength = 1 / together - 1
    shape = len(sizes), len(accuracies)
    chance = rng.beta(np.tile(accuracies * strength, (shape[0], 1)), (1 - accuracies) * strength, size=shape)
    right = rng.random((len(cluster), 2, len(accuracies))) < chance[cluster][:, np.newaxis]
    verdicts = {f"j{place}": np.where(right[..., place], 1.0, 2.0) for place in range(len(accuracies))}
    n = len(cluster)
    return JudgedDataset(
        "gold", "gold", verdicts, {}, clusters=cluster, categories=np.full(n, ""), gold=np.ones(n)
    )


def people_dataset(
    n: int,
    tastes: np.ndarray,
    judges: dict[str, np.ndarray],
    truth: np.ndarray,
    longer: np.ndarray,
    rng: np.random.Generator,
    each: int = 0,
) -> JudgedDataset:
    """Labels of people who follow length, each with a chance of their own, in place of the truth; below 0 the shorter.

    With ``each`` every item is labelled by so many of them.
    """
    n_people = len(tastes)
    by_length = rng.random((n, n_people)) < np.abs(tastes)
    liked = np.where(tastes > 0, longer[:, np.newaxis], 3 - longer[:, np.newaxis])
    right = np.where(rng.random((n, n_people)) < PEOPLE, truth[:, np.newaxis], 3 - truth[:, np.newaxis])
    labels = np.where(by_length, liked, right).astype(float)
    if each:
        ranks = rng.random((n, n_people)).argsort(axis=1).argsort(axis=1)
        labels[ranks >= each] = np.nan
    verdicts = {key: np.stack([said, said], axis=1).astype(float) for key, said in judges.items()}
    return JudgedDataset(
        "people", "people", verdicts, {}, clusters=np.arange(n), categories=np.full(n, ""), labels=labels
    )


def chosen(dataset: JudgedDataset, rng: np.random.Generator, **options: float | str) -> Selection:
    """The whole public choice, without the resamples that no verdict rests on."""
    candidates = [Candidate(key, key) for key in dataset.verdicts]
    return choose([dataset], candidates, n_resamples=0, n_repeats=1, rng=rng, **options)


def set_level(setting: str, together: float, n_samples: int, seed: int = 0) -> dict[str, float]:
    """How often all of 10 equal judges are in the confidence set, and how often one is falsely clear."""
    rng = np.random.default_rng(seed)
    found = [
        chosen(gold_dataset(np.full(10, 0.8), sizes_of(setting, rng), together, rng), rng, n_folds=3)
        for _ in range(n_samples)
    ]
    return {
        "all in": float(np.mean([len(one.confidence_set) == 10 for one in found])),
        "clear": float(np.mean([one.verdict == "clear" for one in found])),
    }


def equivalence_level(n_judges: int, n: int, n_samples: int, margin: float = 0.05, seed: int = 0) -> float:
    """How often judges are said to be equivalent of which one half is worse by exactly the margin."""
    rng = np.random.default_rng(seed)
    accuracies = np.where(np.arange(n_judges) % 2, 0.8 - margin, 0.8)
    worse = {f"j{place}" for place in range(1, n_judges, 2)}
    wrong = 0
    for _ in range(n_samples):
        found = chosen(
            gold_dataset(accuracies, np.ones(n, dtype=int), 0.3, rng), rng, margin=margin, n_folds=3
        )
        near = {row.key for row in found.standings if row.behind is None or not row.behind.low > margin}
        wrong += found.verdict.startswith("equivalent") and bool(worse & near) and bool(near - worse)
    return wrong / n_samples


def clear_among_equals(n_people: int, each: int, n_samples: int, seed: int = 0) -> dict[str, float]:
    """How often one of two judges is a clear winner that are as good in the population of annotators.

    Each person follows length with a chance of their own, some towards the longer response and as many towards the
    shorter one. Where it does not say what is right, one judge follows the longer, the other the shorter: by symmetry
    they are as good, and either is ahead as the annotators at hand happen to like length.
    """
    rng = np.random.default_rng(seed)
    n, clear, here = 500, 0, 0
    for _ in range(n_samples):
        truth, longer = rng.integers(1, 3, n), rng.integers(1, 3, n)
        tastes = np.clip(rng.normal(0.0, 0.3, n_people), -1, 1)
        judges = {
            "longer": np.where(rng.random(n) < 0.6, truth, longer),
            "shorter": np.where(rng.random(n) < 0.6, truth, 3 - longer),
        }
        found = chosen(people_dataset(n, tastes, judges, truth, longer, rng, each), rng, n_folds=3)
        clear += found.verdict == "clear"
        here += found.verdict in ("clear", "clear_here")
    return {"these annotators": here / n_samples, "both": clear / n_samples}


def boundary_passes(n_samples: int, n: int = 100, n_judges: int = 20, seed: int = 0) -> dict[str, float]:
    """How often a judge passes of 20 that are all worse than each of five people by epsilon (0.1) exactly."""
    rng = np.random.default_rng(seed)
    epsilon, n_people = 0.1, 5
    # Where judge and person differ, the share of the others tells who is nearer: with chance right minus wrong.
    told = 4 * PEOPLE**3 * (1 - PEOPLE) + PEOPLE**4 - 4 * PEOPLE * (1 - PEOPLE) ** 3 - (1 - PEOPLE) ** 4
    accuracy = PEOPLE - epsilon / told
    counts = dict.fromkeys(
        ("one judge", "best of 20, the same data", "the same, corrected (Holm)", "held-out"), 0
    )
    for _ in range(n_samples):
        truth = rng.integers(1, 3, n)
        judges = {
            f"j{place}": np.where(rng.random(n) < accuracy, truth, 3 - truth) for place in range(n_judges)
        }
        data = people_dataset(n, np.zeros(n_people), judges, truth, truth, rng)
        found = chosen(data, rng, epsilon=epsilon)
        tests = {
            key: alternative_annotator_test(data.labels, said, epsilon=epsilon)
            for key, said in judges.items()
        }
        adjusted = adjust_p_values([test.p_value for test in tests.values()], method="holm")
        best = list(tests).index(found.leader)
        test = tests[found.leader]
        counts["one judge"] += bool(tests["j0"].passed)
        counts["best of 20, the same data"] += bool(test.passed)
        counts["the same, corrected (Holm)"] += bool(test.passed) and adjusted[best] <= test.alpha
        held = found.replaces.get("people")
        counts["held-out"] += bool(held is not None and held.passed)
    return {name: count / n_samples for name, count in counts.items()}


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables."""
    n_samples = 20 if quick else 400
    figures: dict[str, float] = {}
    print(f"10 equal judges, {n_samples} datasets: all in the 95% confidence set, falsely clear")
    for setting in ("even", "Pareto", "36 small, 4 large"):
        for together in (0.3, 0.7):
            found = set_level(setting, together, n_samples)
            print(
                f"  {setting}, correlation {together}: {found['all in']:.1%}  {found['clear']:.1%}",
                flush=True,
            )
            figures[f"set_{setting}_{together}"] = found["all in"]
    print("Said to be equivalent within 5 points although half are worse by 5, nominal 5%")
    for n_judges, n in ((2, 400), (2, 2_000), (6, 2_000)):
        share = equivalence_level(n_judges, n, n_samples)
        print(f"  {n_judges} judges, {n} items: {share:.1%}", flush=True)
        figures[f"equivalent_{n_judges}_{n}"] = share
    print(
        "One of two judges clear that are equal in the population of annotators (a taste for length differs)"
    )
    for n_people, each in ((5, 0), (8, 0), (16, 0), (16, 4)):
        shares = clear_among_equals(n_people, each, n_samples)
        cells = "  ".join(f"{name} {share:.1%}" for name, share in shares.items())
        print(f"  {n_people} annotators, {each or n_people} an item: {cells}", flush=True)
        figures |= {f"clear_{n_people}_{each}_{name}": share for name, share in shares.items()}
    print(
        "Alternative annotator test, 100 items, 5 people, every judge worse by epsilon (0.1) exactly: passes"
    )
    for name, share in boundary_passes(n_samples).items():
        print(f"  {name}: {share:.1%}", flush=True)
        figures[f"passes_{name}"] = share
    return figures


if __name__ == "__main__":
    run()
