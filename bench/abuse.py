"""Who has a reason to look: simulated people and agents in studies, and one real session of each kind in Chromium.

A study has people of all kinds, as common as their weights say, and three agents of kinds drawn at random. Each answers
the same items; the reasons are those of the study's page (`annotation.selectors.signal_reasons`). "Caught" and
"flagged" mean: at least one reason. Intervals are Wilson's, 95%, over people.

What agents send is assumed, not measured: how often a model does as a hidden text asks is unknown. What these figures
show is which signals a behaviour sets off, and how often people set them off, too. An agent that imitates a person in
all that is counted isn't caught, and this bench says so.

Figures
-------
caught_KIND, caught_KIND_low, caught_KIND_high : share of agents of the kind with a reason.
caught_by_tests_KIND : by the tests alone, without the hidden text and field and what the browser says of itself.
flagged_KIND, flagged_KIND_low, flagged_KIND_high : share of people of the kind with a reason.
flagged_people, flagged_people_low, flagged_people_high : of all people.
flagged_without_agents : of all people in studies that have no agent.
browser_KIND : 1 if the summaries of a real session of the kind are as the simulation has them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from annotation.selectors.signal_reasons import SignalAnswer, signals_compute
from bench.abuse_kinds import AGENTS, KINDS, PEOPLE, Item, Kind
from metaeval.stats import wilson_interval

STUDIES = 240
SIZE = 33  # people of a study
AGENTS_OF_A_STUDY = 3
ITEMS = 20
SEED = 17


def items_draw(rng: np.random.Generator) -> list[Item]:
    """The items of a study: 150 to 900 words, and what people take on them.

    Silent reading is at about 240 words a minute (M. Brysbaert, J. Mem. Lang. 109, 2019); skimming is faster.
    """
    words = rng.integers(150, 900, ITEMS)
    seconds = 12 + words / rng.uniform(200, 450, ITEMS) * 60
    return [
        Item(number, int(n), float(each)) for number, (n, each) in enumerate(zip(words, seconds, strict=True))
    ]


def study_draw(rng: np.random.Generator, *, agents: int) -> tuple[list[SignalAnswer], list[Kind]]:
    """The answers of a study, and the kind of each person."""
    weights = np.array([kind.weight for kind in PEOPLE])
    kinds = [PEOPLE[each] for each in rng.choice(len(PEOPLE), SIZE, p=weights / weights.sum())]
    kinds += [AGENTS[each] for each in rng.choice(len(AGENTS), agents, replace=False)]
    items = items_draw(rng)
    return [one for number, kind in enumerate(kinds) for one in kind.answers(rng, number, items)], kinds


def simulate(studies: int, *, agents: int = AGENTS_OF_A_STUDY, seed: int = SEED) -> dict[str, Counter[str]]:
    """How many of each kind there were, had a reason, and had one that comes from a test; and which reasons."""
    rng = np.random.default_rng(seed)
    found: dict[str, Counter[str]] = {kind.name: Counter() for kind in KINDS}
    for _ in range(studies):
        answers, kinds = study_draw(rng, agents=agents)
        reasons = signals_compute(answers).reasons
        for number, kind in enumerate(kinds):
            mine = reasons.get(number, ())
            found[kind.name]["all"] += 1
            found[kind.name]["some"] += bool(mine)
            found[kind.name]["tests"] += any(reason.adjusted is not None for reason in mine)
            found[kind.name].update(f"why {reason.kind.key}" for reason in mine)
    return found


def _share(name: str, some: int, whole: int) -> dict[str, float]:
    if not whole:
        return {}
    low, high = wilson_interval(some / whole, whole)
    return {name: round(some / whole, 4), f"{name}_low": round(low, 4), f"{name}_high": round(high, 4)}


def figures_of(found: dict[str, Counter[str]]) -> dict[str, float]:
    """The shares of each kind."""
    figures: dict[str, float] = {}
    for kind in KINDS:
        seen = found[kind.name]
        figures |= _share(
            f"{'caught' if kind.is_agent else 'flagged'}_{kind.name}", seen["some"], seen["all"]
        )
        if kind.is_agent and seen["all"]:
            figures[f"caught_by_tests_{kind.name}"] = round(seen["tests"] / seen["all"], 4)
    people = [found[kind.name] for kind in PEOPLE]
    return figures | _share(
        "flagged_people", sum(each["some"] for each in people), sum(each["all"] for each in people)
    )


def run(quick: bool = False) -> dict[str, float]:
    """Simulate studies with and without agents, then hold each kind against a real session."""
    studies = STUDIES // 12 if quick else STUDIES
    found = simulate(studies)
    figures = figures_of(found)
    alone = figures_of(simulate(studies // 2, agents=0, seed=SEED + 1))
    figures["flagged_without_agents"] = alone["flagged_people"]
    print(
        f"  {studies} studies of {SIZE} people and {AGENTS_OF_A_STUDY} agents, {ITEMS} answers each. Reasons by kind:"
    )
    for kind in KINDS:
        seen = found[kind.name]
        why = ", ".join(
            f"{key[4:]} {n / seen['all']:.0%}" for key, n in seen.most_common() if key.startswith("why ")
        )
        print(f"    {kind.about:36} {seen['some']:5} of {seen['all']:5}  {why}")
    from bench.abuse_sessions import sessions

    return figures | sessions()
