"""The pay report, its file, and bonuses."""

import csv
import io
import uuid
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Bonus, Enrollment, Item, Label, QualificationAttempt, Stage
from annotation.selectors.pay import earned_by, pay_report, still_at_work
from annotation.services.pay import bonus_grant
from tests.annotation.cast import Cast, client_of, label_make, text_of, url
from tests.annotation.factories import annotator_make, dataset_make, enrollment_make, study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(db):
    return Cast.make()


def study_of(cast, **rules):
    """A study as it is read from the database, with decimals where text was written."""
    study = study_make(owner=cast.alice, **rules)
    study.refresh_from_db()
    return study


@pytest.fixture
def study(cast):
    return study_of(cast, pairs=8, overlap=4, pay_per_item="0.10", pay_currency="EUR")


def person_of(study, *, answers, seconds=20, **fields):
    annotator = annotator_make()
    for item in Item.objects.filter(dataset=study.dataset).order_by("position")[:answers]:
        label_make(study=study, item=item, choice=1, annotator=annotator, active_ms=seconds * 1000, **fields)
    return Enrollment.objects.select_related("study", "annotator").get(study=study, annotator=annotator)


@pytest.mark.both_databases
class TestEarned:
    def test_per_item(self, study):
        found = earned_by(person_of(study, answers=6))
        assert (found.answers, found.work, found.total) == (6, Decimal("0.6"), Decimal("0.6"))
        # 6 answers of 20 s at 0.10: 180 an hour.
        assert found.hourly == Decimal("18.00")

    def test_per_hour(self, cast):
        study = study_of(cast, pairs=4, pay_basis="time", pay_per_hour="12")
        assert earned_by(person_of(study, answers=3, seconds=60)).work == Decimal("0.60")

    def test_an_item_is_paid_for_no_longer_than_it_is_kept(self, cast):
        study = study_of(cast, pairs=2, pay_basis="time", pay_per_hour="60", lease_minutes=2)
        assert earned_by(person_of(study, answers=1, seconds=3_600)).work == Decimal("2.00")

    @pytest.mark.parametrize("change", [{"is_surplus": True}, {"is_set_aside": True}])
    def test_what_does_not_count_is_paid(self, study, change):
        enrollment = person_of(study, answers=3)
        Label.objects.update(**change)
        assert earned_by(enrollment).answers == 3

    @pytest.mark.parametrize("role", ["check", "repeat"])
    def test_checks_and_repeats_are_paid(self, study, role):
        assert earned_by(person_of(study, answers=2, role=role)).answers == 2

    def test_a_changed_answer_is_one(self, study):
        enrollment = person_of(study, answers=1)
        label = Label.objects.get()
        Label.objects.create(
            item=label.item, annotator=label.annotator, study=study, assignment=label.assignment,
            supersedes=label, kind="pairwise", value={"choice": 2}, choice=2, active_ms=25_000,
        )  # fmt: skip
        found = earned_by(enrollment)
        assert (found.answers, found.active_ms, found.n_timed) == (1, 45_000, 1), "both sittings"

    def test_a_change_takes_nothing_away(self, cast):
        """Each version has the time of its own sitting; together no more than the item is kept for a person."""
        study = study_of(cast, pairs=3, pay_basis="time", pay_per_hour="60", lease_minutes=2)
        enrollment = person_of(study, answers=3, seconds=60)
        first, second, third = Label.objects.order_by("pk")
        for label, seconds in ((first, 1), (second, 3_600), (third, None)):
            Label.objects.create(
                item=label.item, annotator=label.annotator, study=study, assignment=label.assignment,
                supersedes=label, kind="pairwise", value={"choice": 2}, choice=2,
                active_ms=None if seconds is None else seconds * 1000,
            )  # fmt: skip
        found = earned_by(enrollment)
        assert (found.answers, found.n_timed, found.active_ms) == (3, 3, 61_000 + 120_000 + 60_000)
        assert found.work == Decimal("4.02")

    def test_the_test_is_paid_whether_passed_or_not(self, cast):
        study = study_of(cast, pairs=2, pay_for_test="1.50")
        failed = enrollment_make(study=study, stage=Stage.SCREENED_OUT)
        waiting = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        now = timezone.now()
        QualificationAttempt.objects.create(
            enrollment=failed, test=study, number=1, started_at=now, finished_at=now, passed=False
        )
        QualificationAttempt.objects.create(enrollment=waiting, test=study, number=1, started_at=now)
        assert earned_by(failed).total == Decimal("1.50")
        assert earned_by(waiting).total == 0
        assert [row.enrollment for row in pay_report(study).rows] == [failed]

    def test_nothing(self, study):
        found = earned_by(enrollment_make(study=study))
        assert (found.total, found.hourly) == (0, None)


