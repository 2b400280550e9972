"""The work page by htmx: the answer to a submit carries the next item; everything else is a page of its own."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    GuidelinesRevision,
    Intervention,
    ItemReport,
    Label,
    Stage,
    Study,
)
from annotation.services.assignments import assignment_claim
from tests.annotation.cast import text_of
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def submit(browser, lease, choice="1", **extra):
    page = url("assignment", lease.enrollment.study, lease.pk)
    return browser.post(page, {"choice": choice, **extra}, headers=HTMX)


def open_items(study):
    return sum(study.study_items.values_list("n_open", flat=True))


class TestSubmit:
    def test_the_next_item_comes_with_the_answer(self, browser, lease, study):
        part = submit(browser, lease)
        html = part.content.decode()
        assert part.status_code == 200
        assert html.count('id="work"') == 1
        assert "<html" not in html
        assert f"<title>{study.question}</title>" in html
        following = Assignment.objects.get(state=AssignmentState.OPEN)
        assert part["HX-Replace-Url"] == url("assignment", study, following.pk)
        assert "1 of 3" in text_of(part)
        assert url("assignment", study, lease.pk) in html  # to undo
        assert open_items(study) == 1  # nothing is leased ahead

    def test_the_part_and_the_page_are_the_same(self, browser, lease, study):
        part = submit(browser, lease)
        page = browser.get(part["HX-Replace-Url"])

        def plain(html):
            return re.sub(r'(csrfmiddlewaretoken" value=")[^"]*', r"\1", html[html.index('<div id="work"') :])

        whole = plain(part.content.decode()).strip()
        assert plain(page.content.decode()).startswith(whole)

    def test_what_is_no_answer_comes_back_with_its_error(self, browser, lease, study):
        part = submit(browser, lease, "")
        assert part.status_code == 422
        assert "Choose an answer first" in text_of(part)
        assert "HX-Replace-Url" not in part
        assert not Label.objects.exists()

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("rubric", "Rate helpful first."),
            ("checklist", "Answer question 1 first."),
            ("classification", "Choose a category first."),
        ],
    )
    def test_what_lacks_a_part_is_said_once_at_the_part(self, kind, words):
        study = kind_study_make(kind, items=1)
        person = Enrollment.objects.select_related("study", "annotator").get(
            pk=enrollment_make(study=study).pk
        )
        lease, browser = assignment_claim(enrollment=person), client_of(person)
        for headers in (HTMX, {}):
            answer = browser.post(url("assignment", study, lease.pk), {}, headers=headers)
            page = answer.content.decode()
            assert text_of(answer).count(words) == 1, text_of(answer)
            assert f'id="part-error" role="alert">{words}</p>' in page
            assert "autofocus" in page

    def test_twice_is_once(self, browser, lease):
        first, second = submit(browser, lease), submit(browser, lease)
        assert first["HX-Replace-Url"] == second["HX-Replace-Url"]
        assert Label.objects.count() == 1

    def test_an_answer_that_waited_is_taken_alone(self, browser, lease, study):
        answer = submit(browser, lease, alone="1")
        assert (answer.status_code, answer.content) == (204, b"")
        assert Label.objects.count() == 1
        assert open_items(study) == 0

    def test_the_last_one_leads_to_a_page(self, browser, study):
        part = browser.post(url("work", study), headers=HTMX)
        for _ in range(3):
            part = browser.post(part["HX-Replace-Url"], {"choice": "0"}, headers=HTMX)
        assert part["HX-Redirect"] == url("done", study)

    @pytest.mark.parametrize("state", ["paused", "closed"])
    def test_a_study_that_stops_leads_to_a_page(self, browser, lease, study, state):
        Study.objects.update(state=state)
        part = submit(browser, lease)
        assert part["HX-Redirect"] == url("work" if state == "paused" else "done", study)
        assert part.content == b""

    def test_the_suspended_are_led_to_a_page(self, browser, lease, study):
        Enrollment.objects.update(suspended_at=timezone.now())
        assert submit(browser, lease)["HX-Redirect"] == url("place", study)

    def test_of_somebody_else_there_is_nothing(self, lease, study):
        other = client_of(enrollment_make(study=study))
        for browser in (other, Client()):
            assert submit(browser, lease).status_code == 404
        assert not Label.objects.exists()

    def test_another_study_of_the_same_person_is_no_door(self, lease, person):
        elsewhere = study_make()
        same = enrollment_make(study=elsewhere, annotator=person.annotator)
        browser = client_of(same)
        assert browser.post(url("assignment", elsewhere, lease.pk), {"choice": "1"}).status_code == 404


class TestClaim:
    def test_looking_changes_nothing(self, browser, study):
        page = browser.get(url("work", study))
        assert "Ready for the next item?" in text_of(page)
        assert 'hx-trigger="load, submit"' in page.content.decode()
        assert not Assignment.objects.exists()

    def test_asking_gives_one_item_however_often(self, browser, study):
        parts = [browser.post(url("work", study), headers=HTMX) for _ in range(2)]
        assert parts[0]["HX-Replace-Url"] == parts[1]["HX-Replace-Url"]
        assert open_items(study) == 1

    def test_nothing_left_now_is_a_part(self, browser, lease, study):
        other = client_of(enrollment_make(study=study_make(pairs=1, overlap=1)))
        alone = Enrollment.objects.latest("pk")
        rival = enrollment_make(study=alone.study)
        assignment_claim(enrollment=Enrollment.objects.select_related("study", "annotator").get(pk=rival.pk))
        part = other.post(url("work", alone.study), headers=HTMX)
        assert "Nothing left right now" in text_of(part)
        assert part["HX-Replace-Url"] == url("work", alone.study)

    @pytest.mark.parametrize("method", ["get", "post"])
    def test_whom_nobody_knows(self, study, method):
        assert getattr(Client(), method)(url("work", study)).status_code == 404

    def test_before_the_work_nothing_is_given(self, study):
        early = client_of(enrollment_make(study=study, stage=Stage.CONSENT))
        assert early.get(url("work", study)).url == url("place", study)
        assert early.post(url("work", study), headers=HTMX)["HX-Redirect"] == url("place", study)
        assert not Assignment.objects.exists()


class TestSuspended:
    def test_the_page_says_what_was_earned_and_whom_to_ask(self, browser, lease, study, person):
        Study.objects.update(pay_per_item="0.5")
        submit(browser, lease)
        Enrollment.objects.update(suspended_at=timezone.now(), suspended_because="3 of 10 checks")
        Intervention.objects.create(enrollment=person, action="suspend", text="We stopped it.", reason="why")
        words = text_of(browser.get(url("work", study)))
        assert "We stopped it." in words
        assert "You answered 1 item, and earned 0.50 USD" in words
        assert "3 of 10 checks" not in words
        assert "why" not in words

    def test_an_open_item_is_not_shown(self, browser, lease, study):
        Enrollment.objects.update(suspended_at=timezone.now())
        assert "has stopped" in text_of(browser.get(url("assignment", study, lease.pk)))


class TestReport:
    def test_it_is_told_and_left_out(self, browser, lease, study):
        form = {"reason": "missing", "note": "No answer B"}
        for _ in range(2):
            part = browser.post(url("report", study, lease.pk), form, headers=HTMX)
        report = ItemReport.objects.get()
        lease.refresh_from_db()
        assert (report.reason, report.note) == ("missing", "No answer B")
        assert lease.state == AssignmentState.RELEASED
        assert "The researchers will look at that item" in text_of(part)

    def test_without_a_reason(self, browser, lease, study):
        part = browser.post(url("report", study, lease.pk), {}, headers=HTMX)
        assert part["HX-Redirect"] == url("report", study, lease.pk)
        page = browser.post(url("report", study, lease.pk), {})
        assert page.status_code == 422
        assert not ItemReport.objects.exists()

    def test_of_somebody_else(self, lease, study):
        other = client_of(enrollment_make(study=study))
        assert other.post(url("report", study, lease.pk), {"reason": "other"}).status_code == 404
        assert not ItemReport.objects.exists()


class TestBreak:
    def test_the_item_is_free_at_once_and_theirs_again_after(self, browser, lease, study):
        browser.post(url("draft", study, lease.pk), {"choice": "2"})
        for _ in range(2):
            page = browser.post(url("rest", study), follow=True)
        assert "Enjoy your break" in text_of(page)
        assert open_items(study) == 0
        again = browser.post(url("work", study), follow=True)
        assert again.redirect_chain[-1][0] == url("assignment", study, lease.pk)
        assert re.search(r'value="2"[^>]* checked', again.content.decode())

    def test_only_at_work(self, study):
        early = client_of(enrollment_make(study=study, stage=Stage.CONSENT))
        assert early.post(url("rest", study)).url == url("place", study)
        assert Client().post(url("rest", study)).status_code == 404


class TestMessages:
    def test_it_is_shown_until_it_is_read(self, browser, lease, study, person):
        said = Intervention.objects.create(
            enrollment=person, action="message", text="Take your time.", reason="r"
        )
        assert "Take your time." in text_of(browser.get(url("assignment", study, lease.pk)))
        for _ in range(2):
            browser.post(url("message", study, said.pk))
        said.refresh_from_db()
        assert said.read_at is not None
        assert "Take your time." not in text_of(browser.get(url("assignment", study, lease.pk)))

    def test_of_somebody_else_it_stays_unread(self, study, person):
        said = Intervention.objects.create(enrollment=person, action="warn", text="Take your time.")
        client_of(enrollment_make(study=study)).post(url("message", study, said.pk))
        said.refresh_from_db()
        assert said.read_at is None


class TestGuidelines:
    def test_changes_are_told_until_they_are_read(self, browser, lease, study, person):
        GuidelinesRevision.objects.create(study=study, version=1, text="Same.\n\nOld rule.")
        Study.objects.update(guidelines="Same.\n\nNew rule.", guidelines_version=2)
        Enrollment.objects.update(guidelines_read_version=1)
        assert "The guidelines have changed" in text_of(browser.get(url("assignment", study, lease.pk)))
        words = text_of(browser.get(url("changes", study)))
        assert "− Removed Old rule." in words
        assert "+ New New rule." in words
        browser.post(url("guidelines", study))
        assert "The guidelines have changed" not in text_of(browser.get(url("assignment", study, lease.pk)))


class TestAnswers:
    def test_each_answer_can_be_opened_and_changed(self, browser, lease, study):
        submit(browser, lease)
        page = browser.get(url("answers", study))
        assert url("assignment", study, lease.pk) in page.content.decode()
        Study.objects.update(allow_changes=False)
        opened = browser.get(url("assignment", study, lease.pk))
        assert "You can't change answers in this study" in text_of(opened)
        assert (
            b'type="submit" class="btn btn-primary'
            not in opened.content.split(b"</main>")[1].split(b"</form>")[0]
        )
        submit(browser, lease, "2", change="1")
        assert Label.objects.count() == 1

    def test_only_ones_own(self, browser, lease, study):
        submit(browser, lease)
        other = client_of(enrollment_make(study=study))
        assert "Nothing answered yet" in text_of(other.get(url("answers", study)))
        assert Client().get(url("answers", study)).status_code == 404


class TestQueries:
    """What a page asks of the database, savepoints and commits included. A session is never among it."""

    def test_get(self, browser, lease, study, django_assert_num_queries):
        address = url("assignment", study, lease.pk)
        browser.get(address)
        with django_assert_num_queries(5):
            browser.get(address)

    def test_submit(self, browser, lease, study, django_assert_max_num_queries):
        part = submit(browser, lease)
        with django_assert_max_num_queries(22) as asked:
            browser.post(part["HX-Replace-Url"], {"choice": "1"}, headers=HTMX)
        assert not [query for query in asked.captured_queries if "django_session" in query["sql"]]

    def test_a_submit_fetches_no_column_later(self, browser, lease, study, django_assert_max_num_queries):
        part = submit(browser, lease)
        with django_assert_max_num_queries(22) as asked:
            browser.post(part["HX-Replace-Url"], {"choice": "1"}, headers=HTMX)
        alone = [query for query in asked.captured_queries if 'FROM "annotation_study" WHERE' in query["sql"]]
        assert not alone

    def test_a_study_of_many_items_is_not_counted(self, django_assert_max_num_queries):
        study = study_make(pairs=210, overlap=1)
        browser = client_of(enrollment_make(study=study))
        part = browser.post(url("work", study), headers=HTMX)
        assert "0 done" in text_of(part)
        part = browser.post(part["HX-Replace-Url"], {"choice": "1"}, headers=HTMX)
        with django_assert_max_num_queries(19):
            part = browser.post(part["HX-Replace-Url"], {"choice": "1"}, headers=HTMX)
        assert "2 done" in text_of(part)


def test_the_pay_line_is_by_the_basis(study, person):
    from annotation.views.annotator.common import pay_line

    assert pay_line(study) == ""
    study.pay_per_item = Decimal(1)
    assert pay_line(study) == "1.00 USD for each answer"
    study.pay_basis, study.pay_per_hour = "time", Decimal(12)
    assert pay_line(study) == "12.00 USD for an hour of active time"


def test_an_expired_item_leads_to_the_next(browser, lease, study):
    Assignment.objects.update(state=AssignmentState.EXPIRED, expires_at=timezone.now() - timedelta(hours=1))
    page = browser.get(url("assignment", study, lease.pk))
    assert page.url == f"{url('work', study)}?was={lease.pk}"


def test_a_new_token_ends_the_browsers_that_hold_the_old_one(browser, lease, study):
    Enrollment.objects.update(resume_token="another")
    assert browser.get(url("assignment", study, lease.pk)).status_code == 404
    cookie = browser.cookies["studies"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
