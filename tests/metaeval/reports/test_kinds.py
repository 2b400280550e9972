"""Comparisons of kinds on dataclasses: by hand, published figures, a slow oracle, invariants, degenerate input."""

import doctest
import importlib
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from judges.strategies.types import AspectView
from metaeval.reports import tables
from metaeval.reports.render import render
from metaeval.reports.report import report_of
from metaeval.stats import aspect_levels, correlation, drfr, tower_score
from tests.metaeval.kinds import KindItem, content, inputs, judge, plain_items
from tests.metaeval.reports.kind_values import (
    CRITERIA,
    TREE,
    answered,
    aspects,
    figure,
    ranked,
    rated,
    selection_in,
)


@pytest.mark.parametrize("name", ["rating_scales", "ratings", "rankings", "sample"])
def test_examples(name):
    module = importlib.import_module(f"metaeval.figures.{name}")
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


# Rubrics


def test_a_rubric_by_hand():
    # People's means of "clear": (1+3)/2 = 2, (4+4)/2 = 4, (5+3)/2 = 4, 5. The judge says 1, 4, 2, and nothing readable.
    labels = [
        *((k, 0, rated(v, v)) for k, v in enumerate((1, 4, 5, 5))),
        *((k, 1, rated(v, v)) for k, v in enumerate((3, 4, 3, 5))),
    ]
    one = judge("one", {k: rated(v, v) for k, v in enumerate((1, 4, 2))}, unparsed=[3])
    found = content(inputs("rubric", plain_items(4), labels, [one], CRITERIA))
    # Distances 1, 0, 2: mean 1; near: yes, yes, no, and the unreadable one is not: 2 of 4.
    assert figure(found, "one", "mean_absolute_error", "criterion", "clear") == pytest.approx(1)
    assert figure(found, "one", "within_one") == pytest.approx(2 / 4)
    assert figure(found, "one", "mean_rating") == pytest.approx(7 / 3)
    assert figure(found, "one", "unparsed_rate") == pytest.approx(1 / 4)
    # Ranks 1 3 2 and 1 2.5 2.5: deviations (-1, 1, 0), (-1, .5, .5): 1.5 / sqrt(2 * 1.5).
    assert figure(found, "one", "spearman", "criterion", "kind") == pytest.approx(1.5 / math.sqrt(3))
    # People: 2, 0, 2, 0 apart, each way: mean 1; half of them within one.
    assert figure(found, "people", "mean_absolute_error") == pytest.approx(1)
    assert figure(found, "people", "within_one") == pytest.approx(1 / 2)
    assert figure(found, "people", "mean_rating") == pytest.approx((2 + 4 + 4 + 5) / 4)
    # With four items nobody shares five.
    assert found["people"]["measures"]["spearman"]["overall"]["value"] is None


