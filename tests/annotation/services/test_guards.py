"""The same person twice, sixteen people before four places, suspensions in between: at the same moment, in threads.

Refused or kept as surplus, never a fifth accepted label.
"""

from collections import Counter

import pytest
from django.db.models import Count, F
from django.utils import timezone

from annotation.domain.errors import StudyNotOpenError, SuspendedError
from annotation.models import Assignment, AssignmentState, Enrollment, Label, Study, StudyItem
from annotation.services.assignments import assignment_claim, assignment_release, assignment_submit
from annotation.services.leases import leases_reap, leases_release
from annotation.services.quality import enrollment_restore, enrollment_suspend
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def counters_are_right(study):
    """Counters of items and people are what a recount finds, within the overlap."""
    current = Label.objects.current().filter(study=study)
    accepted = Counter(current.values_list("assignment__study_item_id", flat=True))
    by_person = Counter(current.values_list("assignment__enrollment_id", flat=True))
    leases = Assignment.objects.filter(study_item__study=study, state=AssignmentState.OPEN, role="work")
    opened = Counter(leases.values_list("study_item_id", flat=True))
    for row in StudyItem.objects.filter(study=study):
        assert (row.n_open, row.n_accepted) == (opened[row.pk], accepted[row.pk])
        assert row.n_open + row.n_accepted <= row.overlap
    for person in study.enrollments.all():
        assert person.n_accepted == by_person[person.pk]
    repeated = Label.objects.filter(study=study, supersedes=None, role="work").values("item", "annotator")
    assert not repeated.annotate(times=Count("pk")).filter(times__gt=1).exists()


def answer(lease, choice=1, *, goes_on=True):
    return assignment_submit(assignment=lease, shown_value={"choice": choice}, goes_on=goes_on).outcome


def test_sixteen_people_before_an_item_of_overlap_four():
    study = study_make(pairs=1, overlap=4)
    people = [enrollment_make(study=study).pk for _ in range(16)]

    def work(pk):
        lease = assignment_claim(enrollment=fresh(pk))
        return lease and answer(lease)

    outcomes = Counter(all_at_once(work, people))
    assert outcomes == {"accepted": 4, None: 12}
    counters_are_right(study)


def test_sixteen_answers_after_expiry_to_four_places():
    """Each had the item for a while, one after the other; all answer at once. Four count, twelve are kept."""
    study = study_make(pairs=1, overlap=4)
    leases = []
    for _ in range(16):
        person = enrollment_make(study=study)
        leases.append(assignment_claim(enrollment=fresh(person.pk)))
        leases_release(enrollment=person)
    outcomes = Counter(all_at_once(answer, leases))
    assert outcomes == {"accepted": 4, "late": 12}
    assert Label.objects.count() == 16
    assert Label.objects.filter(is_surplus=True).count() == 12
    counters_are_right(study)


def test_an_answer_to_what_was_left_out_counts_only_where_there_is_room():
    study = study_make(pairs=1, overlap=1)
    one, two = (enrollment_make(study=study) for _ in range(2))
    left = assignment_claim(enrollment=fresh(one.pk))
    assignment_release(assignment=left, reason="unclear")
    assert answer(assignment_claim(enrollment=fresh(two.pk))) == "accepted"
    assert answer(left) == "late"
    counters_are_right(study)


def test_a_submit_without_a_claim_finds_nothing():
    """A lease of somebody else, or none: there is no row to answer."""
    study = study_make(pairs=1, overlap=4)
    mine, other = (enrollment_make(study=study) for _ in range(2))
    lease = assignment_claim(enrollment=fresh(other.pk))
    lease.enrollment = mine
    with pytest.raises(Assignment.DoesNotExist):
        answer(lease)
    with pytest.raises(Assignment.DoesNotExist):
        answer(Assignment(pk=10**9, enrollment=mine), goes_on=False)
    assert not Label.objects.exists()
    counters_are_right(study)


