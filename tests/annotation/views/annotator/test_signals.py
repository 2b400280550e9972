"""Signals of how an answer was given: told to people, sent by the page, stored once beside the label."""

import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import AnswerSignals, Assignment, AssignmentState, Label, Response, Stage, Study
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db
SENT = {
    "first_ms": 900,
    "hidden": 1,
    "hidden_ms": 4000,
    "pointer": 40,
    "keys": 3,
    "scrolled": 80,
    "untrusted": 0,
}
HTMX = {"HX-Request": "true"}


def post(browser, lease, **fields):
    page = url("assignment", lease.enrollment.study, lease.pk)
    return browser.post(page, {"choice": "1"} | fields, headers=HTMX)


class TestStored:
    def test_beside_the_label(self, browser, lease):
        assert post(browser, lease, signals=json.dumps(SENT)).status_code == 200
        stored = AnswerSignals.objects.get()
        assert stored.assignment_id == lease.pk
        assert {name: getattr(stored, name) for name in SENT} == SENT
        assert (stored.typed, stored.automated, stored.decoy) == (None, False, False)

    def test_without_scripts_there_is_no_row(self, browser, lease):
        post(browser, lease, signals="")
        assert Label.objects.count() == 1
        assert not AnswerSignals.objects.exists()

    @pytest.mark.parametrize(
        "sent", ["nonsense", "[" * 5000, '{"keys": "many"}', '{"keys": -1e999}', "\x00{}"]
    )
    def test_nonsense_loses_no_answer(self, browser, lease, sent):
        assert post(browser, lease, signals=sent).status_code == 200
        assert Label.objects.count() == 1

    def test_sent_twice_is_stored_once(self, browser, lease):
        for keys in (3, 9):
            post(browser, lease, signals=json.dumps({"keys": keys}))
        assert AnswerSignals.objects.get().keys == 3

    def test_a_changed_answer_sends_none(self, browser, lease, study):
        post(browser, lease, signals=json.dumps(SENT))
        page = browser.get(url("assignment", study, lease.pk)).content.decode()
        assert 'name="change"' in page
        assert 'name="signals"' not in page
        post(browser, lease, choice="2", change="1", signals=json.dumps({"keys": 9}))
        assert Label.objects.count() == 2
        assert AnswerSignals.objects.get().keys == 3

    def test_of_an_answer_that_waited_offline(self, browser, lease):
        done = post(browser, lease, signals=json.dumps(SENT), alone="1")
        assert done.status_code == 204
        assert AnswerSignals.objects.get().keys == 3

    def test_an_answer_that_is_refused_stores_none(self, browser, lease):
        assert post(browser, lease, choice="7", signals=json.dumps(SENT)).status_code == 422
        assert not AnswerSignals.objects.exists()

    def test_another_person_s_item(self, lease, study):
        stranger = client_of(enrollment_make(study=study))
        assert post(stranger, lease, signals=json.dumps(SENT)).status_code == 404
        assert post(Client(), lease, signals=json.dumps(SENT)).status_code == 404
        assert not AnswerSignals.objects.exists()

    @pytest.mark.both_databases
    def test_one_insert_more_and_no_statement_more_on_postgresql(self):
        study, said = study_make(pairs=3, overlap=4), []
        for sent in ("", "", json.dumps(SENT)):  # the first reads texts that this process then keeps
            person = enrollment_make(study=study)
            browser = client_of(person)
            browser.post(url("work", study), headers=HTMX)
            lease = Assignment.objects.get(enrollment=person, state=AssignmentState.OPEN)
            with CaptureQueriesContext(connection) as context:
                post(browser, lease, signals=sent)
            said.append([query["sql"] for query in context])
        more = [one for one in said[2] if "answersignals" in one]
        assert len(more) == 1
        assert len(said[2]) - len(said[1]) == (0 if connection.vendor == "postgresql" else 1)
        assert AnswerSignals.objects.get().first_ms == 900


class TestCollecting:
    def test_the_page_has_the_field_and_the_script(self, browser, lease, study):
        page = browser.get(url("assignment", study, lease.pk)).content.decode()
        assert page.count('name="signals"') == 1
        assert "js/signals" in page

    @pytest.mark.parametrize(
        "rules", [{"collect_signals": False}, {"consent": "", "guidelines": ""}], ids=["off", "nobody told"]
    )
    def test_where_it_is_off_or_nobody_is_told_nothing_is_collected(self, browser, lease, study, rules):
        Study.objects.update(**rules)
        page = browser.get(url("assignment", study, lease.pk)).content.decode()
        assert 'name="signals"' not in page
        assert "js/signals" not in page
        post(browser, lease, signals=json.dumps(SENT))
        assert Label.objects.count() == 1
        assert not AnswerSignals.objects.exists()

    @pytest.mark.parametrize("collects", [True, False])
    def test_people_are_told_before_they_start_and_at_work(self, study, lease, browser, collects):
        Study.objects.update(collect_signals=collects)
        told = "how long the page was hidden"
        newcomer = client_of(enrollment_make(study=study, stage=Stage.CONSENT))
        pages = [newcomer.get(url("place", study), follow=True), browser.get(url("guidelines", study))]
        pages.append(browser.get(url("assignment", study, lease.pk)))
        assert [told in page.content.decode() for page in pages] == [collects] * 3


class TestMachineText:
    @pytest.fixture
    def page(self, browser, lease, study):
        Study.objects.update(machine_text=True, ask_comment=True)
        study.refresh_from_db()
        return browser.get(url("assignment", study, lease.pk)).content.decode()

    def test_it_is_there_once_and_hidden_from_people(self, page, study):
        found = re.findall(r"<div[^>]*data-machine-text>.*?</div>", page, re.DOTALL)
        assert len(found) == 1
        assert found[0].startswith(
            '<div class="visually-hidden" aria-hidden="true" inert lang="en" dir="ltr" translate="no"'
        )
        assert 'tabindex="-1"' in found[0]
        assert page.count(study.reader_word) == 1

    def test_it_is_outside_of_what_labels_and_judges_refer_to(self, page, study):
        for body in re.findall(r'<div class="response-body.*?</article>', page, re.DOTALL):
            assert study.reader_word not in body
        assert not Response.objects.filter(text__contains=study.reader_word).exists()

    def test_it_is_off_by_default_and_not_on_the_page_of_an_answer(self, browser, lease, study):
        address = url("assignment", study, lease.pk)
        assert "data-machine-text" not in browser.get(address).content.decode()
        Study.objects.update(machine_text=True)
        post(browser, lease)
        assert "data-machine-text" not in browser.get(address).content.decode()

    def test_what_is_in_the_field_is_stored_as_a_fact_and_not_as_a_text(self, browser, lease, page, study):
        post(browser, lease, reader_code=study.reader_word)
        assert AnswerSignals.objects.get().decoy
        assert "reader_code" not in json.dumps(Label.objects.get().value)

    def test_the_field_means_nothing_where_it_is_off(self, browser, lease):
        post(browser, lease, reader_code="x", signals=json.dumps(SENT))
        assert not AnswerSignals.objects.get().decoy

    def test_a_draft_never_has_it(self, browser, lease, page, study):
        draft = f"{url('assignment', study, lease.pk)}draft/"
        assert browser.post(draft, {"choice": "1", "reader_code": "x", "signals": "{}"}).status_code == 204
        lease.refresh_from_db()
        assert lease.draft["fields"] == {"choice": "1"}

    def test_the_word_is_the_study_s_own_and_stays(self, study, page):
        word = study.reader_word
        Study.objects.update(title="Another title")
        assert Study.objects.get(pk=study.pk).reader_word == word