def test_rubrics_by_scenario():
    """Each category and subset by itself, all items pooled, and the unweighted mean over the groups, told apart."""
    rng, n = np.random.default_rng(6), 60
    category = np.resize(["chat", "chat", "code"], n)  # twice as much chat
    level = rng.integers(1, 4, n) + 2 * (category == "code")
    items = [
        KindItem(f"x{k}", f"i{k}", category[k], "Adversarial/Hard" if k % 2 else "Natural") for k in range(n)
    ]
    people = [
        (k, p, rated(*np.clip(level[k] + rng.integers(-1, 2, 2), 1, 5).tolist()))
        for k in range(n)
        for p in (0, 1)
    ]
    one = judge(
        "one", {k: rated(*np.clip(level[k] + rng.integers(-2, 3, 2), 1, 5).tolist()) for k in range(n)}
    )
    made = inputs("rubric", items, people, [one], CRITERIA)
    found = content(made, n_resamples=200)
    said, truth = made.judges[0].values[:, 0].mean(axis=1), made.labels.values.mean(axis=1)
    truth = truth.reshape(n, 2).mean(axis=1)
    expected = {
        name: pearsonr(said[category == name], truth[category == name])[0] for name in ("chat", "code")
    }
    measure = found["judges"][0]["measures"]["pearson"]
    assert {name: row["value"] for name, row in measure["category"].items()} == pytest.approx(expected)
    assert measure["overall"]["value"] == pytest.approx(pearsonr(said, truth)[0])
    mean = measure["macro"]["/categories"]
    assert mean["value"] == pytest.approx(np.mean(list(expected.values())))
    assert mean["low"] < mean["value"] < mean["high"]
    assert measure["overall"]["value"] > mean["value"] + 0.05  # code is rated higher by all
    assert set(measure["macro"]) == {"average", "/categories"}
    rating = found["judges"][0]["measures"]["mean_rating"]
    by_hand = [said[category == name].mean() for name in ("chat", "code")]
    assert rating["macro"]["/categories"]["value"] == pytest.approx(np.mean(by_hand))
    assert rating["overall"]["value"] == pytest.approx(said.mean())
    assert set(found["people"]["measures"]["spearman"]["macro"]) == {"average", "/categories"}
    # Tables, in every form, say which column is which.
    report = report_of(found)
    by_category = next(each for each in tables.group_tables(report) if each.key == "judges-pearson-category")
    assert by_category.heads == ("All", "chat", "code", "Mean")
    assert [cell.estimate["value"] for cell in by_category.rows[-1].cells][::3] == [
        measure["overall"]["value"],
        mean["value"],
    ]
    by_subset = next(each for each in tables.group_tables(report) if each.key == "judges-pearson-subset")
    assert by_subset.heads == ("All", "Natural", "Hard", "Mean")
    said_of_it = "“All” pools all items; means are unweighted means over categories."
    assert by_category.note == said_of_it
    for form in (".html", ".md"):
        assert said_of_it in render(report, form)
    assert "``All'' pools all items; means are unweighted means over categories." in render(report, ".tex")
    assert "macro,/categories" in render(report, ".csv")


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_rubrics_against_a_slow_oracle(data):
    n = data.draw(st.integers(3, 8))
    rating = st.integers(1, 5)
    said = data.draw(st.lists(st.tuples(rating, rating), min_size=n, max_size=n))
    people = data.draw(
        st.lists(st.lists(st.tuples(rating, rating), min_size=n, max_size=n), min_size=1, max_size=3)
    )
    labels = [(k, p, rated(*row)) for p, rows in enumerate(people) for k, row in enumerate(rows)]
    found = content(
        inputs(
            "rubric",
            plain_items(n),
            labels,
            [judge("j", {k: rated(*row) for k, row in enumerate(said)})],
            CRITERIA,
        ),
        n_resamples=0,
    )
    for place, name in enumerate(CRITERIA):
        own = [row[place] for row in said]
        means = [sum(rows[k][place] for rows in people) / len(people) for k in range(n)]
        assert figure(found, "j", "mean_absolute_error", "criterion", name) == pytest.approx(
            sum(abs(a - b) for a, b in zip(own, means, strict=True)) / n
        )
        assert figure(found, "j", "within_one", "criterion", name) == pytest.approx(
            sum(abs(a - b) <= 1 + 1e-9 for a, b in zip(own, means, strict=True)) / n
        )
        for key, slow in (("pearson", pearsonr), ("spearman", spearmanr)):
            value = figure(found, "j", key, "criterion", name)
            if len(set(own)) > 1 and max(means) - min(means) > 1e-9:
                assert value == pytest.approx(slow(own, np.round(means, 9)).statistic, abs=1e-8)
            else:
                assert value is None


def test_expected_ratings_stand_beside_ratings():
    labels = [(k, 0, rated(v, v)) for k, v in enumerate((1, 2, 3, 4))]
    values = {k: rated(3, 3 + k % 2) | {"expected": {"clear": k + 0.5}} for k in range(4)}
    plain = judge("plain", {k: rated(k + 1, 1) for k in range(4)})
    found = content(inputs("rubric", plain_items(4), labels, [judge("fine", values), plain], CRITERIA))
    assert figure(found, "fine", "spearman", "criterion", "clear") is None  # always 3
    assert figure(found, "fine", "spearman_expected", "criterion", "clear") == pytest.approx(1)
    # Where there is no expected rating, the rating itself stands in.
    assert figure(found, "fine", "spearman_expected", "criterion", "kind") == figure(
        found, "fine", "spearman", "criterion", "kind"
    )
    assert "spearman_expected" not in found["judges"][1]["measures"]


