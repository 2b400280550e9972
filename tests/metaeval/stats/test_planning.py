"""Planning: by hand, every item's labels one by one, statsmodels, Dunnett's table, a pilot, simulated studies."""

import dataclasses
import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from bench.simulations_people import Setting, dataset
from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    StudyDesign,
    agreement_model,
    agreement_model_from,
    leave_one_out_agreement,
    leave_one_out_difference,
    power_of_difference,
)
from metaeval.stats.label_effects import LabelEffects
from metaeval.stats.leave_one_out import LeaveOneOut
from metaeval.stats.planned_intervals import corrected_quantile
from metaeval.stats.planned_pilot import Pilot
from metaeval.stats.planned_scores import FIGURES, Shares, planned_item_scores
from metaeval.stats.resampling import Resamples


def test_two_labels_of_a_uniform_share_by_hand():
    # A share that is uniform between items: 0, 1 or 2 of two labels are the judge's, each in a third of the items.
    uniform = Shares(0.5, 0.5, 2.0)
    judge, people = (planned_item_scores(figure, uniform, 2) for figure in ("judge", "people"))
    assert judge.value == pytest.approx(1 / 2)
    assert judge.moment(2, judge.value) == pytest.approx(1 / 6)
    assert people.value == pytest.approx(2 / 3)
    gap = planned_item_scores("judge_minus_judge", uniform, 2, 0.3)
    assert (gap.value, gap.other_than_zero) == (pytest.approx(0), pytest.approx(0.2))
    assert gap.moment(2) == pytest.approx(0.3 * 2 / 3)


@settings(deadline=None, max_examples=12)
@given(
    st.integers(2, 4),
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5)),
    st.floats(0.3, 30),
)
def test_scores_and_effects_are_those_of_every_possible_item(n_labels, parts, concentration):
    shares = Shares(parts[0] / sum(parts), parts[1] / sum(parts), concentration)
    alpha = np.maximum(np.array(parts) / sum(parts) * concentration, 1e-12)
    items = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=n_labels)))
    counts = np.stack([(items == value).sum(axis=1) for value in (0, 1, 2)], axis=1)
    chances = np.array(
        [scipy_stats.dirichlet_multinomial.pmf(row, alpha, n_labels) for row in counts]
    ) / np.array([math.factorial(n_labels) / np.prod([math.factorial(k) for k in row]) for row in counts])
    sample = LeaveOneOut(items)
    ahead, behind = (sample.judge(np.full(len(items), value)).items for value in (0.0, 1.0))
    scores = {"people": sample.people().items, "judge": ahead, "judge_minus_judge": ahead - behind}
    scores["judge_minus_people"] = ahead - scores["people"]
    for figure, each in scores.items():
        found = planned_item_scores(figure, shares, n_labels)
        assert found.value == pytest.approx(chances @ each, abs=1e-9)
        assert found.moment(2) == pytest.approx(chances @ each**2, abs=1e-9)
    effects = LabelEffects(sample.read)
    for figure, (_, moved) in {
        "people": effects.people(),
        "judge": effects.judge(np.zeros(len(items))),
    }.items():
        weight = chances[sample.read.item]
        mean = (weight @ moved) / n_labels
        assert planned_item_scores(figure, shares, n_labels).within == pytest.approx(
            weight @ (moved - mean) ** 2, abs=1e-9
        )


def test_where_people_never_differ_power_is_that_of_the_paired_test():
    # Judges are right or wrong then: statsmodels' TTestPower gives 0.6756 for 0.05, variance 0.2 - 0.05^2, n = 500.
    model = agreement_model(people=1.0, judge=0.8, difference=0.05, discordance=0.2, person_sd=0)
    for n, expected in ((500, 0.6956), (1_000, None), (2_000, None)):
        found = model.power("judge_minus_judge", StudyDesign(n, 2, 10)).these
        known = power_of_difference(0.05, n, variance=0.2 - 0.05**2)
        assert found == pytest.approx(known, abs=0.015)
        if expected is not None:
            assert known == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("comparisons", "freedom", "expected"),
    # Dunnett's table of two-sided comparisons with a control, 5% (New tables for multiple comparisons, 1964).
    [(2, 20, 2.38), (3, 20, 2.54), (4, 20, 2.65), (2, 10**6, 2.21), (4, 10**6, 2.44), (9, 10**6, 2.69)],
)
def test_the_lead_over_several_is_dunnetts(comparisons, freedom, expected):
    assert corrected_quantile(comparisons + 1, freedom, 0.95) == pytest.approx(expected, abs=0.015)
    assert corrected_quantile(2, freedom, 0.95) == pytest.approx(scipy_stats.t.ppf(0.975, freedom), abs=0.01)


