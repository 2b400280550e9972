"""Everything that may happen to a study, at the same moment: sixteen people at work while others of the study moderate
them, pause it and let leases run out. Whatever comes first, the tables agree and no item has a fifth label that counts.
"""

import contextlib
import random
import threading

import pytest
from django.utils import timezone

from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.models import Assignment, AssignmentState, Label, Stage, Study
from annotation.services.assignments import assignment_claim, assignment_release, assignment_submit
from annotation.services.enrollment import enrollment_finish
from annotation.services.leases import leases_reap
from annotation.services.quality import (
    enrollment_restore,
    enrollment_suspend,
    labels_set_aside,
    labels_take_back,
)
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.services.test_concurrency import label_everything
from tests.annotation.services.test_guards import counters_are_right
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
PEOPLE, ITEMS, OVERLAP, ROUNDS = 16, 12, 4, 6


def work(pk: int, stop: threading.Event) -> None:
    """Claim and answer, now and then skip, and look again while the study rests or oneself is suspended."""
    numbers = random.Random(pk)
    while not stop.is_set():
        try:
            lease = assignment_claim(enrollment=fresh(pk))
        except (StudyNotOpenError, SuspendedError):
            stop.wait(0.02)
            continue
        if lease is None:
            stop.wait(0.02)
        elif numbers.random() < 0.1:
            assignment_release(assignment=lease, reason="unclear")
        else:
            goes_on = numbers.random() < 0.5
            assignment_submit(assignment=lease, shown_value={"choice": numbers.randrange(3)}, goes_on=goes_on)


@pytest.mark.long
def test_sixteen_at_work_while_they_are_moderated_and_the_study_rests():
    study = study_make(pairs=ITEMS, overlap=OVERLAP)
    people = [enrollment_make(study=study) for _ in range(PEOPLE)]
    stop, busy = threading.Event(), threading.Barrier(4)

    def moderate(k: int) -> None:
        for _ in range(ROUNDS):
            labels_set_aside(enrollment=people[k], by=None, reason="doubt")
            enrollment_suspend(enrollment=people[k + 1], by=None, reason="doubt", set_aside=True)
            labels_take_back(enrollment=people[k], by=None)
            enrollment_restore(enrollment=people[k + 1], by=None, take_back=True)

    def rest() -> None:
        for _ in range(ROUNDS):
            Study.objects.filter(pk=study.pk).update(state="paused")
            Assignment.objects.filter(state=AssignmentState.OPEN).update(expires_at=timezone.now())
            leases_reap(study=study)
            Study.objects.filter(pk=study.pk).update(state="open")

    def act(what: int | str) -> None:
        if isinstance(what, int):
            work(what, stop)
            return
        try:
            rest() if what == "rest" else moderate(int(what))
        finally:
            busy.wait()
            stop.set()

    all_at_once(act, [*(person.pk for person in people), "0", "4", "8", "rest"])
    counters_are_right(study)
    assert not Label.objects.filter(is_set_aside=True).exists()
    # What was left over is there for whoever comes then.
    for person in [*people, *(enrollment_make(study=study) for _ in range(OVERLAP))]:
        label_everything(person.pk)
    counters_are_right(study)
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, OVERLAP)}


def test_who_finishes_in_one_tab_keeps_nothing_that_another_tab_took_at_that_moment():
    study = study_make(pairs=1, overlap=8)
    people = [enrollment_make(study=study) for _ in range(8)]

    def act(what: tuple[str, int]) -> None:
        doing, k = what
        if doing == "finish":
            enrollment_finish(enrollment=people[k])
            return
        with contextlib.suppress(StageError):
            assignment_claim(enrollment=fresh(people[k].pk))

    all_at_once(act, [(doing, k) for k in range(8) for doing in ("claim", "finish")])
    assert set(study.enrollments.values_list("stage", flat=True)) == {Stage.DONE}
    assert not Assignment.objects.filter(state=AssignmentState.OPEN).exists()
    counters_are_right(study)
