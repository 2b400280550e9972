"""The work pages: answer, undo, draft, skip; one submit is one label whatever is clicked."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    Response,
    Stage,
    Study,
    StudyItem,
)
from annotation.services.assignments import assignment_claim
from annotation.services.leases import leases_reap
from tests.annotation.cast import text_of
from tests.annotation.factories import enrollment_make
from tests.annotation.visits import client_of, url
from web.rendering import MAX_MARKDOWN

pytestmark = pytest.mark.django_db


class TestWork:
    def submit(self, browser, lease, choice="1", **extra):
        page = url("assignment", lease.enrollment.study, lease.pk)
        return browser.post(page, {"choice": choice, **extra}, follow=True)

    def test_the_page(self, browser, lease, study):
        page = browser.get(url("work", study), follow=True)
        html = page.content.decode()
        assert html.count('id="work"') == 1
        texts = [f"Response {position} to pair" for position in lease.shown_order]
        assert page.redirect_chain[-1][0] == url("assignment", study, lease.pk)
        assert html.index(texts[0]) < html.index(texts[1])
        assert "secret-system" not in html
        assert "0 of 3" in text_of(page)
        assert f'<h1 dir="auto">{study.question}</h1>' in html
        assert "no-store" in page["Cache-Control"]

    def test_submit_goes_to_the_next(self, browser, lease, study):
        page = self.submit(browser, lease, active_ms="1500", wall_ms="2500")
        label = Label.objects.get()
        assert label.choice == lease.shown_order[0] + 1
        assert label.active_ms == 1500
        assert label.wall_ms != 2500  # what a browser says of the time is not believed
        assert page.redirect_chain[-1][0] != url("assignment", study, lease.pk)
        assert "1 of 3" in text_of(page)

    @pytest.mark.parametrize("wrong", ["", "3", "-1", "A", None])
    def test_what_is_no_answer(self, browser, lease, study, wrong):
        form = {} if wrong is None else {"choice": wrong}
        page = browser.post(url("assignment", study, lease.pk), form)
        assert page.status_code == 422
        assert not Label.objects.exists()

    def test_a_tie_where_there_are_none(self, browser, lease, study):
        Study.objects.update(tie_policy="off")
        page = browser.post(url("assignment", study, lease.pk), {"choice": "0"})
        assert page.status_code == 422
        assert b'data-choice="tie"' not in page.content

    @pytest.mark.parametrize("times", [{"active_ms": "x", "wall_ms": "-5"}, {"active_ms": "9" * 30}])
    def test_odd_times_do_not_lose_an_answer(self, browser, lease, times):
        self.submit(browser, lease, **times)
        assert Label.objects.count() == 1

    def test_the_same_twice(self, browser, lease):
        self.submit(browser, lease)
        page = self.submit(browser, lease)
        assert Label.objects.count() == 1
        assert "already" not in text_of(page)

    def test_another_answer_from_another_tab_is_told(self, browser, lease):
        self.submit(browser, lease, "1")
        page = self.submit(browser, lease, "2")
        assert Label.objects.count() == 1
        assert "Your first answer was kept" in text_of(page)

    def test_back_to_an_answered_one(self, browser, lease, study):
        self.submit(browser, lease, "2")
        page = browser.get(url("assignment", study, lease.pk))
        assert "You answered this pair" in text_of(page)
        assert "B is better" in text_of(page)
        assert re.search(r'value="2"[^>]* checked', page.content.decode())

    def test_undo_changes_the_answer(self, browser, lease, study):
        page = self.submit(browser, lease, "1")
        assert page.context["undo_url"] == url("assignment", study, lease.pk)
        for _ in range(2):
            page = self.submit(browser, lease, "2", change="1")
        assert "Your answer is the same as before" in text_of(page)
        assert Label.objects.count() == 2
        assert Label.objects.current().get().choice == lease.shown_order[1] + 1

    def test_a_change_before_an_answer_is_none(self, browser, lease):
        page = self.submit(browser, lease, change="1")
        assert "That answer can’t be changed" in text_of(page)
        assert not Label.objects.exists()

    def test_no_change_when_the_study_is_not_open(self, browser, lease, study):
        self.submit(browser, lease)
        Study.objects.update(state="paused")
        page = browser.get(url("assignment", study, lease.pk))
        assert "can't change it now" in text_of(page)
        self.submit(browser, lease, "2", change="1")
        assert Label.objects.count() == 1

    def test_all_done_gives_the_code(self, browser, study, person):
        page = browser.post(url("work", study), follow=True)
        for _ in range(3):
            page = browser.post(page.request["PATH_INFO"], {"choice": "0"}, follow=True)
        person.refresh_from_db()
        assert person.stage == Stage.DONE
        assert person.completion_code in text_of(page)
        assert "You answered 3 items" in text_of(page)
        assert browser.get(url("place", study)).url == url("done", study)

    def test_pay_is_said(self, browser, lease, study):
        Study.objects.update(pay_per_item="0.125", items_per_annotator=1)
        page = self.submit(browser, lease)
        assert "0.13 USD" in text_of(page)

    def test_nothing_right_now_is_not_done(self, study):
        Study.objects.update(overlap=1)
        study.study_items.update(overlap=1)
        for _ in range(3):
            other = enrollment_make(study=study)
            assignment_claim(
                enrollment=Enrollment.objects.select_related("study", "annotator").get(pk=other.pk)
            )
        page = client_of(enrollment_make(study=study)).post(url("work", study))
        assert "Nothing left right now" in text_of(page)

    def test_stopping_early(self, browser, lease, study, person):
        self.submit(browser, lease)
        assert "Stop for good?" in text_of(browser.get(url("finish", study)))
        for _ in range(2):
            page = browser.post(url("finish", study), follow=True)
        person.refresh_from_db()
        assert person.completion_code in text_of(page)
        assert sum(study.study_items.values_list("n_open", flat=True)) == 0

    def test_paused_is_told_and_the_answer_in_hand_taken(self, browser, lease, study):
        Study.objects.update(state="paused")
        assert "is paused" in text_of(browser.get(url("work", study)))
        assert "is paused" in text_of(browser.get(url("assignment", study, lease.pk)))
        assert "is paused" in text_of(self.submit(browser, lease))
        assert Label.objects.get().is_surplus is False

    def test_closed_is_told_with_the_code(self, browser, lease, study, person):
        self.submit(browser, lease)
        Study.objects.update(state="closed")
        assert "Go to your completion code" in text_of(browser.get(url("work", study)))
        page = browser.post(url("work", study), follow=True)
        person.refresh_from_db()
        assert "The study has ended" in text_of(page)
        assert person.completion_code in text_of(page)

    def test_an_answer_to_a_closed_study_is_kept(self, browser, lease):
        Study.objects.update(state="closed")
        page = self.submit(browser, lease)
        assert "closed before your answer arrived" in text_of(page)
        assert Label.objects.get().is_surplus

    def test_an_expired_page_goes_on(self, browser, lease, study):
        Assignment.objects.update(state=AssignmentState.EXPIRED)
        study.study_items.update(n_open=0)
        page = browser.get(url("assignment", study, lease.pk), follow=True)
        lease.refresh_from_db()
        assert lease.state == AssignmentState.EXPIRED  # a GET changes nothing
        page = browser.post(url("work", study), follow=True)
        assert page.status_code == 200
        lease.refresh_from_db()
        assert lease.state == AssignmentState.OPEN


class TestDraft:
    def test_it_is_kept_and_shown_on_every_device(self, browser, lease, study, person):
        for choice in ("1", "2"):
            response = browser.post(url("draft", study, lease.pk), {"choice": choice, "active_ms": "700"})
            assert response.status_code == 204
        html = client_of(person).get(url("assignment", study, lease.pk)).content.decode()
        assert re.search(r'value="2"[^>]* checked', html)
        assert 'name="active_ms" value="700"' in html
        assert not Label.objects.exists()

    def test_it_is_kept_as_typed_whatever_it_is(self, browser, lease, study):
        sent = {"choice": "9", "comment": "half a sen", "csrfmiddlewaretoken": "x", "else": "y"}
        assert browser.post(url("draft", study, lease.pk), sent).status_code == 204
        lease.refresh_from_db()
        assert lease.draft["fields"] == {"choice": "9", "comment": "half a sen"}
        assert browser.get(url("draft", study, lease.pk)).status_code == 405

    def test_it_renews_the_lease(self, browser, lease, study):
        before = lease.expires_at
        browser.post(url("draft", study, lease.pk), {})
        lease.refresh_from_db()
        assert lease.expires_at > before

    def test_of_somebody_else_there_is_none(self, lease, study):
        other = client_of(enrollment_make(study=study))
        assert other.post(url("draft", study, lease.pk), {"choice": "1"}).status_code == 404
        assert Client().post(url("draft", study, lease.pk), {"choice": "1"}).status_code == 404

    def test_after_the_answer_it_is_not_needed(self, browser, lease, study):
        browser.post(url("assignment", study, lease.pk), {"choice": "1"})
        assert browser.post(url("draft", study, lease.pk), {"choice": "2"}).status_code == 204
        lease.refresh_from_db()
        assert lease.draft is None


class TestSkip:
    def test_it_is_given_back_with_the_reason(self, browser, lease, study):
        form = {"reason": "knowledge", "note": " Latin "}
        for _ in range(2):
            page = browser.post(url("skip", study, lease.pk), form, follow=True)
        lease.refresh_from_db()
        assert (lease.state, lease.release_reason) == (AssignmentState.RELEASED, "knowledge: Latin")
        assert page.redirect_chain[-1][0] != url("assignment", study, lease.pk)
        assert "0 of 2" in text_of(page)

    def test_without_a_reason_or_script(self, browser, lease, study):
        assert "Skip this item" in text_of(browser.get(url("skip", study, lease.pk)))
        page = browser.post(url("skip", study, lease.pk), {})
        assert page.status_code == 422
        assert "Choose a reason first" in text_of(page)
        lease.refresh_from_db()
        assert lease.state == AssignmentState.OPEN


def test_hostile_text_is_shown_as_text(browser, study):
    study.dataset.instructions.update(text="<script>alert(1)</script> **bold**")
    html = browser.post(url("work", study), follow=True).content.decode()
    assert "<script>alert(1)" not in html
    assert "<strong>bold</strong>" in html


class TestWhatIsShown:
    def test_a_text_too_long_for_markdown_makes_both_plain(self, browser, lease, study):
        first, second = Response.objects.filter(item_responses__item=lease.study_item.item).order_by("pk")
        Response.objects.filter(pk=first.pk).update(text="**x** " * (MAX_MARKDOWN // 6 + 1))
        Response.objects.filter(pk=second.pk).update(text="**short**")
        html = browser.get(url("assignment", study, lease.pk)).content.decode()
        assert '<pre class="plain" dir="auto">**short**</pre>' in html
        assert "<strong>x" not in html

    def test_a_lease_that_ran_out_and_is_theirs_again_is_not_said_to_be_gone(self, browser, lease, study):
        leases_reap(now=lease.expires_at + timedelta(minutes=1))
        page = browser.get(url("assignment", study, lease.pk), follow=True)
        page = browser.post(url("work", study), {"was": page.context["was"]}, follow=True)
        assert page.redirect_chain[-1][0] == url("assignment", study, lease.pk)
        assert "Your time on that item ran out" not in text_of(page)

    def test_a_lease_that_went_to_others_is_said_to_be_gone(self, browser, lease, study):
        leases_reap(now=lease.expires_at + timedelta(minutes=1))
        StudyItem.objects.filter(pk=lease.study_item_id).update(overlap=1, n_accepted=1)
        page = browser.get(url("assignment", study, lease.pk), follow=True)
        page = browser.post(url("work", study), {"was": page.context["was"]}, follow=True)
        assert page.redirect_chain[-1][0] != url("assignment", study, lease.pk)
        assert "Your time on that item ran out" in text_of(page)
