"""The figures of papers beside the others: each is what its function gives by the preset, in every form of a report."""

import json
from dataclasses import replace

import numpy as np
import pytest

from annotation.kinds.classification import CategoryScheme
from judges.strategies.types import AspectView
from metaeval.figures import FIGURES, published_presets
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.reports.latex import latex
from metaeval.reports.markdown import markdown
from metaeval.reports.methods import methods
from metaeval.reports.report import report_of
from metaeval.reports.tables import group_tables
from metaeval.stats import (
    PRESETS,
    InvalidInputError,
    accuracy,
    alternative_annotator_test,
    best_of_score,
    leave_one_out_agreement,
    positional_agreement,
    preset,
    section_accuracy,
    vote_agreement,
)
from tests.metaeval.kinds import KindItem, inputs, judge
from tests.metaeval.reports.arrays import inputs_make
from tests.metaeval.reports.arrays import judge_make as judge_arrays

NAN = np.nan
N = 40
RNG = np.random.default_rng(11)
VERDICTS = RNG.choice([1.0, 2.0, 0.0, NAN], (N, 2), p=[0.5, 0.3, 0.1, 0.1])
GOLD = RNG.choice([1.0, 2.0], N)
VOTES = RNG.choice([1.0, 2.0, 0.0], (N, 4), p=[0.5, 0.4, 0.1])


def pairs(subset=None):
    labels = [(k, who, VOTES[k, who]) for k in range(N) for who in range(4)]
    return inputs_make(
        lengths=[(10, 20)] * N,
        gold=GOLD,
        subset=subset,
        labels=labels,
        judges=(judge_arrays("Judge", VERDICTS),),
    )


OF_LABELS = ("item", "annotator", "values", "simulated")


def reported(found, name, **options):
    return build(found, Options(preset=name, n_resamples=200, **options))


def test_every_preset_has_the_convention_of_the_registry():
    assert set(published_presets()) <= set(PRESETS)
    for kind, one in FIGURES.items():
        names = [figure.name for figure in (*one.people, *one.judges)]
        for name, published in one.published.items():
            assert "preset" in one.options
            own = [figure.name for figure in (*published.people, *published.judges)]
            assert len(set(own)) == len(own), kind
            assert not set(own) & set(names), kind
            assert all(each.startswith(name) for each in own)
            assert published.convention.endswith(".")


@pytest.mark.parametrize(
    ("name", "figure", "expected"),
    [
        ("judgebench", "judgebench_accuracy", lambda one: accuracy(VERDICTS, GOLD, **one.of(accuracy))),
        ("llmbar", "llmbar_accuracy", lambda one: accuracy(VERDICTS, GOLD, **one.of(accuracy))),
        (
            "llmbar",
            "llmbar_positional_agreement",
            lambda one: positional_agreement(VERDICTS, **one.of(positional_agreement)),
        ),
        (
            "mt_bench_s1",
            "mt_bench_s1_agreement",
            lambda one: vote_agreement(VOTES, VERDICTS, **one.of(vote_agreement)),
        ),
        (
            "mt_bench_s2",
            "mt_bench_s2_agreement",
            lambda one: vote_agreement(VOTES, VERDICTS, **one.of(vote_agreement)),
        ),
        (
            "alpaca_eval",
            "alpaca_eval_agreement",
            lambda one: leave_one_out_agreement(VOTES, VERDICTS, **one.of(leave_one_out_agreement)),
        ),
        (
            "alt_test_crowd",
            "alt_test_crowd_advantage",
            lambda one: (
                alternative_annotator_test(
                    VOTES, VERDICTS, **one.of(alternative_annotator_test)
                ).advantage_probability
            ),
        ),
    ],
)
def test_pairs(name, figure, expected):
    report = reported(pairs(), name)
    found = report.judges[0].overall(figure)
    assert found["value"] == pytest.approx(expected(preset(name)).value)
    assert report.options["preset"] == name


@pytest.mark.parametrize("name", ["mt_bench_s1", "mt_bench_s2"])
def test_verdicts_in_one_order_are_votes_as_they_are(name):
    """As MT-bench's own files have them: what was never asked in the other order makes no verdict a tie."""
    first = np.where(np.arange(N) < 3, NAN, VERDICTS[:, 0])
    verdicts = np.stack([first, np.full(N, NAN)], axis=1)
    one = judge_arrays("Judge", verdicts, judged=np.tile([True, False], (N, 1)))
    value = reported(replace(pairs(), judges=(one,)), name).judges[0].overall(f"{name}_agreement")["value"]
    assert value == pytest.approx(vote_agreement(VOTES, first, **preset(name).of(vote_agreement)).value)