def test_people_of_newsroom(shared_data):
    labels = json.loads((shared_data / "newsroom" / "newsroom.labels.json").read_text(encoding="utf-8"))
    published = json.loads((shared_data / "newsroom" / "published_newsroom.json").read_text(encoding="utf-8"))
    rows = labels["instances"]
    criteria = tuple(rows[0]["annotations"])

    def of(row, get):
        return {"ratings": {name: get(row["annotations"][name]) for name in criteria}}

    people = [
        (k, p, of(row, lambda each, p=p: each["individual_human_scores"][p]))
        for k, row in enumerate(rows)
        for p in range(3)
    ]
    rounded = judge(
        "rounded mean", {k: of(row, lambda each: round(each["mean_human"])) for k, row in enumerate(rows)}
    )
    first = judge("first rater", {k: people[3 * k][2] for k in range(len(rows))})
    found = content(
        inputs("rubric", plain_items(len(rows)), people, [first, rounded], criteria), n_resamples=100
    )
    for name, row in next(iter(published.values())).items():
        alpha = figure(found, "people", "alpha", "criterion", name)
        assert alpha == pytest.approx(row["krippendorff_alpha"], abs=1e-6)
        assert figure(found, "rounded mean", "within_one", "criterion", name) == 1
        # Not left out: a rater's own rating is a third of the mean that it is compared with.
        assert figure(found, "first rater", "pearson", "criterion", name) > figure(
            found, "people", "pearson", "criterion", name
        )
    assert selection_in(found)["leader"] == 1
    assert selection_in(found)["clear"]


def test_the_interval_of_a_lead_allows_for_the_number_of_rivals():
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 60)
    labels = [(k, 0, rated(int(v), int(v))) for k, v in enumerate(truth)]

    def noisy(name):
        said = np.clip(truth + rng.integers(-2, 3, 60), 1, 5)
        return judge(name, {k: rated(int(v), int(v)) for k, v in enumerate(said)})

    judges = [judge("best", {k: rated(int(v), int(v)) for k, v in enumerate(truth)}), noisy("b"), noisy("c")]
    two = content(inputs("rubric", plain_items(60), labels, judges[:2], CRITERIA))
    three = content(inputs("rubric", plain_items(60), labels, judges, CRITERIA))
    widths = [
        next(row for row in selection_in(found)["differences"] if row["judge"] == 1) for found in (two, three)
    ]
    assert widths[0]["value"] == widths[1]["value"]
    assert widths[1]["high"] - widths[1]["low"] > widths[0]["high"] - widths[0]["low"]


def test_means_that_are_equal_but_for_their_last_bits_are_ties():
    # A tenth three times is not three tenths to a machine.
    people = [(0, 0, 0.1 + 0.1 + 0.1), (1, 0, 0.3), (2, 0, 0.4), (3, 0, 0.5)]
    assert people[0][2] != people[1][2]
    found = correlation([1, 2, 3, 4], [row[2] for row in people], method="spearman", n_resamples=0)
    assert found.value == pytest.approx(spearmanr([1, 2, 3, 4], [3, 3, 4, 5]).statistic)


# Checklists


def test_a_checklist_by_hand():
    # Weights of the tree are 1, 1/2, 1/3: together 11/6.
    items = [KindItem(f"x{k}", f"i{k}", aspects=TREE) for k in range(3)]
    labels = [
        (0, 0, answered(True, True, False)),
        (0, 1, answered(True, False, False)),
        (0, 2, answered(True, True, None)),
        (1, 0, answered(False, False, False)),
    ]
    one = judge("one", {0: answered(True, True, True), 1: answered(None, False, False)}, unparsed=[2])
    found = content(inputs("checklist", items, labels, [one]))
    # Item 0: yes, yes, no by most: two of three right. Item 1: no, no, no: "cannot tell" is not no: two of three.
    assert figure(found, "one", "agreement") == pytest.approx(4 / 6)
    assert figure(found, "one", "cannot_tell_rate") == pytest.approx(1 / 6)
    assert figure(found, "one", "drfr") == pytest.approx((1 + 0) / 2)
    assert figure(found, "one", "drfr_micro") == pytest.approx(3 / 6)
    assert figure(found, "one", "tower_micro") == pytest.approx(1 / 2)
    # People on item 0: 2/3, 1/3, 2/3 followed: mean 5/9; on item 1: 0.
    assert figure(found, "people", "drfr") == pytest.approx(5 / 18)
    # TOWER on item 0: 1.5, 1, 1.5 of 11/6: mean 4/3 of 11/6 = 8/11.
    assert figure(found, "people", "tower") == pytest.approx(4 / 11)
    assert figure(found, "one", "drfr_difference") == pytest.approx((4 / 9 + 0) / 2)
    assert figure(found, "one", "unparsed_rate") == pytest.approx(1 / 3)
    # An unreadable checklist is wrong on each of its questions, once somebody has answered them.
    labels.append((2, 0, answered(True, True, True)))
    found = content(inputs("checklist", items, labels, [one]))
    assert figure(found, "one", "agreement") == pytest.approx(4 / 9)
    # Leave one out on item 0. Three yes: 1. Yes, no, yes: a yes has for others one of each, half; no has none: a
    # third. No, no, null: a third likewise. Nobody else labelled the other items.
    assert figure(found, "people", "agreement") == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)


