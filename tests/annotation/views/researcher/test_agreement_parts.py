"""Agreement so far of rubrics, checklists and rankings: known labels, and the figures of `metaeval.stats`."""

import numpy as np
import pytest
from django.core.cache import cache

from annotation.domain.scales import STANDARD
from annotation.models import Item, Label
from annotation.selectors.agreement import LabelRow, agreement_compute, agreement_so_far
from metaeval.stats import krippendorff_alpha, rank_agreement
from tests.annotation.cast import client_of, text_of, url
from tests.annotation.factories import annotator_make, user_make
from tests.annotation.kinds import kind_label_make, kind_study_make

PEOPLE = {1: ("a1", False), 2: ("a2", False), 3: ("a3", True)}
CRITERIA = ("clear", "helpful")
NAN = float("nan")


def row(item, annotator, value, category="Rewrite"):
    return LabelRow(item, item, category, annotator, 20.0, 1.0, None, value)


def ratings(*table):
    """Labels of a table of items by annotators; each cell the ratings of two criteria."""
    return [
        row(item, annotator, {"ratings": {"helpful": cell[0], "clear": cell[1]}})
        for item, cells in enumerate(table, start=1)
        for annotator, cell in enumerate(cells, start=1)
        if cell is not None
    ]


def rubric(labels, people=PEOPLE):
    return agreement_compute("rubric", labels, people, dict.fromkeys(CRITERIA, STANDARD))


def overall(found, *names):
    return [found.overall(name)["value"] for name in names]


def cells(found, name):
    """By figure, the values of a row of the table."""
    row, of_row = next((row, of_row) for row, of_row in found.table if row.name == name)
    return row, {figure.name: estimate["value"] for figure, estimate, _ in of_row}


class TestRubric:
    labels = ratings([(4, 5), (4, 4), (2, 5)], [(1, 3), (2, 3), None], [(5, 1), (5, 5), None])

    def test_by_hand(self):
        found = rubric(self.labels)
        assert (found.labels, found.items, found.items_with_two) == (7, 3, 3)
        assert [r.name for r in found.rows] == ["clear", "helpful"], "in the order of the rubric"
        (row, helpful), (_, clear) = cells(found, "helpful"), cells(found, "clear")
        # helpful: item 1 has 4 4 2, one pair of three equal; item 2 has 1 2, none; item 3 has 5 5: 4/9 of them.
        assert helpful["pair_exact"] == pytest.approx((1 / 3 + 0 + 1) / 3)
        # Within one point: 4 4 alone of item 1, both others.
        assert helpful["pair_near"] == pytest.approx((1 / 3 + 1 + 1) / 3)
        # clear: 5 4 5 (1/3, then all), 3 3, 1 5.
        assert clear["pair_exact"] == pytest.approx((1 / 3 + 1 + 0) / 3)
        assert clear["pair_near"] == pytest.approx((1 + 1 + 0) / 3)
        # The mean of the items' means: 10/3, 1.5 and 5.
        assert helpful["mean_rating"] == pytest.approx((10 / 3 + 1.5 + 5) / 3)
        assert (row.items, row.labels) == (3, 7)

    def test_alpha_is_the_ordinal_one(self):
        _, helpful = cells(rubric(self.labels), "helpful")
        expected = krippendorff_alpha([[4, 4, 2], [1, 2, NAN], [5, 5, NAN]], level="ordinal", n_resamples=0)
        assert helpful["alpha"] == pytest.approx(expected.value)

    def test_a_person_against_the_others(self):
        agreement = {r.short_id: r.agreement for r in rubric(self.labels).by_annotator}
        # a3 said 2 5 where the others' means are 4 and 4.5: helpful is off, clear is near: one half of one label.
        assert (agreement["a3"].value, agreement["a3"].n) == (0.5, 1)
        # a1: 4 5 against means 3 and 4.5: both near; 1 3 against 2 3: both; 5 1 against 5 5: one of two.
        assert agreement["a1"].value == pytest.approx((1 + 1 + 0.5) / 3)

    def test_one_label_an_item_is_undefined(self):
        found = rubric(ratings([(4, 5)], [(2, 2)]), {1: PEOPLE[1]})
        assert found.items_with_two == 0
        assert overall(found, "alpha", "pair_exact", "pair_near", "within_one") == [None] * 4
        assert not any(r.agreement.defined for r in found.by_annotator)

    def test_no_labels(self):
        found = rubric([], {})
        assert (found.labels, found.items, found.rows, found.by_annotator) == (0, 0, (), ())


class TestChecklist:
    labels = [
        row(1, 1, {"answers": {"x": True, "y": False}}),
        row(1, 2, {"answers": {"x": True, "y": None}}),
        row(1, 3, {"answers": {"x": False, "y": False}}),
        row(2, 1, {"answers": {"x": True}}, category="Brainstorm"),
        row(2, 2, {"answers": {"x": True}}, category="Brainstorm"),
    ]

    def test_by_hand(self):
        found = agreement_compute("checklist", self.labels, PEOPLE)
        # x of item 1: one pair of three; y: one of three; x of item 2: the one. One answer of eight is cannot tell.
        assert overall(found, "pair_exact", "cannot_tell_rate") == [
            pytest.approx((1 / 3 + 1 / 3 + 1) / 3),
            1 / 8,
        ]
        row, rewrite = cells(found, "Rewrite")
        assert rewrite["drfr"] == pytest.approx(2 / 6), "cannot tell is no yes"
        assert (row.items, row.labels) == (1, 3)
        assert cells(found, "Brainstorm")[1]["drfr"] == 1

    def test_a_person_against_the_others(self):
        found = agreement_compute("checklist", self.labels, PEOPLE)
        agreement = {r.short_id: r.agreement.value for r in found.by_annotator}
        # a3 said no to x, where both others say yes; to y no, where the others are no and cannot tell: one half.
        assert agreement["a3"] == pytest.approx((0 + 0.5) / 2)