@pytest.mark.parametrize("name", ["mt_bench_s1", "mt_bench_s2"])
def test_people_among_themselves(name):
    found = reported(pairs(), name).people.measures[f"{name}_human_agreement"]["overall"]
    assert found["value"] == pytest.approx(vote_agreement(VOTES, **preset(name).of(vote_agreement)).value)


def test_the_alternative_annotator_test():
    one = preset("alt_test_experts").of(alternative_annotator_test)
    expected = alternative_annotator_test(VOTES, VERDICTS, **one)
    found = reported(pairs(), "alt_test_experts").judges[0].overall("alt_test_experts_winning_rate")
    assert (found["value"], found["n"], found["low"]) == (expected.winning_rate, expected.n_tested, None)


@pytest.mark.parametrize(("level", "score"), [("nominal", "match"), ("interval", "negative_rmse")])
def test_the_alternative_annotator_test_of_categories(level, score):
    """Its authors' files become items to classify; numbers are compared by their distance."""
    names = ("1", "2", "4")
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, N)
    said = np.where(rng.random((N, 3)) < 0.6, truth[:, None], rng.integers(0, 3, (N, 3)))
    verdicts = np.where(rng.random(N) < 0.7, truth, rng.integers(0, 3, N))

    def value(place):
        return {"categories": {name: bool(k == place) for k, name in enumerate(names)}}

    aspects = tuple(AspectView(name, name) for name in names)
    items = [KindItem(f"x{k}", str(k), aspects=aspects) for k in range(N)]
    labels = [(k, who, value(said[k, who])) for k in range(N) for who in range(3)]
    answers = {k: value(verdicts[k]) for k in range(1, N)}
    found = inputs("classification", items, labels, [judge("Judge", answers, unparsed=[0])])
    found = replace(found, scheme=CategoryScheme(level, order=names))
    numbers = np.array([1.0, 2.0, 4.0])
    own = numbers[verdicts]
    own[0] = NAN
    for who in ("experts", "crowd"):
        name = f"alt_test_{who}"
        expected = alternative_annotator_test(
            numbers[said], own, score=score, **preset(name).of(alternative_annotator_test)
        )
        one = reported(found, name).judges[0]
        assert one.overall(f"{name}_winning_rate")["value"] == expected.winning_rate
        assert one.overall(f"{name}_advantage")["value"] == pytest.approx(
            expected.advantage_probability.value
        )


def test_sections():
    sections = preset("rewardbench").of(section_accuracy)["sections"]
    known = [name for one in sections.values() for name in one]
    subset = [known[k % len(known)] for k in range(N)]
    found = reported(pairs(subset), "rewardbench").judges[0]
    expected = section_accuracy(VERDICTS, GOLD, subset, **preset("rewardbench").of(section_accuracy))
    assert found.overall("rewardbench_score")["value"] == pytest.approx(expected.overall.value)
    for row in expected.rows:
        name = f"rewardbench_{row.name.lower().replace(' ', '_')}"
        assert found.overall(name)["value"] == pytest.approx(row.accuracy.value)


def test_a_dataset_that_is_not_the_benchmark():
    report = reported(pairs(), "rewardbench")
    found = report.judges[0].overall("rewardbench_score")
    assert (found["value"], found["reason"]) == (None, "no item is of a subset of this benchmark")
    assert group_tables(report)[0].title == "As published (RewardBench)"


def test_what_was_not_judged_takes_no_part():
    found = pairs()
    one = found.judges[0]
    verdicts, judged = one.verdicts.copy(), one.judged.copy()
    verdicts[:10], judged[:10] = NAN, False
    half = judge_arrays("Judge", verdicts, judged=judged)
    report = reported(inputs_make(lengths=[(1, 2)] * N, gold=GOLD, judges=(half,)), "judgebench")
    expected = accuracy(VERDICTS[10:], GOLD[10:], **preset("judgebench").of(accuracy))
    assert report.judges[0].overall("judgebench_accuracy")["value"] == pytest.approx(expected.value)


def test_no_labels_no_gold():
    found = inputs_make(lengths=[(1, 2)] * 3, judges=(judge_arrays("J", VERDICTS[:3]),))
    for name in FIGURES["pairwise"].published:
        for figure in FIGURES["pairwise"].published[name].judges:
            estimate = reported(found, name).judges[0].overall(figure.name)
            if figure.name != "llmbar_positional_agreement":
                assert estimate["value"] is None, figure.name
                assert estimate["reason"], figure.name