def test_divided_people_decide_nothing():
    items = [KindItem("x", "i", aspects=TREE)]
    labels = [(0, 0, answered(True, True, None)), (0, 1, answered(False, True, None))]
    found = content(inputs("checklist", items, labels, [judge("one", {0: answered(True, True, True)})]))
    assert figure(found, "one", "agreement") == 1
    assert any("On 2 of 3 labeled questions" in remark for remark in found["remarks"])


def test_infobench(shared_data):
    """DRFR of the file's own verdicts: 87.60% of questions, 87.98% over instructions, easy 88.41%, hard 87.24%."""
    lines = (shared_data / "infobench" / "gpt4_eval.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    items, said = [], {}
    for k, row in enumerate(rows):
        keys = [f"q{place}" for place, _ in enumerate(row["decomposed_questions"])]
        aspects = tuple(AspectView(key, key) for key in keys)
        said[k] = {"answers": dict(zip(keys, row["eval"], strict=True))}
        items.append(KindItem(f"x{k}", f"i{k}", subset=row["subset"], aspects=aspects, gold=said[k]))
    wrong = {k: {"answers": {key: not each for key, each in v["answers"].items()}} for k, v in said.items()}
    found = content(
        inputs("checklist", items, (), [judge("gpt-4", said), judge("wrong", wrong)]), "gold", 100
    )
    assert figure(found, "gpt-4", "drfr_micro") == pytest.approx(0.8760, abs=5e-5)
    assert figure(found, "gpt-4", "drfr") == pytest.approx(0.8798, abs=5e-5)
    subsets = {row["subset"] for row in rows}
    easy = next(name for name in subsets if "easy" in name.lower())
    hard = next(name for name in subsets if "hard" in name.lower())
    assert figure(found, "gpt-4", "drfr_micro", "subset", easy) == pytest.approx(0.8841, abs=5e-5)
    assert figure(found, "gpt-4", "drfr_micro", "subset", hard) == pytest.approx(0.8724, abs=5e-5)
    assert (figure(found, "gpt-4", "agreement"), figure(found, "wrong", "agreement")) == (1, 0)
    assert found["gold"]["drfr"]["overall"]["value"] == figure(found, "gpt-4", "drfr")
    assert any("TOWER would be the same" in remark for remark in found["remarks"])


answers = st.sampled_from([True, False, None])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(answers, answers, answers), min_size=1, max_size=6), st.data())
def test_checklists_against_a_slow_oracle(said, data):
    gold = [data.draw(st.tuples(answers, answers, answers)) for _ in said]
    items = [KindItem(f"x{k}", f"i{k % 3}", aspects=TREE, gold=answered(*row)) for k, row in enumerate(gold)]
    found = content(
        inputs("checklist", items, (), [judge("j", {k: answered(*row) for k, row in enumerate(said)})]),
        "gold",
        0,
    )
    pairs = [(a, b) for one, two in zip(said, gold, strict=True) for a, b in zip(one, two, strict=True)]
    decided = [(a, b) for a, b in pairs if b is not None]
    agreement = figure(found, "j", "agreement")
    if decided:
        assert agreement == pytest.approx(sum(a is b for a, b in decided) / len(decided))
    else:
        assert agreement is None
    flat, of = [float(answer is True) for row in said for answer in row], np.repeat(np.arange(len(said)), 3)
    level = aspect_levels({each.key: each.parent for each in TREE})
    levels = [level[each.key] for each in TREE] * len(said)
    expected = {
        "drfr": drfr(flat, of, average="macro", n_resamples=0),
        "drfr_micro": drfr(flat, of, n_resamples=0),
        "tower": tower_score(flat, of, levels, n_resamples=0),
        "tower_micro": tower_score(flat, of, levels, average="micro", n_resamples=0),
    }
    for name, estimate in expected.items():
        assert figure(found, "j", name) == pytest.approx(estimate.value), name