@pytest.mark.parametrize("goes_on", [False, True])
def test_submits_and_releases_and_the_reaper_at_once(goes_on):
    study = study_make(pairs=3, overlap=2)
    people = [enrollment_make(study=study) for _ in range(6)]
    leases = [assignment_claim(enrollment=fresh(person.pk)) for person in people]
    Assignment.objects.update(expires_at=timezone.now())

    def act(what):
        kind, k = what
        if kind == "submit":
            return answer(leases[k], goes_on=goes_on)
        if kind == "leave":
            return leases_release(enrollment=people[k])
        return leases_reap()

    outcomes = all_at_once(act, [(kind, k) for k in range(6) for kind in ("submit", "leave", "reap")])
    # Who goes on may be given a place that somebody has just left, whose answer then comes late.
    assert {said for said in outcomes if isinstance(said, str)} <= {
        "accepted",
        *(["late"] if goes_on else []),
    }
    assert sum(isinstance(said, str) for said in outcomes) == Label.objects.count() == 6
    counters_are_right(study)


def test_claims_and_a_suspension_at_once():
    study = study_make(pairs=8, overlap=2)
    people = [enrollment_make(study=study) for _ in range(8)]

    def act(what):
        kind, person = what
        if kind == "suspend":
            return enrollment_suspend(enrollment=person, by=None, reason="doubt")
        try:
            return assignment_claim(enrollment=fresh(person.pk))
        except SuspendedError:
            return "suspended"

    all_at_once(act, [(kind, person) for person in people for kind in ("claim", "suspend")])
    counters_are_right(study)
    assert not Enrollment.objects.filter(suspended_at=None).exists()
    for lease in Assignment.objects.select_related("enrollment"):
        assert answer(lease) == "suspended"
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 0)}


def test_submits_and_suspensions_that_set_aside_at_once():
    """Whoever comes first, no label of a suspended person is left that counts."""
    study = study_make(pairs=8, overlap=2)
    people = [enrollment_make(study=study) for _ in range(8)]
    leases = [assignment_claim(enrollment=fresh(person.pk)) for person in people]

    def act(what):
        kind, k = what
        if kind == "submit":
            return answer(leases[k])
        return enrollment_suspend(enrollment=people[k], by=None, reason="doubt", set_aside=True)

    all_at_once(act, [(kind, k) for k in range(8) for kind in ("submit", "suspend")])
    assert Label.objects.count() == 8
    assert not Label.objects.current().exists()
    counters_are_right(study)


def test_people_restored_while_others_fill_their_places():
    study = study_make(pairs=4, overlap=1)
    person = enrollment_make(study=study)
    for _ in range(4):
        answer(assignment_claim(enrollment=fresh(person.pk)))
    enrollment_suspend(enrollment=person, by=None, reason="doubt", set_aside=True)
    others = [enrollment_make(study=study) for _ in range(4)]

    def act(who):
        if who is person:
            return enrollment_restore(enrollment=person, by=None, take_back=True)
        lease = assignment_claim(enrollment=fresh(who.pk))
        return lease and answer(lease, goes_on=False)

    all_at_once(act, [*others, person])
    counters_are_right(study)
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 1)}
    assert not Label.objects.filter(is_set_aside=True).exists()


def test_many_tabs_of_one_person_with_hidden_items_count_each_turn_once():
    study = study_make(pairs=12, overlap=1, check_rate=0.5)
    hidden = study.study_items.filter(position__gte=6)
    hidden.update(role="check", overlap=0)
    pk = enrollment_make(study=study).pk
    for _ in range(4):
        leases = all_at_once(lambda pk: assignment_claim(enrollment=fresh(pk)).pk, [pk] * 6)
        assert len(set(leases)) == 1
        answer(Assignment.objects.get(pk=leases[0]), goes_on=False)
    assert fresh(pk).n_claimed == Assignment.objects.count() == 4
    counters_are_right(study)


def test_a_study_that_closes_under_a_crowd():
    study = study_make(pairs=40, overlap=2)
    people = [enrollment_make(study=study).pk for _ in range(8)]

    def act(pk):
        if pk is None:
            return Study.objects.filter(pk=study.pk).update(state="closed")
        try:
            while lease := assignment_claim(enrollment=fresh(pk)):
                answer(lease)
        except StudyNotOpenError:
            pass
        return None

    all_at_once(act, [*people, None])
    counters_are_right(study)
    assert not study.study_items.filter(n_open__gt=F("overlap")).exists()