@settings(deadline=None, max_examples=10)
@given(st.floats(0.5, 0.95), st.floats(0.5, 0.95), st.integers(2, 8), st.integers(8, 40), st.floats(0, 0.15))
def test_more_of_anything_helps_and_other_annotators_cost(people, judge, labels, n_people, sd):
    model = agreement_model(people=people, judge=judge, difference=0.05, discordance=0.3, person_sd=sd)
    for figure in FIGURES:
        few, many = (model.interval(figure, StudyDesign(n, labels, n_people)) for n in (100, 400))
        more = model.interval(figure, StudyDesign(400, labels, n_people + 20))
        assert 0 < many.half_width < few.half_width <= 1
        assert many.half_width <= many.half_width_alike * 1.0001
        # The width may grow with people who are all alike: their variance is harder to tell from that of labels.
        assert more.standard_error_alike <= many.standard_error_alike * 1.0001
    powers = [
        model.power("judge_minus_judge", StudyDesign(n, labels, n_people)).alike for n in (100, 400, 1_600)
    ]
    assert powers == sorted(powers)
    asked = {"difference": 0.0, "margin": 0.1, "question": "equivalent"}
    here = model.power("judge_minus_judge", StudyDesign(400, labels, n_people), **asked)
    assert 0 <= here.alike <= here.these + 1e-9 <= 1 + 1e-9
    corrected = model.power("judge_minus_judge", StudyDesign(400, labels, n_people, 8)).these
    assert corrected <= model.power("judge_minus_judge", StudyDesign(400, labels, n_people)).these


def test_a_pilot_predicts_itself():
    labels, judges, clusters = dataset(np.random.default_rng(2), Setting(300, 8, 4, clusters="of 4"))
    model, design = agreement_model_from(labels, *judges, clusters=clusters), StudyDesign(300, 4, 8)
    assert model.cluster_size == 4
    options = {"clusters": clusters}
    for figure, found in {
        "people": leave_one_out_agreement(labels, **options),
        "judge": leave_one_out_agreement(labels, judges[0], **options),
        "judge_minus_people": leave_one_out_difference(labels, judges[0], **options),
        "judge_minus_judge": leave_one_out_difference(labels, *judges, **options),
    }.items():
        expected = model.interval(figure, design)
        assert expected.value == pytest.approx(found.value)
        assert expected.half_width == pytest.approx((found.high - found.low) / 2, rel=0.06)


def test_studies_are_as_wide_as_another_overlap_said():
    rng = np.random.default_rng(4)
    labels, judges, _ = dataset(rng, Setting(4_000, 60, 3))
    model, design = agreement_model_from(labels, *judges), StudyDesign(300, 5, 20)
    widths = {figure: [] for figure in FIGURES}
    for _ in range(15):
        labels, judges, _ = dataset(rng, Setting(300, 20, 5))
        for figure, found in zip(
            FIGURES,
            (
                leave_one_out_agreement(labels),
                leave_one_out_agreement(labels, judges[0]),
                leave_one_out_difference(labels, judges[0]),
                leave_one_out_difference(labels, *judges),
            ),
            strict=True,
        ):
            widths[figure].append((found.high - found.low) / 2)
    for figure, seen in widths.items():
        assert model.interval(figure, design).half_width == pytest.approx(np.mean(seen), rel=0.1)


