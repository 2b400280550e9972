"""Figures of response sets: by hand, as the public functions say, without sets, from rows, in words and choices."""

from dataclasses import replace

import numpy as np
import pytest

from annotation.kinds import kind_of
from annotation.models import Item, Label
from metaeval import stats
from metaeval.figures import FIGURES
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.figures.response_sets import JUDGES, PEOPLE, PRIMARIES
from metaeval.inputs import NOT_APPLICABLE, Inputs, Options, set_answers, sets_of
from metaeval.reports.content import build
from metaeval.reports.words import verdict_of
from metaeval.selectors.inputs import inputs_read
from tests.annotation.factories import annotator_make
from tests.annotation.kinds import kind_dataset_make, kind_study_make
from tests.metaeval.kinds import inputs, judge
from tests.metaeval.kinds import plain_items as items_of
from tests.metaeval.reports.arrays import inputs_make
from tests.metaeval.reports.arrays import judge_make as answers_make
from tests.metaeval.reports.kind_values import CRITERIA, aspects, chosen, rated

NAN = np.nan
DRAWS = 50
NAMES_OF_PEOPLE, NAMES = {one.name for one in PEOPLE}, {one.name for one in JUDGES}


def with_sets(found: Inputs, values) -> Inputs:
    """The inputs with the sets of these values, one a label."""
    kind = kind_of(found.kind)
    parts = [found.items.parts[row] for row in found.labels.item]
    sets = sets_of(kind, values, parts, found.items.width, found.scales)
    return replace(found, labels=replace(found.labels, sets=sets))


def pairs(labels, verdicts, **more):
    """`labels` are (item, annotator, choice, set)."""
    n = len(verdicts)
    plain = [row[:3] for row in labels]
    found = inputs_make(lengths=np.ones((n, 2)), labels=plain, judges=(answers_make("j", verdicts, **more),))
    values = [None if row[3] is None else {"choice": row[2], "reasonable": row[3]} for row in labels]
    return with_sets(found, values)


def values(found, options=None):
    """By figure of people and of the first judge, its value, or why there is none."""
    kind = FIGURES[found.kind].on(found.scales)
    sample = kind.sample(found, options or Options(n_resamples=0))
    people = people_measures(kind.only(*NAMES_OF_PEOPLE), sample)
    judges = judge_measures(kind.only(*NAMES), sample.judges[0])

    def shown(measures):
        overall = {name: one["overall"] for name, one in measures.items()}
        return {
            name: pytest.approx(one["value"]) if one["value"] is not None else one["reason"]
            for name, one in overall.items()
        }

    return shown(people), shown(judges)


