"""Figures of classification are those of the public functions of `metaeval.stats` on categories read as numbers."""

from dataclasses import replace

import numpy as np
import pytest

from annotation.kinds.classification import CategoryScheme
from judges.strategies.types import AspectView
from metaeval import stats
from metaeval.figures import FIGURES
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.stats import Resamples
from metaeval.stats.categories import macro_scores, set_alpha
from tests.metaeval.kinds import KindItem, content, inputs, judge

N, PEOPLE, DRAWS = 40, 6, 200
NAMES = ("none", "mild", "severe")
CLUSTERS = np.repeat(np.arange(20), 2)
WEIGHTS = np.where(np.arange(N) % 3 == 0, 1.0, 3.0)


def value(*chosen, names=None):
    return {"categories": {name: name in chosen for name in names or NAMES}}


def some(said, verdicts, gold=None, scheme=None, unparsed=()):
    """Labels of N items as sets of names, (N, PEOPLE), and a judge's."""
    items = [
        KindItem(
            f"x{k}",
            str(CLUSTERS[k]),
            "c",
            "S",
            gold=None if gold is None else value(*gold[k]),
            aspects=tuple(AspectView(name, name) for name in NAMES),
        )
        for k in range(N)
    ]
    labels = [(k, p, value(*said[k][p])) for k in range(N) for p in range(PEOPLE)]
    values = {k: value(*each) for k, each in enumerate(verdicts) if k not in unparsed}
    found = inputs("classification", items, labels, [judge("j", values, unparsed=list(unparsed))])
    return replace(found, weights=WEIGHTS, scheme=scheme or CategoryScheme())


def overall(measures):
    return {name: each["overall"] for name, each in measures.items()}


def same(shown, estimate):
    assert shown["value"] == pytest.approx(estimate.value, rel=1e-9)
    assert (shown["low"], shown["high"]) == pytest.approx((estimate.low, estimate.high), rel=1e-6)


@pytest.fixture
def codes():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, N)
    return np.where(rng.random((N, PEOPLE)) < 0.7, truth[:, None], rng.integers(0, 3, (N, PEOPLE))), truth


def sampled():
    return {"resamples": Resamples(CLUSTERS.astype(str), DRAWS, 0), "weights": WEIGHTS}


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_people_at_each_level(codes, level):
    said, _ = codes
    names = NAMES if level != "interval" else ("1", "2", "10")
    scheme = CategoryScheme(level, order=names)
    found = some([[(NAMES[c],) for c in row] for row in said], [("none",)] * N)
    if level == "interval":  # the same under other names
        rename = dict(zip(NAMES, names, strict=True))
        parts = tuple(tuple(rename[one] for one in each) for each in found.items.parts)
        found = replace(found, items=replace(found.items, parts=parts))
    made = overall(content(replace(found, scheme=scheme), n_resamples=DRAWS)["people"]["measures"])
    numbers = np.array([1.0, 2.0, 10.0] if level == "interval" else [0.0, 1.0, 2.0])[said]
    same(made["alpha_nominal"], stats.krippendorff_alpha(said, **sampled()))
    same(made["agreement"], stats.leave_one_out_agreement(said, **sampled()))
    same(made["best_reachable"], stats.best_reachable_agreement(said, **sampled()))
    same(made["percent_agreement"], stats.pairwise_agreement(said, **sampled()))
    levels = {"nominal": (), "ordinal": ("ordinal",), "interval": ("ordinal", "interval")}[level]
    assert {name for name in made if name.startswith("alpha")} == {
        "alpha_nominal",
        *(f"alpha_{each}" for each in levels),
    }
    for each in levels:
        same(made[f"alpha_{each}"], stats.krippendorff_alpha(numbers, level=each, **sampled()))


def test_gold_of_many_categories_none_of_which_is_a_tie(codes, monkeypatch):
    monkeypatch.setattr(f"{__name__}.NAMES", ("none", "mild", "severe", "fatal", "unknown"))
    said, truth = codes
    gold = truth + np.arange(N) % 3  # 0 to 4
    own = np.where(np.arange(N) % 4 == 0, 0, gold).astype(float)  # the first category, often wrongly
    verdicts = [(NAMES[int(c)],) for c in own]
    labels = [[(NAMES[c],) for c in row] for row in said]
    found = some(labels, verdicts, gold=[(NAMES[c],) for c in gold], unparsed=(7,))
    own[7] = np.nan
    for unparsed in ("wrong", "omit"):
        options = Options(against="gold", n_resamples=DRAWS, unparsed=unparsed)
        made = overall(build(found, options).as_json()["judges"][0]["measures"])
        how = {"unparsed": unparsed, "resamples": sampled()["resamples"]}
        same(made["agreement"], stats.tolerant_accuracy(own, gold, tolerance=0, **how))


