"""Thirty-two people at once, each with a connection of their own, on both databases."""

import threading
import time
from collections import Counter

import pytest
from django.db import connection, transaction
from django.db.models import Count

from annotation.domain.errors import StudyRuleError
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    QualificationAnswer,
    Stage,
    Study,
    StudyItem,
)
from annotation.services.assignments import assignment_claim, assignment_release, assignment_submit
from annotation.services.enrollment import enrollment_finish, enrollment_join
from annotation.services.labels import label_change
from annotation.services.qualification import qualification_answer
from annotation.services.studies import study_update
from tests.annotation.factories import enrollment_make, invitation_make, study_make
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
CROWD = 32


def label_everything(pk: int) -> int:
    """Claim and submit until there is nothing more."""
    done = 0
    while (lease := assignment_claim(enrollment=fresh(pk))) is not None:
        assignment_submit(assignment=lease, shown_value={"choice": done % 3})
        done += 1
    return done


def go_on_with_everything(pk: int) -> int:
    """The same, where each answer brings the next item as long as one is free."""
    done, lease = 0, None
    while lease := lease or assignment_claim(enrollment=fresh(pk)):
        lease = assignment_submit(assignment=lease, shown_value={"choice": done % 3}, goes_on=True).following
        done += 1
    return done


@pytest.mark.parametrize("work", [label_everything, go_on_with_everything])
def test_a_crowd_labels_everything_exactly_as_often_as_wanted(work):
    study = study_make(pairs=30, overlap=4)
    people = [enrollment_make(study=study).pk for _ in range(CROWD)]
    done = all_at_once(work, people)
    assert sum(done) == 30 * 4
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 4)}
    per_item = Counter(Label.objects.current().values_list("item_id", flat=True))
    assert set(per_item.values()) == {4}
    repeated = Label.objects.values("item", "annotator").annotate(times=Count("pk")).filter(times__gt=1)
    assert not repeated.exists()
    counts = dict(Enrollment.objects.values_list("pk", "n_accepted"))
    assert [counts[pk] for pk in people] == done


def test_a_crowd_before_one_place():
    study = study_make(pairs=1, overlap=1)
    people = [enrollment_make(study=study).pk for _ in range(CROWD)]
    leases = all_at_once(lambda pk: assignment_claim(enrollment=fresh(pk)), people)
    assert sum(lease is not None for lease in leases) == 1
    assert study.study_items.get().n_open == 1