@pytest.mark.both_databases
class TestReport:
    def test_rows_and_totals(self, cast, study):
        most, least = person_of(study, answers=6), person_of(study, answers=5, seconds=60)
        enrollment_make(study=study)  # has earned nothing
        bonus_grant(enrollment=least, amount=Decimal("2"), reason="patience", by=cast.alice, nonce="n" * 8)
        report = pay_report(study)
        assert [row.enrollment for row in report.rows] == [least, most]
        assert report.total.total == Decimal("3.10")
        assert report.total.bonus == Decimal("2")

    def test_who_is_below_the_floor(self, study):
        study.pay_floor_per_hour = Decimal("10")
        study.save()
        slow, _, few = (
            person_of(study, answers=5, seconds=60),
            person_of(study, answers=5),
            person_of(study, answers=2, seconds=60),
        )
        report = pay_report(study)
        below = {row.enrollment.pk: row.below_floor for row in report.rows}
        assert below[slow.pk] is True, "6 an hour"
        assert below[few.pk] is None, "two answers say too little"
        assert report.below_floor == 1
        assert report.median_hourly == Decimal("12.00"), "of 6 and 18"

    def test_who_may_still_earn(self, study):
        for stage in Stage.values:
            enrollment_make(study=study, stage=stage)
        enrollment_make(study=study, suspended_at=timezone.now())
        assert still_at_work(study) == len(Stage.values) - 4

    def test_a_bonus_for_who_is_suspended_or_gone(self, cast, study):
        for stage in (Stage.LEFT, Stage.SCREENED_OUT, Stage.WORK):
            person = enrollment_make(study=study, stage=stage, suspended_at=timezone.now())
            bonus_grant(enrollment=person, amount=Decimal("1"), reason="x", by=cast.alice, nonce="n" * 8)
        report = pay_report(study)
        assert [(row.earned.total, row.earned.hourly, row.below_floor) for row in report.rows] == [
            (Decimal("1"), None, None)
        ] * 3

    def test_amounts_as_large_as_the_columns_hold(self, cast):
        study = study_of(cast, pairs=6, pay_basis="time", pay_per_hour="999999.99", lease_minutes=2**31 - 1)
        person = person_of(study, answers=6, seconds=10**12)
        bonus_grant(enrollment=person, amount=Decimal("999999.99"), reason="x", by=cast.alice, nonce="n" * 8)
        (row,) = pay_report(study).rows
        assert row.earned.active_ms == 6 * 60_000 * (2**31 - 1)
        assert row.earned.hourly == Decimal("999999.99")
        assert client_of(cast.alice).get(url("study-pay", study.slug)).status_code == 200

    def test_queries_do_not_grow_with_the_people(self, study):
        for _ in range(4):
            person_of(study, answers=2)
        with CaptureQueriesContext(connection) as context:
            pay_report(study)
        assert len(context) == 4, "people, work, changed answers, bonuses; one more where the test is paid"