def test_a_judge_against_people(codes):
    said, truth = codes
    verdicts = [(NAMES[c],) for c in truth]
    found = some([[(NAMES[c],) for c in row] for row in said], verdicts, unparsed=(7,))
    made = content(found, n_resamples=DRAWS)["judges"][0]["measures"]
    own = truth.astype(float)
    own[7] = np.nan
    same(overall(made)["agreement"], stats.leave_one_out_agreement(said, own, **sampled()))
    counts = np.stack([(said == c).sum(axis=1) for c in range(3)], axis=1)
    leads = counts == counts.max(axis=1, keepdims=True)
    target = np.where(leads.sum(axis=1, keepdims=True) == 1, leads.astype(float), np.nan)
    hot = np.eye(3)[truth]
    hot[7] = np.nan
    expected = macro_scores(hot, target, **sampled())
    for name in ("precision", "recall", "f1"):
        same(overall(made)[f"macro_{name}"], getattr(expected, name))
    difference = stats.leave_one_out_difference(said, own, "people", **sampled())
    same(overall(made)["minus_people"], difference)


def test_a_judge_against_gold(codes):
    said, truth = codes
    rng = np.random.default_rng(9)
    verdicts = np.where(rng.random(N) < 0.8, truth, rng.integers(0, 3, N))
    found = some(
        [[(NAMES[c],) for c in row] for row in said],
        [(NAMES[c],) for c in verdicts],
        gold=[(NAMES[c],) for c in truth],
    )
    made = overall(content(found, "gold", n_resamples=DRAWS)["judges"][0]["measures"])
    how = {"resamples": sampled()["resamples"]}
    same(made["agreement"], stats.tolerant_accuracy(verdicts, truth, tolerance=0, **how))
    same(made["macro_f1"], macro_scores(np.eye(3)[verdicts], np.eye(3)[truth], **how).f1)


def test_several_categories():
    rng = np.random.default_rng(10)
    said = rng.random((N, PEOPLE, 3)) < 0.5
    said[~said.any(axis=2)] = [True, False, False]
    own = said[:, 0]

    def named(rows):
        return tuple(np.array(NAMES)[rows].tolist())

    found = some([[named(each) for each in row] for row in said], [named(each) for each in own])
    shown = content(found, n_resamples=DRAWS)
    people, judged = overall(shown["people"]["measures"]), overall(shown["judges"][0]["measures"])
    item, person = (part.ravel() for part in np.indices((N, PEOPLE)))
    same(people["alpha_masi"], set_alpha((item, person, said.reshape(-1, 3)), **sampled()))
    assert not {"alpha_nominal", "alpha_ordinal", "alpha_interval"} & set(people)
    assert people["categories_per_label"]["value"] == pytest.approx(
        (WEIGHTS * said.sum(axis=2).mean(axis=1)).sum() / WEIGHTS.sum()
    )
    sets = (said * [1, 2, 4]).sum(axis=2)
    same(people["agreement"], stats.leave_one_out_agreement(sets, **sampled()))
    same(
        judged["agreement"],
        stats.leave_one_out_agreement(sets, (own * [1, 2, 4]).sum(axis=1), **sampled()),
    )
    shares = said.mean(axis=1)
    target = np.where(shares == 0.5, np.nan, shares > 0.5)
    same(judged["macro_f1"], macro_scores(own.astype(float), target, **sampled()).f1)


def test_a_list_of_its_own_and_one_that_says_nothing_of_it():
    """Items that offer other categories stand side by side; a label of none of them is no label."""
    kind = FIGURES["classification"]
    items = [
        KindItem(f"x{k}", str(k), aspects=tuple(AspectView(name, name) for name in names))
        for k, names in enumerate((("A", "B"), ("B", "C", "A"), ("A", "B", "C", "D")))
    ]
    labels = [
        (0, 0, value("B", names="AB")),
        (1, 0, value("B", names="BCA")),
        (1, 1, value("C", names="BCA")),
    ]
    labels.append((2, 0, value("X", names="XY")))
    found = inputs("classification", items, labels, [])
    sample = kind.sample(found, Options(n_resamples=0))
    assert sample.categories == ("A", "B", "C", "D")
    assert sample.sets_of(sample.labels.choice).tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert sample.labels.item.tolist() == [0, 1, 1]
    (floor,) = sample.baselines()
    assert np.nan_to_num(floor.values[:, 0]).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
