"""Choosing a judge, with known truth: is the held-out figure right where the naive one is not?

``run()`` prints the table of docs/statistics/choosing.md. Judges are right with a known chance in each category; an
instruction is as hard for one as for the others, so their verdicts go together as those of real judges do.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import special

from metaeval.selection import COMPOSITE, Candidate, Constraints, JudgedDataset, Selection, choose

# How much of what makes a verdict right or wrong is the instruction.
HARDNESS = 0.4
MOST = 2_000  # resamples of the other confidence set


@dataclass(frozen=True)
class World:
    """Judges with known accuracies, and instructions to draw.

    ``accuracies`` has shape (n_judges, n_categories) for each dataset; categories are equally frequent.
    """

    name: str
    accuracies: tuple[np.ndarray, ...]
    n_instructions: tuple[int, ...]
    n_items: int = 1  # of each instruction
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def n_judges(self) -> int:
        return len(self.accuracies[0])

    def judges(self) -> list[Candidate]:
        return [Candidate(f"j{place}", f"Judge {place}") for place in range(self.n_judges)]

    def truth(self) -> np.ndarray:
        """Objective of each judge."""
        return np.mean([table.mean(axis=1) for table in self.accuracies], axis=0)

    def value(self, found: Selection, what: str | None) -> float:
        """What a judge, or the composite that was found, is worth indeed."""
        leader = int(found.leader[1:])
        if what != COMPOSITE:
            return float(self.truth()[int(what[1:])])
        n_categories = self.accuracies[0].shape[1]
        parts = [int(found.composite.parts.get(f"c{k}", f"j{leader}")[1:]) for k in range(n_categories)]
        return float(np.mean([table[parts, np.arange(n_categories)].mean() for table in self.accuracies]))

    def draw(self, rng: np.random.Generator) -> list[JudgedDataset]:
        """One sample of labelled data."""
        return [
            self._dataset(place, table, n, rng)
            for place, (table, n) in enumerate(zip(self.accuracies, self.n_instructions, strict=True))
        ]

    def _dataset(self, place: int, table: np.ndarray, n: int, rng: np.random.Generator) -> JudgedDataset:
        cluster = np.repeat(np.arange(n), self.n_items)
        category = cluster % table.shape[1]
        hard = rng.standard_normal(n)[cluster]
        own = rng.standard_normal((self.n_judges, len(cluster), 2))
        bar = special.ndtri(table)[:, category, np.newaxis]
        right = np.sqrt(HARDNESS) * hard[:, np.newaxis] + np.sqrt(1 - HARDNESS) * own < bar
        return JudgedDataset(
            f"d{place}",
            "gold",
            {f"j{judge}": np.where(right[judge], 1.0, 2.0) for judge in range(self.n_judges)},
            {},
            clusters=np.array([f"d{place}/{one}" for one in cluster]),
            categories=np.array([f"c{one}" for one in category])
            if table.shape[1] > 1
            else np.full(len(cluster), ""),
            gold=np.ones(len(cluster)),
        )


def equal(n_judges: int, accuracy: float = 0.8, n_categories: int = 1) -> np.ndarray:
    """Judges that are all as good."""
    return np.full((n_judges, n_categories), accuracy)


def spread(n_judges: int, deviation: float) -> np.ndarray:
    """Judges that differ a little: the same at every run."""
    return 0.8 + deviation * special.ndtri((np.arange(n_judges) + 0.5) / n_judges)[:, np.newaxis]


def specialists(n_judges: int, lead: float, n_categories: int = 5) -> np.ndarray:
    """Each judge is better than the rest in one category."""
    table = equal(n_judges, 0.75, n_categories)
    for judge in range(n_judges):
        table[judge, judge % n_categories] += lead
    return table


def worlds() -> list[World]:
    """What is simulated."""
    two_best = np.r_[np.full(2, 0.85), np.full(8, 0.75)][:, np.newaxis]
    one_best = np.r_[0.9, np.full(9, 0.8)][:, np.newaxis]
    return [
        World("20 equal judges, 200 instructions", (equal(20),), (200,)),
        World("20 equal judges, 40 instructions of 5 items", (equal(20),), (40,), 5),
        World("20 judges, true deviation 2 points", (spread(20, 0.02),), (200,)),
        World(
            "the same, positional agreement at least 0.75",
            (spread(20, 0.02),),
            (200,),
            constraints=Constraints(min_positional_agreement=0.75),
        ),
        World("10 equal judges, 5 categories", (equal(10, n_categories=5),), (200,)),
        World("10 specialists, 15 points better in one of 5 categories", (specialists(10, 0.15),), (400,)),
        World("two datasets (40 and 200), 10 equal judges", (equal(10), equal(10, 0.9)), (40, 200)),
        World("two judges equally best, 8 worse by 10 points", (two_best,), (200,)),
        World("the same on two datasets (40 and 200)", (two_best, two_best), (40, 200)),
        World("one judge best by 10 points of 10", (one_best,), (200,)),
    ]


def model_confidence_set(
    scores: np.ndarray, rng: np.random.Generator, *, pairs: bool, level: float = 0.05
) -> list[int]:
    """Hansen, Lunde and Nason's set, with T_R (``pairs``) or T_max: alternatives to compare with."""
    n = len(scores)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=MOST) / n
    means = scores.mean(axis=0)
    moved = draws @ scores - means
    left = list(range(scores.shape[1]))
    while len(left) > 1:
        gap, move = (
            means[left].mean() - means[left],
            moved[:, left].mean(axis=1, keepdims=True) - moved[:, left],
        )
        worst = gap / (np.sqrt((move**2).mean(axis=0)) + 1e-12)
        statistic, null = worst.max(), (move / (np.sqrt((move**2).mean(axis=0)) + 1e-12)).max(axis=1)
        if pairs:
            one, two = np.triu_indices(len(left), 1)
            between = moved[:, left][:, one] - moved[:, left][:, two]
            error = np.sqrt((between**2).mean(axis=0)) + 1e-12
            apart = np.zeros((len(left), len(left)))
            apart[one, two] = (means[left][one] - means[left][two]) / error
            apart -= apart.T
            statistic, null = apart.max(), np.abs(between / error).max(axis=1)
            worst = apart.max(axis=0)  # by how much the best of the others is ahead of each
        if np.mean(null > statistic) >= level:
            break
        left.pop(int(worst.argmax()))
    return left


