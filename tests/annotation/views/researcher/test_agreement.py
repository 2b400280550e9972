"""Agreement so far: the figures of known tables, and that they are those of `metaeval.stats`."""

import math

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Kind, Label
from annotation.selectors.agreement import (
    LabelRow,
    agreement_compute,
    agreement_so_far,
    label_stamp,
)
from annotation.selectors.anytime import ItemPlace
from annotation.services.quality import labels_set_aside, labels_take_back
from metaeval.stats import ConfidenceSequence, krippendorff_alpha, leave_one_out_agreement
from tests.annotation.cast import label_make, labels_make
from tests.annotation.factories import annotator_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import value_of
from web.numbers import estimate_interval

NAN = float("nan")


def rows_of(table, *, shown_first=1, instruction=None, chances=None):
    """Labels of a table of items by annotators, NaN where there is no label."""
    found = []
    for item, cells in enumerate(table):
        for annotator, choice in enumerate(cells):
            if not math.isnan(choice):
                whose = item if instruction is None else instruction[item]
                chance = 1.0 if chances is None else chances[item]
                order = [shown_first - 1, 2 - shown_first]
                found.append(
                    LabelRow(item, whose, "BA"[item % 2], annotator, float(len(found)), chance, order, choice)
                )
    return found


def compute(table, **options):
    rows = rows_of(table, **options)
    return agreement_compute(
        "pairwise", rows, {row.annotator: (f"{row.annotator:08x}", False) for row in rows}
    )


def test_known_figures():
    found = compute([[1, 1, 2], [2, 2, 2]])
    assert found.overall("leave_one_out")["value"] == pytest.approx((1 / 3 + 1) / 2)
    assert found.overall("best_reachable")["value"] == pytest.approx((2 / 3 + 1) / 2)
    assert found.overall("tie_rate")["value"] == 0
    assert found.overall("first_shown_rate")["value"] == pytest.approx(2 / 6)
    assert (found.labels, found.items, found.items_with_two, found.annotators) == (6, 2, 2, 3)
    assert found.seconds == 2.5
    assert {(row.name, row.items, row.labels) for row in found.rows} == {("A", 1, 3), ("B", 1, 3)}
    (first, *_) = next(cells for row, cells in found.table if row.name == "A")
    assert (first[0].name, first[1]["value"]) == ("leave_one_out", 1)
    assert found.is_early


def test_an_interval_for_any_time_counts_finished_instructions_as_they_were_finished():
    # Instruction 7 has pairs 0 and 1, 8 has 2 and 3, 9 has 4. Two labels each; the second pair of 8 lacks one.
    places = {
        0: ItemPlace(7, 2),
        1: ItemPlace(7, 2),
        2: ItemPlace(8, 2),
        3: ItemPlace(8, 2),
        4: ItemPlace(9, 2),
    }
    given = [
        (4, 0, 1),
        (0, 0, 1),
        (0, 1, 1),
        (1, 0, 1),
        (2, 0, 1),
        (2, 1, 1),
        (3, 0, 1),
        (4, 1, 1),
        (1, 1, 2),
    ]

    def at_any_time(labels):
        rows = [
            LabelRow(
                item,
                places[item].instruction if item in places else 9,
                "",
                person,
                NAN,
                1.0,
                [0, 1],
                choice,
                k,
            )
            for k, (item, person, choice) in enumerate(labels)
        ]
        people = {row.annotator: (str(row.annotator), False) for row in rows}
        return agreement_compute(
            "pairwise", sorted(rows, key=lambda row: row.item), people, {}, places
        ).anytime

    found = at_any_time(given)
    assert (found.value, found.n, found.n_clusters) == (pytest.approx(2 / 3), 3, 2)
    # 9 was finished before 7, whose second pair nobody agrees on.
    sequence = ConfidenceSequence(largest=2)
    sequence.update([1.0])
    assert found == sequence.update([1.0, 0.0], clusters=[7, 7])
    # A label more changes nothing of what was counted; one that is not of the study's items, neither.
    assert at_any_time([*given, (99, 0, 1)]) == found
    assert at_any_time(given[:3]) is None
    assert at_any_time([]) is None