def test_everybody_gets_something_while_there_are_places():
    """What another claim has locked at that moment is waited for, not taken for gone."""
    study = study_make(pairs=2, overlap=CROWD // 2)
    people = [enrollment_make(study=study).pk for _ in range(CROWD)]
    leases = all_at_once(lambda pk: assignment_claim(enrollment=fresh(pk)), people)
    assert None not in leases
    assert set(study.study_items.values_list("n_open", flat=True)) == {CROWD // 2}


def test_one_person_in_many_tabs_has_one_lease():
    study = study_make(pairs=10, overlap=4)
    pk = enrollment_make(study=study).pk
    leases = all_at_once(lambda pk: assignment_claim(enrollment=fresh(pk)).pk, [pk] * 8)
    assert len(set(leases)) == 1
    assert Assignment.objects.count() == 1
    assert sum(study.study_items.values_list("n_open", flat=True)) == 1


@pytest.mark.parametrize("goes_on", [False, True])
def test_one_answer_submitted_many_times_at_once_is_one_label(goes_on):
    study = study_make(pairs=2, overlap=2)
    person = enrollment_make(study=study)
    lease = assignment_claim(enrollment=fresh(person.pk))
    submit = lambda choice: assignment_submit(  # noqa: E731
        assignment=lease, shown_value={"choice": choice}, goes_on=goes_on
    )
    submissions = all_at_once(submit, [1, 2] * 4)
    outcomes = [one.outcome for one in submissions]
    assert sum(one.following is not None for one in submissions) == int(goes_on)
    assert sum(study.study_items.values_list("n_open", flat=True)) == int(goes_on)
    assert outcomes.count("accepted") == 1
    assert Label.objects.count() == 1
    assert fresh(person.pk).n_accepted == 1
    assert sum(study.study_items.values_list("n_accepted", flat=True)) == 1


def test_an_answer_changed_many_times_at_once_is_one_chain():
    person = enrollment_make(study=study_make())
    lease = assignment_claim(enrollment=fresh(person.pk))
    assignment_submit(assignment=lease, shown_value={"choice": 0})
    all_at_once(lambda choice: label_change(assignment=lease, shown_value={"choice": choice}), [1, 2] * 4)
    assert Label.objects.standing().count() == 1
    assert Label.objects.filter(supersedes=None).count() == 1


def test_submit_and_give_back_at_once_keep_the_counts_right():
    study = study_make(pairs=1, overlap=1)
    person = enrollment_make(study=study)
    lease = assignment_claim(enrollment=fresh(person.pk))

    def act(what: str) -> None:
        if what == "submit":
            assignment_submit(assignment=lease, shown_value={"choice": 1}, goes_on=True)
        elif what == "skip":
            assignment_release(assignment=lease, reason="x")
        else:
            enrollment_finish(enrollment=person)

    all_at_once(act, ["submit", "skip", "finish"] * 3)
    place = study.study_items.get()
    lease.refresh_from_db()
    assert lease.state == AssignmentState.SUBMITTED
    assert (place.n_open, place.n_accepted) == (0, 1)


def test_the_last_place_of_an_invitation():
    invitation = invitation_make(study=study_make(), max_annotators=3)

    def join(_: int) -> bool:
        try:
            enrollment_join(invitation=invitation)
        except Exception as error:
            assert "full" in str(error)  # noqa: PT017
            return False
        return True

    assert sum(all_at_once(join, list(range(8)))) == 3
    assert Enrollment.objects.count() == 3


def test_joining_by_a_double_click_makes_one_person():
    invitation = invitation_make(study=study_make())
    joined = all_at_once(lambda visit: enrollment_join(invitation=invitation, visit=visit).pk, ["v"] * 4)
    assert len(set(joined)) == 1
    assert Enrollment.objects.count() == 1


def test_a_question_answered_many_times_at_once_counts_once():
    study = study_make(pairs=1, qualification=1, passing=0)
    person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
    question = study.qualification_questions.select_related("item").get()

    def answer(choice: int) -> str:
        return qualification_answer(
            enrollment=person, question=question, shown_value={"choice": choice}
        ).stage

    assert set(all_at_once(answer, [1, 2] * 4)) == {Stage.WORK}
    assert QualificationAnswer.objects.count() == 1


def test_a_lower_overlap_that_waits_for_a_claim_is_refused_with_its_reason():
    study = study_make(pairs=1, overlap=4)
    claimed = threading.Event()

    def claim() -> None:
        try:
            with transaction.atomic():
                study.study_items.update(n_open=2)
                claimed.set()
                time.sleep(0.3)  # long enough for the other to have looked and to be waiting
        finally:
            connection.close()

    other = threading.Thread(target=claim)
    other.start()
    claimed.wait(10)
    with pytest.raises(StudyRuleError, match="some items have 2"):
        study_update(study=study, overlap=1)
    other.join()
    assert study.study_items.get().overlap == Study.objects.get().overlap == 4


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize(
    ("row", "change"),
    [
        (lambda lease: Enrollment.objects.filter(pk=lease.enrollment_id), {"guidelines_read_version": 1}),
        (lambda lease: Assignment.objects.filter(pk=lease.pk), {"draft": {"fields": {}}}),
        (lambda lease: StudyItem.objects.filter(pk=lease.study_item_id), {"probability": 0.5}),
        (lambda lease: Study.objects.filter(pk=lease.enrollment.study_id), {"lease_minutes": 5}),
    ],
)
def test_an_answer_waits_for_a_change_that_does_not_concern_it(row, change, turn):
    """PostgreSQL looks at such a row a second time, in the midst of the statement that answers and gives out."""
    person = enrollment_make(study=study_make(pairs=5, overlap=1))
    lease = assignment_claim(enrollment=fresh(person.pk))
    for _ in range(turn):  # with a cursor, and without
        lease = assignment_submit(assignment=lease, shown_value={"choice": 1}, goes_on=True).following
    if not turn:
        Enrollment.objects.filter(pk=person.pk).update(cursor=None)
        lease.enrollment = fresh(person.pk)
    found = []

    def answer() -> None:
        try:
            found.append(assignment_submit(assignment=lease, shown_value={"choice": 2}, goes_on=True))
        finally:
            connection.close()

    thread = threading.Thread(target=answer)
    with transaction.atomic():
        assert row(lease).update(**change) == 1
        thread.start()
        waits = _waits if connection.vendor == "postgresql" else lambda: True
        until = time.monotonic() + 5
        while thread.is_alive() and not waits() and time.monotonic() < until:
            pass
    thread.join()
    (submission,) = found
    assert (submission.outcome, submission.following is not None) == ("accepted", True)
    assert Label.objects.count() == turn + 1
    assert fresh(person.pk).n_accepted == turn + 1
    assert fresh(person.pk).n_claimed == turn + 2
    assert sum(person.study.study_items.values_list("n_open", flat=True)) == 1
    assert Assignment.objects.filter(state=AssignmentState.OPEN).count() == 1


def _waits() -> bool:
    """Whether another connection to this database waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
            "WHERE NOT l.granted AND a.datname = current_database()"
        )
        return bool(cursor.fetchone()[0])
