"""A comparison and a decision say the same of the same labels, and docs/choosing-a-judge.md has an example of each."""

from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.reports import words
from metaeval.reports.content import build
from metaeval.reports.selection import verdict as choices
from metaeval.reports.selection.inputs import (
    Criteria,
    Part,
    SelectionInputs,
    SelectionOptions,
    dataset_inputs,
)
from metaeval.reports.selection.report import selection_report
from metaeval.reports.verdict import LABELS, headline_of, reasons_of
from metaeval.selection.types import Candidate, Constraints
from metaeval.selection.verdict import VerdictKind
from tests.metaeval.reports.arrays import inputs_make, judge_make

N = 300
DOCS = Path(__file__).resolve().parents[3] / "docs" / "choosing-a-judge.md"
# Of each verdict: how many annotators, how much they differ in taste, the judges' accuracies, and what is asked.
EXAMPLES = {
    "clear": (8, 0.0, (0.9, 0.7), {}),
    "clear by a margin": (8, 0.0, (0.95, 0.6), {"margin": 0.05}),
    "clear_here, too few annotators": (4, 0.0, (0.9, 0.7), {}),
    "clear_here, not shown for others": (5, 0.9, (0.75, 0.6), {}),
    "clear, these annotators asked for": (5, 0.9, (0.75, 0.6), {"annotators": "these"}),
    "equivalent": (8, 0.0, (0.8, 0.8), {"margin": 0.05}),
    "equivalent_here": (6, 0.9, (0.7, 0.65), {"margin": 0.08}),
    "open": (8, 0.0, (0.8, 0.79), {}),
    "open, with a margin": (8, 0.0, (0.8, 0.78), {"margin": 0.02}),
    "floor": (8, 0.0, (0.6, 0.55), {}),
    "single": (8, 0.0, (0.9,), {}),
    "none": (8, 0.0, (0.9, 0.7), {}),
}


def inputs_of(name):
    """Labels of annotators who say what is right in 85%, or what they like, on clusters of 1 and of 15 items."""
    n_people, taste, accuracies, _ = EXAMPLES[name]
    rng = np.random.default_rng(11)
    cluster = np.repeat([f"i{place}" for place in range(N)], [1] * (N - 60) + [15] * 60)[:N]
    if taste:
        cluster = np.array([f"i{place}" for place in range(N)])
    truth, liked = rng.integers(1, 3, N), rng.integers(1, 3, N)
    leaning = np.linspace(-taste / 2, taste, n_people)
    labels = []
    for person in range(n_people):
        own = np.where(rng.random(N) < 0.85, truth, 3 - truth)
        side = liked if leaning[person] > 0 else 3 - liked
        own = np.where(rng.random(N) < abs(leaning[person]), side, own)
        labels += [(item, person, own[item]) for item in range(N)]
    labels.sort()

    def judge(place, accuracy):
        wrong = rng.random((N, 2)) > accuracy
        said = np.where(wrong, 3 - truth[:, np.newaxis], truth[:, np.newaxis])
        if taste and not place:
            follows = np.tile(rng.random((N, 1)) < 0.35, (1, 2))
            said = np.where(follows, liked[:, np.newaxis], said)
        return judge_make("AB"[place], said.astype(float))

    longest = np.where(rng.random(N) < (0.9 if name == "floor" else 0.5), truth, 3 - truth)[:, np.newaxis]
    return inputs_make(
        lengths=[(9, 5)] * N,
        labels=labels,
        cluster=cluster,
        judges=(
            *(judge(place, accuracy) for place, accuracy in enumerate(accuracies)),
            judge_make(
                "longest response", np.tile(longest, (1, 2)).astype(float), baseline=True, backend="heuristic"
            ),
        ),
    )


@cache
def both(name):
    """(report, choice) of an example."""
    inputs, asked = inputs_of(name), EXAMPLES[name][3]
    report = build(inputs, Options(n_resamples=200, **asked))
    unmet = Constraints(max_unparsed=0.0, max_cost_per_1000=1.0) if name == "none" else Constraints()
    part = dataset_inputs(Part("pairs", "people", 1.0), inputs, list(inputs.items.cluster))
    candidates = tuple(
        Candidate(judge.fingerprint, judge.name, is_baseline=judge.baseline) for judge in inputs.judges
    )
    found = SelectionInputs(
        {"name": "Trial"}, (part,), candidates, Criteria((part_of(part),), unmet, **asked),
        SelectionOptions(n_resamples=200, n_repeats=1),
    )  # fmt: skip
    return report, selection_report(found)


def part_of(part):
    return Part(part.judged.name, part.judged.role, part.judged.weight)


def test_there_is_an_example_of_each_verdict():
    assert {name.split(",")[0].split(" ")[0] for name in EXAMPLES} == set(get_args(VerdictKind))


def comparison_and_decision_say_the_same(report, choice):
    compared, decided = words.report_compared(report), choices.choice_compared(choice)
    assert compared.kind == decided.kind == words.verdict_of(report).kind
    assert reasons_of(compared) == reasons_of(decided)
    if compared.kind not in ("floor", "single"):
        assert headline_of(compared) == headline_of(decided) == words.verdict_of(report).headline


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_verdict_as_both_pages_and_the_guide_say_it(name):
    report, choice = both(name)
    if name != "none":
        comparison_and_decision_say_the_same(report, choice)
    found = choices.selection_verdict(choice)
    assert found.kind == name.split(",")[0].split(" ")[0]
    guide = " ".join(DOCS.read_text().split())
    said = (
        reasons_of(choices.choice_compared(choice)) if found.kind not in ("floor", "single", "none") else []
    )
    text = " ".join((f"{found.headline}.", *said))
    assert text.replace("−", "-") in guide.replace("−", "-").replace("> ", ""), text
    assert LABELS[found.kind] in guide