def test_each_person_is_compared_with_the_others():
    rows = {row.short_id[-1]: row for row in compute([[1, 1, 2], [2, 2, 2], [NAN, 1, NAN]]).by_annotator}
    # First item: against {1, 2} a label 1 is one of two modes; the third stands against {1, 1}.
    assert [rows[key].agreement.value for key in "012"] == [0.75, 0.75, 0.5]
    assert [rows[key].labels for key in "012"] == [2, 3, 2]
    assert [rows[key].agreement.n for key in "012"] == [2, 2, 2]
    assert rows["0"].agreement.low < 0.75 < rows["0"].agreement.high


def test_items_drawn_by_chance_weigh_what_they_stand_for():
    table = [[1, 1], [1, 2], [2, 2]]
    found = compute(table, chances=[1.0, 0.25, 0.5])
    expected = leave_one_out_agreement(np.array(table, dtype=float), weights=[1, 4, 2], n_resamples=0)
    assert found.overall("leave_one_out")["value"] == pytest.approx(expected.value) == pytest.approx(3 / 7)
    assert [row.agreement.value for row in found.by_annotator] == pytest.approx([3 / 7, 3 / 7])


choices = st.sampled_from([0.0, 1.0, 2.0, NAN])


@given(
    st.integers(2, 5).flatmap(
        lambda m: st.lists(st.lists(choices, min_size=m, max_size=m), min_size=1, max_size=8)
    )
)
def test_any_table_has_figures_or_reasons_and_no_warning(table):
    found = compute(table)
    for _figure, estimate in found.figures:
        if estimate["value"] is None:
            assert estimate["reason"]
        elif estimate["low"] is not None:
            assert estimate["low"] - 1e-9 <= estimate["value"] <= estimate["high"] + 1e-9
    if found.labels and found.overall("leave_one_out")["value"] is not None:
        people, best, alpha = (
            found.overall(name)["value"] for name in ("leave_one_out", "best_reachable", "krippendorff_alpha")
        )
        assert people <= best + 1e-9
        slots = np.asarray(table, dtype=float)
        assert people == pytest.approx(leave_one_out_agreement(slots, n_resamples=0).value)
        if alpha is not None:
            assert alpha == pytest.approx(krippendorff_alpha(slots, n_resamples=0).value)


def test_nothing_at_all():
    found = compute([])
    assert found.labels == found.items == 0
    assert found.rows == found.by_annotator == ()
    assert found.seconds is None
    assert found.figures == found.columns == found.table == []