class TestPages:
    def test_the_page(self, cast, study):
        study.pay_floor_per_hour = Decimal("20")
        study.save()
        enrollment = person_of(study, answers=6)
        page = client_of(cast.alice).get(url("study-pay", study.slug))
        words = text_of(page)
        assert "0.60 EUR" in words
        assert "below the minimum rate" in words
        assert "1 of 1 earn s less" in words or "earns less" in words
        assert enrollment.short_pseudonym in words

    def test_large_amounts_are_written_out(self, cast):
        study = study_of(cast, pairs=1, pay_per_item="100")
        for page in ("study-pay", "study-detail"):
            assert "100.00 USD an item" in text_of(client_of(cast.alice).get(url(page, study.slug)))

    def test_amounts_have_the_digits_that_annotators_see(self, cast):
        study = study_of(cast, pairs=1, pay_per_item="0.1")
        for page in ("study-pay", "study-detail"):
            assert "0.10 USD an item" in text_of(client_of(cast.alice).get(url(page, study.slug)))

    def test_a_page_without_anybody(self, cast, study):
        assert "Nobody has earned" in text_of(client_of(cast.alice).get(url("study-pay", study.slug)))

    @pytest.mark.parametrize("name", ["study-pay", "study-pay-export"])
    def test_of_others_and_anonymous(self, cast, study, name):
        address = url(name, study.slug)
        assert client_of(None).get(address).status_code == 302
        assert client_of(cast.carl).get(address).status_code == 403
        assert client_of(cast.bob).get(address).status_code == 404
        assert client_of(cast.ann).get(address).status_code == 200

    def test_the_file(self, cast, study):
        person_of(study, answers=6)
        address = url("study-pay-export", study.slug)
        body = b"".join(client_of(cast.alice).get(address).streaming_content).decode()
        (row,) = csv.DictReader(io.StringIO(body, newline=""))
        assert (row["answers"], row["total"], row["hourly"], row["currency"]) == (
            "6",
            "0.60",
            "18.00",
            "EUR",
        )
        assert "annotator_external_id" not in row
        body = b"".join(client_of(cast.alice).get(address, {"identify": "1"}).streaming_content).decode()
        assert "annotator_external_id" in body

    def test_only_the_owner_identifies(self, cast):
        study = study_make(pairs=1, owner=None)
        response = client_of(cast.bob).get(url("study-pay-export", study.slug), {"identify": "1"})
        assert response.status_code == 403


class TestBonus:
    @pytest.fixture
    def address(self, study):
        enrollment = person_of(study, answers=1)
        return url("study-bonus", study.slug, enrollment.pseudonym)

    fields = {"amount": "2.50", "reason": "Careful comments", "nonce": "abcdefgh"}

    @pytest.mark.both_databases
    def test_granted(self, cast, address):
        page = client_of(cast.alice).get(address)
        assert page.status_code == 200
        assert client_of(cast.alice).post(address, self.fields).status_code == 302
        bonus = Bonus.objects.get()
        assert (bonus.amount, bonus.by) == (Decimal("2.50"), cast.alice)

    @pytest.mark.both_databases
    def test_sent_twice_granted_once(self, cast, address):
        client = client_of(cast.alice)
        client.post(address, self.fields)
        assert client.post(address, self.fields).status_code == 302
        assert Bonus.objects.count() == 1

    @pytest.mark.parametrize("wrong", [{"amount": "0"}, {"amount": "-1"}, {"reason": ""}, {"nonce": ""}])
    def test_refused(self, cast, address, wrong):
        assert client_of(cast.alice).post(address, self.fields | wrong).status_code == 422
        assert not Bonus.objects.exists()

    def test_of_others_and_anonymous(self, cast, address):
        assert client_of(None).post(address, self.fields).status_code == 302
        assert client_of(cast.carl).post(address, self.fields).status_code == 403
        assert client_of(cast.bob).post(address, self.fields).status_code == 404
        assert not Bonus.objects.exists()

    @pytest.mark.parametrize("who", [uuid.uuid4(), "nobody", "\x00"])
    def test_of_nobody(self, cast, study, who):
        address = url("study-pay", study.slug) + f"{who}/"
        assert client_of(cast.alice).post(address, self.fields).status_code == 404

    def test_of_a_person_in_another_study(self, cast, study):
        stranger = enrollment_make(study=study_make(dataset=dataset_make(pairs=1), owner=cast.alice))
        address = url("study-bonus", study.slug, stranger.pseudonym)
        assert client_of(cast.alice).post(address, self.fields).status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_bonus_at_once_is_granted_once():
    cast = Cast.make()
    enrollment = enrollment_make(study=study_make(pairs=1, owner=cast.alice))

    def grant(_):
        return bonus_grant(
            enrollment=enrollment, amount=Decimal(1), reason="once", by=cast.alice, nonce="abcdefgh"
        )[1]

    assert sum(all_at_once(grant, list(range(8)))) == 1
    assert Bonus.objects.count() == 1