class TestRankings:
    labels = [
        row(1, 1, {"ranks": {"x": 1, "y": 2, "z": 3}}),
        row(1, 2, {"ranks": {"x": 1, "y": 3, "z": 2}}),
        row(1, 3, {"ranks": {"x": 3, "y": 2, "z": 1}}),
        row(2, 1, {"ranks": {"u": 1, "v": 2}}, category="Brainstorm"),
        row(2, 2, {"ranks": {"u": 1, "v": 2}}, category="Brainstorm"),
        row(3, 1, {"ranks": {"u": 1, "v": 1}}),
        row(3, 2, {"ranks": {"u": 1, "v": 2}}),
    ]

    def test_by_hand(self):
        found = agreement_compute("importance", self.labels, PEOPLE)
        # Item 1: rho 0.5, -1 and -0.5, mean -1/3; item 2: 1; item 3: somebody has no order.
        # The same first aspect: one pair of three, the one, and none (all first is another first).
        assert overall(found, "spearman", "same_first", "undefined_rate") == [
            pytest.approx((-1 / 3 + 1) / 2),
            pytest.approx((1 / 3 + 1 + 0) / 3),
            pytest.approx(1 / 3),
        ]
        (remark,) = found.remarks
        assert "2 of 3 items have two parts" in remark

    def test_the_mean_is_that_of_the_library(self):
        found = agreement_compute("answer_ranking", self.labels[:5], PEOPLE)
        expected = rank_agreement([[[1, 2, 3], [1, 3, 2], [3, 2, 1]], [[1, 2], [1, 2]]], n_resamples=0)
        assert found.overall("spearman")["value"] == pytest.approx(expected.value)

    def test_a_person_against_the_others(self):
        found = agreement_compute("importance", self.labels, PEOPLE)
        agreement = {r.short_id: r.agreement for r in found.by_annotator}
        assert agreement["a3"].value == pytest.approx(-0.75)
        # Item 1: mean of 0.5 and -1; item 2: 1; item 3 has no rho.
        assert (agreement["a1"].value, agreement["a1"].n) == (pytest.approx((-0.25 + 1) / 2), 2)

    def test_a_label_of_other_parts_is_left_out(self):
        changed = row(2, 3, {"ranks": {"u": 1, "v": 2, "w": 3}})
        found = agreement_compute("importance", [*self.labels[3:5], changed], PEOPLE)
        assert found.overall("spearman")["value"] == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("rubric", [{"ratings": {"helpful": 4, "clear": k}} for k in (2, 3)]),
        ("checklist", [{"answers": {"format": True, "length": k, "tone": None}} for k in (True, False)]),
        ("importance", [{"ranks": {"format": 1, "length": 2, "tone": k}} for k in (2, 3)]),
        ("answer_ranking", [{"ranks": {"0": 1, "1": 2, "2": k}} for k in (3, 2)]),
    ],
)
class TestFromRows:
    def test_the_study_page_shows_it(self, kind, values):
        cache.clear()
        alice = user_make()
        study = kind_study_make(kind, overlap=4, owner=alice)
        people = [annotator_make(), annotator_make(is_simulated=True)]
        for item in Item.objects.filter(dataset=study.dataset):
            for annotator, value in zip(people, values, strict=True):
                kind_label_make(study, item, value, annotator=annotator)
        found = agreement_so_far(study)
        assert (found.labels, found.items_with_two, found.simulated) == (6, 3, 1)
        assert all(estimate["value"] is not None for _, estimate in found.figures)
        page = client_of(alice).get(url("study-detail", study.slug))
        for figure, _ in found.figures:
            assert figure.label.replace("'", "&#x27;") in page.content.decode()
        assert "Agreement so far" in text_of(page)

    def test_what_is_set_aside_does_not_count_and_is_noticed(self, kind, values):
        cache.clear()
        study = kind_study_make(kind, items=1, overlap=4)
        item = Item.objects.get(dataset=study.dataset)
        first = kind_label_make(study, item, values[0])
        kind_label_make(study, item, values[1])
        assert agreement_so_far(study).items_with_two == 1
        Label.objects.filter(pk=first.pk).update(is_set_aside=True)
        assert agreement_so_far(study).labels == 1


def test_many_rankings_are_quick_enough_to_show():
    rng = np.random.default_rng(0)
    labels = [
        row(item, person, {"ranks": {str(k): int(r) + 1 for k, r in enumerate(rng.permutation(5))}})
        for item in range(1, 1_001)
        for person in (1, 2, 3)
    ]
    found = agreement_compute("importance", labels, PEOPLE)
    assert abs(found.overall("spearman")["value"]) < 0.05, "chance"
