"""Juries with fitted weights, with known truth: does the held-out interval cover what the jury is worth on new data?

``run()`` prints the table of docs/statistics/choosing.md, of the whole of `metaeval.reports.juries.jury_report`. Judges
are right with a known chance; an instruction is as hard for one as for the others, so their mistakes go together.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from metaeval.inputs import GOLD, PEOPLE, Floats, Inputs, Items, Labels, Options, baseline_judge
from metaeval.reports.juries import jury_report
from metaeval.selection.juries import JuryWeights, Method
from metaeval.stats import accuracy, leave_one_out_agreement

METHODS: tuple[Method, ...] = ("logistic", "log_odds")
UNPARSED = 0.02
POPULATION = 20_000
N_PEOPLE = 3


@dataclass(frozen=True)
class World:
    """Judges of known accuracies, and labels to draw.

    ``hardness`` is how much of what makes a verdict right or wrong is the instruction. With ``people`` three annotators
    label each item, right in that share; else there are gold answers, of which ``ties`` are ties.
    """

    name: str
    accuracies: tuple[float, ...]
    n_instructions: int
    n_items: int = 1  # of each instruction
    hardness: float = 0.2
    ties: float = 0.0
    people: float | None = None

    def draw(self, rng: np.random.Generator, n_instructions: int) -> Inputs:
        """One sample of labelled data."""
        cluster = np.repeat(np.arange(n_instructions), self.n_items)
        n = len(cluster)
        truth = np.where(rng.random(n) < self.ties, 0, rng.integers(1, 3, n))
        shape = (len(self.accuracies), n, 2)
        hard = np.sqrt(self.hardness) * rng.normal(size=n_instructions)[cluster][:, np.newaxis]
        noise = hard + np.sqrt(1 - self.hardness) * rng.normal(size=shape)
        right = noise < special.ndtri(np.array(self.accuracies))[:, np.newaxis, np.newaxis]
        wrong = np.where(truth == 0, rng.integers(1, 3, n), 3 - truth)
        said = np.where(right, truth[:, np.newaxis], wrong[:, np.newaxis]).astype(float)
        said[rng.random(shape) < UNPARSED] = np.nan
        item = np.repeat(np.arange(0 if self.people is None else n), N_PEOPLE)
        agrees = rng.random(len(item)) < (self.people or 0.0)
        labels = np.where(agrees, truth[item], wrong[item]).astype(float)[:, np.newaxis]
        gold = truth.astype(float) if self.people is None else np.full(n, np.nan)
        words, blank = tuple(str(row) for row in range(n)), ("",) * n
        facts: dict[str, Any] = {"dataset": {}, "study": None, "sweep": None}
        return Inputs(
            kind="pairwise",
            name="simulated",
            facts=facts,
            items=Items(
                words,
                tuple(str(one) for one in cluster),
                blank,
                blank,
                (("",),) * n,
                gold[:, np.newaxis],
                np.ones((n, 2), dtype=np.intp),
                (("",),) * n,
                np.zeros(n, dtype=bool),
            ),
            labels=Labels(
                item,
                np.tile(np.arange(N_PEOPLE), len(item) // N_PEOPLE),
                labels,
                np.zeros(len(item), dtype=bool),
            ),
            judges=tuple(
                replace(baseline_judge(f"j{place}", f"j{place}", each[:, :, np.newaxis]), baseline=False)
                for place, each in enumerate(said)
            ),
        )

    @property
    def options(self) -> Options:
        return Options(against=GOLD if self.people is None else PEOPLE, n_resamples=200)

    def worth(self, population: Inputs, fit: JuryWeights) -> float:
        """What a jury is worth on new data."""
        said = np.stack([judge.verdicts for judge in population.judges])
        verdicts: Floats = fit.verdicts(said.reshape(len(said), -1).T).reshape(said.shape[1:])
        if self.people is None:
            return accuracy(verdicts, population.items.gold[:, 0], n_resamples=0).value
        labels = population.labels.choice.reshape(-1, N_PEOPLE)
        found = [leave_one_out_agreement(labels, column, n_resamples=0).value for column in verdicts.T]
        return float(np.mean(found))


WORLDS = (
    World("5 judges of 55 to 80%, 60 instructions of 2 items", (0.8, 0.7, 0.65, 0.6, 0.55), 60, 2),
    World("10 judges, three of 75%, seven of 60%, 200 instructions", (0.75,) * 3 + (0.6,) * 7, 200),
    World("3 judges, 20% ties, 60 instructions of 3 items", (0.8, 0.7, 0.65), 60, 3, 0.3, 0.2),
    World("20 judges of 60%, 50 instructions", (0.6,) * 20, 50, hardness=0.1),
    World("5 judges of 55 to 80%, 3 annotators right in 80%", (0.8, 0.7, 0.65, 0.6, 0.55), 120, people=0.8),
)


def run(quick: bool = False) -> dict[str, float]:
    """Print the table; coverage and bias in points by world and method."""
    result: dict[str, float] = {}
    for world in WORLDS:
        for method in METHODS:
            result |= _line(world, method, 10 if quick else 100)
    return result


def _line(world: World, method: Method, times: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    population = world.draw(rng, POPULATION)
    covered, gaps = [], []
    for seed in range(times):
        inputs = world.draw(rng, world.n_instructions)
        names = [judge.name for judge in inputs.judges]
        found = jury_report(inputs, names, replace(world.options, seed=seed), method=method)
        worth = world.worth(population, JuryWeights(np.array(list(found.weights.values())), found.tie_margin))
        covered.append(found.held_out.low <= worth <= found.held_out.high)
        gaps.append((found.held_out.value - worth, found.in_sample.value - worth))
    held_out, in_sample = 100 * np.mean(gaps, axis=0)
    error = 100 * np.std(gaps, axis=0)[0] / np.sqrt(times)
    print(
        f"  {world.name}, {method}: in-sample {in_sample:+.1f}, held out {held_out:+.1f} (s.e. {error:.1f}), "
        f"covers {100 * np.mean(covered):.0f}%",
        flush=True,
    )
    name = f"{world.name}, {method}"
    return {f"covers {name}": float(np.mean(covered)), f"bias {name}": float(held_out)}
