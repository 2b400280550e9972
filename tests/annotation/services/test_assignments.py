"""Leases on a quiet day: one person after the other. What happens in a crowd is in `test_concurrency`."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.domain.errors import LabelValueError, StageError, StudyNotOpenError
from annotation.domain.presentation import shown_order
from annotation.domain.signals import Signals
from annotation.models import AnswerSignals, Assignment, AssignmentState, Label, Stage, StudyItem, StudyState
from annotation.selectors.work import (
    WorkStanding,
    items_left_ever,
    last_submitted,
    progress_get,
    standing_get,
)
from annotation.services.assignments import (
    assignment_claim,
    assignment_release,
    assignment_submit,
    draft_save,
)
from annotation.services.enrollment import enrollment_finish
from annotation.services.leases import leases_reap
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.work import claim, fresh
from web.measuring import observe, observe_no_more

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
A_IS_BETTER = {"choice": 1}


def places(study):
    return list(study.study_items.order_by("position").values_list("n_open", "n_accepted"))


def test_claims_in_order_and_fills_an_item_before_the_next():
    study = study_make(pairs=3, overlap=2)
    first, second, third = (enrollment_make(study=study) for _ in range(3))
    assert [claim(person).study_item.position for person in (first, second, third)] == [0, 0, 1]
    assert places(study) == [(2, 0), (1, 0), (0, 0)]


def test_claiming_twice_gives_the_same_lease_renewed():
    person = enrollment_make(study=study_make(lease_minutes=30))
    now = timezone.now()
    first = claim(person, now=now)
    again = claim(person, now=now + timedelta(minutes=20))
    assert again.pk == first.pk
    assert again.expires_at == now + timedelta(minutes=50)
    assert Assignment.objects.get().expires_at == again.expires_at


def test_submit_counts_stores_and_moves_on():
    study = study_make(pairs=2, overlap=1, guidelines_version=3)
    StudyItem.objects.update(probability=0.25)
    person = enrollment_make(study=study)
    assignment = claim(person)
    submission = assignment_submit(
        assignment=assignment, shown_value=A_IS_BETTER, active_ms=1200, wall_ms=3400
    )
    label = Label.objects.get()
    assert submission.outcome == "accepted"
    assert label.choice == label.value["choice"] == assignment.shown_order[0] + 1
    assert label.shown_order == assignment.shown_order
    assert (label.active_ms, label.wall_ms) == (1200, 3400)
    assert (label.guidelines_version, label.probability, label.is_surplus) == (3, 0.25, False)
    assert places(study) == [(0, 1), (0, 0)]
    assert fresh(person).n_accepted == 1
    assert claim(person).study_item.position == 1


def test_wall_time_falls_back_to_the_lease():
    person = enrollment_make(study=study_make())
    start = timezone.now()
    assignment = claim(person, now=start)
    assignment_submit(assignment=assignment, shown_value=A_IS_BETTER, now=start + timedelta(seconds=7))
    assert Label.objects.get().wall_ms == 7000


def test_submitting_twice_makes_one_label():
    person = enrollment_make(study=study_make())
    assignment = claim(person)
    first = assignment_submit(assignment=assignment, shown_value=A_IS_BETTER)
    again = assignment_submit(assignment=assignment, shown_value=A_IS_BETTER)
    other = assignment_submit(assignment=assignment, shown_value={"choice": 2})
    assert (again.outcome, other.outcome) == ("repeated", "different")
    assert again.label == other.label == first.label
    assert Label.objects.count() == 1
    assert fresh(person).n_accepted == 1


def test_a_value_that_does_not_fit_is_refused_and_nothing_changes():
    person = enrollment_make(study=study_make(tie_policy="off"))
    assignment = claim(person)
    with pytest.raises(LabelValueError) as caught:
        assignment_submit(assignment=assignment, shown_value={"choice": 0})
    assert caught.value.field == "choice"
    assert Assignment.objects.get().state == AssignmentState.OPEN
    assert not Label.objects.exists()


def test_an_expired_lease_goes_to_the_next_person_only_when_nothing_else_is_free():
    study = study_make(pairs=2, overlap=1, lease_minutes=10)
    slow, quick = enrollment_make(study=study), enrollment_make(study=study)
    now = timezone.now()
    lost = claim(slow, now=now)
    later = now + timedelta(minutes=11)
    first = claim(quick, now=later)
    assert first.study_item.position == 1
    assignment_submit(assignment=first, shown_value=A_IS_BETTER)
    taken = claim(quick, now=later)
    assert taken.study_item_id == lost.study_item_id
    lost.refresh_from_db()
    assert lost.state == AssignmentState.EXPIRED
    assert places(study) == [(1, 0), (0, 1)]


def test_late_with_the_place_gone_is_kept_as_surplus():
    study = study_make(pairs=1, overlap=1, lease_minutes=10)
    slow, quick = enrollment_make(study=study), enrollment_make(study=study)
    now = timezone.now()
    lost = claim(slow, now=now)
    assignment_submit(assignment=claim(quick, now=now + timedelta(minutes=11)), shown_value=A_IS_BETTER)
    submission = assignment_submit(assignment=lost, shown_value=A_IS_BETTER)
    assert submission.outcome == "late"
    assert submission.label.is_surplus
    assert places(study) == [(0, 1)]
    assert fresh(slow).n_accepted == 0
    assert Label.objects.count() == 2
    assert Label.objects.current().count() == 1


def test_late_with_the_place_free_is_accepted():
    study = study_make(pairs=1, overlap=1, lease_minutes=10)
    person = enrollment_make(study=study)
    now = timezone.now()
    lease = claim(person, now=now)
    assert leases_reap(now=now + timedelta(minutes=11)) == 1
    assert places(study) == [(0, 0)]
    assert assignment_submit(assignment=lease, shown_value=A_IS_BETTER).outcome == "accepted"
    assert places(study) == [(0, 1)]


def test_coming_back_renews_an_expired_lease_with_its_order_and_draft():
    study = study_make(pairs=1, overlap=1, lease_minutes=10)
    person = enrollment_make(study=study)
    now = timezone.now()
    lease = claim(person, now=now)
    assert draft_save(assignment=lease, fields={"choice": "2"}, active_ms=5, now=now)
    leases_reap(now=now + timedelta(hours=1))
    again = claim(person, now=now + timedelta(hours=2))
    assert again.pk == lease.pk
    assert again.shown_order == lease.shown_order
    assert again.draft["active_ms"] == 5
    assert again.state == AssignmentState.OPEN
    assert places(study) == [(1, 0)]


def test_reaping_two_leases_of_one_item_gives_two_places_back():
    study = study_make(pairs=2, overlap=2)
    now = timezone.now()
    for _ in range(3):
        claim(enrollment_make(study=study), now=now)
    assert places(study) == [(2, 0), (1, 0)]
    assert leases_reap(study=study, now=now + timedelta(days=1)) == 3
    assert places(study) == [(0, 0), (0, 0)]
    assert leases_reap(study=study, now=now + timedelta(days=1)) == 0


def test_nothing_left_and_left_for_later_are_told_apart():
    study = study_make(pairs=1, overlap=1)
    first, second = enrollment_make(study=study), enrollment_make(study=study)
    lease = claim(first)
    assert claim(second) is None
    assert items_left_ever(fresh(second)) == 1
    assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    assert claim(second) is None
    assert items_left_ever(fresh(second)) == 0


def test_the_cap_of_a_person():
    study = study_make(pairs=5, items_per_annotator=2)
    person = enrollment_make(study=study)
    progress = progress_get(fresh(person))
    assert (progress.done, progress.total) == (0, 2)
    for _ in range(2):
        assignment_submit(assignment=claim(person), shown_value=A_IS_BETTER)
    assert claim(person) is None
    assert items_left_ever(fresh(person)) == 0
    progress = progress_get(fresh(person))
    assert (progress.done, progress.total) == (2, 2)


def test_an_item_given_back_is_never_offered_again():
    study = study_make(pairs=2, overlap=1)
    person = enrollment_make(study=study)
    skipped = claim(person)
    assignment_release(assignment=skipped, reason="unclear")
    assignment_release(assignment=skipped, reason="again")
    skipped.refresh_from_db()
    assert (skipped.state, skipped.release_reason) == (AssignmentState.RELEASED, "unclear")
    assert places(study) == [(0, 0), (0, 0)]
    lease = claim(person)
    assert lease.pk != skipped.pk
    assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    assert claim(person) is None
    assert items_left_ever(fresh(person)) == 0


def test_an_answered_item_cannot_be_given_back():
    person = enrollment_make(study=study_make())
    lease = claim(person)
    assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    assignment_release(assignment=lease, reason="x")
    assert Assignment.objects.get(pk=lease.pk).state == AssignmentState.SUBMITTED


@pytest.mark.parametrize("state", [StudyState.PAUSED, StudyState.CLOSED])
def test_no_claims_when_the_study_is_not_open(state):
    person = enrollment_make(study=study_make(state=state))
    with pytest.raises(StudyNotOpenError) as caught:
        claim(person)
    assert caught.value.state == state


def test_a_study_that_closes_between_the_look_and_the_claim_gives_nothing():
    study = study_make()
    person = fresh(enrollment_make(study=study))
    type(study).objects.update(state=StudyState.CLOSED)
    with pytest.raises(StudyNotOpenError):
        assignment_claim(enrollment=person)
    assert not Assignment.objects.exists()


def test_answers_in_hand_are_taken_when_paused_and_kept_aside_when_closed():
    study = study_make(pairs=2, overlap=1)
    first, second = enrollment_make(study=study), enrollment_make(study=study)
    one, two = claim(first), claim(second)
    type(study).objects.update(state=StudyState.PAUSED)
    assert assignment_submit(assignment=one, shown_value=A_IS_BETTER).outcome == "accepted"
    type(study).objects.update(state=StudyState.CLOSED)
    assert assignment_submit(assignment=two, shown_value=A_IS_BETTER).outcome == "closed"
    assert places(study) == [(0, 1), (0, 0)]


@pytest.mark.parametrize("stage", [Stage.CONSENT, Stage.QUALIFICATION, Stage.SCREENED_OUT, Stage.DONE])
def test_no_claims_outside_the_work(stage):
    with pytest.raises(StageError):
        claim(enrollment_make(study=study_make(), stage=stage))


def test_drafts_are_kept_as_typed_until_submitted():
    person = enrollment_make(study=study_make(lease_minutes=30))
    lease = claim(person)
    later = timezone.now() + timedelta(minutes=25)
    assert draft_save(assignment=lease, fields={"choice": "1"}, active_ms=10)
    typed = {"choice": "", "comment": "Half a thou"}
    assert draft_save(assignment=lease, fields=typed, active_ms=20, now=later)
    lease.refresh_from_db()
    assert lease.draft == {"fields": typed, "active_ms": 20}
    assert lease.expires_at == later + timedelta(minutes=30)
    assignment_submit(assignment=lease, shown_value={"choice": 2})
    assert not draft_save(assignment=lease, fields={"choice": "1"})
    lease.refresh_from_db()
    assert lease.draft is None


def test_a_heartbeat_renews_the_lease_and_leaves_the_draft():
    person = enrollment_make(study=study_make(lease_minutes=30))
    lease = claim(person)
    draft_save(assignment=lease, fields={"choice": "1"}, active_ms=10)
    later = timezone.now() + timedelta(minutes=25)
    assert draft_save(assignment=lease, fields=None, now=later)
    lease.refresh_from_db()
    assert lease.draft == {"fields": {"choice": "1"}, "active_ms": 10}
    assert lease.expires_at == later + timedelta(minutes=30)


def test_last_submitted_is_the_latest():
    person = enrollment_make(study=study_make(pairs=3))
    assert last_submitted(person) is None
    for _ in range(2):
        lease = claim(person)
        assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    assert last_submitted(person) == lease


def test_the_tables_refuse_what_must_never_happen():
    study = study_make(pairs=2, overlap=1)
    person = enrollment_make(study=study)
    lease = claim(person)
    with pytest.raises(IntegrityError), transaction.atomic():
        StudyItem.objects.filter(pk=lease.study_item_id).update(n_accepted=1)
    copy = {"shown_order": [0, 1], "leased_at": timezone.now(), "expires_at": timezone.now()}
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(
            study_item=lease.study_item, enrollment=person, state=AssignmentState.EXPIRED, **copy
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(study_item=study.study_items.get(position=1), enrollment=person, **copy)


@pytest.mark.django_db(transaction=True)
def test_claim_and_submit_take_eight_queries_with_begin_and_commit():
    """On PostgreSQL, where each is a round trip; SQLite runs one after the other what PostgreSQL runs in a WITH."""
    person = fresh(enrollment_make(study=study_make()))
    with CaptureQueriesContext(connection) as claiming:
        lease = assignment_claim(enrollment=person)
    with CaptureQueriesContext(connection) as submitting:
        assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    said = [query["sql"].split()[0] for query in claiming.captured_queries]
    turn, answer = ["UPDATE", "INSERT", "SELECT"], ["UPDATE", "INSERT", "UPDATE", "UPDATE"]
    if connection.vendor == "postgresql":
        turn = answer = ["WITH"]
    assert said == ["BEGIN", "UPDATE", *turn, "COMMIT"]
    said = [query["sql"].split()[0] for query in submitting.captured_queries]
    assert said == ["BEGIN", "SELECT", *answer, "COMMIT"]
    with CaptureQueriesContext(connection) as showing:
        assert lease.study_item.item.dataset == person.study.dataset
    assert len(showing) == 1  # the dataset of the study, not that of the item


def test_a_claim_reads_no_more_items_than_it_needs():
    """With the plan that PostgreSQL keeps for it; it once read and sorted all items behind the cursor."""
    if connection.vendor != "postgresql":
        pytest.skip("a plan of PostgreSQL's")
    study = study_make(pairs=600, overlap=2)
    people = [enrollment_make(study=study) for _ in range(2)]
    cursor = connection.cursor()
    cursor.execute("ANALYZE")
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    read = (
        "SELECT sum(pg_stat_get_xact_tuples_fetched(oid)) FROM pg_class "
        "WHERE oid = 'annotation_studyitem'::regclass OR oid IN "
        "(SELECT indexrelid FROM pg_index WHERE indrelid = 'annotation_studyitem'::regclass)"
    )
    fetched = []
    for _ in range(12):
        for person in people:
            lease = assignment_claim(enrollment=fresh(person))
            assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
            cursor.execute(read)
            fetched.append(cursor.fetchone()[0])
    assert max(later - before for before, later in pairwise(fetched)) < 20, fetched


def test_what_a_person_left_does_not_lead_round_the_cap():
    study = study_make(pairs=6, overlap=1, items_per_annotator=2)
    person = enrollment_make(study=study)
    left = []
    for _ in range(2):
        left.append(claim(person))
        assignment_release(assignment=left[-1], reason="unclear")
    assignment_submit(assignment=claim(person), shown_value=A_IS_BETTER)
    lease = claim(person)
    outcomes = [
        assignment_submit(assignment=one, shown_value=A_IS_BETTER).outcome
        for one in (left[0], lease, left[1])
    ]
    assert outcomes == ["capped", "accepted", "capped"]
    assert fresh(person).n_accepted == Label.objects.current().count() == 2
    assert Label.objects.count() == 4


@pytest.mark.parametrize("code", ["", "PROLIFIC-1"])
def test_who_ended_before_their_first_answer_arrived_gets_the_code_with_it(code):
    person = enrollment_make(study=study_make(completion_code=code))
    lease = claim(person)
    enrollment_finish(enrollment=fresh(person))
    assert fresh(person).completion_code == ""
    assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    given = fresh(person).completion_code
    assert given == code if code else given.startswith("TS-")
    assignment_submit(assignment=lease, shown_value=A_IS_BETTER)
    assert fresh(person).completion_code == given


def going_on(lease, **given):
    """Answer as from the page, whose next item comes with the answer to the submit."""
    return assignment_submit(assignment=lease, shown_value=A_IS_BETTER, goes_on=True, **given)


def test_who_goes_on_gets_the_next_item_with_the_answer():
    study = study_make(pairs=2, overlap=1)
    person = enrollment_make(study=study)
    first = going_on(claim(person))
    assert (first.outcome, first.following.study_item.position) == ("accepted", 1)
    assert places(study) == [(0, 1), (1, 0)]
    assert claim(person).pk == first.following.pk
    last = going_on(first.following)
    assert (last.outcome, last.following) == ("accepted", None)
    assert places(study) == [(0, 1), (0, 1)]
    assert (fresh(person).n_accepted, fresh(person).n_claimed) == (2, 2)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rules", [{}, {"items_per_annotator": 3}, {"check_rate": 0.2}])
def test_an_answer_and_the_next_item_are_one_transaction(rules):
    """On PostgreSQL they are one statement, where no item is hidden."""
    lease = claim(enrollment_make(study=study_make(pairs=6, overlap=1, **rules)))
    lease = going_on(lease).following
    with CaptureQueriesContext(connection) as queries:
        assert going_on(lease).following is not None
    said = [query["sql"].split()[0] for query in queries]
    if connection.vendor == "postgresql" and "check_rate" not in rules:
        assert said == ["WITH"]
    else:
        assert [word for word in said if word in ("BEGIN", "COMMIT")] == ["BEGIN", "COMMIT"]


def test_an_answer_and_the_next_item_are_both_measured():
    lease, told = claim(enrollment_make(study=study_make(pairs=2, overlap=1))), []
    observer = lambda action, outcome, _seconds: told.append((action, outcome))  # noqa: E731
    observe(observer)
    try:
        following = going_on(lease).following
        going_on(following)
    finally:
        observe_no_more(observer)
    assert sorted(told) == sorted(
        [("submit", "accepted"), ("submit", "accepted"), ("claim", "given"), ("claim", "put off")]
    )


def test_what_comes_with_an_answer_is_as_if_it_was_claimed():
    """The database draws the order that the site would draw, and all else of the lease and the person is the same."""
    study = study_make(pairs=12, overlap=2)
    person = enrollment_make(study=study)
    lease, orders = claim(person), set()
    for done in range(1, 12):
        now = timezone.now()
        submission = going_on(lease, now=now)
        lease = submission.following
        kept = Assignment.objects.select_related("study_item__item__dataset").get(pk=lease.pk)
        for name in (field.attname for field in Assignment._meta.concrete_fields):
            assert getattr(lease, name) == getattr(kept, name), name
        assert lease.shown_order == shown_order(person.annotator.public_id, kept.study_item.item_id)
        assert (lease.leased_at, lease.expires_at) == (now, now + timedelta(minutes=study.lease_minutes))
        assert (lease.study_item, lease.study_item.n_open) == (kept.study_item, 1)
        assert lease.study_item.item.dataset == kept.study_item.item.dataset
        assert (submission.standing or standing_get(lease.enrollment)) == WorkStanding(done, 0)
        now_known = fresh(person)
        assert (lease.enrollment.n_accepted, lease.enrollment.n_claimed) == (done, done + 1)
        assert (now_known.n_accepted, now_known.n_claimed) == (done, done + 1)
        assert lease.enrollment.cursor == now_known.cursor == kept.study_item.position
        orders.add(tuple(lease.shown_order))
    assert orders == {(0, 1), (1, 0)}
    assert Label.objects.filter(shown_order__isnull=False, is_surplus=False).count() == 11


def test_after_an_answer_it_is_searched_from_the_front_again():
    """As a claim does where nothing is free behind the last item."""
    study = study_make(pairs=3, overlap=1)
    person, other = enrollment_make(study=study), enrollment_make(study=study)
    taken = claim(other)
    lease = going_on(claim(person)).following
    assert lease.study_item.position == 2
    assignment_release(assignment=taken, reason="unclear")
    following = going_on(lease).following or claim(person)
    assert following.study_item.position == 0


def test_signals_come_with_the_answer():
    lease = claim(enrollment_make(study=study_make(pairs=2, overlap=1)))
    assert going_on(lease, signals=Signals(hidden=3)).following is not None
    assert AnswerSignals.objects.get(assignment=lease).hidden == 3


@pytest.mark.parametrize(
    "rules", [{"fetch_ahead": 2}, {"check_warn_below": 0.5, "check_window": 5}, {"items_per_annotator": 1}]
)
def test_who_goes_on_where_the_rules_need_a_further_look_asks_again(rules):
    lease = claim(enrollment_make(study=study_make(pairs=3, overlap=1, **rules)))
    submission = going_on(lease)
    assert (submission.outcome, submission.following) == ("accepted", None)


def test_nobody_goes_on_with_an_answer_that_is_there_already():
    person = enrollment_make(study=study_make(pairs=3, overlap=1))
    lease = claim(person)
    going_on(lease)
    again = going_on(lease)
    other = assignment_submit(assignment=lease, shown_value={"choice": 2}, goes_on=True)
    assert [(one.outcome, one.following) for one in (again, other)] == [
        ("repeated", None),
        ("different", None),
    ]
    assert Label.objects.count() == 1
    assert fresh(person).n_claimed == 2


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"suspended_at": timezone.now()}, "suspended"),
        ({"stage": Stage.LEFT}, "left"),
        ({"study": StudyState.CLOSED}, "closed"),
        ({"study": StudyState.PAUSED}, "accepted"),
    ],
)
def test_what_has_changed_since_the_person_was_read_decides_who_goes_on(changed, outcome):
    study = study_make(pairs=3, overlap=1)
    person = enrollment_make(study=study)
    lease = claim(person)
    if "study" in changed:
        type(study).objects.filter(pk=study.pk).update(state=changed["study"])
    else:
        type(person).objects.filter(pk=person.pk).update(**changed)
    submission = going_on(lease)
    assert (submission.outcome, submission.following) == (outcome, None)
    assert submission.label.is_surplus == (outcome != "accepted")
    assert places(study) == [(0, int(outcome == "accepted")), (0, 0), (0, 0)]
    assert fresh(person).n_accepted == int(outcome == "accepted")


def test_an_answer_after_its_time_goes_on_the_long_way():
    study = study_make(pairs=2, overlap=1)
    person, other = enrollment_make(study=study), enrollment_make(study=study)
    now = timezone.now()
    lease = claim(person, now=now)
    leases_reap(now=now + timedelta(days=1))
    assert going_on(lease).outcome == "accepted"
    assert claim(other).study_item.position == 1