def physicians():
    """HealthBench's form in small: criteria with points, labels of two or three physicians, and a grader's answers."""
    rng = np.random.default_rng(6)
    points = [[5.0, -8.0, 3.0], [2.0, 7.0], [-4.0, 1.0, 6.0], [9.0], [-2.0, -1.0]] * 6
    items = [
        KindItem(
            f"x{k}",
            str(k),
            f"theme {k % 2}",
            aspects=tuple(AspectView(f"c{n}", "?") for n in range(len(each))),
        )
        for k, each in enumerate(points)
    ]

    def answers():
        return {
            k: rng.choice([True, False], len(each), p=[0.6, 0.4]).tolist() for k, each in enumerate(points)
        }

    people, said = [answers() for _ in range(3)], answers()

    def value(each):
        return {"answers": {f"c{n}": one for n, one in enumerate(each)}}

    labels = [(k, who, value(one[k])) for who, one in enumerate(people) for k in one if (k + who) % 4]
    given = [(k, people[who][k]) for k, who, _ in labels]
    unread = {2}
    one = judge("Grader", {k: value(each) for k, each in said.items() if k not in unread}, unparsed=unread)
    found = inputs("checklist", items, labels, [one])
    width = max(map(len, points))
    padded = np.array([each + [NAN] * (width - len(each)) for each in points])
    said = {k: each for k, each in said.items() if k not in unread}
    return replace(found, items=replace(found.items, points=padded)), points, given, said


def f1(pairs, side):
    """Of pairs of what was said and what is right."""
    both = sum(one == two == side for one, two in pairs)
    return 2 * both / (sum(one == side for one, _ in pairs) + sum(two == side for _, two in pairs))


def test_healthbench_restated():
    found, points, labels, said = physicians()
    report = reported(found, "healthbench")
    one, people = report.judges[0], report.people.measures

    def share(k, answers):
        worth = points[k]
        possible = sum(each for each in worth if each > 0)
        return (
            sum(each for each, met in zip(worth, answers, strict=True) if met) / possible
            if possible
            else None
        )

    def mean(shares):
        known = [each for each in shares if each is not None]
        return max(0.0, sum(known) / len(known))

    assert one.overall("healthbench_score")["value"] == pytest.approx(
        mean(share(*each) for each in said.items())
    )
    by_item = {}
    for k, answers in labels:
        by_item.setdefault(k, []).append(share(k, answers))
    of_people = mean(each[0] if each[0] is None else sum(each) / len(each) for each in by_item.values())
    assert people["healthbench_human_score"]["overall"]["value"] == pytest.approx(of_people)

    unparsed = [None] * 3
    pairs = [pair for k, each in labels for pair in zip(said.get(k, unparsed), each, strict=False)]
    expected = (f1(pairs, True) + f1(pairs, False)) / 2
    assert one.overall("healthbench_macro_f1")["value"] == pytest.approx(expected)
    group = one.measures["healthbench_macro_f1"]["category"]["theme 1"]
    assert group["low"] < group["value"] < group["high"]

    between = [
        pair
        for m, (k, one_said) in enumerate(labels)
        for n, (other, two_said) in enumerate(labels)
        if k == other and m != n
        for pair in zip(one_said, two_said, strict=True)
    ]
    expected = (f1(between, True) + f1(between, False)) / 2
    assert people["healthbench_human_macro_f1"]["overall"]["value"] == pytest.approx(expected)
    assert "HealthBench" in latex(report)


def test_a_mean_of_points_is_cut_off_at_0():
    found, _, _, _ = physicians()
    points = np.where(np.isnan(found.items.points), NAN, -1.0)
    points[:, 0] = 1.0
    report = reported(replace(found, items=replace(found.items, points=points), judges=()), "healthbench")
    score = report.people.measures["healthbench_human_score"]["overall"]
    assert score["value"] >= 0
    assert score["low"] == 0


def test_checklists_without_points_have_no_score():
    found, _, _, _ = physicians()
    bare = replace(found, items=replace(found.items, points=None))
    one = reported(bare, "healthbench").judges[0]
    assert one.overall("healthbench_score")["reason"] == "no item has a criterion with points"
    assert one.overall("healthbench_macro_f1")["value"] is not None
    assert bare.hash(Options()) != found.hash(Options())
    assert bare.parts()["items"] != found.parts()["items"]
    missing = found.items.points.copy()
    missing[:, 0] = NAN
    without = reported(replace(found, items=replace(found.items, points=missing)), "healthbench").judges[0]
    assert without.overall("healthbench_score")["value"] is None
    nobody = replace(found.labels, **{name: getattr(found.labels, name)[:0] for name in OF_LABELS})
    alone = reported(replace(found, labels=nobody), "healthbench")
    assert alone.judges[0].overall("healthbench_macro_f1")["reason"] == "no label of a judged item"
    assert "healthbench_human_macro_f1" not in alone.people.measures


