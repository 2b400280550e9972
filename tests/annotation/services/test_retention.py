"""Retention: after its days, people of a closed study are erased by a worker, a few at a time, and by a command."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Enrollment, Erasure, Label, Study
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.retention import retention_apply, retention_due, retention_of
from annotation.services.studies import study_close
from judges.tasks import HOUSEKEEPING
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.recount import counters_check
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db
PEOPLE = 5


def closed_study(**rules) -> Study:
    study = study_make(pairs=2, overlap=PEOPLE, **({"retention_days": 30} | rules))
    for _ in range(PEOPLE):
        person = enrollment_make(study=study)
        lease = assignment_claim(enrollment=fresh(person))
        assignment_submit(assignment=lease, shown_value={"choice": 1})
    return study_close(study=study)


def after(days: float):
    return timezone.now() + timedelta(days=days)


def test_nobody_is_erased_before_their_time():
    study = closed_study()
    assert study.closed_at is not None
    assert retention_apply(now=after(29.9)) == 0
    assert retention_of(study).n_people == PEOPLE
    assert retention_of(study).due_at == study.closed_at + timedelta(days=30)


def test_people_are_erased_a_few_at_a_time():
    study = closed_study()
    later = after(31)
    assert retention_apply(now=later, limit=2) == 2
    assert Enrollment.objects.filter(anonymized_on=None).count() == PEOPLE - 2
    calls = iter([False, True])
    assert retention_apply(now=later, stop=lambda: next(calls)) == 1
    assert retention_apply(now=later) == 2
    assert retention_apply(now=later) == 0
    assert not list(retention_due(now=later))
    assert Label.objects.filter(study=study, annotator__source="anonymous").count() == PEOPLE
    assert set(Erasure.objects.values_list("why", flat=True)) == {"retention"}
    counters_check(study)


def test_one_failure_holds_up_nobody_else(monkeypatch):
    import annotation.services.retention as retention

    study = closed_study()
    first = study.enrollments.order_by("pk").first()
    erase = retention.enrollment_erase

    def fails(*, enrollment, **given):
        if enrollment.pk == first.pk:
            raise RuntimeError("no")
        return erase(enrollment=enrollment, **given)

    monkeypatch.setattr(retention, "enrollment_erase", fails)
    assert retention_apply(now=after(31)) == PEOPLE - 1


def test_a_study_can_delete_its_people():
    study = closed_study(retention_action="delete")
    assert retention_apply(now=after(31)) == PEOPLE
    assert not Enrollment.objects.filter(study=study).exists()
    assert not Label.objects.filter(study=study).exists()
    counters_check(study)


@pytest.mark.parametrize("rules", [{"retention_days": None}, {"retention_days": 30}])
def test_open_studies_and_those_without_a_rule_keep_people(rules):
    study = study_make(pairs=2, **rules)
    enrollment_make(study=study)
    if rules["retention_days"] is None:
        study_close(study=study)
    assert retention_apply(now=after(1000)) == 0


def test_a_worker_does_it():
    study = closed_study(retention_days=0)
    for chore in HOUSEKEEPING:
        chore()
    assert not Enrollment.objects.filter(study=study, anonymized_on=None).exists()


def test_the_command_says_first_and_does_then():
    study = closed_study(retention_days=0)
    said = StringIO()
    call_command("apply_retention", "--dry-run", "--study", study.slug, stdout=said)
    assert f"{study.slug}: 5 people to be anonymized" in said.getvalue()
    assert Enrollment.objects.filter(anonymized_on=None).count() == PEOPLE
    call_command("apply_retention", stdout=said)
    assert "5 people erased." in said.getvalue()
    with pytest.raises(CommandError):
        call_command("apply_retention", "--study", "no-such-study")


def test_more_failures_than_are_tried_at_once_hold_up_nobody_else(monkeypatch):
    import annotation.services.retention as retention

    study = closed_study()
    first, *_, last = Enrollment.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    erase = retention.enrollment_erase

    def fails(*, enrollment, **given):
        if enrollment.pk != last:
            raise RuntimeError("broken")
        return erase(enrollment=enrollment, **given)

    monkeypatch.setattr(retention, "enrollment_erase", fails)
    assert retention_apply(now=after(31), limit=1) == 1
    assert Enrollment.objects.filter(pk=first).exists()
    assert not Enrollment.objects.filter(pk=last).exists()