class TestPairsByHand:
    LABELS = (
        (0, 0, 1, ["1", "0"]),
        (0, 1, 2, ["2"]),
        (1, 0, 2, ["2", "0"]),
        (1, 1, 2, ["1", "0", "2"]),
        (2, 0, 1, ["1"]),
        (3, 0, 1, None),
    )

    def test_people(self):
        people, _ = values(pairs(self.LABELS, [[1, 1]] * 4))
        # Item 0: 1 is not in {2}, 2 not in {1, 0}. Item 1: 2 is in both. Item 2 has one set.
        assert people["set_coverage"] == 0.5
        assert people["set_hit_rate"] == 0.5
        assert people["set_size"] == (2 + 1 + 2 + 3 + 1) / 5
        assert people["set_several"] == 3 / 5

    def test_a_judge(self):
        # Item 0: 1 in one order, a tie in the other. Item 1: 2 twice. Item 2: unparsed once. Item 3 has no set.
        _, judged = values(pairs(self.LABELS, [[1, 0], [2, 2], [1, NAN], [1, 1]]))
        assert judged["set_coverage"] == (0.5 + 1.0 + 0.5) / 3
        assert judged["set_hit_rate"] == (1.0 + 1.0 + 0.5) / 3
        # Item 0: shares 1/2, 1/2, 0 of people (answers 1, 0, 2: 1/2, 1/2, 1/2), minus 3 times 1/4 of noise.
        first = 0.25 - 3 * 0.25
        # Item 1: 0, 0, 1 beside 1/2, 1, 1: distance 1.25, minus a noise of 1/4.
        assert judged["set_distance"] == (first + 1.25 - 0.25) / 2
        # Out of 3 answers; item 2 was read in one of its two orders.
        assert judged["set_closeness"] == pytest.approx((1 - 0.25 / 3 + 1 - 1.25 / 3 + 0.5) / 3)
        # More than half: item 0 none of either; item 1 people 0 and 2, the judge 2; item 2 people 1, the judge none.
        assert judged["set_consistency"] == (3 + 2 + 2) / 9

    def test_what_was_not_judged_takes_no_part(self):
        judged = [[True, False], [True, True], [False, False], [True, True]]
        _, found = values(pairs(self.LABELS, [[1, NAN], [2, 2], [NAN, NAN], [1, 1]], judged=judged))
        assert found["set_coverage"] == (0.5 + 1.0) / 2

    def test_unparsed_verdicts_may_be_left_out(self):
        found = pairs(self.LABELS, [[1, 0], [2, 2], [1, NAN], [1, 1]])
        assert values(found, Options(n_resamples=0, unparsed="omit"))[1]["set_coverage"] == (0.5 + 1 + 1) / 3

    def test_closeness_ranks_as_the_distance_does(self):
        """What few annotators add to the distance is the same for every judge."""
        said = (
            [[1, 1], [2, 1], [1, 2], [1, 1]],
            [[2, 2], [1, 2], [1, 1], [2, 1]],
            [[2, 2], [1, 1], [0, 0], [0, 0]],
        )
        labels = (*self.LABELS[:5], (2, 1, 2, ["1", "2"]))
        found = [values(pairs(labels, verdicts))[1] for verdicts in said]
        far, near = ([one[name].expected for one in found] for name in ("set_distance", "set_closeness"))
        gaps = [(one - far[0]) / 3 for one in far]
        assert [near[0] - one for one in near] == pytest.approx(gaps)
        assert max(map(abs, gaps)) > 0.1

    def test_an_unparsed_verdict_is_as_far_as_can_be(self):
        _, judged = values(pairs(self.LABELS, [[NAN, NAN]] * 4))
        assert judged["set_closeness"] == 0
        found = pairs(self.LABELS, [[1, NAN]] * 4)
        halved, whole = (
            values(found, Options(n_resamples=0, unparsed=how))[1]["set_closeness"].expected
            for how in ("wrong", "omit")
        )
        assert halved == pytest.approx(whole / 2)

    def test_without_ties_a_tie_is_no_answer_to_decide_on(self):
        labels = [(0, 0, 1, ["1"]), (0, 1, 1, ["1", "2"])]
        _, judged = values(pairs(labels, [[1, 1]]))
        assert judged["set_consistency"] == 1.0
        _, judged = values(pairs(labels, [[2, 2]]))
        assert (
            judged["set_consistency"] == 0.0
        )  # of the two sides: 1 is reasonable to more than half, 2 is not

    def test_reasons(self):
        found = pairs(
            [(0, 0, 1, ["1"]), (1, 0, 1, None)], [[NAN, NAN], [1, 1]], judged=[[False] * 2, [True] * 2]
        )
        people, judged = values(found)
        assert judged["set_coverage"] == "no judged item has a response set"
        assert judged["set_distance"] == "no judged item has two response sets"
        assert people["set_coverage"] == "no item has two response sets"


def as_stats(found, options):
    """The same by the public functions, of a single part: (n_items, n_people) by answer."""
    labels, judge = found.labels, found.judges[0]
    n, people = len(found.items), int(labels.annotator.max()) + 1
    sets = {}
    for place, answer in enumerate(set_answers(kind_of(found.kind)) or range(labels.sets.shape[2])):
        sets[answer] = np.full((n, people), NAN)
        sets[answer][labels.item, labels.annotator] = labels.sets[:, 0, place]
    verdicts = judge.verdicts
    if found.kind == "classification":
        verdicts = np.where(np.isnan(judge.values[..., 0]), NAN, judge.values.argmax(axis=2).astype(float))
    shares = {answer: (verdicts == answer).mean(axis=1) for answer in sets}
    decisions = [stats.response_set_decisions(sets, shares, positive=answer) for answer in sets]
    return {
        "set_coverage": stats.response_set_coverage(sets, verdicts, **options),
        "set_hit_rate": stats.response_set_coverage(sets, verdicts, threshold=0.5, **options),
        "set_distance": stats.response_set_distance(sets, shares, **options),
    }, np.mean([one.consistency.value for one in decisions])


