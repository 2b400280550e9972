"""Agreement so far of rubrics, checklists and rankings: known labels, and the figures of `metaeval.stats`."""

import math

import numpy as np
import pytest
from django.core.cache import cache

from annotation.models import Item, Label
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.agreement.parts import LabelRow
from annotation.selectors.agreement.rankings import rankings_compute
from annotation.selectors.agreement.ratings import ratings_compute
from metaeval.stats import krippendorff_alpha, rank_agreement
from tests.annotation.cast import client_of, text_of, url
from tests.annotation.factories import annotator_make, user_make
from tests.annotation.kinds import kind_label_make, kind_study_make

PEOPLE = {1: ("a1", False), 2: ("a2", False), 3: ("a3", True)}


def row(item, annotator, value, category="Rewrite", instruction=None):
    return LabelRow(item, instruction or item, category, annotator, value, 20.0)


def ratings(*table):
    """Labels of a table of items by annotators; each cell the ratings of two criteria."""
    return [
        row(item, annotator, {"ratings": {"helpful": cell[0], "clear": cell[1]}})
        for item, cells in enumerate(table, start=1)
        for annotator, cell in enumerate(cells, start=1)
        if cell is not None
    ]


class TestRubric:
    labels = ratings([(4, 5), (4, 4), (2, 5)], [(1, 3), (2, 3), None], [(5, 1), (5, 5), None])

    def test_by_hand(self):
        found = ratings_compute("rubric", self.labels, PEOPLE, ["clear", "helpful"])
        assert (found.labels, found.items, found.items_with_two) == (7, 3, 3)
        assert [r.name for r in found.rows] == ["clear", "helpful"], "in the order of the rubric"
        clear, helpful = found.rows
        # helpful: item 1 has 4 4 2, one pair of three equal; item 2 has 1 2, none; item 3 has 5 5: 4/9 of them.
        assert helpful.figures[0].estimate.value == pytest.approx((1 / 3 + 0 + 1) / 3)
        # Within one point: 4 4 alone of item 1, both others.
        assert helpful.figures[1].estimate.value == pytest.approx((1 / 3 + 1 + 1) / 3)
        # clear: 5 4 5 (1/3, then all), 3 3, 1 5.
        assert clear.figures[0].estimate.value == pytest.approx((1 / 3 + 1 + 0) / 3)
        assert clear.figures[1].estimate.value == pytest.approx((1 + 1 + 0) / 3)
        assert (helpful.mean, helpful.items, helpful.labels) == (pytest.approx(23 / 7), 3, 7)

    def test_alpha_is_the_ordinal_one(self):
        found = ratings_compute("rubric", self.labels, PEOPLE, [])
        helpful = next(r for r in found.rows if r.name == "helpful")
        expected = krippendorff_alpha(
            [[4, 4, 2], [1, 2, math.nan], [5, 5, math.nan]], level="ordinal", n_resamples=0
        )
        assert helpful.figures[2].estimate.value == pytest.approx(expected.value)

    def test_a_person_against_the_others(self):
        found = ratings_compute("rubric", self.labels, PEOPLE, [])
        agreement = {r.short_id: r.agreement for r in found.by_annotator}
        # a3 said 2 5 where the others' means are 4 and 4.5: helpful is off, clear is near: one half of one label.
        assert (agreement["a3"].value, agreement["a3"].n) == (0.5, 1)
        # a1: 4 5 against means 3 and 4.5: both near; 1 3 against 2 3: both; 5 1 against 5 5: one of two.
        assert agreement["a1"].value == pytest.approx((1 + 1 + 0.5) / 3)

    def test_one_label_an_item_is_undefined(self):
        found = ratings_compute("rubric", ratings([(4, 5)], [(2, 2)]), PEOPLE, [])
        assert found.items_with_two == 0
        assert all(math.isnan(figure.estimate.value) for figure in found.figures)
        assert all(math.isnan(r.agreement.value) for r in found.by_annotator)

    def test_no_labels(self):
        found = ratings_compute("rubric", [], {}, ["clear"])
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
        found = ratings_compute("checklist", self.labels, PEOPLE, [])
        # x of item 1: one pair of three; y: one of three; x of item 2: the one.
        assert found.figures[0].estimate.value == pytest.approx((1 / 3 + 1 / 3 + 1) / 3)
        assert [figure.name for figure in found.figures] == ["Same answer", "Krippendorff's alpha"]
        rows = {r.name: r for r in found.rows}
        assert rows["Rewrite"].mean == pytest.approx(2 / 5), "yes among yes and no"
        assert (rows["Rewrite"].items, rows["Rewrite"].labels) == (1, 3)
        assert rows["Brainstorm"].mean == 1

    def test_a_person_against_the_others(self):
        found = ratings_compute("checklist", self.labels, PEOPLE, [])
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
        found = rankings_compute("importance", self.labels, PEOPLE)
        # Item 1: rho 0.5, -1 and -0.5, mean -1/3; item 2: 1; item 3: somebody has no order.
        assert found.figures[0].estimate.value == pytest.approx((-1 / 3 + 1) / 2)
        # The same first aspect: one pair of three, the one, and none (all first is another first).
        assert found.figures[1].estimate.value == pytest.approx((1 / 3 + 1 + 0) / 3)
        assert "2 of 3 items have two parts" in found.remark
        assert "On 1 item no two people" in found.remark

    def test_the_mean_is_that_of_the_library(self):
        found = rankings_compute("answer_ranking", self.labels[:5], PEOPLE)
        expected = rank_agreement([[[1, 2, 3], [1, 3, 2], [3, 2, 1]], [[1, 2], [1, 2]]], n_resamples=0)
        assert found.figures[0].estimate.value == pytest.approx(expected.value)
        assert found.figures[1].name == "Same first response"

    def test_a_person_against_the_others(self):
        found = rankings_compute("importance", self.labels, PEOPLE)
        agreement = {r.short_id: r.agreement for r in found.by_annotator}
        assert agreement["a3"].value == pytest.approx(-0.75)
        # Item 1: mean of 0.5 and -1; item 2: 1; item 3 has no rho.
        assert (agreement["a1"].value, agreement["a1"].n) == (pytest.approx((-0.25 + 1) / 2), 2)

    def test_a_label_of_other_parts_is_left_out(self):
        changed = row(2, 3, {"ranks": {"u": 1, "v": 2, "w": 3}})
        found = rankings_compute("importance", [*self.labels[3:5], changed], PEOPLE)
        assert found.figures[0].estimate.value == 1

    def test_no_labels(self):
        found = rankings_compute("importance", [], {})
        assert (found.items, found.rows, found.remark) == (0, (), "")
        assert math.isnan(found.figures[0].estimate.value)


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
        assert all(figure.estimate.defined for figure in found.figures)
        page = client_of(alice).get(url("study-detail", study.slug))
        for figure in found.figures:
            assert figure.name.replace("'", "&#x27;") in page.content.decode()
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
    found = rankings_compute("importance", labels, PEOPLE)
    assert abs(found.figures[0].estimate.value) < 0.05, "chance"