def simulate(
    world: World, n_samples: int, *, seed: int = 0, n_resamples: int = 200, other_sets: bool = False
) -> dict[str, float]:
    """Means over samples of labelled data of one world."""
    rng = np.random.default_rng(seed)
    truth = world.truth()
    best = [f"j{judge}" for judge in np.flatnonzero(truth >= truth.max() - 1e-9)]
    rows: list[dict[str, float]] = []
    for _ in range(n_samples):
        data = world.draw(rng)
        found = choose(data, world.judges(), world.constraints, n_resamples=n_resamples, rng=rng)
        if found.leader is None:
            continue
        value = world.value(found, found.chosen)
        row = {
            "naive": found.naive - value,
            "held_out": found.held_out.value - value,
            "covered": float(found.held_out.low <= value <= found.held_out.high),
            "best_in_set": float(np.mean([key in found.confidence_set for key in best])),
            "all_best_in_set": float(set(best) <= set(found.confidence_set)),
            "set_size": float(len(found.confidence_set)),
            "false_clear": float(found.verdict == "clear" and (found.winner not in best or len(best) > 1)),
            "clear": float(found.verdict == "clear"),
        }
        if world.constraints.min_positional_agreement:  # the best may have to be left out
            row = {key: row[key] for key in ("naive", "held_out", "covered")}
        if found.composite is not None:
            worth = world.value(found, COMPOSITE)
            row |= {
                "composite_naive": found.composite.naive - worth,
                "composite_held_out": found.composite.held_out.value - worth,
                "composite_used": float(found.composite.worth_it),
            }
        if other_sets and len(data) == 1 and world.n_items == 1 and "best_in_set" in row:
            scores = np.stack([np.mean(one == 1, axis=1) for one in data[0].verdicts.values()], axis=1)
            for name, pairs in (("t_max", False), ("t_r", True)):
                kept = {f"j{place}" for place in model_confidence_set(scores, rng, pairs=pairs)}
                row |= {
                    f"{name}_best_in_set": float(np.mean([key in kept for key in best])),
                    f"{name}_all_best_in_set": float(set(best) <= kept),
                    f"{name}_set_size": float(len(kept)),
                }
        rows.append(row)
    result = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    result["error"] = float(np.std([row["held_out"] for row in rows]) / np.sqrt(len(rows)))
    return result


def run(quick: bool = False) -> dict[str, float]:
    """Print the table; returns its figures by name of the world and column."""
    n_samples = 20 if quick else 500
    print(f"{n_samples} samples of each; naive and held-out minus truth in points; sets at 95%")
    points, share, number = "{:+.2f}", "{:.1f}%", "{:.1f}"
    tables = [
        {
            "naive": ("naive", 100, points),
            "held_out": ("held out", 100, points),
            "error": ("s.e.", 100, "{:.2f}"),
            "covered": ("interval covers", 100, share),
            "composite_naive": ("composite: naive", 100, points),
            "composite_held_out": ("held out", 100, points),
            "composite_used": ("used", 100, share),
        },
        {
            "best_in_set": ("best in the set", 100, share),
            "all_best_in_set": ("all best", 100, share),
            "set_size": ("size", 1, number),
            "clear": ("clear", 100, share),
            "false_clear": ("falsely", 100, share),
            "t_r_best_in_set": ("T_R: best", 100, share),
            "t_r_all_best_in_set": ("all best", 100, share),
            "t_r_set_size": ("size", 1, number),
            "t_max_best_in_set": ("T_max: best", 100, share),
            "t_max_all_best_in_set": ("all best", 100, share),
            "t_max_set_size": ("size", 1, number),
        },
    ]
    found = {}
    for world in worlds():
        found[world.name] = simulate(world, n_samples, other_sets=True)
        print(f"  {world.name}: done", flush=True)
    for columns in tables:
        print("\n| judges | " + " | ".join(title for title, _, _ in columns.values()) + " |")
        print("|---" * (len(columns) + 1) + "|")
        for name, row in found.items():
            cells = [
                show.format(scale * row[key]) if key in row else ""
                for key, (_, scale, show) in columns.items()
            ]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    return {f"{name}: {key}": value for name, row in found.items() for key, value in row.items()}


if __name__ == "__main__":
    run()