SUBSETS = ("Factuality", "Precise IF", "Math", "Safety", "Focus")


def rankings(scored=True):
    """RewardBench 2 in small: two items of each subset, and two prompts of ties."""
    rng = np.random.default_rng(2)
    items = [
        KindItem(f"{name}-{k}", f"{name}{k}", subset=name, gold={"ranks": ranks(1, 4)}, n_responses=4)
        for name in SUBSETS
        for k in range(2)
    ]
    for k in range(2):
        for kind, right in (("ref", 1), ("tied", 3)):
            gold = {"ranks": ranks(right, 6)}
            items.append(KindItem(f"{kind}:{k}", f"{kind}{k}", subset="Ties", gold=gold, n_responses=6))
    said = {}
    for k, item in enumerate(items):
        scores = rng.integers(1, 9, item.n_responses).tolist()
        order = sorted(set(scores), reverse=True)
        said[k] = {"ranks": {str(place): order.index(score) + 1 for place, score in enumerate(scores)}}
        if scored:
            said[k]["scores"] = {str(place): score for place, score in enumerate(scores)}
    return inputs("answer_ranking", items, (), [judge("Judge", said, unparsed=[1])]), said


def ranks(n_right, n):
    return {str(place): 1 if place < n_right else 2 for place in range(n)}


@pytest.mark.parametrize("scored", [True, False])
def test_rewardbench_2(scored):
    found, said = rankings(scored)
    del said[1]
    width = 6
    scores = np.full((len(found.items), width), NAN)
    for k, value in said.items():
        for place, number in value["scores" if scored else "ranks"].items():
            scores[k, int(place)] = number if scored else -number
    right = np.where(np.isnan(found.items.gold), NAN, found.items.gold == 1)
    expected = best_of_score(
        scores, right, found.items.subset, found.items.external_id, **preset("rewardbench2").of(best_of_score)
    )
    report = reported(found, "rewardbench2", against="gold")
    one = report.judges[0]
    assert one.overall("rewardbench2_score")["value"] == pytest.approx(expected.overall.value)
    for row in expected.rows:
        name = f"rewardbench2_{row.name.lower().replace(' ', '_')}"
        assert one.overall(name)["value"] == pytest.approx(row.score.value), name
    best = one.measures["rewardbench2_best_of"]
    assert best["subset"]["Factuality"]["value"] == pytest.approx(expected.row("Factuality").score.value)


def test_a_subset_of_that_name_which_is_another():
    items = [KindItem("x", "i", subset="Ties", gold={"ranks": ranks(1, 3)}, n_responses=3)]
    found = inputs("answer_ranking", items, (), [judge("J", {0: {"ranks": ranks(1, 3)}})])
    estimate = reported(found, "rewardbench2", against="gold").judges[0].overall("rewardbench2_score")
    assert estimate["reason"].startswith("ids: expected 'ref:' or 'tied:'")


def test_every_form_of_a_report_has_them():
    report = reported(pairs(), "judgebench")
    assert report_of(json.loads(json.dumps(report.as_json()))) == report
    convention = FIGURES["pairwise"].published["judgebench"].convention
    for text in (latex(report), markdown(report)):
        assert "As published (JudgeBench)" in text
        assert "JudgeBench: A Benchmark for Evaluating" in text or "tan2025judgebench" in text
    (said,) = [one for one in methods(report) if "preset judgebench" in one and "published convention" in one]
    assert said.endswith(convention)
    assert group_tables(report)[0].note == convention


def test_without_a_preset_a_report_is_as_it_was():
    plain, with_one = (
        build(pairs(), Options(n_resamples=0)),
        build(pairs(), Options(n_resamples=0, preset="judgebench")),
    )
    assert "preset" not in plain.options
    assert plain.inputs_hash != with_one.inputs_hash
    kept = {name for name in with_one.judges[0].measures if not name.startswith("judgebench")}
    assert kept == set(plain.judges[0].measures)
    assert with_one.judges[0].measures["accuracy"] == plain.judges[0].measures["accuracy"]


def test_no_such_preset():
    with pytest.raises(InvalidInputError, match="preset: expected one of href"):
        Options(preset="x")