def test_what_is_not_known_is_not_made_up():
    few = agreement_model_from([[1, 1, 2, 1], [2, 2, 2, 1], [1, 2, 1, 1]] * 10, [1, 2, 1] * 10)
    found = few.interval("judge", StudyDesign(100, 3, 12))
    assert math.isnan(found.half_width_alike)
    assert found.half_width > 0
    assert math.isnan(few.power("judge_minus_people", StudyDesign(100, 3, 12)).alike)
    known = dataclasses.replace(few.figures["judge"], person=0.05**2)
    filled = dataclasses.replace(few, figures={"judge": known})
    assert filled.interval("judge", StudyDesign(100, 3, 12)).half_width_alike > found.half_width
    model = agreement_model(people=0.7, judge=0.7)
    assert math.isnan(model.interval("judge", StudyDesign(100, 3, 4)).half_width_alike)
    with pytest.warns(StatisticsWarning, match="no item has two labels"):
        # Two items without a label, of one cluster.
        assert not agreement_model_from(([], [], []), clusters=["a", "a"]).figures
    with pytest.warns(StatisticsWarning, match="no item has two labels"):
        nothing = agreement_model_from([[1.0, np.nan], [np.nan, 2.0]])
    with pytest.raises(InvalidInputError, match="nothing is assumed of 'people'"):
        nothing.interval("people", StudyDesign(10, 2, 5))
    with pytest.warns(StatisticsWarning, match="never differ"):
        same = agreement_model_from([[1, 1, 2], [2, 2, 1]] * 10, [1, 2] * 10, [1, 2] * 10)
    assert "judge_minus_judge" not in same.figures
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agreed = agreement_model_from([[1, 1]] * 20, [1] * 20).interval("people", StudyDesign(40, 2, 6))
    assert agreed.value == 1
    assert 0 < agreed.half_width < 0.4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: StudyDesign(100, 4, 3), "n_people: expected 4 or more"),
        (lambda: StudyDesign(100, 51, 60), "labels_per_item: expected 2 to 50"),
        (lambda: StudyDesign(1.5, 2, 3), "n_items"),
        (lambda: agreement_model(people=0.7, difference=0.1), "discordance: expected together"),
        (lambda: agreement_model(people=0.7, difference=0.3, discordance=0.2), "cannot be 0.3 apart"),
        (lambda: agreement_model(people=70), "people: expected a number between 0 and 1"),
        (lambda: agreement_model(people=0.7).interval("judge", StudyDesign(10, 2, 5)), "nothing is assumed"),
        (lambda: agreement_model(people=0.7).power("people", StudyDesign(10, 2, 5)), "of a difference"),
        (lambda: agreement_model_from([[1, 2]] * 3, second=[1, 2, 1]), "together with first"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()


def test_variance_of_pairs_is_that_of_every_two_pairs_of_labels():
    rng = np.random.default_rng(5)
    labels = np.where(rng.random((9, 6)) < 0.7, rng.integers(1, 3, (9, 6)), np.nan)
    clusters = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7])
    rows = [
        (clusters[item], frozenset((i, j)), float(labels[item, i] == labels[item, j]))
        for item in range(9)
        for i, j in itertools.combinations(np.flatnonzero(~np.isnan(labels[item])), 2)
    ]
    mean = np.mean([agree for *_, agree in rows])
    products = {0: [], 1: [], 2: []}
    for one, two in itertools.combinations(rows, 2):
        if one[0] != two[0]:
            products[len(one[1] & two[1])].append((one[2] - mean) * (two[2] - mean))
    # Of the same two people, minus twice of pairs that share one, plus of pairs that share none.
    expected = np.mean(products[2]) - 2 * np.mean(products[1]) + np.mean(products[0])
    assert len(products[2]) > 20
    found = Pilot(LeaveOneOut(labels), Resamples(clusters, 0)).pairs
    assert found == pytest.approx(max(0.0, expected), abs=1e-12)


def test_studies_of_five_are_as_wide_for_others_as_a_crowd_said():
    # A crowd's people hardly meet, five meet on every item: judges minus people were 53% wider than planned.
    rng = np.random.default_rng(1)
    labels, judges, _ = dataset(rng, Setting(20_000, 200, 3))
    model, design = agreement_model_from(labels, judges[0]), StudyDesign(150, 5, 5)
    widths = []
    for _ in range(60):
        labels, judges, _ = dataset(rng, Setting(150, 5, 5))
        found = leave_one_out_difference(labels, judges[0], people="sampled", n_resamples=1)
        widths.append((found.high - found.low) / 2)
    planned = model.interval("judge_minus_people", design)
    assert planned.half_width_alike == pytest.approx(np.mean(widths), rel=0.2)
    inside = [planned.low_alike <= width <= planned.high_alike for width in widths]
    assert 0.5 < np.mean(inside) < 0.95
    # Its middle is near the mean, and more people narrow the range.
    assert planned.low_alike < planned.half_width_alike < planned.high_alike
    more = model.interval("judge_minus_people", StudyDesign(150, 5, 20))
    assert more.high_alike - more.low_alike < planned.high_alike - planned.low_alike
