"""Every page under axe-core, wide and light, narrow and dark: nothing breaks WCAG 2.2 AA, nothing scrolls sideways, and
no page logs an error or breaks its own Content-Security-Policy. Pictures of all of them, wide and narrow, light and
dark, when TOUCHSTONE_SHOTS names a folder.
"""

import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Enrollment, Role, Stage
from annotation.services.accounts import account_create
from metaeval.demo.build import ADMINISTRATOR, PASSWORD, Demo, demo_build
from tests.annotation.factories import study_make, user_make
from tests.browser.admin_pages import NO_PAGES as ADMIN_NO_PAGES
from tests.browser.admin_pages import admin_stops, own_names
from tests.browser.axe import violations
from tests.browser.conftest import DESKTOP, PHONE, press
from tests.browser.every_page import (
    IN_DEMO,
    NO_PAGES,
    Stop,
    comparison_stops,
    decision_stops,
    door_stops,
    every_name,
    in_time_stops,
    judging_stops,
    label_next_stops,
    paper_stops,
    plan_stops,
    staff_stops,
    steps_stops,
    systems_stops,
    work_stops,
)
from tests.browser.walks import Walker, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def picture(page: Page, name: str) -> None:
    folder = os.environ.get("TOUCHSTONE_SHOTS")
    for size in (DESKTOP, PHONE) if folder else ():
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            Path(str(folder)).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}-{size['width']}-{scheme}.png", full_page=True)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(DESKTOP)


def visit(page: Page, url: str, stops: Iterable[Stop]) -> None:
    """Open each page as who may see it: it is that page and no other, and nothing is found on it."""
    found = []
    for stop in stops:
        if stop.person is not None:
            page.context.clear_cookies()
            # The link's answer has the cookies; where it leads is not looked at.
            page.context.request.get(f"{url}/resume/{stop.person.resume_token}/", max_redirects=0)
        stop.then()
        response = page.goto(url + stop.address)
        assert response is not None
        assert response.status == stop.status, stop
        page.wait_for_load_state("load")
        if stop.words:
            expect(page.get_by_text(stop.words).first).to_be_visible()
        if stop.what == "nothing-now":
            page.wait_for_selector("text=Nothing left right now")
        if stop.what == "study-busy":
            page.wait_for_selector("#study-judges")
        assert page.url.partition("?")[0] == (url + stop.address).partition("?")[0], f"{stop} leads elsewhere"
        picture(page, stop.what)
        found += violations(page)
    assert not found, "\n".join(found)


def test_every_page_is_visited():
    alice = user_make(username="alice")
    stops = [*steps_stops(), *work_stops(), *door_stops(), *staff_stops(alice)]
    stops += [*paper_stops(), *systems_stops(), *label_next_stops(alice), *plan_stops(alice)]
    stops += [*judging_stops(alice), *in_time_stops()]
    visited = {stop.name for stop in stops} | IN_DEMO
    assert every_name() - visited == set(NO_PAGES), (
        "visit the page in `every_page`, or say there why it is none"
    )


def test_the_steps_of_a_person(live_server, page: Page):
    visit(page, live_server.url, steps_stops())


@pytest.mark.long
def test_the_work_of_every_kind(live_server, page: Page):
    visit(page, live_server.url, work_stops())


@pytest.mark.long
def test_the_doors(live_server, new_context):
    visit(new_context(watched=False).new_page(), live_server.url, door_stops())


def test_what_the_site_says_for_itself(live_server, new_context, monkeypatch, settings):
    page = new_context(watched=False).new_page()
    page.goto(f"{live_server.url}/nowhere/")
    picture(page, "not-found")
    found = violations(page)
    monkeypatch.setattr("annotation.views.annotator.common.too_often", lambda **_: True)
    page.goto(f"{live_server.url}/join/x/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many requests")
    picture(page, "too-many")
    found += violations(page)
    settings.SENDS_MAIL = False
    page.goto(f"{live_server.url}/password/forgot/")
    expect(page.get_by_text("This site doesn't send mail")).to_be_visible()
    picture(page, "no-mail")
    found += violations(page)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("door", ["/login/", "/account/sign-in/"])
