"""Items fetched ahead: leases that count as any other, in the order in which they are shown, and go back."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone

from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    ItemRole,
    Label,
    Stage,
    Study,
    StudyItem,
)
from annotation.services.ahead import leases_fetch
from annotation.services.assignments import assignment_claim, assignment_submit, draft_save
from annotation.services.enrollment import enrollment_finish
from annotation.services.leases import leases_reap, leases_release, leases_release_of
from annotation.services.quality import enrollment_suspend
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.recount import counters_check
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def fetched(person: Enrollment | int, **given) -> list[int]:
    return leases_fetch(enrollment=fresh(person), **given)


def lease_of(pk: int) -> Assignment:
    return Assignment.objects.select_related("enrollment__study", "study_item").get(pk=pk)


def answer(pk: int, **given) -> str:
    return assignment_submit(assignment=lease_of(pk), shown_value={"choice": 1}, **given).outcome


def n_open(study: Study) -> int:
    return sum(study.study_items.values_list("n_open", flat=True))


def person_of(study: Study) -> Enrollment:
    return enrollment_make(study=study)


class TestFetch:
    def test_the_item_in_hand_and_as_many_as_the_study_says(self):
        study = study_make(pairs=6, fetch_ahead=3)
        person = person_of(study)
        in_hand = assignment_claim(enrollment=fresh(person))
        order = fetched(person)
        assert len(order) == 4
        assert order[0] == in_hand.pk
        assert n_open(study) == 4
        assert fetched(person) == order
        positions = [lease_of(pk).study_item.position for pk in order]
        assert positions == sorted(positions)
        assert fresh(person).n_claimed == 4

    def test_what_is_fetched_comes_after_the_item_in_hand_whichever_tab_began_first(self):
        person = person_of(study_make(pairs=6, fetch_ahead=3))
        began = timezone.now()
        in_hand = assignment_claim(enrollment=fresh(person))
        order = fetched(person, now=began)
        assert order[0] == in_hand.pk
        assert fetched(person, now=began) == order

    def test_nothing_is_fetched_where_the_study_does_not(self):
        person = person_of(study_make(pairs=3))
        assert len(fetched(person)) == 1

    def test_each_answer_makes_room_for_one_more(self):
        study = study_make(pairs=8, fetch_ahead=2)
        person = person_of(study)
        given = []
        while order := fetched(person):
            assert len(order) <= 3
            given.append(order[0])
            assert answer(order[0]) == "accepted"
        assert len(given) == 8
        assert Label.objects.current().count() == 8
        counters_check(study)

    def test_what_was_fetched_is_what_a_claim_gives(self):
        """A page without scripts, or in another tab, goes on with what is leased."""
        person = person_of(study_make(pairs=6, fetch_ahead=2))
        order = fetched(person)
        for pk in order:
            assert assignment_claim(enrollment=fresh(person)).pk == pk
            answer(pk)
        assert assignment_claim(enrollment=fresh(person)).pk not in order

    def test_no_more_than_one_person_may_label(self):
        study = study_make(pairs=9, fetch_ahead=5, items_per_annotator=3)
        person = person_of(study)
        order = fetched(person)
        assert len(order) == 3
        assert [answer(pk) for pk in order] == ["accepted"] * 3
        assert fetched(person) == []

    def test_only_what_is_free(self):
        study = study_make(pairs=2, overlap=1, fetch_ahead=5)
        one, two = person_of(study), person_of(study)
        assert len(fetched(one)) == 2
        assert fetched(two) == []

    @pytest.mark.parametrize("change", ["suspended", "paused", "left"])
    def test_who_may_not_work_fetches_nothing(self, change):
        study = study_make(pairs=4, fetch_ahead=2)
        person = person_of(study)
        if change == "suspended":
            enrollment_suspend(enrollment=person, by=None, reason="checks")
        elif change == "left":
            Enrollment.objects.update(stage=Stage.LEFT)
        else:
            Study.objects.update(state="paused")
        with pytest.raises((StageError, SuspendedError, StudyNotOpenError)):
            fetched(person)
        assert not Assignment.objects.exists()

    def test_the_table_has_no_room_for_two_in_one_place(self):
        person = person_of(study_make(pairs=4, fetch_ahead=2))
        _, second, third = fetched(person)
        place = Assignment.objects.get(pk=third).ahead
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.filter(pk=second).update(ahead=place)
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.filter(pk=second).update(ahead=7)


class TestGivenBack:
    @pytest.mark.parametrize("how", ["break", "finish", "suspend", "sign out", "expiry"])
    def test_all_of_it(self, how):
        study = study_make(pairs=6, fetch_ahead=3)
        person = person_of(study)
        order = fetched(person)
        if how == "break":
            assert leases_release(enrollment=person) == 4
        elif how == "finish":
            enrollment_finish(enrollment=person)
        elif how == "suspend":
            enrollment_suspend(enrollment=person, by=None, reason="checks")
        elif how == "sign out":
            assert leases_release_of(enrollments=[person]) == 4
        else:
            assert leases_reap(now=timezone.now() + timedelta(hours=1)) == 4
        assert n_open(study) == 0
        assert not Assignment.objects.filter(state=AssignmentState.OPEN).exists()
        counters_check(study)
        if how in ("break", "sign out", "expiry"):
            assert fetched(person) == order, "they are theirs again, in the same order"

    def test_who_works_keeps_all_of_it(self):
        study = study_make(pairs=6, fetch_ahead=3, lease_minutes=10)
        person, now = person_of(study), timezone.now()
        order = fetched(person, now=now)
        draft_save(assignment=lease_of(order[0]), fields=None, now=now + timedelta(minutes=9))
        assert leases_reap(now=now + timedelta(minutes=15)) == 0
        fetched(person, now=now + timedelta(minutes=18))
        assert leases_reap(now=now + timedelta(minutes=25)) == 0
        assert leases_reap(now=now + timedelta(minutes=29)) == 4

    def test_an_answer_to_what_has_gone_to_others_is_kept_as_surplus(self):
        study = study_make(pairs=2, overlap=1, fetch_ahead=1)
        one, two = person_of(study), person_of(study)
        first, second = fetched(one)
        leases_reap(now=timezone.now() + timedelta(hours=1))
        assert answer(fetched(two)[0]) == "accepted"
        assert answer(first) == "late"
        # Of what nobody has taken, there is still room.
        leases_release(enrollment=two)
        assert answer(second) == "accepted"
        counters_check(study)

    def test_what_was_left_counts_towards_ones_own_maximum(self):
        study = study_make(pairs=6, fetch_ahead=2, items_per_annotator=3)
        person = person_of(study)
        first, *_ = fetched(person)
        leases_release(enrollment=person)
        Assignment.objects.filter(pk=first).update(leased_at=timezone.now())  # the last to be renewed
        others = fetched(person)
        assert first in others


class TestTimes:
    def wall(self, pk: int, told: int | None, seconds: float) -> int | None:
        answer(pk, wall_ms=told, now=lease_of(pk).leased_at + timedelta(seconds=seconds))
        return Label.objects.get(assignment=pk).wall_ms

    def test_what_was_fetched_ahead_is_timed_from_when_it_was_shown(self):
        order = fetched(person_of(study_make(pairs=8, fetch_ahead=3)))
        assert self.wall(order[1], 4_000, 60) == 4_000
        assert self.wall(order[2], 90_000, 60) == 60_000, "no longer than since it was given"
        assert self.wall(order[3], None, 60) is None, "nobody knows"

    def test_the_item_in_hand_is_timed_by_the_server(self):
        order = fetched(person_of(study_make(pairs=8, fetch_ahead=3)))
        assert self.wall(order[0], None, 60) == 60_000


def test_checks_come_at_the_same_turns_whether_fetched_ahead_or_not():
    """The turns follow from person and count, so the roles of one person's turns are the same one by one."""
    study = study_make(pairs=40, overlap=2, check_rate=0.3, fetch_ahead=0)
    for k, item in enumerate(dataset_make(pairs=20).items.all()):
        StudyItem.objects.create(study=study, item=item, position=1000 + k, overlap=0, role=ItemRole.CHECK)
    person = person_of(study)

    def roles(n: int) -> list[str]:
        Label.objects.all()._raw_delete("default")
        Assignment.objects.all().delete()
        StudyItem.objects.update(n_open=0, n_accepted=0)
        Enrollment.objects.update(n_claimed=0, cursor=None, n_accepted=0)
        Study.objects.update(fetch_ahead=n)
        given: list[str] = []
        for _ in range(20):
            pk = fetched(person)[0]
            given.append(lease_of(pk).role)
            Assignment.objects.filter(pk=pk).update(state=AssignmentState.SUBMITTED)
            StudyItem.objects.filter(assignments=pk, role=ItemRole.WORK).update(n_open=0)
        return given

    alone = roles(0)
    assert "check" in alone
    assert roles(4) == alone


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_a_crowd_that_fetches_ahead_labels_everything_exactly_as_often_as_wanted(self):
        study = study_make(pairs=24, overlap=3, fetch_ahead=4)
        people = [person_of(study).pk for _ in range(12)]

        def work(pk: int) -> int:
            done = 0
            while order := fetched(pk):
                # Two answers that waited, and now and then a break.
                for lease in order[:2]:
                    assert answer(lease) == "accepted"
                    done += 1
                if done % 5 == 0:
                    leases_release(enrollment=fresh(pk))
            return done

        done = all_at_once(work, people)
        assert sum(done) == 24 * 3
        assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 3)}
        per_item = Counter(Label.objects.current().values_list("item_id", flat=True))
        assert set(per_item.values()) == {3}
        repeated = Label.objects.values("item", "annotator").annotate(times=Count("pk")).filter(times__gt=1)
        assert not repeated.exists()
        counters_check(study)

    def test_one_person_in_many_tabs_holds_no_more(self):
        study = study_make(pairs=30, overlap=4, fetch_ahead=3)
        pk = person_of(study).pk
        orders = all_at_once(lambda pk: fetched(pk), [pk] * 8)
        opened = Assignment.objects.filter(state=AssignmentState.OPEN)
        assert opened.count() == 4
        assert n_open(study) == 4
        assert fresh(pk).n_claimed == 4
        assert {order[0] for order in orders} == {opened.order_by("leased_at", "pk")[0].pk}

    def test_people_who_leave_at_once_with_the_same_items_do_not_stop_each_other(self):
        study = study_make(pairs=5, overlap=4, fetch_ahead=4)
        people = [person_of(study).pk for _ in range(4)]
        for _ in range(12):
            for turn, pk in enumerate(people):
                order = fetched(pk)
                # Half of them renewed their items in the opposite order.
                for seconds, lease in enumerate(order if turn % 2 else reversed(order)):
                    until = timezone.now() + timedelta(minutes=10, seconds=seconds)
                    Assignment.objects.filter(pk=lease).update(expires_at=until)
            released = all_at_once(lambda pk: leases_release(enrollment=fresh(pk)), people)
            assert released == [5] * 4
        counters_check(study)

    def test_tabs_that_fetch_answer_and_leave_keep_the_counts_right(self):
        study = study_make(pairs=12, overlap=2, fetch_ahead=3, items_per_annotator=9)
        people = [person_of(study).pk for _ in range(2)]

        def act(what: tuple[int, str]) -> None:
            pk, how = what
            for _ in range(3):
                order = fetched(pk)
                if how == "leave":
                    leases_release(enrollment=fresh(pk))
                elif order:
                    answer(order[len(order) // 2 if how == "middle" else 0])

        all_at_once(act, [(pk, how) for pk in people for how in ("first", "middle", "leave")])
        counters_check(study)
        for pk in people:
            assert fresh(pk).n_accepted <= 9