def test_items_of_one_instruction_move_together():
    table = [[1, 1], [1, 1], [1, 2], [1, 2]] * 20
    alone = compute(table).overall("leave_one_out")
    together = compute(table, instruction=[k // 2 for k in range(80)]).overall("leave_one_out")
    assert together["value"] == alone["value"]
    assert together["high"] - together["low"] > alone["high"] - alone["low"]


@pytest.mark.django_db
class TestFromRows:
    def test_shown_order_is_undone_for_the_lean_to_the_first(self):
        study = study_make(pairs=3, overlap=4)
        items = list(study.dataset.items.order_by("position"))
        # Two for what was shown first, one against it, one tie, one of unknown order.
        for item, choice, order in (
            (items[0], 1, [0, 1]),
            (items[0], 2, [1, 0]),
            (items[1], 2, [0, 1]),
            (items[1], 0, [1, 0]),
            (items[2], 1, None),
        ):
            label = label_make(study=study, item=item, choice=choice, shown_order=[0, 1])
            Label.objects.filter(pk=label.pk)
            if order != [0, 1]:
                self.replace(label, order)
        found = agreement_so_far(study)
        assert found.overall("first_shown_rate")["value"] == pytest.approx(2 / 3)
        assert found.overall("tie_rate")["value"] == pytest.approx(1 / 5)
        assert found.labels == 5

    def replace(self, label, order):
        """A correction with another order: labels cannot be changed."""
        Label.objects.create(
            item=label.item,
            annotator=label.annotator,
            study=label.study,
            assignment=label.assignment,
            supersedes=label,
            kind=label.kind,
            value=label.value,
            choice=label.choice,
            shown_order=order,
        )

    def test_surplus_and_superseded_labels_do_not_count(self):
        study = study_make(pairs=1, overlap=3)
        labels_make(study, [[1, 1]])
        item = study.dataset.items.get()
        label = label_make(study=study, item=item, choice=2)
        self.replace(label, [0, 1])
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind="pairwise",
            value={"choice": 2},
            choice=2,
            is_surplus=True,
        )
        assert agreement_so_far(study).labels == 3

    def test_computed_once_until_there_are_new_labels(self):
        cache.clear()
        study = study_make(pairs=2, overlap=4)
        labels_make(study, [[1, 1], [1, 2]])
        first = agreement_so_far(study)
        with CaptureQueriesContext(connection) as context:
            assert agreement_so_far(study) == first
        assert len(context) == 1, "only whether there is anything new"
        label_make(study=study, item=study.dataset.items.first(), choice=1)
        assert agreement_so_far(study).labels == 5

    def test_what_is_valid_at_any_time_is_of_finished_pairs(self):
        study = study_make(pairs=3, overlap=2)
        labels_make(study, [[1, 1], [1, 2], [2, None]])
        found = agreement_so_far(study).anytime
        assert (found.value, found.n, found.method) == (0.5, 2, "betting")
        assert found.low < 0.1
        assert found.high > 0.9
        html = render_to_string(
            "annotation/researcher/_agreement.html", {"agreement": agreement_so_far(study)}
        )
        text = " ".join(strip_tags(html).split())
        assert "valid at any time: Leave-one-out agreement 50.0% [" in text

    def test_over_time_each_look_counts_the_instructions_that_were_finished(self):
        study = study_make(pairs=50, overlap=2)
        labels_make(study, [[1, 1 + k % 2] for k in range(50)])
        found = agreement_so_far(study)

        looks = [look.n_instructions for look in found.over_time]
        assert (looks[0], looks[-1], len(looks)) == (1, 50, 40)
        assert looks == sorted(set(looks))
        assert found.over_time[0].estimate.value == 1, "the first pair was agreed on"
        assert found.over_time[-1].estimate == found.anytime
        widths = [look.estimate.high - look.estimate.low for look in found.over_time]
        assert widths == sorted(widths, reverse=True), "a confidence sequence never widens"

    @pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
    def test_other_kinds_have_an_interval_for_any_time(self, kind):
        """Of the figure that is a mean over items; it is that of the finished items alone, whatever waits."""
        dataset = kind_dataset_make(kind, items=12)
        whole, finished = (study_make(dataset=dataset, kind=kind, overlap=3) for _ in range(2))
        for study in (whole, finished):
            people = [annotator_make() for _ in range(3)]
            for k, item in enumerate(dataset.items.order_by("position")):
                waits = 1 if study is whole else 0
                for place, person in enumerate(people[: 3 if k % 3 else waits]):
                    value = value_of(kind, k, place if k % 2 else 0)
                    Label.objects.create(item=item, annotator=person, kind=kind, value=value, study=study)
        found, alone = agreement_so_far(whole), agreement_so_far(finished)
        shown = found.anytime
        assert shown.value == pytest.approx(alone.of_everyone["value"])
        low, high = found.figure_of_everyone.bounds
        assert low <= shown.low < alone.of_everyone["low"]
        assert alone.of_everyone["high"] <= shown.high <= high
        assert (shown.n, shown.n_clusters) == (8, 8)
        html = render_to_string("annotation/researcher/_agreement.html", {"agreement": found})
        text = " ".join(strip_tags(html).split())
        assert f"valid at any time: {found.figure_of_everyone.label}" in text
        no_mean = "has no such interval, as it isn&#x27;t a mean over items" in text
        assert no_mean == ("alpha" in text)
        Label.objects.create(
            item=dataset.items.first(), annotator=people[1], kind=kind, value=value_of(kind, 0), study=whole,
            probability=0.5,
        )  # fmt: skip
        found = agreement_so_far(whole)
        assert found.anytime is None
        html = render_to_string("annotation/researcher/_agreement.html", {"agreement": found})
        assert "None is valid at any time: items were sampled with unequal probabilities" in html

    def test_simulated_annotators_are_counted(self):
        study = study_make(pairs=1, overlap=3)
        item = study.dataset.items.get()
        label_make(study=study, item=item, choice=1, annotator=annotator_make(is_simulated=True))
        label_make(study=study, item=item, choice=1)
        found = agreement_so_far(study)
        assert (found.annotators, found.simulated) == (2, 1)
        assert sorted(row.is_simulated for row in found.by_annotator) == [False, True]

    def test_stamp_of_a_study_without_labels(self):
        assert str(label_stamp(study_make(pairs=1))) == "0-0-0-0"

    def test_as_many_taken_back_as_set_aside_is_news(self):
        study = study_make(pairs=2, overlap=4)
        one, other, _ = labels_make(study, [[1, 2, 1], [1, 2, 1]])
        first, second = (study.enrollments.get(annotator=person) for person in (one, other))
        labels_set_aside(enrollment=first, by=None, reason="in doubt")
        before = agreement_so_far(study).overall("leave_one_out")["value"]
        labels_take_back(enrollment=first, by=None)
        labels_set_aside(enrollment=second, by=None, reason="in doubt")
        assert (before, agreement_so_far(study).overall("leave_one_out")["value"]) == (0.0, 1.0)

    def test_the_time_of_a_change_is_not_that_of_the_item(self):
        study = study_make(pairs=1)
        labels_make(study, [[1, 2]])
        label = Label.objects.first()
        Label.objects.create(
            item=label.item, annotator=label.annotator, study=study, assignment=label.assignment,
            supersedes=label, kind="pairwise", value={"choice": 2}, choice=2, active_ms=1_000,
        )  # fmt: skip
        found = agreement_so_far(study)
        assert (found.labels, found.seconds) == (2, 20.0)


def test_the_page_has_both_populations_or_says_why_not():
    """Beside each figure its interval of annotators like these; its definition is there to be opened."""

    def page(n_people, kind):
        rng = np.random.default_rng(0)
        if kind == "pairwise":
            found = compute((1 + (rng.random((30, n_people)) < np.linspace(0.3, 0.9, n_people))).tolist())
        else:
            rows = [
                LabelRow(
                    item,
                    item,
                    "AB"[item % 2],
                    person,
                    1.0,
                    1.0,
                    [],
                    {"ranks": {"a": 1 + swap, "b": 2 - swap, "c": 3}},
                )
                for item in range(30)
                for person in range(n_people)
                for swap in [int(rng.random() < person / n_people)]
            ]
            found = agreement_compute(
                kind, rows, {person: (str(person), False) for person in range(n_people)}
            )
        return found, " ".join(
            render_to_string("annotation/researcher/_agreement.html", {"agreement": found}).split()
        )

    for kind in ("pairwise", "importance"):
        found, text = page(6, kind)
        assert found.has_alike
        shown = [one for _, one in found.figures if one.get("alike") and one["alike"]["low"] is not None]
        assert text.count("annotators like these [") == len(shown) >= 2
        # By category too.
        cells = [estimate for _, cells in found.table for _, estimate, _ in cells]
        others = [one["alike"] for one in cells if one.get("alike") and one["alike"]["low"] is not None]
        assert len(others) >= 4
        for one in others:
            assert f"like these {estimate_interval(one, 'percent')}" in text or (
                f"like these {estimate_interval(one, 'number')}" in text
            )
        figure, _ = found.figures[0]
        assert "Where there are two, the second is of annotators like these on new items." in text
        assert f'Definition<span class="visually-hidden"> of {figure.label}</span></summary>' in text
        found, text = page(3, kind)
        assert "like these [" not in text
        assert (
            "None is of annotators like these: too few annotators to speak of others: 3, and 5 are needed."
            in text
        )