@pytest.mark.parametrize("kind", ["pairwise", "classification"])
def test_figures_are_those_of_the_public_functions(kind):
    rng = np.random.default_rng(5)
    n, people = 30, 6  # enough people to speak of others
    rows = [(k, p) for k in range(n) for p in range(people)]
    if kind == "pairwise":
        answers = ["1", "0", "2"]
        labels = []
        for k, p in rows:
            pick = answers[rng.integers(3)]
            labels.append((k, p, int(pick), sorted({pick, *rng.choice(answers, 1)}, key=answers.index)))
        found = pairs(labels, rng.choice([0.0, 1.0, 2.0, NAN], (n, 2), p=[0.2, 0.4, 0.3, 0.1]))
    else:
        labels = [(k, p, chosen(int(rng.integers(3)))) for k, p in rows]
        said = judge("j", {k: chosen(int(rng.integers(3))) for k in range(n)})
        found = inputs(kind, items_of(n, aspects=aspects(3)), labels, [said])
        own = [next(name for name, on in row[2]["categories"].items() if on) for row in labels]
        sets = [
            row[2] | {"reasonable": sorted({str(int(rng.integers(3))), picked})}
            for row, picked in zip(labels, own, strict=True)
        ]
        found = with_sets(found, sets)
    weights = np.where(np.arange(n) % 2, 3.0, 1.0)
    found = replace(found, weights=weights)
    options = Options(n_resamples=DRAWS)
    kind_figures = FIGURES[kind]
    sample = kind_figures.sample(found, options)
    shown = judge_measures(kind_figures.only(*NAMES), sample.judges[0])
    how = {"resamples": sample.resamples, "weights": weights}
    expected, consistency = as_stats(found, how)
    assert set(shown) == NAMES
    for name, estimate in expected.items():
        overall = shown[name]["overall"]
        assert overall["value"] == pytest.approx(estimate.value), name
        if name != "set_distance":  # whose range depends on the number of answers
            assert (overall["low"], overall["high"]) == pytest.approx((estimate.low, estimate.high)), name
    unweighted = values(replace(found, weights=None))[1]["set_consistency"]
    assert unweighted == consistency
    # Of annotators like these the figure is the same, and its interval another one.
    alike = shown["set_coverage"]["overall"]["alike"]
    assert alike["value"] == shown["set_coverage"]["overall"]["value"]
    assert alike["low"] < shown["set_coverage"]["overall"]["value"] < alike["high"]


def test_rubrics_by_hand():
    labels = [(0, 0, rated(4, 2)), (0, 1, rated(5, 2)), (1, 0, rated(1, 1))]
    sets = [
        {"reasonable": {"clear": [3, 4], "kind": [2]}},
        {"reasonable": {"clear": [5], "kind": [1, 2]}},
        None,
    ]
    found = inputs("rubric", items_of(2), labels, [judge("j", {0: rated(3, 1), 1: rated(1, 1)})], CRITERIA)
    found = with_sets(found, [one and label[2] | one for one, label in zip(sets, labels, strict=True)])
    people, judged = values(found)
    # "Clear" 3 is in one of two sets, "kind" 1 in one of two; the other item has no set.
    assert judged["set_coverage"] == 0.5
    assert judged["set_hit_rate"] == 1.0
    assert people["set_size"] == (1.5 + 1.5) / 2
    assert people["set_several"] == 0.5
    assert people["set_coverage"] == (0 + 1) / 2  # clear: in no other set; kind: 2 is in both
    # Clear: 1, 2 and 4, 5, 3: shares of people 0, 0, .5, .5, .5 and of the judge 1 on 3.
    assert judged["set_distance"] == ((0.75 - 3 * 0.25) + (0.25 + 1 - 0.25)) / 2
    # More than half: clear none of people, the judge 3; kind 2 of people, the judge 1.
    assert judged["set_consistency"] == (4 + 3) / 10


