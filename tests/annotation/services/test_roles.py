"""Hidden checks and repeats, suspended people, deadlines: what a person is given, and what of it counts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.domain.presentation import shown_order
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Item,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
)
from annotation.services import claims
from annotation.services.assignments import assignment_claim, assignment_release, assignment_submit
from annotation.services.labels import label_change
from annotation.services.leases import leases_reap, leases_release
from annotation.services.studies import studies_close_due
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.work import claim, fresh
from tests.races import before

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
A_IS_BETTER = {"choice": 1}


def checked_study(*, pairs=40, checks=5, **rules):
    """A study whose last items of the dataset are its hidden checks."""
    dataset = dataset_make(pairs=pairs + checks)
    study = study_make(dataset=dataset, **({"check_rate": 0.2, "overlap": 2} | rules))
    hidden = Item.objects.filter(dataset=dataset, position__gte=pairs)
    study.study_items.filter(item__in=hidden).update(role="check", overlap=0)
    return study


def answer(enrollment, lease, choice=1, **kwargs):
    return assignment_submit(assignment=lease, shown_value={"choice": choice}, **kwargs)


def do(enrollment, n, **kwargs):
    """Claim and submit so often; the roles given."""
    given = []
    for _ in range(n):
        lease = claim(enrollment, **kwargs)
        if lease is None:
            break
        answer(enrollment, lease, **kwargs)
        given.append(lease.role)
    return given


def test_checks_come_at_their_rate_each_once_and_take_no_place():
    study = checked_study(pairs=40, checks=5)
    person = enrollment_make(study=study)
    given = do(person, 25)
    assert given.count("check") == 5
    checks = StudyItem.objects.filter(study=study, role="check")
    assert set(checks.values_list("n_open", "n_accepted")) == {(0, 0)}
    assert Assignment.objects.filter(role="check").values("study_item").distinct().count() == 5
    person = fresh(person)
    assert (person.n_claimed, person.n_accepted) == (25, 20)
    assert Label.objects.current().count() == 20
    assert "check" not in do(person, 10)  # they had them all


def test_the_order_of_checks_differs_between_people():
    study = checked_study(pairs=40, checks=5)
    orders = set()
    for _ in range(6):
        do(person := enrollment_make(study=study), 25)
        mine = Assignment.objects.filter(enrollment=person, role="check").order_by("pk")
        orders.add(tuple(mine.values_list("study_item", flat=True)))
    assert len(orders) > 1


def test_a_check_is_scored_against_its_gold():
    study = checked_study(pairs=10, checks=2, check_rate=0.5)
    person = enrollment_make(study=study)
    for _ in range(4):
        lease = claim(person)
        gold = lease.study_item.item.gold["choice"] - 1
        answer(person, lease, choice=lease.shown_order.index(gold) + 1)
    labels = Label.objects.filter(role="check")
    assert list(labels.values_list("check_score", flat=True)) == [1.0, 1.0]
    assert not labels.filter(is_surplus=True).exists()
    assert set(Label.objects.filter(role="work").values_list("check_score", flat=True)) == {None}


def test_nobody_is_kept_for_checks_alone():
    study = checked_study(pairs=2, checks=5, check_rate=0.5)
    person = enrollment_make(study=study)
    given = do(person, 10)
    assert given.count("work") == 2
    assert claim(person) is None
    assert Assignment.objects.filter(role="check").count() < 5


def test_nobody_over_the_cap_is_given_checks():
    study = checked_study(pairs=10, checks=5, check_rate=0.5, items_per_annotator=3)
    given = do(enrollment_make(study=study), 20)
    assert given.count("work") == 3
    assert given[-1] == "work"


def test_repeats_are_own_items_of_a_while_ago_once_and_shown_anew():
    study = study_make(pairs=40, overlap=1, repeat_rate=0.2)
    person = enrollment_make(study=study)
    given = do(person, 50)
    assert given.count("work") == 40
    assert given.count("repeat") >= 6
    assert "repeat" not in given[: claims.REPEAT_AFTER]
    repeats = Assignment.objects.filter(role="repeat")
    assert repeats.values("study_item").distinct().count() == repeats.count()
    for repeat in repeats:
        first = Assignment.objects.get(study_item=repeat.study_item_id, enrollment=person, role="work")
        between = Assignment.objects.filter(pk__gt=first.pk, pk__lt=repeat.pk, role="work").count()
        assert between >= claims.REPEAT_AFTER
    assert fresh(person).n_accepted == 40
    assert Label.objects.current().count() == 40
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 1)}
    for assignment in Assignment.objects.select_related("study_item"):
        salt = "repeat" if assignment.role == "repeat" else ""
        drawn = shown_order(person.annotator.public_id, assignment.study_item.item_id, salt=salt)
        assert assignment.shown_order == drawn


def test_a_hidden_lease_that_runs_out_or_is_left_out_moves_no_counter():
    study = checked_study(pairs=10, checks=5, check_rate=0.5, lease_minutes=10)
    person = enrollment_make(study=study)
    now = timezone.now()
    lease = claim(person, now=now)
    while lease.role != "check":
        answer(person, lease)
        lease = claim(person, now=now)
    before = list(study.study_items.order_by("pk").values_list("n_open", "n_accepted"))
    leases_reap(now=now + timedelta(hours=1))
    again = claim(person, now=now + timedelta(hours=1))
    assert (again.pk, again.role) == (lease.pk, "check")
    assignment_release(assignment=again, reason="unclear")
    assert list(study.study_items.order_by("pk").values_list("n_open", "n_accepted")) == before
    following = claim(person)
    assert following.pk != lease.pk
    assert answer(person, lease).outcome == "accepted"


def test_checks_do_not_wait_for_who_reloads():
    study = checked_study(pairs=10, checks=5, check_rate=0.5)
    person = enrollment_make(study=study)
    assert len({claim(person).pk for _ in range(6)}) == 1
    assert fresh(person).n_claimed == 1


@pytest.mark.parametrize("stage", [Stage.LEFT, Stage.TRAINING, Stage.ELIGIBILITY, Stage.DECLINED])
def test_who_is_not_at_work_is_given_nothing(stage):
    with pytest.raises(StageError):
        claim(enrollment_make(study=study_make(), stage=stage))


def test_who_is_suspended_is_given_nothing_and_is_told_why():
    person = enrollment_make(
        study=study_make(), suspended_at=timezone.now(), suspended_because="2 of 5 checks"
    )
    with pytest.raises(SuspendedError) as caught:
        claim(person)
    assert caught.value.reason == "2 of 5 checks"


@pytest.mark.parametrize("rates", [{}, {"check_rate": 1.0}])
def test_who_is_suspended_between_the_look_and_the_claim_is_given_nothing(rates):
    person = fresh(enrollment_make(study=checked_study(pairs=4, **rates)))
    Enrollment.objects.update(suspended_at=timezone.now())
    with pytest.raises(SuspendedError):
        assignment_claim(enrollment=person)
    assert not Assignment.objects.exists()
    assert not StudyItem.objects.exclude(n_open=0).exists()


def test_an_answer_of_somebody_suspended_meanwhile_is_kept_and_not_counted():
    study = study_make(pairs=1, overlap=1)
    person = enrollment_make(study=study)
    lease = claim(person)
    Enrollment.objects.update(suspended_at=timezone.now())
    submission = answer(person, lease)
    assert (submission.outcome, submission.label.is_surplus) == ("suspended", True)
    assert study.study_items.values_list("n_open", "n_accepted").get() == (0, 0)
    assert fresh(person).n_accepted == 0


def test_an_answer_of_somebody_suspended_at_that_very_moment_is_not_counted():
    """Between the look at the person and the count: the count reads the row as it is, and nothing is half done."""
    study = study_make(pairs=1, overlap=1)
    person = enrollment_make(study=study)
    lease = claim(person)

    def suspend():
        # Rolled back with the answer, so that each look finds the person at work.
        Enrollment.objects.update(suspended_at=timezone.now())

    with (
        before('INSERT INTO "annotation_label"', suspend, times=None) as answers,
        pytest.raises(claims.Overtaken),
    ):
        answer(person, lease)
    assert len(answers) > 1
    assert not Label.objects.exists()
    assert study.study_items.values_list("n_open", "n_accepted").get() == (1, 0)


def test_an_answer_of_somebody_sent_back_meanwhile_is_kept_and_not_counted():
    study = study_make(pairs=1, overlap=1)
    person = enrollment_make(study=study)
    lease = claim(person)
    Enrollment.objects.update(stage=Stage.LEFT)
    assert answer(person, lease).outcome == "left"
    assert study.study_items.values_list("n_open", "n_accepted").get() == (0, 0)


def test_nothing_is_given_out_or_counted_after_the_deadline():
    study = study_make(pairs=2, overlap=1)
    person = enrollment_make(study=study)
    now = timezone.now()
    lease = claim(person, now=now)
    Study.objects.update(closes_at=now + timedelta(minutes=1))
    later = now + timedelta(minutes=2)
    with pytest.raises(StudyNotOpenError) as caught:
        claim(person, now=later)
    assert caught.value.state == StudyState.CLOSED
    assert answer(person, lease, now=later).outcome == "closed"
    with pytest.raises(StudyNotOpenError):
        label_change(assignment=lease, shown_value={"choice": 2}, now=later)
    assert studies_close_due(now=now) == 0
    assert studies_close_due(now=later) == 1
    assert studies_close_due(now=later) == 0
    study.refresh_from_db()
    assert study.state == StudyState.CLOSED


def test_what_a_person_has_open_goes_back_at_once_and_is_theirs_again_when_they_return():
    study = study_make(pairs=1, overlap=1)
    person, other = enrollment_make(study=study), enrollment_make(study=study)
    lease = claim(person)
    assert leases_release(enrollment=person) == 1
    assert leases_release(enrollment=person) == 0
    lease.refresh_from_db()
    assert lease.state == AssignmentState.EXPIRED
    assert study.study_items.get().n_open == 0
    assert claim(person).pk == lease.pk
    leases_release(enrollment=person)
    assert claim(other).study_item_id == lease.study_item_id
    assert claim(person) is None


def test_items_have_their_own_overlap():
    study = study_make(pairs=3, overlap=1)
    StudyItem.objects.filter(position=1).update(overlap=3)
    people = [enrollment_make(study=study) for _ in range(4)]
    for person in people:
        do(person, 5)
    accepted = study.study_items.order_by("position").values_list("n_accepted", flat=True)
    assert list(accepted) == [1, 3, 1]


def test_withdrawn_items_are_never_given_even_with_a_place():
    study = study_make(pairs=2, overlap=2)
    StudyItem.objects.filter(position=0).update(withdrawn_at=timezone.now())
    person = enrollment_make(study=study)
    assert [claim(person).study_item.position] == [1]
    lease = claim(person)
    leases_release(enrollment=person)
    StudyItem.objects.update(withdrawn_at=timezone.now())
    assert claim(person) is None
    assert answer(person, lease).outcome == "accepted"  # who has begun it may still answer


def test_the_search_goes_on_behind_the_last_item_and_comes_back_to_the_front():
    study = study_make(pairs=4, overlap=1)
    first, second = enrollment_make(study=study), enrollment_make(study=study)
    left = claim(first)
    assert claim(second).study_item.position == 1
    assert fresh(second).cursor == 1
    leases_release(enrollment=first)
    assert do(second, 3) == ["work"] * 3
    assert fresh(second).cursor == 3
    assert claim(second).study_item_id == left.study_item_id
    assert fresh(second).cursor == 0


def test_comments_pastes_and_the_role_are_on_the_label():
    person = enrollment_make(study=study_make())
    lease = claim(person)
    label = answer(person, lease, comment="Unsure.", pasted_chars=4).label
    label.refresh_from_db()
    assert (label.comment, label.pasted_chars, label.role) == ("Unsure.", 4, "work")
    assert label_change(assignment=lease, shown_value=A_IS_BETTER, comment="Unsure.") == label
    changed = label_change(assignment=lease, shown_value=A_IS_BETTER, comment="Sure.")
    assert (changed.comment, changed.supersedes) == ("Sure.", label)


def test_answers_cannot_be_changed_where_the_study_says_so_nor_by_who_is_suspended():
    person = enrollment_make(study=study_make())
    lease = claim(person)
    answer(person, lease)
    Study.objects.update(allow_changes=False)
    with pytest.raises(StageError):
        label_change(assignment=lease, shown_value={"choice": 2})
    Study.objects.update(allow_changes=True)
    Enrollment.objects.update(suspended_at=timezone.now())
    with pytest.raises(SuspendedError):
        label_change(assignment=lease, shown_value={"choice": 2})


def test_a_change_of_what_was_set_aside_is_set_aside():
    person = enrollment_make(study=study_make())
    lease = claim(person)
    answer(person, lease)
    Label.objects.update(is_set_aside=True)
    assert label_change(assignment=lease, shown_value={"choice": 2}).is_set_aside
