"""How a person likes to read, and the study's rules of the page: the cookie, the form, what is shown and required."""

import pytest
from django.test import Client

from annotation.domain.reading import COOKIE
from annotation.models import Enrollment, Label
from annotation.services.assignments import assignment_claim
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db


def at_work(**rules):
    study = study_make(dataset=dataset_make(pairs=3), **rules)
    person = Enrollment.objects.select_related("study", "annotator").get(pk=enrollment_make(study=study).pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return study, client_of(person), url("assignment", study, lease.pk)


def html_of(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


def test_preferences_are_kept_in_the_browser_and_written_into_the_page():
    study, browser, page = at_work()
    sent = {"size": "large", "phone": "stacked", "width": "normal", "text": "sideways", "unknown": "x"}
    for _ in range(2):  # sent twice, as once
        response = browser.post(url("reading", study), sent)
        assert response.status_code == 302
        assert response.cookies[COOKIE].value == "size.large-phone.stacked"
    assert response.cookies[COOKIE]["samesite"] == "Lax"
    assert '<html lang="en" data-reading-size="large" data-reading-phone="stacked">' in html_of(browser, page)
    assert 'value="large" checked' in html_of(browser, url("reading", study))
    browser.cookies[COOKIE] = 'size.<script>-"x.y'
    assert '<html lang="en">' in html_of(browser, page)


def test_nobody_else_has_preferences_of_a_study():
    study, _, _ = at_work()
    stranger = Client()
    for answer in (
        stranger.get(url("reading", study)),
        stranger.post(url("reading", study), {"size": "large"}),
    ):
        assert answer.status_code == 404
        assert COOKIE not in answer.cookies


def test_answers_as_written_are_both_so():
    _, browser, page = at_work()
    assert '<pre class="plain"' not in html_of(browser, page)
    browser.cookies[COOKIE] = "text.written"
    assert html_of(browser, page).count('<pre class="plain"') == 2


def test_words_are_counted_where_the_study_says_so():
    _, browser, page = at_work()
    assert "response-words" not in html_of(browser, page)
    _, browser, page = at_work(show_word_counts=True, slug="counts")
    assert html_of(browser, page).count('class="response-words num"') == 2


def test_a_required_comment_is_required():
    _, browser, page = at_work(ask_comment=True, require_comment=True)
    refused = browser.post(page, {"choice": "1", "comment": "  "})
    assert refused.status_code == 422
    assert "Say in the comment why you chose this." in refused.content.decode()
    assert not Label.objects.exists()
    assert browser.post(page, {"choice": "1", "comment": "Shorter."}).status_code == 302
    assert Label.objects.get().comment == "Shorter."


def test_a_choice_that_submits_says_what_was_saved_with_the_way_back():
    _, browser, page = at_work(submit_on_choice=True)
    assert "data-submit-on-choice" in html_of(browser, page)
    part = browser.post(page, {"choice": "2"}, headers={"hx-request": "true"}).content.decode()
    assert "Saved: B is better." in part
    assert f'<a href="{page}">Undo' in part
    again = browser.post(page, {"choice": "2"}, headers={"hx-request": "true"})  # a double click
    assert again.status_code == 200
    assert Label.objects.count() == 1


def test_the_way_back_goes_over_several_answers():
    study, browser, page = at_work()
    answered = []
    for _ in range(3):
        assert browser.post(page, {"choice": "1"}).status_code == 302
        answered.append(page)
        page = browser.get(url("work", study)).headers.get("Location", "")
        if not page:
            page = browser.post(url("work", study)).headers["Location"]
    for later, earlier in zip(answered[:0:-1], answered[-2::-1], strict=True):
        assert f'<a href="{earlier}" data-key="u">' in html_of(browser, later)
    assert 'data-key="u"' not in html_of(browser, answered[0])
