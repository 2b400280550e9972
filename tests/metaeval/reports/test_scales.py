"""Figures of ratings on other scales than 1 to 5: by hand, a slow oracle, invariants, words, nothing at all."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale
from metaeval.figures import FIGURES
from metaeval.figures.item_scores import item_scores
from metaeval.figures.rubric import rubric_figures
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.reports.errors import ReportError
from metaeval.reports.render import render
from metaeval.reports.report import report_of
from metaeval.stats import krippendorff_alpha
from tests.metaeval.kinds import KindItem, content, inputs, judge, plain_items
from tests.metaeval.reports.kind_values import CRITERIA, figure, rated

HUNDRED, PASS = Scale(0, 100), Scale(0, 1)
NONE = NOT_APPLICABLE


def on(scales, labels, judges=(), items=None, n=None):
    n = 1 + max(row[0] for row in labels) if n is None else n
    return replace(inputs("rubric", items or plain_items(n), labels, judges, CRITERIA), scales=tuple(scales))


def test_by_hand_on_two_scales():
    # "clear" is 0 to 100, "kind" is pass or fail. People's means: clear 50, 20; kind 0.5, 1.
    labels = [(0, 0, rated(40, 0)), (0, 1, rated(60, 1)), (1, 0, rated(10, 1)), (1, 1, rated(30, 1))]
    one = judge("one", {0: rated(60, 1), 1: rated(40, 0)})
    found = content(on([HUNDRED, PASS], labels, [one]), n_resamples=0)
    # Distances as shares of the range: clear 0.1, 0.2; kind 0.5, 1.
    assert figure(found, "one", "closeness") == pytest.approx(1 - (0.1 + 0.2 + 0.5 + 1) / 4)
    assert figure(found, "one", "closeness", "criterion", "clear") == pytest.approx(0.85)
    # Near is a tenth of 100 points, and half a step of two: yes, no; yes, no.
    assert figure(found, "one", "within_one") == pytest.approx(2 / 4)
    assert figure(found, "one", "mean_absolute_error") == pytest.approx((0.1 + 0.2 + 0.5 + 1) / 4)
    assert figure(found, "one", "mean_rating") == pytest.approx((0.6 + 0.4 + 1 + 0) / 4)
    # People: 20 apart twice on 100 points; one of two pairs says the same of pass and fail.
    assert figure(found, "people", "pair_near", "criterion", "clear") == 0
    assert figure(found, "people", "pair_near", "criterion", "kind") == pytest.approx(0.5)
    assert figure(found, "people", "pair_exact") == pytest.approx(1 / 4)
    assert found["scales"] == [{"low": 0, "high": 100}, {"low": 0, "high": 1}]


def test_one_scale_keeps_its_points():
    labels = [(0, 0, rated(40, 0)), (0, 1, rated(60, 100)), (1, 0, rated(10, 50)), (1, 1, rated(30, 50))]
    one = judge("one", {0: rated(60, 50), 1: rated(40, 45)})
    found = content(on([HUNDRED, HUNDRED], labels, [one]), n_resamples=0)
    assert figure(found, "one", "mean_absolute_error") == pytest.approx((10 + 20 + 0 + 5) / 4)
    assert figure(found, "one", "mean_rating") == pytest.approx((60 + 40 + 50 + 45) / 4)
    assert figure(found, "one", "within_one") == pytest.approx(3 / 4)
    assert figure(found, "one", "closeness") == pytest.approx(1 - 35 / 400)


def test_a_bipolar_scale_has_no_number_that_means_unsure():
    labels = [(k, p, rated(v, v)) for k, v in enumerate((-1, -1, 2)) for p in (0, 1)]
    found = content(
        on([Scale(-3, 3)] * 2, labels, [judge("one", {k: rated(-1, 2) for k in range(3)})]), n_resamples=0
    )
    assert figure(found, "people", "mean_rating") == 0
    assert figure(found, "one", "mean_rating") == pytest.approx(0.5)
    assert figure(found, "one", "closeness") == pytest.approx(1 - (0 + 0 + 3 + 3 + 3 + 0) / (6 * 6))


def test_not_applicable_by_hand():
    # Of "kind" 2 of 3 people say on item 0 that it doesn't apply: no target. On item 1 one of three says so.
    scales = [STANDARD, Scale(not_applicable=True)]
    labels = [
        *((0, p, rated(3, said)) for p, said in enumerate((NONE, NONE, 5))),
        *((1, p, rated(4, said)) for p, said in enumerate((NONE, 2, 4))),
    ]
    judges = [
        judge("same", {0: rated(3, NONE), 1: rated(4, 3)}),
        judge("never", {0: rated(3, 1), 1: rated(4, 3)}),
        judge("flees", {0: rated(3, NONE), 1: rated(4, NONE)}),
        judge("unread", {0: rated(3, NONE)}, unparsed=[1]),
    ]
    found = content(on(scales, labels, judges), n_resamples=0)
    assert figure(found, "people", "not_applicable_rate") == pytest.approx(3 / 6)
    assert figure(found, "people", "not_applicable_rate", "criterion", "clear") is None
    # Pairs: 1 of 3 agree on each item.
    assert figure(found, "people", "applicability", "criterion", "kind") == pytest.approx(1 / 3)
    assert figure(found, "people", "mean_rating", "criterion", "kind") == pytest.approx((5 + 3) / 2)
    # The target of "kind" is the mean of those who rate it, where most do.
    for name, expected in (("same", 1.0), ("never", 1.0), ("flees", 2 / 3), ("unread", 1 / 3)):
        assert figure(found, name, "closeness") == pytest.approx(expected), name
    # What it doesn't rate is no distance: nobody gains or loses by it there.
    assert figure(found, "flees", "mean_absolute_error") == 0
    assert {name: figure(found, name, "applicability") for name in ("same", "never", "flees", "unread")} == {
        "same": 1.0,
        "never": 0.5,
        "flees": 0.5,
        "unread": 0.5,
    }
    assert figure(found, "flees", "not_applicable_rate") == 1
    assert figure(found, "unread", "not_applicable_rate") == 1  # of what it says


def test_gold_that_does_not_apply():
    items = [
        KindItem("a", "a", gold=rated(3, NONE)),
        KindItem("b", "b", gold=rated(4, 2)),
    ]
    one = judge("one", {0: rated(3, NONE), 1: rated(4, NONE)})
    made = on([STANDARD, Scale(not_applicable=True)], [], [one], items, 2)
    found = content(made, against="gold", n_resamples=0)
    assert figure(found, "one", "applicability") == pytest.approx(1 / 2)
    assert figure(found, "one", "closeness") == pytest.approx(2 / 3)
    scores = item_scores(made, "gold").scores["f-one"]
    assert scores.tolist() == pytest.approx([1.0, 0.5])


@given(st.data())
def test_a_slow_oracle(data):
    scales = [
        data.draw(st.sampled_from([STANDARD, HUNDRED, PASS, Scale(-3, 3), Scale(0, 10)])) for _ in CRITERIA
    ]
    scales = [replace(scale, not_applicable=data.draw(st.booleans())) for scale in scales]
    n, n_people = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 3))
    answers = [
        st.sampled_from([*scale.points, *([NONE] if scale.not_applicable else [])]) for scale in scales
    ]
    rows = st.lists(st.tuples(*answers), min_size=n, max_size=n)
    people, said = data.draw(st.lists(rows, min_size=n_people, max_size=n_people)), data.draw(rows)
    labels = [(k, p, rated(*row)) for p, each in enumerate(people) for k, row in enumerate(each)]
    one = judge("j", {k: rated(*row) for k, row in enumerate(said)})
    found = content(on(scales, labels, [one]), n_resamples=0)

    ends = {(scale.low, scale.high) for scale in scales}
    unit = [(lambda v, s=scale: s.position(v)) if len(ends) > 1 else (lambda v: float(v)) for scale in scales]
    width = 1.0 if len(ends) > 1 else float(scales[0].width)
    close, near, errors, right, pairs = [], [], [], [], []
    for place, scale in enumerate(scales):
        tolerance = scale.near / (scale.width if len(ends) > 1 else 1)
        for k in range(n):
            given = [each[k][place] for each in people]
            numbers = [unit[place](v) for v in given if v != NONE]
            n_none = len(given) - len(numbers)
            mine = said[k][place]
            if scale.not_applicable and 2 * n_none != len(given):
                right.append((mine == NONE) == (2 * n_none > len(given)))
            for a, b in combinations(given, 2):
                if NONE not in (a, b):
                    pairs.append(((k, place), abs(unit[place](a) - unit[place](b)) <= tolerance + 1e-9))
            if not numbers or n_none > len(numbers):
                continue
            mean = sum(numbers) / len(numbers)
            distance = width if mine == NONE else abs(unit[place](mine) - mean)
            close.append(1 - distance / width)
            near.append(mine != NONE and distance <= tolerance + 1e-9)
            if mine != NONE:
                errors.append(distance)

    def mean_of(values):
        return pytest.approx(sum(values) / len(values), abs=1e-9) if values else None

    assert figure(found, "j", "closeness") == mean_of(close)
    assert figure(found, "j", "within_one") == mean_of(near)
    assert figure(found, "j", "mean_absolute_error") == mean_of(errors)
    if any(scale.not_applicable for scale in scales):
        assert figure(found, "j", "applicability") == mean_of(right)
    cells = {cell for cell, _ in pairs}
    shares = [np.mean([alike for at, alike in pairs if at == cell]) for cell in cells]
    assert figure(found, "people", "pair_near") == mean_of(shares)


def test_alpha_over_all_criteria_is_of_positions():
    rng = np.random.default_rng(3)
    labels = [
        (k, p, rated(int(rng.integers(0, 101)), int(rng.integers(0, 2)))) for k in range(12) for p in (0, 1)
    ]
    found = content(on([HUNDRED, PASS], labels), n_resamples=0)
    clear = [[row[2]["ratings"]["clear"] / 100 for row in labels if row[0] == k] for k in range(12)]
    kind = [[float(row[2]["ratings"]["kind"]) for row in labels if row[0] == k] for k in range(12)]
    assert figure(found, "people", "alpha") == pytest.approx(
        krippendorff_alpha(np.array(clear + kind), level="ordinal", n_resamples=0).value
    )
    assert figure(found, "people", "alpha", "criterion", "clear") == pytest.approx(
        krippendorff_alpha(np.array(clear), level="ordinal", n_resamples=0).value
    )


def test_a_shift_of_all_scales_changes_nothing_but_the_mean():
    """1 to 5, and the same ratings on -2 to 2 and on 10 to 50 in steps of ten."""
    rng = np.random.default_rng(8)
    rows = rng.integers(1, 6, (30, 3, 2))

    def made(scale, number):
        labels = [(k, p, rated(*map(number, rows[k, p].tolist()))) for k in range(30) for p in (0, 1)]
        one = judge("j", {k: rated(*map(number, rows[k, 2].tolist())) for k in range(30)})
        return content(on([scale, scale], labels, [one]), n_resamples=50)

    standard = made(STANDARD, int)
    for other in (made(Scale(-2, 2), lambda v: v - 3), made(Scale(10, 50, 10), lambda v: 10 * v)):
        for name in ("closeness", "within_one", "spearman", "pearson", "minus_people", "below_best"):
            first, second = (one["judges"][0]["measures"][name]["overall"] for one in (standard, other))
            assert [second[key] for key in ("value", "low", "high")] == pytest.approx(
                [first[key] for key in ("value", "low", "high")]
            ), name
        for name in ("alpha", "pair_exact", "pair_near", "within_one"):
            assert figure(other, "people", name) == pytest.approx(figure(standard, "people", name)), name


def test_one_to_five_said_or_not_is_the_same_report_and_hash():
    labels = [(k, p, rated(1 + (k + p) % 5, 1 + k % 5)) for k in range(6) for p in (0, 1)]
    plain = inputs("rubric", plain_items(6), labels, (), CRITERIA)
    said = replace(plain, scales=(STANDARD, STANDARD))
    assert said.hash(Options()) == plain.hash(Options())
    assert said.parts() == plain.parts()
    assert content(said) == content(plain)
    assert "scales" not in content(said)
    other = replace(plain, scales=(STANDARD, Scale(1, 6)))
    assert other.hash(Options()) != plain.hash(Options())
    assert FIGURES["rubric"].on(said.scales) is FIGURES["rubric"]


def test_a_choice_by_items_is_the_comparison():
    labels = [(k, p, rated(10 * k + p, k % 2)) for k in range(8) for p in (0, 1)]
    one = judge("one", {k: rated(10 * k + 3, 1) for k in range(8)})
    made = on([HUNDRED, PASS], labels, [one])
    found = content(made, n_resamples=0)
    for name in ("closeness", "within_one"):
        scores = item_scores(made, "people", name).scores["f-one"]
        assert float(scores.mean()) == pytest.approx(figure(found, "one", name))


def test_the_baseline_is_on_the_scales_of_the_criteria():
    labels = [(k, p, rated(10 * k, 1)) for k in range(5) for p in (0, 1)]
    made = on([HUNDRED, PASS], labels)
    (median,) = FIGURES["rubric"].sample(made, Options(n_resamples=0)).baselines()
    assert median.values[0, 0].tolist() == [20.0, 1.0]


def test_what_the_words_say():
    mixed = rubric_figures((HUNDRED, PASS))
    assert "position on its own, from 0 (lowest) to 1 (highest)" in mixed.of_judges("mean_rating").estimand
    assert mixed.of_judges("within_one").label == "Within the tolerance"
    assert "a tenth of the range" in mixed.of_judges("within_one").estimand
    assert mixed.of_judges("mean_absolute_error").bounds == (0.0, 1.0)
    hundred = rubric_figures((HUNDRED,))
    assert hundred.of_judges("within_one").label == "Within 10 points"
    assert hundred.of_judges("mean_rating").bounds == (0.0, 100.0)
    assert "99% is one point off" in hundred.scores["closeness"].meaning
    assert not any(one.name == "applicability" for one in hundred.judges)


def test_a_report_is_read_again_and_rendered():
    scales = [replace(HUNDRED, not_applicable=True), PASS]
    labels = [(k, p, rated(NONE if k == p else 10 * k, k % 2)) for k in range(6) for p in (0, 1)]
    one = judge("one", {k: rated(10 * k, 1) for k in range(6)})
    stored = content(on(scales, labels, [one]), n_resamples=50)
    report = report_of(stored)
    assert report.as_json() == stored
    assert report.figures.of_judges("mean_rating").bounds == (0.0, 1.0)
    for name in (".md", ".html", ".tex", ".csv"):
        made = render(report, name)
        assert isinstance(made, str)
        assert "applicab" in made, name


@pytest.mark.parametrize("said", [NONE, None])
def test_nothing_that_could_be_a_number(said):
    """Everybody says that nothing applies, or nobody says anything of it."""
    scales = [Scale(not_applicable=True)] * 2
    value = {"ratings": {} if said is None else {"clear": said, "kind": said}}
    labels = [(k, p, value) for k in range(3) for p in (0, 1)]
    found = content(on(scales, labels, [judge("one", dict.fromkeys(range(3), value))]), n_resamples=20)
    for name in ("closeness", "within_one", "mean_absolute_error", "spearman", "mean_rating"):
        estimate = found["judges"][0]["measures"][name]["overall"]
        assert estimate["value"] is None
        assert estimate["reason"], name
    expected = 1.0 if said == NONE else None
    assert figure(found, "one", "applicability") == expected
    assert figure(found, "people", "not_applicable_rate") == expected
    assert math.isfinite(figure(found, "people", "applicability") or 0.0)


@pytest.mark.parametrize(
    ("scales", "mark", "fault"),
    [
        ([HUNDRED, HUNDRED], 60, ""),
        ([HUNDRED, HUNDRED], 101, "pass mark: expected a rating from 0 to 100, found 101."),
        ([HUNDRED, PASS], 0.6, ""),
        ([HUNDRED, PASS], 60, "pass mark: expected a position from 0"),
        ([STANDARD, STANDARD], 0, "pass mark: expected a rating from 1 to 5, found 0."),
    ],
)
def test_a_pass_mark_is_on_the_scale(scales, mark, fault):
    top = scales[1].high
    labels = [
        (k, p, rated(*(scale.points[k % scale.n_points] for scale in scales)))
        for k in range(4)
        for p in (0, 1)
    ]
    one = judge("one", {k: rated(scales[0].high, top) for k in range(4)})
    made = on(scales, labels, [one])
    if fault:
        with pytest.raises(ReportError, match=fault):
            build(made, Options(n_resamples=0, pass_mark=mark)).as_json()
        return
    found = build(made, Options(n_resamples=0, pass_mark=mark)).as_json()
    # It passes everything; of what people pass on any criterion that is all.
    assert figure(found, "one", "precision") == pytest.approx(
        sum(
            scale.points[k % scale.n_points]
            >= (mark if scales[0] == scales[1] else scale.low + mark * scale.width)
            for k in range(4)
            for scale in scales
        )
        / 8
    )
