"""Suspended and restored, set aside and taken back, told and reported: what is done about people and items."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from annotation.domain.errors import SuspendedError
from annotation.models import (
    Action,
    Adjudication,
    Assignment,
    AssignmentState,
    Bonus,
    Enrollment,
    Intervention,
    ItemReport,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
)
from annotation.selectors.work import texts_unread
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.labels import label_change
from annotation.services.quality import (
    enrollment_restore,
    enrollment_suspend,
    item_report,
    item_report_resolve,
    labels_set_aside,
    labels_take_back,
    message_read,
    message_send,
)
from tests.annotation.factories import enrollment_make, study_make, user_make
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db


def labels_give(person: Enrollment, n: int) -> list[Label]:
    labels = []
    for _ in range(n):
        lease = assignment_claim(enrollment=fresh(person.pk))
        assert lease is not None
        labels.append(assignment_submit(assignment=lease, shown_value={"choice": 1}).label)
    return labels


def counts(study: Study) -> list[tuple[int, int]]:
    return list(study.study_items.order_by("position").values_list("n_open", "n_accepted"))


def counters_are_right(study: Study) -> None:
    """What stands in the counters is what stands in the rows, and nothing is above the overlap."""
    for place in study.study_items.all():
        current = Label.objects.current().filter(assignment__study_item=place).count()
        opened = place.assignments.filter(state=AssignmentState.OPEN, role="work").count()
        assert (place.n_open, place.n_accepted) == (opened, current)
        assert place.n_open + place.n_accepted <= place.overlap
    for person in study.enrollments.all():
        own = Label.objects.current().filter(assignment__enrollment=person).count()
        assert person.n_accepted == own


class TestSuspend:
    def test_what_is_open_goes_back_at_once(self):
        study, alice = study_make(pairs=2), user_make()
        person = enrollment_make(study=study)
        lease = assignment_claim(enrollment=fresh(person.pk))
        assert enrollment_suspend(enrollment=person, by=alice, reason="careless", text="Please write to us.")
        held = fresh(person.pk)
        assert held.suspended_at is not None
        assert held.suspended_because == "careless"
        assert counts(study) == [(0, 0), (0, 0)]
        lease.refresh_from_db()
        assert lease.state == AssignmentState.EXPIRED
        (row,) = person.interventions.all()
        assert (row.action, row.by, row.reason, row.text) == (
            Action.SUSPEND,
            alice,
            "careless",
            "Please write to us.",
        )
        with pytest.raises(SuspendedError):
            assignment_claim(enrollment=held)

    def test_what_is_said_before_counts_on(self):
        study = study_make(pairs=3)
        person = enrollment_make(study=study)
        labels_give(person, 2)
        enrollment_suspend(enrollment=person, by=None, reason="x")
        assert Label.objects.current().count() == 2
        counters_are_right(study)

    def test_with_set_aside_everything_reopens(self):
        study = study_make(pairs=3, overlap=1)
        person, other = enrollment_make(study=study), enrollment_make(study=study)
        labels_give(person, 3)
        assert assignment_claim(enrollment=fresh(other.pk)) is None
        enrollment_suspend(enrollment=person, by=None, reason="x", set_aside=True)
        assert Label.objects.current().count() == 0
        assert person.interventions.get().n_labels == 3
        assert len(labels_give(other, 3)) == 3
        counters_are_right(study)

    def test_twice_is_once(self):
        person = enrollment_make(study=study_make())
        assert enrollment_suspend(enrollment=person, by=None, reason="x")
        assert not enrollment_suspend(enrollment=person, by=None, reason="y")
        assert fresh(person.pk).suspended_because == "x"
        assert person.interventions.count() == 1

    def test_set_aside_later_keeps_the_moment_of_the_suspension(self):
        person = enrollment_make(study=study_make())
        labels_give(person, 1)
        enrollment_suspend(enrollment=person, by=None, reason="x")
        since = fresh(person.pk).suspended_at
        assert enrollment_suspend(enrollment=person, by=None, reason="y", set_aside=True)
        assert fresh(person.pk).suspended_at == since
        assert fresh(person.pk).n_accepted == 0

    def test_an_answer_after_it_is_surplus(self):
        study = study_make(pairs=2)
        person = enrollment_make(study=study)
        lease = assignment_claim(enrollment=fresh(person.pk))
        enrollment_suspend(enrollment=person, by=None, reason="x", set_aside=True)
        sent = assignment_submit(assignment=lease, shown_value={"choice": 1})
        assert sent.outcome == "suspended"
        assert sent.label.is_surplus
        counters_are_right(study)


class TestRestore:
    def test_goes_on_where_they_were(self):
        study = study_make(pairs=2)
        person = enrollment_make(study=study)
        lease = assignment_claim(enrollment=fresh(person.pk))
        enrollment_suspend(enrollment=person, by=None, reason="x")
        assert enrollment_restore(enrollment=person, by=None, reason="a mistake", text="Welcome back.")
        again = assignment_claim(enrollment=fresh(person.pk))
        assert again.pk == lease.pk
        assert fresh(person.pk).suspended_because == ""
        assert list(person.interventions.values_list("action", flat=True)) == ["suspend", "restore"]

    def test_who_is_not_suspended_is_left_alone(self):
        person = enrollment_make(study=study_make())
        assert not enrollment_restore(enrollment=person, by=None)
        assert not Intervention.objects.exists()

    def test_with_the_labels(self):
        study = study_make(pairs=2, overlap=1)
        person, other = enrollment_make(study=study), enrollment_make(study=study)
        labels_give(person, 2)
        enrollment_suspend(enrollment=person, by=None, reason="x", set_aside=True)
        labels_give(other, 1)  # refills one of the two places
        enrollment_restore(enrollment=person, by=None, take_back=True)
        mine = Label.objects.filter(assignment__enrollment=person).order_by("pk")
        assert sorted(mine.values_list("is_surplus", "is_set_aside")) == [(False, False), (True, False)]
        assert person.interventions.get(action=Action.RESTORE).n_labels == 1
        counters_are_right(study)


class TestSetAside:
    def test_only_since_a_moment(self):
        study = study_make(pairs=3)
        person = enrollment_make(study=study)
        first, second, _ = labels_give(person, 3)
        n = labels_set_aside(enrollment=person, since=second.created_at, by=None, reason="x")
        assert n == 2
        assert list(Label.objects.current()) == [first]
        counters_are_right(study)

    def test_an_answer_goes_as_a_whole_with_what_it_superseded(self):
        study = study_make(pairs=1)
        person = enrollment_make(study=study)
        (label,) = labels_give(person, 1)
        label_change(assignment=label.assignment, shown_value={"choice": 2})
        assert labels_set_aside(enrollment=person, by=None, reason="x") == 1
        assert set(Label.objects.values_list("is_set_aside", flat=True)) == {True}
        label_change(assignment=label.assignment, shown_value={"choice": 1})
        assert set(Label.objects.values_list("is_set_aside", flat=True)) == {True}
        assert labels_take_back(enrollment=person, by=None) == 1
        assert Label.objects.filter(is_set_aside=True).count() == 0
        counters_are_right(study)

    def test_again_finds_nothing(self):
        person = enrollment_make(study=study_make())
        labels_give(person, 2)
        assert labels_set_aside(enrollment=person, by=None, reason="x") == 2
        assert labels_set_aside(enrollment=person, by=None, reason="x") == 0
        assert person.interventions.count() == 1
        assert labels_take_back(enrollment=person, by=None) == 2
        assert labels_take_back(enrollment=person, by=None) == 0
        assert person.interventions.count() == 2

    def test_the_same_form_acts_once(self):
        person = enrollment_make(study=study_make())
        labels_give(person, 2)
        assert labels_set_aside(enrollment=person, by=None, reason="x", nonce="n") == 2
        labels_take_back(enrollment=person, by=None, nonce="m")
        assert labels_set_aside(enrollment=person, by=None, reason="x", nonce="n") == 0
        assert Label.objects.current().count() == 2

    def test_surplus_stays_surplus(self):
        study = study_make(pairs=1)
        person = enrollment_make(study=study)
        (label,) = labels_give(person, 1)
        Label.objects.filter(pk=label.pk).update(is_surplus=True)
        Enrollment.objects.update(n_accepted=0)
        StudyItem.objects.update(n_accepted=0)
        assert labels_set_aside(enrollment=person, by=None, reason="x") == 0
        counters_are_right(study)

    def test_the_others_look_back(self):
        study = study_make(pairs=5, overlap=2)
        person, other = enrollment_make(study=study), enrollment_make(study=study)
        labels_give(person, 1)
        labels_give(other, 3)
        assert fresh(other.pk).cursor == 2
        labels_set_aside(enrollment=person, by=None, reason="x")
        assert fresh(other.pk).cursor is None

    def test_of_a_closed_study(self):
        study = study_make(pairs=2, overlap=1)
        person = enrollment_make(study=study)
        labels_give(person, 2)
        Study.objects.update(state=StudyState.CLOSED)
        assert labels_set_aside(enrollment=person, by=None, reason="x") == 2
        assert Label.objects.current().count() == 0
        assert labels_take_back(enrollment=person, by=None) == 2
        counters_are_right(study)

    def test_of_a_withdrawn_item(self):
        study = study_make(pairs=1, overlap=2)
        person, other = enrollment_make(study=study), enrollment_make(study=study)
        (label,) = labels_give(person, 1)
        item_report_resolve(report=item_report(assignment=label.assignment, reason="empty"), withdraw=True)
        labels_set_aside(enrollment=person, by=None, reason="x")
        place = study.study_items.get()
        assert (place.n_accepted, place.overlap) == (0, 0)
        assert assignment_claim(enrollment=fresh(other.pk)) is None
        assert labels_take_back(enrollment=person, by=None) == 1
        counters_are_right(study)


class TestMessages:
    def test_until_read(self):
        person, other = enrollment_make(study=study_make()), enrollment_make(study=study_make())
        assert message_send(enrollment=person, by=None, text="Hello.", nonce="n")
        assert not message_send(enrollment=person, by=None, text="Hello.", nonce="n")
        (message,) = texts_unread(person)
        assert message.text == "Hello."
        assert not message_read(enrollment=other, message_id=message.pk)
        assert message_read(enrollment=person, message_id=message.pk)
        assert not message_read(enrollment=person, message_id=message.pk)
        assert texts_unread(person) == []

    def test_what_has_no_text_is_not_shown(self):
        person = enrollment_make(study=study_make())
        enrollment_suspend(enrollment=person, by=None, reason="for us only")
        assert texts_unread(person) == []


class TestReports:
    def test_once_a_person_and_item(self):
        person = enrollment_make(study=study_make())
        lease = assignment_claim(enrollment=fresh(person.pk))
        first = item_report(assignment=lease, reason="empty", note="No answer B.")
        again = item_report(assignment=lease, reason="language", note="Something else.")
        assert again.pk == first.pk
        assert ItemReport.objects.get().note == "No answer B."

    def test_withdrawn_goes_to_nobody_else_and_can_still_be_answered(self):
        study = study_make(pairs=1, overlap=3)
        people = [enrollment_make(study=study) for _ in range(3)]
        labels_give(people[0], 1)
        lease = assignment_claim(enrollment=fresh(people[1].pk))
        report = item_report(assignment=lease, reason="empty")
        item_report(assignment=people[0].assignments.get(), reason="language")
        assert item_report_resolve(report=report, withdraw=True) == 2
        place = study.study_items.get()
        assert place.withdrawn_at is not None
        assert place.overlap == 2
        assert assignment_claim(enrollment=fresh(people[2].pk)) is None
        assert assignment_submit(assignment=lease, shown_value={"choice": 1}).outcome == "accepted"
        assert set(ItemReport.objects.values_list("resolution", flat=True)) == {"withdrawn"}
        counters_are_right(study)

    def test_kept_and_decided_once(self):
        study = study_make(pairs=1)
        lease = assignment_claim(enrollment=fresh(enrollment_make(study=study).pk))
        report = item_report(assignment=lease, reason="other")
        assert item_report_resolve(report=report, withdraw=False) == 1
        assert item_report_resolve(report=report, withdraw=True) == 0
        assert study.study_items.get().withdrawn_at is None


def test_two_people_suspended_by_checks_at_once_do_not_wait_in_a_circle():
    """Rows are locked by primary key, whatever order the labels came in."""
    study = study_make(pairs=2, overlap=2)
    person = enrollment_make(study=study)
    labels_give(person, 2)
    from annotation.services import quality

    statements: list[str] = []

    def watch(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        quality.labels_set_aside(enrollment=person, by=None, reason="x")
    tables = ["annotation_assignment", "annotation_studyitem", "annotation_enrollment"]
    selects = [sql for sql in statements if sql.startswith("SELECT") and "ORDER BY" in sql]
    order = [
        next(t for t in tables if f'FROM "{t}"' in sql) for sql in selects if 'FROM "annotation_l' not in sql
    ]
    assert order == tables


def test_stage_is_left_as_it_is():
    person = enrollment_make(study=study_make(), stage=Stage.DONE)
    enrollment_suspend(enrollment=person, by=None, reason="x", now=timezone.now() - timedelta(days=1))
    assert fresh(person.pk).stage == Stage.DONE
    assert Assignment.objects.count() == 0


@pytest.mark.parametrize("model", ["intervention", "itemreport", "adjudication", "bonus"])
def test_the_admin_shows_what_was_done_and_changes_nothing(client, model):
    study, ann = study_make(pairs=1), user_make(role="administrator")
    person = enrollment_make(study=study)
    (label,) = labels_give(person, 1)
    rows = {
        "intervention": lambda: Intervention.objects.create(enrollment=person, action="message", text="Hi."),
        "itemreport": lambda: item_report(assignment=label.assignment, reason="broken"),
        "adjudication": lambda: Adjudication.objects.create(
            study=study, item=label.item, expert=ann, value={"choice": 1}, shown_order=[0, 1]
        ),
        "bonus": lambda: Bonus.objects.create(enrollment=person, amount=1, reason="x", by=ann, nonce="n"),
    }
    row = rows[model]()
    client.force_login(ann)
    page = f"/admin/annotation/{model}/"
    assert client.get(page).status_code == 200
    assert client.get(f"{page}?q=a").status_code == 200
    assert client.get(f"{page}{row.pk}/change/").status_code == 200
    assert client.get(f"{page}add/").status_code == 403
    assert client.post(f"{page}{row.pk}/delete/").status_code == 403
