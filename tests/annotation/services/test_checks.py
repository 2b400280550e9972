"""What follows from hidden checks: a warning, then a suspension, and what is set aside with it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Action,
    Assignment,
    AssignmentState,
    Enrollment,
    Intervention,
    ItemRole,
    Kind,
    Label,
    Study,
    StudyItem,
    WorkRole,
)
from annotation.selectors.annotators import annotators_of
from annotation.selectors.work import texts_unread
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.checks import checks_follow
from annotation.services.labels import label_change
from annotation.services.quality import enrollment_restore, enrollment_warn
from tests.annotation.factories import dataset_make, enrollment_make, study_make, user_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.services.test_concurrency import label_everything
from tests.annotation.services.test_quality import counters_are_right
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

RULES: dict[str, Any] = {
    "check_window": 4,
    "check_minimum": 2,
    "check_warn_below": 0.8,
    "check_suspend_below": 0.4,
}


def study_with_checks(*, checks: int = 20, pairs: int = 4, **rules: Any) -> Study:
    study = study_make(dataset=dataset_make(pairs=pairs), **(RULES | rules))
    gold = dataset_make(pairs=checks)
    StudyItem.objects.bulk_create(
        StudyItem(study=study, item=item, position=1000 + k, overlap=0, role=ItemRole.CHECK)
        for k, item in enumerate(gold.items.all())
    )
    return study


def check_answer(enrollment: Enrollment, *, right: bool) -> None:
    """The person is given a check that they have not had, and answers it."""
    had = Assignment.objects.filter(enrollment=enrollment).values("study_item")
    place = StudyItem.objects.filter(study=enrollment.study, role=ItemRole.CHECK).exclude(pk__in=had).first()
    now = timezone.now()
    lease = Assignment.objects.create(
        study_item=place,
        enrollment=fresh(enrollment),
        role=WorkRole.CHECK,
        shown_order=[0, 1],
        leased_at=now,
        expires_at=now + timedelta(minutes=30),
    )
    gold = place.item.gold["choice"]
    assignment_submit(assignment=lease, shown_value={"choice": gold if right else 3 - gold})


def work_answer(enrollment: Enrollment) -> Label:
    lease = assignment_claim(enrollment=fresh(enrollment))
    return assignment_submit(assignment=lease, shown_value={"choice": 1}).label


def actions(enrollment: Enrollment) -> list[str]:
    return list(enrollment.interventions.values_list("action", flat=True))


def test_nothing_follows_from_right_answers():
    person = enrollment_make(study=study_with_checks())
    for _ in range(6):
        check_answer(person, right=True)
    assert actions(person) == []
    assert fresh(person).warned_at is None


def test_nothing_follows_from_too_few_checks():
    person = enrollment_make(study=study_with_checks(check_minimum=3))
    check_answer(person, right=False)
    check_answer(person, right=False)
    assert actions(person) == []
    check_answer(person, right=False)
    assert actions(person) == [Action.SUSPEND]


def test_a_minimum_above_the_window_is_the_window():
    person = enrollment_make(study=study_with_checks(check_minimum=9, check_window=2))
    check_answer(person, right=False)
    assert actions(person) == []
    check_answer(person, right=False)
    assert actions(person) == [Action.SUSPEND]


def test_a_study_without_lines_never_looks():
    person = enrollment_make(study=study_with_checks(check_warn_below=None, check_suspend_below=None))
    for _ in range(5):
        check_answer(person, right=False)
    assert actions(person) == []


def test_one_warning_not_one_a_check():
    person = enrollment_make(study=study_with_checks())
    for right in (True, False, True):
        check_answer(person, right=right)
    (warning,) = person.interventions.all()
    assert warning.action == Action.WARN
    assert warning.by is None
    assert "50% right in the latest 2" in warning.reason
    assert "guidelines" in warning.text
    assert fresh(person).warned_at is not None
    assert fresh(person).suspended_at is None


def test_a_warning_does_not_tell_which_item_was_the_check():
    """It is shown one to three answers later, to some people sooner than to others; then it stays until it is read."""
    study = study_with_checks(pairs=9)
    study.study_items.filter(role=ItemRole.WORK).update(overlap=20)
    waits = []
    for _ in range(12):
        person = enrollment_make(study=study)
        for right in (True, False):
            check_answer(person, right=right)
        assert actions(person) == [Action.WARN]
        shown = []
        for _ in range(4):
            shown.append(len(texts_unread(person)))
            work_answer(person)
        assert shown == sorted(shown)
        waits.append(shown.index(1))
    assert min(waits) >= 1
    assert len(set(waits)) > 1


def test_what_a_researcher_writes_is_shown_at_once():
    person = enrollment_make(study=study_with_checks())
    enrollment_warn(enrollment=person, reason="x", text="Read again.", by=user_make())
    assert [text.text for text in texts_unread(person)] == ["Read again."]


def test_warned_again_after_recovering():
    person = enrollment_make(study=study_with_checks())
    for right in (True, False, True, True, True, True):  # the window is all right at the end
        check_answer(person, right=right)
    assert actions(person) == [Action.WARN]
    assert fresh(person).warned_at is None
    check_answer(person, right=False)
    assert actions(person) == [Action.WARN, Action.WARN]


def test_warned_again_after_a_whole_new_window():
    person = enrollment_make(study=study_with_checks())
    for right in (True, False, True, False, True):  # half right throughout
        check_answer(person, right=right)
    assert actions(person) == [Action.WARN]
    check_answer(person, right=False)
    assert actions(person) == [Action.WARN, Action.WARN]


def test_suspended_by_the_rule_with_a_polite_text():
    study = study_with_checks()
    person = enrollment_make(study=study)
    work_answer(person)
    for _ in range(2):
        check_answer(person, right=False)
    held = fresh(person)
    assert held.suspended_at is not None
    assert held.suspended_because == "0% right in the latest 2 hidden checks"
    (row,) = person.interventions.all()
    assert (row.action, row.by, row.n_labels) == (Action.SUSPEND, None, 0)
    assert "mistake" in row.text
    assert held.n_accepted == 1
    assert Label.objects.current().count() == 1


def test_only_the_latest_checks_are_looked_at():
    person = enrollment_make(study=study_with_checks(check_warn_below=None))
    for right in (True, True, True, True, False, False, True, True, False):
        check_answer(person, right=right)
    assert actions(person) == []


def test_labels_since_the_first_failed_check_are_set_aside():
    study = study_with_checks(set_aside_on_suspend=True, check_window=3, check_minimum=3)
    person = enrollment_make(study=study)
    early = work_answer(person)
    check_answer(person, right=True)
    between = work_answer(person)
    check_answer(person, right=False)
    late = work_answer(person)
    check_answer(person, right=False)
    for label in (early, between, late):
        label.refresh_from_db()
    assert [label.is_set_aside for label in (early, between, late)] == [False, False, True]
    assert not Label.objects.filter(role=WorkRole.CHECK, is_set_aside=True).exists()
    assert fresh(person).n_accepted == 2
    assert late.assignment.study_item.n_accepted == 0
    assert person.interventions.get(action=Action.SUSPEND).n_labels == 1
    check = Assignment.objects.filter(role=WorkRole.CHECK).last()
    assert check.state == AssignmentState.SUBMITTED
    assert StudyItem.objects.filter(role=ItemRole.CHECK).exclude(n_open=0, n_accepted=0).count() == 0


def test_a_restored_person_begins_a_new_window():
    person = enrollment_make(study=study_with_checks())
    for _ in range(2):
        check_answer(person, right=False)
    enrollment_restore(enrollment=person, by=None)
    check_answer(person, right=False)
    assert fresh(person).suspended_at is None
    check_answer(person, right=False)
    assert fresh(person).suspended_at is not None
    assert actions(person) == [Action.SUSPEND, Action.RESTORE, Action.SUSPEND]


def test_checks_of_others_are_theirs():
    study = study_with_checks()
    other, person = enrollment_make(study=study), enrollment_make(study=study)
    check_answer(other, right=False)
    check_answer(person, right=False)
    assert not Intervention.objects.exists()


def test_looking_costs_one_query():
    study = study_with_checks(check_rate=0.1)
    person = enrollment_make(study=study)
    for _ in range(3):
        check_answer(person, right=True)
    for answered in (True, False):
        found = fresh(person)
        with CaptureQueriesContext(connection) as context:
            checks_follow(enrollment=found, now=timezone.now(), answered=answered)
        assert len(context) == 1


def test_an_answer_to_work_brings_no_warning_for_older_checks():
    study = study_with_checks(check_minimum=1, check_suspend_below=None, check_warn_below=0.8)
    person = enrollment_make(study=study)
    check_answer(person, right=False)
    Intervention.objects.all().delete()
    Enrollment.objects.update(warned_at=None)
    work_answer(person)
    assert not Intervention.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_many_suspended_by_their_checks_at_once_while_others_label():
    study = study_with_checks(pairs=12, overlap=6, set_aside_on_suspend=True, check_minimum=3, check_window=3)
    careless = [enrollment_make(study=study) for _ in range(4)]
    careful = [enrollment_make(study=study) for _ in range(4)]
    for person in careless:
        check_answer(person, right=False)
        for _ in range(6):
            work_answer(person)
        check_answer(person, right=False)

    def act(who: tuple[str, Enrollment]) -> None:
        doing, person = who
        if doing == "check":
            check_answer(person, right=False)
        else:
            label_everything(person.pk)

    all_at_once(act, [*(("check", p) for p in careless), *(("label", p) for p in careful)])
    assert {fresh(person).suspended_at is not None for person in careless} == {True}
    assert {fresh(person).n_accepted for person in careless} == {0}
    for person in careful:  # what reopened after they had looked
        label_everything(person.pk)
    assert {fresh(person).n_accepted for person in careful} == {12}
    counters_are_right(study)


def test_a_check_whose_answer_was_changed_is_one_check():
    person = enrollment_make(study=study_with_checks())
    check_answer(person, right=False)
    lease = Assignment.objects.select_related("enrollment__study").get(enrollment=person)
    for choice in (0, lease.study_item.item.gold["choice"]):
        label_change(assignment=lease, shown_value={"choice": choice})
    assert list(Label.objects.order_by("pk").values_list("check_score", flat=True)) == [0.0, 0.0, 1.0]
    check_answer(person, right=True)
    assert actions(person) == [], "two checks, both right as they stand"
    row = next(row for row in annotators_of(person.study).rows if row.enrollment == person)
    assert (row.figures.checks.n, row.figures.checks.value) == (2, 1.0)


class TestTolerance:
    """A hidden check of ratings is held to the rule of the study's test."""

    def answered(self, ratings: dict[str, int], **rules: Any) -> Label:
        study = kind_study_make(Kind.RUBRIC, items=2, **rules)
        place = study.study_items.order_by("position").last()
        place.item.gold = {"ratings": {"helpful": 4, "clear": 2}}
        place.item.save()
        StudyItem.objects.filter(pk=place.pk).update(role=ItemRole.CHECK, overlap=0)
        person = enrollment_make(study=study)
        now = timezone.now()
        lease = Assignment.objects.create(
            study_item=place, enrollment=person, role=WorkRole.CHECK, shown_order=[0],
            leased_at=now, expires_at=now + timedelta(minutes=30),
        )  # fmt: skip
        return assignment_submit(assignment=lease, shown_value={"ratings": ratings}).label

    def test_exactly_by_default(self):
        assert self.answered({"helpful": 4, "clear": 3}).check_score == 0.5

    def test_within_the_distance_of_a_tolerant_rule(self):
        rules = {"qualification_rule": "tolerant", "qualification_tolerance": 1}
        assert self.answered({"helpful": 5, "clear": 3}, **rules).check_score == 1.0
        assert self.answered({"helpful": 2, "clear": 3}, **rules).check_score == 0.5

    def test_by_the_rule_of_the_test_that_is_shared(self):
        test = study_make(pairs=1, qualification_rule="tolerant", qualification_tolerance=1)
        assert self.answered({"helpful": 5, "clear": 3}, qualification_from=test).check_score == 1.0

    def test_a_criterion_that_is_not_asked_is_not_wrong(self):
        assert self.answered({"helpful": 4}, criteria=["helpful"]).check_score == 1.0
