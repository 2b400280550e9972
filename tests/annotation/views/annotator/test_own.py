"""A person's own work: what it earned in this session and study, and their answers, searched and paged."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Bonus, ItemReport, Label, Study
from annotation.selectors import own_answers
from annotation.selectors.own_work import work_done
from annotation.selectors.pay import earned_by
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.labels import label_change
from tests.annotation.cast import text_of
from tests.annotation.factories import enrollment_make, study_make, user_make
from tests.annotation.visits import client_of, url
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def study(db: None) -> Study:
    return study_make(pairs=12, overlap=2, pay_per_item="0.125")


def answered(
    person, *, ago: float, active: float | None = 30, choice: int = 1, comment: str = ""
) -> Assignment:
    """An answer that came so many minutes ago, after so many seconds of active time."""
    lease = assignment_claim(enrollment=fresh(person))
    now = timezone.now() - timedelta(minutes=ago)
    assignment_submit(
        assignment=lease,
        shown_value={"choice": choice},
        active_ms=None if active is None else round(1000 * active),
        comment=comment,
        now=now,
    )
    return lease


def done(person):
    return work_done(fresh(person), timezone.now())


class TestWorkDone:
    def test_a_session_begins_after_a_long_pause(self, person):
        for ago in (230, 200.3, 100, 70.6, 41, 11.5):
            answered(person, ago=ago)
        found = done(person)
        assert found.session_answers == 4, "a hundred minutes before it, and less than half an hour within it"
        assert found.study.answers == 6
        assert (found.session_minutes, found.study_minutes) == (2.0, 3.0)

    def test_reading_one_item_for_long_is_no_pause(self, person):
        answered(person, ago=70)
        answered(person, ago=20, active=25 * 60)
        assert done(person).session_answers == 2

    def test_before_the_first_answer_and_after_a_pause_there_is_nothing(self, person):
        assert done(person).session_began is None
        answered(person, ago=31)
        found = done(person)
        assert (found.session_began, found.session_answers, found.study.answers) == (None, 0, 1)
        assert found.session_earned == 0

    @pytest.mark.parametrize("basis", ["item", "time"])
    def test_what_a_session_earned_adds_up_to_what_the_study_pays(self, person, study, basis):
        Study.objects.update(pay_basis=basis, pay_per_hour="12.34")
        for ago in (100, 99, 98):
            answered(person, ago=ago, active=17)
        earlier = earned_by(fresh(person)).work
        for ago in (3, 2):
            answered(person, ago=ago, active=23)
        found = done(person)
        assert found.session_earned > 0
        assert found.session_earned + earlier == found.study.work == earned_by(fresh(person)).work

    def test_a_changed_answer_is_one_answer_of_when_it_came(self, person):
        first = answered(person, ago=100)
        answered(person, ago=1)
        label_change(assignment=first, shown_value={"choice": 2}, active_ms=4_000)
        found = done(person)
        assert (found.session_answers, found.study.answers) == (1, 2)
        assert found.study.active_ms == 64_000

    def test_what_is_left_at_ones_own_pace(self, person):
        for ago in (5, 4, 3, 2, 1):
            assert done(person).left_minutes is None
            answered(person, ago=ago, active=60)
        found = done(person)
        assert (found.left, found.left_minutes) == (7, 7.0)

    def test_it_costs_as_much_however_many_answers_there_are(self, person, django_assert_max_num_queries):
        for ago in range(9, 0, -1):
            answered(person, ago=ago)
        person = fresh(person)
        with django_assert_max_num_queries(9):
            work_done(person, timezone.now())


class TestOwnWork:
    def test_the_page_and_the_part_of_the_dialog_say_the_same(self, browser, person, study):
        answered(person, ago=100)
        answered(person, ago=1)
        Bonus.objects.create(enrollment=person, amount="1.5", by=user_make())
        page, part = browser.get(url("own-work", study)), browser.get(url("own-work", study), headers=HTMX)
        for response in (page, part):
            words = text_of(response)
            assert "Answers 1 2" in words
            assert "Earned 0.12 USD 1.75 USD" in words or "Earned 0.13 USD 1.75 USD" in words
            assert "1.50 USD of the total is a bonus" in words
            assert "10 items are left for you" in words
        assert b"<html" not in part.content

    def test_money_is_shown_only_where_a_study_pays(self, browser, person, study):
        Study.objects.update(pay_per_item=0)
        answered(person, ago=1)
        assert "Earned" not in text_of(browser.get(url("own-work", study)))
        assert "USD" not in text_of(browser.get(url("own-work", study)))

    def test_only_ones_own(self, study):
        assert Client().get(url("own-work", study)).status_code == 404
        assert client_of(enrollment_make(study=study)).post(url("own-work", study)).status_code == 405

    def test_the_work_page_costs_no_more(self, browser, person, study, django_assert_num_queries):
        lease = assignment_claim(enrollment=fresh(person))
        browser.get(url("assignment", study, lease.pk))
        with django_assert_num_queries(5):
            page = browser.get(url("assignment", study, lease.pk))
        assert url("own-work", study) in page.content.decode()


class TestAnswers:
    def found(self, browser, study, **wanted) -> list[int]:
        page = browser.get(url("answers", study), wanted)
        assert page.status_code == 200
        return [given.pk for given, _ in page.context["given"]]

    def test_words_of_the_item_the_answers_and_the_comment(self, browser, person, study):
        Study.objects.update(ask_comment=True)
        leases = [answered(person, ago=9 - k, comment="Très bien, 100%" if k == 2 else "") for k in range(4)]
        place = leases[1].study_item
        number = place.item.position
        assert self.found(browser, study, q=f"sentence number {number}.") == [leases[1].pk]
        assert self.found(browser, study, q=f"response 0 to PAIR {number}.") == [leases[1].pk]
        assert self.found(browser, study, q="100%") == [leases[2].pk]
        assert self.found(browser, study, q="nothing of the kind") == []
        assert "No answer found" in text_of(browser.get(url("answers", study), {"q": "nothing of the kind"}))

    def test_the_answer_as_it_was_shown(self, browser, person, study):
        leases = [answered(person, ago=9 - choice, choice=choice) for choice in (0, 1, 2)]
        for words, lease in (("tie", leases[0]), ("A is better", leases[1]), ("b IS better", leases[2])):
            assert self.found(browser, study, q=words) == [lease.pk]

    def test_what_was_changed_or_has_a_comment(self, browser, person, study):
        first, second = answered(person, ago=9), answered(person, ago=8, comment="Why not")
        label_change(assignment=first, shown_value={"choice": 2})
        assert self.found(browser, study, only="changed") == [first.pk]
        assert self.found(browser, study, only="commented") == [second.pk]
        assert self.found(browser, study, only="nonsense") == [second.pk, first.pk]
        Study.objects.update(allow_changes=False)
        assert b'value="changed"' not in browser.get(url("answers", study)).content

    def test_reported_problems(self, browser, person, study):
        lease = assignment_claim(enrollment=fresh(person))
        browser.post(url("report", study, lease.pk), {"reason": "missing", "note": "No answer B"})
        words = text_of(browser.get(url("answers", study), {"only": "reported"}))
        assert "Something that is needed is missing No answer B" in words
        assert "No reported problems" in text_of(
            browser.get(url("answers", study), {"only": "reported", "q": "zzz"})
        )
        other = client_of(enrollment_make(study=study))
        assert "No answer B" not in text_of(other.get(url("answers", study), {"only": "reported"}))
        assert ItemReport.objects.count() == 1

    def test_pages_follow_an_answer_and_none_is_left_out(self, browser, person, study, monkeypatch):
        monkeypatch.setattr(own_answers, "A_PAGE", 3)
        leases = [answered(person, ago=20 - k) for k in range(8)]
        Assignment.objects.filter(pk__in=[one.pk for one in leases[2:6]]).update(submitted_at=timezone.now())
        everything = list(
            Assignment.objects.filter(state="submitted")
            .order_by("-submitted_at", "-pk")
            .values_list("pk", flat=True)
        )
        address, seen = url("answers", study), []
        while address:
            page = browser.get(address)
            seen += [given.pk for given, _ in page.context["given"]]
            older = page.context["older_url"]
            last, address = page, url("answers", study) + older if older else ""
        assert seen == everything
        back = browser.get(url("answers", study) + last.context["newer_url"])
        assert [given.pk for given, _ in back.context["given"]] == everything[3:6]
        first = browser.get(url("answers", study) + back.context["newer_url"])
        assert [given.pk for given, _ in first.context["given"]] == everything[:3]
        assert not first.context["newer_url"]

    @pytest.mark.parametrize(
        "query", ["?before=x", "?before=999999999999999999999", "?after=-1", "?q=%00&only=%00"]
    )
    def test_what_is_no_page_is_the_first_one(self, browser, person, study, query):
        lease = answered(person, ago=1)
        page = browser.get(url("answers", study) + query)
        assert [given.pk for given, _ in page.context["given"]] == [lease.pk]

    def test_only_ones_own(self, browser, person, study):
        other = enrollment_make(study=study)
        lease = answered(other, ago=1)
        answered(person, ago=1)
        assert self.found(client_of(other), study) == [lease.pk]
        mine = self.found(client_of(other), study, before=Assignment.objects.latest("pk").pk)
        assert mine in ([lease.pk], [])
        assert Client().get(url("answers", study)).status_code == 404

    def test_it_costs_as_much_however_many_answers_there_are(
        self, browser, person, study, django_assert_num_queries
    ):
        for ago in range(6, 0, -1):
            answered(person, ago=ago)
        browser.get(url("answers", study))
        with django_assert_num_queries(4):
            browser.get(url("answers", study), {"q": "sentence"})

    def test_a_link_to_each(self, browser, person, study):
        lease = answered(person, ago=1)
        html = browser.get(url("answers", study)).content.decode()
        assert url("assignment", study, lease.pk) in html
        assert "Open one to read or change it" in html
        assert Label.objects.count() == 1
