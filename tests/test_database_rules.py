"""The rules that the database itself keeps, whatever the code above it does. On both databases."""

from importlib import import_module

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F

from annotation.models import Assignment, Label, StudyItem
from annotation.services.assignments import assignment_claim, assignment_submit
from judges.models import Judge, Judgment
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.judges.props import judge_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def label():
    enrollment = enrollment_make(study=study_make(pairs=1, overlap=1))
    assignment = assignment_claim(enrollment=enrollment)
    assignment_submit(assignment=assignment, shown_value={"choice": 1})
    return Label.objects.get()


@pytest.mark.parametrize(
    "change",
    [{"choice": 0}, {"value": {"choice": 0}}, {"comment": "else"}, {"evidence": []}, {"shown_order": [0, 1]}],
)
def test_a_label_cannot_be_changed(label, change):
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Label.objects.filter(pk=label.pk).update(**change)
    before = label.value
    label.refresh_from_db()
    assert label.value == before


def test_every_column_of_a_label_is_guarded_but_those_that_say_whether_it_counts():
    migration = import_module("annotation.migrations.0024_evidence")
    columns = {field.column for field in Label._meta.concrete_fields}
    assert set(migration.COLUMNS.split(", ")) == columns - {"is_surplus", "is_set_aside"}


def test_whether_a_label_counts_may_change(label):
    for change in ({"is_set_aside": True}, {"is_surplus": True, "is_set_aside": False}):
        Label.objects.filter(pk=label.pk).update(**change)
        assert not Label.objects.current().exists()


def test_an_item_cannot_be_given_away_more_often_than_its_overlap(label):
    with pytest.raises(IntegrityError, match="overlap_kept"), transaction.atomic():
        StudyItem.objects.update(n_open=F("n_open") + 1)


def test_a_person_cannot_get_an_item_twice(label):
    again = Assignment.objects.get()
    again.pk = None
    again.state = "expired"
    with pytest.raises(IntegrityError), transaction.atomic():
        again.save(force_insert=True)


def test_an_assignment_cannot_have_two_first_labels(label):
    label.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        label.save(force_insert=True)


def test_a_judge_that_has_judged_cannot_become_another():
    judge = judge_make()
    Judge.objects.filter(pk=judge.pk).update(fingerprint="f" * 64)  # not used yet: it may still change
    item = dataset_make(pairs=1).items.get()
    Judgment.objects.create(judge=judge, item=item, order=0, status="parsed", choice=1)
    for change in ({"fingerprint": "0" * 64}, {"spec": {"strategy": "other"}}):
        with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
            Judge.objects.filter(pk=judge.pk).update(**change)
    Judge.objects.filter(pk=judge.pk).update(
        name="A better name", notes="What it is may not change; what it is called may."
    )
    judge.refresh_from_db()
    assert judge.name == "A better name"


def test_a_choice_needs_a_parsed_answer():
    item = dataset_make(pairs=1).items.get()
    with pytest.raises(IntegrityError, match="choice_only_if_parsed"), transaction.atomic():
        Judgment.objects.create(judge=judge_make(), item=item, order=0, status="unparsed", choice=1)