def test_a_forgotten_password(live_server, page: Page, door: str, mailoutbox):
    """From the login to a new password, with what is said when it is too short."""
    user_make(username="mia", email="mia@example.org")
    account_create(email="mia@example.org", password="correct horse battery staple")
    page.goto(live_server.url + door)
    page.get_by_role("link", name="Forgot your password?").click()
    page.get_by_label("Email").fill("mia@example.org")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Check your mail")
    for thread in threading.enumerate():
        if thread.name == "mail":
            thread.join()
    found_in_mail = re.search(
        r"/\S*password/set/\S+", mailoutbox[0].body.replace("http://127.0.0.1:8000", "")
    )
    assert found_in_mail is not None
    page.goto(live_server.url + found_in_mail[0])
    name = "staff" if door == "/login/" else "account"
    picture(page, f"new-password-{name}")
    found = violations(page)
    for words in ("short", "a quite different phrase"):
        page.get_by_label("New password", exact=True).fill(words)
        page.get_by_label("Repeat new password").fill(words)
        page.get_by_role("button", name="Save the password").click()
        page.wait_for_load_state("load")
        found += violations(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your password was changed")
    assert not found, "\n".join(found)


def test_who_has_no_role(live_server, page: Page):
    user_make(username="carl", role=Role.ANNOTATOR)
    log_in(page, live_server.url, "carl", then="/")
    picture(page, "no-role")
    assert not violations(page)


def test_the_studies_of_an_account(live_server, page: Page):
    study_make(pairs=2, open_signup=True, title="Open to all", pay_per_item="0.10")
    study_make(pairs=2, open_signup=True, title="Another one")
    page.goto(f"{live_server.url}/account/sign-up/")
    page.get_by_label("Email").fill("mia@example.org")
    page.get_by_label("Password").fill("correct horse battery staple")
    page.get_by_role("button", name="Create an account").click()
    page.get_by_role("button", name=re.compile(r"^Take part ?: Open to all$")).click()
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-23456-789AB")
    page.goto(f"{live_server.url}/account/")
    expect(page.get_by_role("heading", level=1)).to_have_text("My studies")
    picture(page, "account")
    assert not violations(page)


@pytest.mark.long
def test_the_pages_of_a_researcher(live_server, page: Page):
    alice = user_make(username="alice", email="alice@example.org")
    log_in(page, live_server.url)
    visit(page, live_server.url, staff_stops(alice))


@pytest.mark.long
def test_the_pages_of_an_administrator(live_server, page: Page):
    log_in_as = user_make(username="ada", role=Role.ADMINISTRATOR)
    log_in(page, live_server.url, log_in_as.username, then="/admin/")
    stops = list(admin_stops())
    visit(page, live_server.url, stops)
    visited = {stop.name.removeprefix("admin:") for stop in stops}
    assert own_names() - visited == set(ADMIN_NO_PAGES), (
        "visit the page in `admin_pages`, or say there why it is none"
    )


def test_the_comparisons(live_server, page: Page):
    user_make(username="alice")
    log_in(page, live_server.url)
    visit(page, live_server.url, comparison_stops())


@pytest.mark.long
def test_sweeps_judges_and_judgments(live_server, page: Page):
    alice = user_make(username="alice")
    log_in(page, live_server.url)
    visit(page, live_server.url, judging_stops(alice))


@pytest.mark.long
def test_the_decisions(live_server, page: Page):
    administrator = user_make(username="ada", role=Role.ADMINISTRATOR)
    log_in(page, live_server.url, administrator.username, then="/admin/")
    visit(page, live_server.url, decision_stops())
    visit(page, live_server.url, in_time_stops())


@pytest.mark.long
def test_systems_and_what_to_label_next(live_server, page: Page):
    alice = user_make(username="alice")
    log_in(page, live_server.url)
    visit(page, live_server.url, [*paper_stops(), *systems_stops()])
    visit(page, live_server.url, [*label_next_stops(alice), *plan_stops(alice)])


@pytest.fixture
def demo() -> Demo:
    return demo_build(mock_url="http://127.0.0.1:9/v1")


@pytest.mark.long
def test_the_demonstration(demo: Demo, live_server, page: Page):
    """The pages with real amounts of text: the work with its dialogs, and all of sweeps and reports."""
    found = []
    walker = Walker(page, hand="keys")
    walker.come(live_server.url, demo.invitation)
    walker.consent()
    walker.heading("Guidelines")
    found += violations(page)
    press(page, "Enter")
    page.wait_for_selector(".answer-bar")
    press(page, "b")
    found += violations(page)
    press(page, "g")
    found += violations(page)

    page.goto(f"{live_server.url}/login/")
    found += violations(page)
    page.fill("[name=username]", ADMINISTRATOR)
    page.fill("[name=password]", PASSWORD)
    page.click("button:has-text('Log in') >> nth=-1")
    page.get_by_role("heading", name="Next steps").wait_for()
    found += violations(page)
    addresses = [
        f"/studies/{demo.study.slug}/",
        "/datasets/demo/",
        "/reports/",
        f"/reports/{demo.report.pk}/",
        *(f"/reports/{report.pk}/" for report in demo.kind_reports),
        f"/sweeps/{demo.sweep.pk}/comparison/",
        f"/sweeps/{demo.sweep.pk}/decision/",
        "/admin/",
        "/admin/judges/sweep/",
        "/admin/judges/sweep/add/",
        f"/admin/judges/sweep/{demo.sweep.pk}/progress/",
        "/admin/judges/judge/",
    ]
    for address in addresses:
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status == 200, address
        found += violations(page)
    assert not found, "\n".join(found)