def test_ratings_that_do_not_apply_are_answers_of_sets():
    kind = kind_of("rubric")
    value = {"ratings": {"a": "not_applicable"}, "reasonable": {"a": ["not_applicable", 1]}}
    found = sets_of(kind, [value, None], [("a",), ("a",)], 1)
    assert set_answers(kind) == (1, 2, 3, 4, 5, NOT_APPLICABLE)
    assert found[0, 0].tolist() == [1, 0, 0, 0, 0, 1]
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "classification"])
def test_inputs_without_sets_have_none_of_these_figures(kind):
    if kind == "pairwise":
        found = pairs([(0, 0, 1, None), (0, 1, 1, None)], [[1, 1]])
    elif kind == "rubric":
        found = inputs(kind, items_of(1), [(0, 0, rated(4, 2))], [judge("j", {0: rated(3, 1)})], CRITERIA)
    else:
        found = inputs(
            kind, items_of(1, aspects=aspects(3)), [(0, 0, chosen(1))], [judge("j", {0: chosen(1)})]
        )
    assert found.labels.sets is None
    assert values(found) == ({}, {})
    content = build(found, Options(n_resamples=DRAWS))
    assert set(content.selections) == set(FIGURES[kind].primaries)


def test_the_hash_changes_with_the_sets_alone():
    labels = [(0, 0, 1, ["1", "0"]), (0, 1, 1, None)]
    with_them, other = pairs(labels, [[1, 1]]), pairs([(0, 0, 1, ["1"]), labels[1]], [[1, 1]])
    without = replace(with_them, labels=replace(with_them.labels, sets=None))
    hashes = {found.hash(Options()) for found in (with_them, other, without)}
    assert len(hashes) == 3
    assert with_them.parts()["labels"] != without.parts()["labels"]
    assert with_them.parts()["gold"] == without.parts()["gold"]


def test_a_report_ranks_judges_by_sets_if_asked():
    rng = np.random.default_rng(1)
    n = 40
    labels = [
        (k, p, 1 + int(rng.random() < 0.4), ["1", "2"] if k % 2 else None) for k in range(n) for p in range(3)
    ]
    labels = [(k, p, c, [str(c)] if s is None else s) for k, p, c, s in labels]
    found = pairs(labels, np.ones((n, 2)))
    found = replace(found, judges=(*found.judges, answers_make("k", np.full((n, 2), 2.0))))
    content = build(found, Options(n_resamples=200))
    assert content.primary == "agreement"
    assert set(content.selections) == {"agreement", "accuracy", *PRIMARIES}
    selection = content.selections["set_coverage"]
    assert content.judges[selection.leader].name == "j"
    said = " ".join(verdict_of(content, "set_coverage").sentences)
    assert "of human annotators find reasonable" in said
    assert "minus" not in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "value", "n_answers"),
    [
        ("pairwise", {"choice": 1, "reasonable": ["1", "0"]}, 2),
        (
            "rubric",
            {"ratings": {"helpful": 4, "clear": 5}, "reasonable": {"helpful": [4, 5], "clear": [5]}},
            3,
        ),
        (
            "classification",
            {
                "categories": {"format": True, "length": False, "tone": False},
                "reasonable": ["format", "tone"],
            },
            2,
        ),
    ],
)
def test_sets_are_read_from_rows(kind, value, n_answers, django_assert_max_num_queries):
    study = kind_study_make(kind, items=2, response_sets=True)
    item = Item.objects.filter(dataset=study.dataset).first()
    plain = {name: said for name, said in value.items() if name != "reasonable"}
    for one in (value, plain):
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind=kind,
            value=one,
            choice=value.get("choice"),
            shown_order=[0, 1],
        )
    found = inputs_read(dataset=study.dataset, kind=kind)
    assert found.labels.grades is None
    assert np.nansum(found.labels.sets) == n_answers
    assert np.isnan(found.labels.sets).all(axis=(1, 2)).tolist() == [False, True]
    assert inputs_read(dataset=kind_dataset_make(kind), kind=kind).labels.sets is None
