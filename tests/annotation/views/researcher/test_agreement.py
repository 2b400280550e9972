"""Agreement so far: the figures of known tables, and that they are those of `metaeval.stats`."""

import math

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.models import Label
from annotation.selectors.agreement import agreement_so_far, label_stamp
from annotation.selectors.agreement.common import scores_of_labels
from annotation.selectors.agreement.pairwise import PairwiseColumns, agreement_compute
from annotation.services.quality import labels_set_aside, labels_take_back
from metaeval.stats import krippendorff_alpha, leave_one_out_agreement
from tests.annotation.cast import label_make, labels_make
from tests.annotation.factories import annotator_make, study_make

NAN = float("nan")


def columns_of(table, *, shown_first=1.0, instruction=None):
    """Label columns of a table of items by annotators, NaN where there is no label."""
    table = np.asarray(table, dtype=float)
    item, annotator = np.nonzero(~np.isnan(table))
    n = len(item)
    return PairwiseColumns(
        item=item.astype(np.int64),
        instruction=(item if instruction is None else np.asarray(instruction)[item]).astype(np.int64),
        annotator=annotator.astype(np.int64),
        choice=table[item, annotator],
        shown_first=np.full(n, shown_first),
        seconds=np.arange(n, dtype=float),
        category=np.array(["A" if k % 2 else "B" for k in item], dtype=np.str_),
    )


def people_of(columns):
    return {int(key): (f"{key:08x}", False) for key in np.unique(columns.annotator)}


def test_known_figures():
    columns = columns_of([[1, 1, 2], [2, 2, 2]])
    found = agreement_compute(columns, people_of(columns))
    assert found.people.value == pytest.approx((1 / 3 + 1) / 2)
    assert found.best.value == pytest.approx((2 / 3 + 1) / 2)
    assert found.ties.value == 0
    assert found.shown_first.value == pytest.approx(2 / 6)
    assert (found.labels, found.items, found.items_with_two, found.annotators) == (6, 2, 2, 3)
    assert found.seconds == 2.5
    assert [(row.name, row.items, row.labels) for row in found.categories] == [("A", 1, 3), ("B", 1, 3)]
    assert found.categories[0].people.value == 1
    assert found.is_early


def test_each_person_is_compared_with_the_others():
    columns = columns_of([[1, 1, 2], [2, 2, 2], [NAN, 1, NAN]])
    rows = {row.short_id[-1]: row for row in agreement_compute(columns, people_of(columns)).by_annotator}
    # First item: against {1, 2} a label 1 is one of two modes; the third stands against {1, 1}.
    assert [rows[key].agreement.value for key in "012"] == [0.75, 0.75, 0.5]
    assert [rows[key].labels for key in "012"] == [2, 3, 2]
    assert [rows[key].agreement.n for key in "012"] == [2, 2, 2]
    assert rows["0"].agreement.low < 0.75 < rows["0"].agreement.high


choices = st.sampled_from([0.0, 1.0, 2.0, NAN])


@settings(deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda m: st.lists(st.lists(choices, min_size=m, max_size=m), min_size=1, max_size=8)
    )
)
def test_the_persons_parts_add_up_to_the_leave_one_out_figure(table):
    columns = columns_of(table)
    items, row = np.unique(columns.item, return_inverse=True)
    slots = np.asarray(table, dtype=float)[items]
    scores = scores_of_labels(row, columns.choice, len(items))
    paired = [k for k in range(len(items)) if np.isfinite(scores[row == k]).any()]
    if paired:
        by_item = [scores[row == k].mean() for k in paired]
        assert np.mean(by_item) == pytest.approx(leave_one_out_agreement(slots[paired], n_resamples=0).value)
    else:
        assert not np.isfinite(scores).any()


@settings(deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda m: st.lists(st.lists(choices, min_size=m, max_size=m), min_size=1, max_size=8)
    )
)
def test_any_table_has_figures_or_reasons_and_no_warning(table):
    columns = columns_of(table)
    found = agreement_compute(columns, people_of(columns))
    for estimate in (found.people, found.best, found.alpha, found.ties, found.shown_first):
        if estimate.defined:
            assert math.isnan(estimate.low) or estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
        else:
            assert estimate.reason
    if found.people.defined:
        assert found.people.value <= found.best.value + 1e-12
        slots = np.asarray(table, dtype=float)
        assert found.people.value == pytest.approx(leave_one_out_agreement(slots, n_resamples=0).value)
        if found.alpha.defined:
            assert found.alpha.value == pytest.approx(krippendorff_alpha(slots, n_resamples=0).value)


def test_nothing_at_all():
    columns = columns_of(np.zeros((0, 2)))
    found = agreement_compute(columns, {})
    assert found.labels == found.items == 0
    assert found.categories == found.by_annotator == ()
    assert found.seconds is None


def test_items_of_one_instruction_move_together():
    table = [[1, 1], [1, 1], [1, 2], [1, 2]] * 20
    alone = agreement_compute(columns_of(table), {0: ("a", False), 1: ("b", False)})
    grouped = columns_of(table, instruction=[k // 2 for k in range(80)])
    together = agreement_compute(grouped, {0: ("a", False), 1: ("b", False)})
    assert together.people.value == alone.people.value
    assert together.people.high - together.people.low > alone.people.high - alone.people.low
    assert together.people.n_clusters == 40


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
        assert found.shown_first.value == pytest.approx(2 / 3)
        assert found.ties.value == pytest.approx(1 / 5)
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
        before = agreement_so_far(study).people.value
        labels_take_back(enrollment=first, by=None)
        labels_set_aside(enrollment=second, by=None, reason="in doubt")
        assert (before, agreement_so_far(study).people.value) == (0.0, 1.0)

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
