"""People suspended, restored and set aside while they and others work, and the counters stay right."""

import contextlib
import random
import threading

import pytest

from annotation.domain.errors import StageError, SuspendedError
from annotation.models import Enrollment, ItemReport, Label
from annotation.services.assignments import assignment_claim
from annotation.services.labels import label_change
from annotation.services.quality import (
    enrollment_suspend,
    item_report,
    item_report_resolve,
    labels_set_aside,
    labels_take_back,
    message_send,
)
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.services.test_concurrency import label_everything
from tests.annotation.services.test_quality import counters_are_right, counts, labels_give
from tests.annotation.work import fresh
from tests.races import all_at_once, before

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def test_taken_back_while_others_fill_the_places():
    study = study_make(pairs=12, overlap=2)
    person = enrollment_make(study=study)
    labels_give(person, 12)
    labels_set_aside(enrollment=person, by=None, reason="x")
    others = [enrollment_make(study=study).pk for _ in range(6)]

    def act(who: int | str) -> int:
        if isinstance(who, int):
            return label_everything(who)
        return labels_take_back(enrollment=person, by=None)

    all_at_once(act, [*others, "take back", "take back"])
    counters_are_right(study)
    assert {accepted for _, accepted in counts(study)} == {2}
    assert not Label.objects.filter(is_set_aside=True).exists()
    assert Label.objects.filter(assignment__enrollment=person).count() == 12


def test_set_aside_and_taken_back_again_and_again():
    study = study_make(pairs=10, overlap=2)
    people = [enrollment_make(study=study) for _ in range(4)]
    for person in people[:2]:
        labels_give(person, 10)
    stop = threading.Event()

    def act(what: tuple[str, Enrollment]) -> None:
        doing, person = what
        if doing == "label":
            label_everything(person.pk)
            return
        for _ in range(4):
            labels_set_aside(enrollment=person, by=None, reason="x")
            labels_take_back(enrollment=person, by=None)
        stop.set()

    all_at_once(act, [*(("moderate", p) for p in people[:2]), *(("label", p) for p in people)])
    counters_are_right(study)
    assert stop.is_set()


def test_suspended_while_submitting():
    study = study_make(pairs=40, overlap=2)
    people = [enrollment_make(study=study) for _ in range(4)]

    def act(what: tuple[str, Enrollment]) -> None:
        doing, person = what
        try:
            if doing == "label":
                label_everything(person.pk)
            else:
                threading.Event().wait(random.random() / 5)
                enrollment_suspend(enrollment=person, by=None, reason="x", set_aside=True)
        except (SuspendedError, StageError):
            pass

    all_at_once(act, [(doing, person) for doing in ("label", "suspend") for person in people])
    counters_are_right(study)
    assert not Label.objects.current().exists()
    assert set(study.enrollments.values_list("n_accepted", flat=True)) == {0}
    assert sum(study.study_items.values_list("n_open", flat=True)) == 0


def test_changed_while_set_aside():
    study = study_make(pairs=1, overlap=1)
    person = enrollment_make(study=study)
    (label,) = labels_give(person, 1)

    def act(what: int | str) -> None:
        if isinstance(what, int):
            label_change(assignment=label.assignment, shown_value={"choice": what})
        else:
            labels_set_aside(enrollment=person, by=None, reason="x")

    all_at_once(act, [1, 2, "set aside", 0, 1, 2])
    assert set(Label.objects.values_list("is_set_aside", flat=True)) == {True}
    counters_are_right(study)


def test_a_form_sent_twice_at_once_acts_once():
    person = enrollment_make(study=study_make())
    labels_give(person, 2)

    def act(_: int) -> int:
        return labels_set_aside(enrollment=person, by=None, reason="x", nonce="n")

    assert sorted(all_at_once(act, list(range(4)))) == [0, 0, 0, 2]
    sent = all_at_once(lambda _: message_send(enrollment=person, by=None, text="x", nonce="m"), [1, 2, 3])
    assert sorted(sent) == [False, False, True]


def test_reported_twice_and_withdrawn_while_claimed():
    study = study_make(pairs=1, overlap=4)
    lease = assignment_claim(enrollment=fresh(enrollment_make(study=study).pk))
    report = item_report(assignment=lease, reason="x")
    others = [enrollment_make(study=study).pk for _ in range(6)]

    def act(what: int | str) -> None:
        if isinstance(what, int):
            assignment_claim(enrollment=fresh(what))
        elif what == "report":
            item_report(assignment=lease, reason="x")
        else:
            item_report_resolve(report=report, withdraw=True)

    all_at_once(act, [*others, "report", "resolve", "resolve"])
    place = study.study_items.get()
    assert place.overlap == place.n_open
    assert ItemReport.objects.count() == 1
    counters_are_right(study)


def test_who_answers_faster_than_can_be_looked_at_is_held_first():
    """Every look finds that they have said something new since, until nothing more of theirs is counted."""
    study = study_make(pairs=40, overlap=1)
    person = enrollment_make(study=study)
    labels_give(person, 2)

    def say_more() -> None:
        with contextlib.suppress(SuspendedError):
            labels_give(person, 1)

    locking = r'^SELECT "annotation_enrollment"\."id" AS "pk" .* ORDER BY'
    with before(locking, say_more, times=None) as looks:
        assert enrollment_suspend(enrollment=person, by=None, reason="x", set_aside=True)
    assert len(looks) > 1
    assert fresh(person.pk).n_accepted == 0
    assert person.interventions.count() == 1
    counters_are_right(study)
