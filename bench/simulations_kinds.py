"""Do intervals for people like these cover, of judges of ratings, checklists and rankings?

The table of docs/statistics/kinds.md. An annotator sees how good an item (a question's answer, a part) is, plus its
length to a taste of their own, plus noise of a size of their own, and is kind to a degree of their own. Two judges do
the same. Figures and intervals are those of a report; the truth is the mean of a figure over all datasets of a setting.
"""

import time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.simulations_people import Setting, clusters_of, who_labels
from metaeval.figures import FIGURES
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.inputs import Inputs, Items, JudgeAnswers, Labels, Options
from metaeval.stats import Estimate, PairedDifference
from metaeval.stats.errors import quiet

Floats: TypeAlias = NDArray[np.float64]
N_PARTS = {"rubric": 2, "checklist": 3, "importance": 4, "answer_ranking": 4}
SETTINGS = {
    "5 of 5": Setting(150, 5, 5),
    "3 of 5": Setting(200, 5, 3),
    "2 to 4 of 12, uneven, clusters of 1 to 12": Setting(300, 12, 4, clusters="uneven", uneven=True),
    "crowd, 3 of 60": Setting(500, 60, 0),
}
OF_JUDGE = {
    "rubric": (
        "closeness",
        "within_one",
        "mean_absolute_error",
        "pearson",
        "spearman",
        "minus_people",
        "below_best",
    ),
    "checklist": ("agreement", "drfr_difference", "minus_people", "below_best"),
    "importance": ("spearman", "minus_people", "below_best"),
    "answer_ranking": ("pearson", "minus_people", "below_best"),
}
OF_PEOPLE = {
    "rubric": ("pair_near", "within_one", "mean_absolute_error", "mean_rating", "alpha"),
    "checklist": ("pair_exact", "agreement", "alpha"),
    "importance": ("spearman", "same_first"),
    "answer_ranking": ("spearman",),
}


def run(
    quick: bool = False, kinds: tuple[str, ...] = tuple(N_PARTS), only: tuple[str, ...] = tuple(SETTINGS)
) -> dict[str, float]:
    """Print the table; the coverage of each figure by kind and setting."""
    result = {}
    for kind in kinds:
        for name in only:
            start = time.process_time()
            found = covers(kind, SETTINGS[name], 40 if quick else 400)
            print(f"  {kind}, {name} ({time.process_time() - start:.0f} s)", flush=True)
            for figure, (truth, alike, these) in found.items():
                result[f"{kind} {name} {figure}".replace(",", "").replace(" ", "_")] = alike
                print(
                    f"    {figure:22} truth {truth:6.3f}   annotators like these {100 * alike:5.1f}%   "
                    f"these annotators {100 * these:5.1f}%",
                    flush=True,
                )
    return result


def covers(kind: str, setting: Setting, times: int) -> dict[str, tuple[float, float, float]]:
    """By figure: (truth, share of intervals for annotators like these that hold it, of these annotators)."""
    rng = np.random.default_rng(1)
    seen: dict[str, list[tuple[float, Any, Any]]] = {}
    figures, primary = FIGURES[kind], FIGURES[kind].primaries[0]
    for _ in range(times):
        inputs = dataset(rng, kind, setting)
        sample = figures.sample(inputs, Options(n_resamples=200))
        with quiet():
            made = {
                f"judge {name}": one["overall"]
                for name, one in judge_measures(figures.only(*OF_JUDGE[kind]), sample.judges[0]).items()
                if name in OF_JUDGE[kind]
            }
            made |= {
                f"people {name}": one["overall"]
                for name, one in people_measures(figures.only(*OF_PEOPLE[kind]), sample).items()
                if name in OF_PEOPLE[kind]
            }
            whole = np.ones(len(inputs.items), dtype=bool)
            gap = sample.difference_alike(primary, 0, 1, whole, 0.95)
        for name, one in made.items():
            seen.setdefault(name, []).append((one["value"], one.get("alike"), one))
        assert gap is not None
        seen.setdefault("judge minus judge", []).append((gap.value, _ends(gap), None))
    result = {}
    for name, rows in seen.items():
        truth = float(np.mean([value for value, _, _ in rows]))
        shares = (
            float(np.mean([one is not None and one["low"] <= truth <= one["high"] for one in column]))
            for column in ([row[place] for row in rows] for place in (1, 2))
        )
        result[name] = (truth, *shares)
    return result  # type: ignore[return-value]


def _ends(gap: PairedDifference | Estimate) -> dict[str, float]:
    return {"low": gap.low, "high": gap.high}


def dataset(rng: np.random.Generator, kind: str, setting: Setting) -> Inputs:
    """One dataset with two judges, as a report reads it."""
    clusters = clusters_of(rng, setting)
    n, n_people, n_parts = len(clusters), setting.n_people, N_PARTS[kind]
    n_clusters = int(clusters.max()) + 1
    shared = 0.0 if setting.clusters == "single" else 0.5
    good = 0.8 * rng.normal(size=(n, n_parts)) + shared * rng.normal(size=(n_clusters, 1))[clusters]
    long = 0.7 * rng.normal(size=(n, n_parts)) + 0.7 * rng.normal(size=(n_clusters, 1))[clusters]
    taste, noise = rng.normal(0.3, setting.taste, n_people), np.exp(rng.normal(0, setting.noise, n_people))
    kindness = rng.normal(0.2, 0.4, n_people)
    item, person = np.nonzero(who_labels(rng, setting, n))

    def said(rows: Any, follows: Any, kind_to: Any, loud: Any) -> Floats:
        shape = (len(rows), n_parts)
        seen = good[rows] + long[rows] * follows + kind_to + loud * rng.normal(size=shape)
        return _values(kind, seen)

    values = said(item, taste[person, np.newaxis], kindness[person, np.newaxis], noise[person, np.newaxis])
    judges = tuple(
        _judge(f"judge {place}", said(np.arange(n), follows, 0.3, 0.6))
        for place, follows in enumerate((0.8, -0.2))
    )
    parts = tuple(f"p{place}" for place in range(n_parts))
    words = tuple(str(row) for row in range(n))
    items = Items(
        words,
        tuple(str(one) for one in clusters),
        ("",) * n,
        ("",) * n,
        (parts,) * n,
        np.full((n, n_parts), np.nan),
        np.zeros((n, 0), dtype=np.intp),
        ((),) * n,
        np.zeros(n, dtype=bool),
    )
    labels = Labels(item, person, values, np.zeros(len(item), dtype=bool))
    facts: dict[str, Any] = {"dataset": {}, "study": None, "sweep": None}
    return Inputs(
        kind=kind,
        name="simulated",
        facts=facts,
        items=items,
        labels=labels,
        judges=judges,
        criteria=parts if kind == "rubric" else (),
    )


def _values(kind: str, seen: Floats) -> Floats:
    if kind == "rubric":
        return np.clip(np.round(3 + seen), 1, 5)
    if kind == "checklist":
        return (seen > -0.4).astype(np.float64)
    return np.asarray(1 + (-seen).argsort(axis=1).argsort(axis=1), dtype=np.float64)


def _judge(name: str, values: Floats) -> JudgeAnswers:
    n = len(values)
    whole, none, nothing = np.ones((n, 1), bool), np.zeros((n, 1), bool), np.full((n, 1), np.nan)
    about = (name, name, "simulated", "", "simulated")
    return JudgeAnswers(*about, values[:, np.newaxis], whole, none, none, nothing, nothing)


if __name__ == "__main__":
    run()
