"""Reasons to look in a real browser: the part that the page of people fetches, on a wide screen and on a phone."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Study, User
from tests.annotation.factories import study_make, user_make
from tests.annotation.views.researcher.test_reasons_to_look import answers_make, odd_one
from tests.browser import conftest
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.browser.test_quality import shots

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(db) -> Study:
    study = study_make(
        pairs=10, overlap=12, owner=user_make(username="alice"), slug="mine", title="Mine", machine_text=True
    )
    for number in range(8):
        answers_make(study, odd=number == 7, seed=number)
    return study


def log_in(page: Page, live_server, address: str) -> None:
    conftest.log_in(page, User.objects.get(username="alice"), f"{live_server.url}{address}")


def test_the_page_of_people_fetches_them(page, live_server, study):
    log_in(page, live_server, "/studies/mine/people/")
    one = page.locator("#reasons article")
    expect(one).to_have_count(1)
    expect(one).to_contain_text(
        "10 of 10 answers (100.0%) came without any event of a mouse, a finger or a key"
    )
    page.get_by_text("How reasons are found").click()
    assert violations(page) == []
    shots(page, "reasons-people")
    one.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Reasons to look")).to_be_visible()
    assert odd_one(study).pseudonym in page.url
    shots(page, "reasons-person")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(new_context, live_server, study, scheme):
    page = new_context(viewport=PHONE, color_scheme=scheme).new_page()
    log_in(page, live_server, "/studies/mine/reasons-to-look/")
    expect(page.locator("#reasons article")).to_have_count(1)
    assert_no_sideways_scroll(page)
    assert violations(page) == []


def test_without_scripts_the_page_of_people_has_the_link(new_context, live_server, study):
    page = new_context(java_script_enabled=False).new_page()
    log_in(page, live_server, "/studies/mine/people/")
    page.get_by_role("link", name="Reasons to look").click()
    expect(page.locator("#reasons article")).to_have_count(1)