def test_aspects_in_a_circle_have_no_tower():
    circle = (AspectView("a", "a", parent="b"), AspectView("b", "b", parent="a"))
    items = [KindItem("x", "i", aspects=circle), KindItem("y", "j", aspects=TREE)]
    values = {0: {"answers": {"a": True, "b": True}}, 1: answered(False, False, False)}
    found = content(inputs("checklist", items, [(1, 0, answered(True, True, True))], [judge("j", values)]))
    assert figure(found, "j", "tower") == 0
    assert figure(found, "j", "drfr") == pytest.approx(1 / 2)
    assert any("no tree" in remark for remark in found["remarks"])


def test_importance_by_hand():
    items = [KindItem(f"x{k}", f"i{k}", aspects=aspects(3)) for k in range(3)]
    labels = [
        (0, 0, ranked(1, 2, 3)),
        (0, 1, ranked(1, 3, 2)),
        (1, 0, ranked(1, 1, 1)),
        (2, 0, ranked(1, 2, 3)),
    ]
    values = {0: ranked(1, 2, 3), 1: ranked(1, 2, 3), 2: {"ranks": {"0": 1, "other": 2}}}
    found = content(inputs("importance", items, labels, [judge("j", values)]))
    # With the first person 1, with the second 0.5; on item 1 people order nothing; on item 2 other parts are ranked.
    assert figure(found, "j", "spearman") == pytest.approx(0.75)
    assert figure(found, "people", "spearman") == pytest.approx(0.5)
    assert figure(found, "j", "undefined_rate") == pytest.approx(2 / 3)
    assert found["judges"][0]["measures"]["spearman"]["overall"]["n"] == 1


def test_answers_against_votes_by_hand():
    # HumanRankEval: likelihoods -3, -1, -2 and votes 10, 40, 20: r of (-1, 1, 0) and (-40/3, 50/3, -10/3).
    items = [
        KindItem("x0", "i0", category="cooking", votes=(10.0, 40.0, 20.0), n_responses=3),
        KindItem("x1", "i1", category="physics", gold=ranked(1, 2, 3), n_responses=3),
        KindItem("x2", "i2", category="physics", votes=(1.0, 2.0), n_responses=3),
    ]
    likely = ranked(3, 1, 2) | {"normalised": {"0": -3.0, "1": -1.0, "2": -2.0}}
    found = content(
        inputs("answer_ranking", items, (), [judge("j", {0: likely, 1: ranked(1, 3, 2), 2: likely})]), "gold"
    )
    r = pearsonr([-3, -1, -2], [10, 40, 20]).statistic
    assert figure(found, "j", "pearson", "category", "cooking") == pytest.approx(r)
    assert figure(found, "j", "spearman", "category", "cooking") == pytest.approx(1)
    # Gold ranks where there are no votes, and minus the rank where there is no likelihood: 0.5 either way.
    assert figure(found, "j", "pearson", "category", "physics") == pytest.approx(0.5)
    assert figure(found, "j", "pearson") == pytest.approx((r + 0.5) / 2)
    assert found["items"]["n_with_target"] == 2  # two votes for three answers are none


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_rankings_against_a_slow_oracle(data):
    n = data.draw(st.integers(2, 4))
    ranks = st.lists(st.integers(1, n), min_size=n, max_size=n)
    rows = data.draw(
        st.lists(st.tuples(ranks, st.lists(ranks, min_size=1, max_size=3)), min_size=1, max_size=5)
    )
    items = [KindItem(f"x{k}", f"i{k}", n_responses=n) for k in range(len(rows))]
    labels = [(k, p, ranked(*row)) for k, (_, people) in enumerate(rows) for p, row in enumerate(people)]
    found = content(
        inputs(
            "answer_ranking",
            items,
            labels,
            [judge("j", {k: ranked(*own) for k, (own, _) in enumerate(rows)})],
        ),
        n_resamples=0,
    )
    means = []
    for own, people in rows:
        rhos = [
            spearmanr(own, other).statistic for other in people if len(set(own)) > 1 and len(set(other)) > 1
        ]
        if rhos:
            means.append(np.mean(rhos))
    value = figure(found, "j", "spearman")
    assert value == pytest.approx(np.mean(means)) if means else value is None
    assert figure(found, "j", "undefined_rate") == pytest.approx(1 - len(means) / len(rows))
