"""Labels: never changed, only superseded."""

import pytest
from django.db import DatabaseError, transaction

from annotation.domain.errors import LabelValueError, StageError, StudyNotOpenError
from annotation.models import Enrollment, Label
from annotation.selectors.work import own_label
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.labels import label_change
from tests.annotation.factories import enrollment_make, study_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def answered():
    person = enrollment_make(study=study_make(pairs=1, overlap=1))
    person = Enrollment.objects.select_related("study", "annotator").get(pk=person.pk)
    lease = assignment_claim(enrollment=person)
    assignment_submit(assignment=lease, shown_value={"choice": 1})
    return lease


def test_a_change_supersedes_and_counts_once(answered):
    first = Label.objects.get()
    changed = label_change(assignment=answered, shown_value={"choice": 2}, active_ms=9)
    assert changed.supersedes == first
    assert {first.choice, changed.choice} == {1, 2}
    assert own_label(answered) == changed
    assert list(Label.objects.current()) == [changed]
    answered.study_item.refresh_from_db()
    assert answered.study_item.n_accepted == 1
    assert Enrollment.objects.get().n_accepted == 1


def test_the_same_answer_again_changes_nothing(answered):
    assert label_change(assignment=answered, shown_value={"choice": 1}) == Label.objects.get()


def test_changes_make_a_chain(answered):
    for choice in (2, 0, 0, 1):
        label_change(assignment=answered, shown_value={"choice": choice})
    assert Label.objects.count() == 4
    assert Label.objects.current().count() == 1


def test_a_value_that_does_not_fit(answered):
    with pytest.raises(LabelValueError):
        label_change(assignment=answered, shown_value={"choice": 7})
    assert Label.objects.count() == 1


def test_only_while_the_study_is_open(answered):
    type(answered.enrollment.study).objects.update(state="paused")
    with pytest.raises(StudyNotOpenError):
        label_change(assignment=answered, shown_value={"choice": 2})


def test_only_what_was_answered():
    person = enrollment_make(study=study_make())
    lease = assignment_claim(enrollment=Enrollment.objects.select_related("study").get(pk=person.pk))
    with pytest.raises(StageError):
        label_change(assignment=lease, shown_value={"choice": 2})


def test_the_database_refuses_to_change_a_label(answered):
    with pytest.raises(DatabaseError), transaction.atomic():
        Label.objects.update(choice=0)
