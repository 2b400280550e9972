"""An annotator in trouble, in a real browser: reloads, no network, two tabs, double clicks, a slow server."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import (
    Assignment,
    Enrollment,
    Label,
)
from tests.browser.conftest import PHONE, press
from tests.browser.work_page import open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_reload_keeps_the_draft(page: Page, live_server, study, new_context):
    person = open_work(page, live_server, study)
    press(page, "t")
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    page.reload()
    expect(radio(page, "tie")).to_be_checked()
    press(page, "b")
    page.reload()  # at once: the server may not have heard of it, this browser has
    expect(radio(page, "b")).to_be_checked()
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    phone = new_context(viewport=PHONE).new_page()
    phone.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(radio(phone, "b")).to_be_checked()
    assert not Label.objects.exists()


@pytest.fixture
def unwatched(new_context):
    return new_context(watched=False)


def disconnect(context: BrowserContext) -> None:
    """Take the network away. The browser's own emulation fails a request that it may have sent all the same."""
    context.route("**/*", lambda route: route.abort("internetdisconnected"))


def reconnect(context: BrowserContext) -> None:
    context.unroute_all()
    for page in context.pages:
        page.evaluate("dispatchEvent(new Event('online'))")


def close(page: Page) -> None:
    """Close a page for good: what waits in one that is closing may be sent all the same."""
    page.goto("about:blank")
    page.close()


def draft_state(page: Page):
    return page.locator("[data-draft-state]")


def test_a_submit_without_a_network_is_kept_and_sent_when_it_is_back(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    work = page.url
    disconnect(unwatched)
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft kept in this browser")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("You’re offline. Your answer is saved here")
    page.wait_for_timeout(1500)  # tried again meanwhile, in vain
    assert not Label.objects.exists()
    assert page.url == work
    reconnect(unwatched)
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    label = Label.objects.get()
    assert label.choice == label.shown_order[1] + 1
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('draft')).length") <= 1


def test_what_was_submitted_offline_is_sent_by_the_next_page(unwatched, live_server, study):
    page = unwatched.new_page()
    person = open_work(page, live_server, study)
    work = page.url
    disconnect(unwatched)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("You’re offline")
    close(page)
    reconnect(unwatched)
    page = unwatched.new_page()
    page.goto(work)
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    assert Label.objects.get().choice == Label.objects.get().shown_order[0] + 1
    person.refresh_from_db()
    assert person.n_accepted == 1


def test_what_waits_for_another_item_is_sent_too(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    disconnect(unwatched)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("You’re offline")
    close(page)
    late = Assignment.objects.get()
    late.study_item.item.study_items.update(overlap=1, n_open=0, n_accepted=1)
    Assignment.objects.update(state="expired")
    reconnect(unwatched)
    page = unwatched.new_page()
    with page.expect_response(lambda response: response.status == 204):
        page.goto(f"{live_server.url}{reverse('annotation:work', args=[study.slug])}")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert str(late.pk) not in page.url.rsplit("/work/", 1)[1]
    assert Label.objects.get().is_surplus
    told = page.get_by_text("Your answer is kept, but your time on that item ran out")
    if not told.count():  # it goes with the next page or part, whichever that is
        page.reload()
    expect(told).to_be_visible()


def test_another_choice_calls_back_what_waits(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    disconnect(unwatched)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("You’re offline")
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft kept in this browser")
    reconnect(unwatched)
    page.wait_for_timeout(1500)
    assert not Label.objects.exists()
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    assert Label.objects.get().choice == Label.objects.get().shown_order[1] + 1


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_site_that_is_in_trouble_is_asked_again(unwatched, live_server, study, status):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    in_trouble = True

    def trouble(route):
        if route.request.method == "POST" and in_trouble:
            route.fulfill(status=status, body="<h1>Trouble</h1>")
        else:
            route.continue_()

    page.route(re.compile(r"/work/\d+/$"), trouble)
    press(page, "b")
    press(page, "Enter")
    # In trouble until it was read: a message that a retry takes away again may be missed.
    expect(draft_state(page)).to_contain_text("Your answer is saved here and will be sent")
    in_trouble = False
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    assert Label.objects.count() == 1


def test_whom_the_browser_does_not_know_any_more_gets_the_page_that_says_so(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    unwatched.clear_cookies(name="studies")
    press(page, "b")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("We don't recognize this browser")
    assert page.locator("h1").count() == 1


def test_who_is_suspended_meanwhile_is_told_on_a_page_of_its_own(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft saved")
    Enrollment.objects.update(suspended_at=timezone.now(), suspended_because="checks")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your work here has stopped")
    assert Label.objects.get().is_surplus


def test_a_slow_draft_does_not_overtake_a_later_one(page: Page, live_server, study):
    open_work(page, live_server, study)
    held = []

    def slow(route):
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/draft/", slow)
    with page.expect_request("**/draft/"):  # it waits on its way
        press(page, "a")
    press(page, "b")
    page.wait_for_timeout(900)  # longer than a draft waits for another key
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator("[data-draft-state]")).to_have_text("Draft saved")
    lease = Assignment.objects.get()
    assert lease.draft["fields"] == {"choice": "2"}


def test_a_double_click_submits_once(page: Page, live_server, study):
    person = open_work(page, live_server, study)
    radio(page, "a").check()
    page.get_by_role("button", name="Submit").dblclick()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    person.refresh_from_db()
    assert Label.objects.count() == person.n_accepted == 1


def test_two_tabs_show_one_item_and_lose_nothing(page: Page, live_server, study):
    open_work(page, live_server, study)
    other = page.context.new_page()
    other.goto(f"{live_server.url}{reverse('annotation:work', args=[study.slug])}")
    assert other.url == page.url
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    press(other, "b")
    press(other, "Enter")
    expect(other.locator("#messages")).to_contain_text("Your first answer was kept")
    assert other.url == page.url
    label = Label.objects.get()
    assert label.choice == label.shown_order[0] + 1
    assert Assignment.objects.count() == 2


def test_the_back_button_asks_the_server_again(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    second = page.url
    press(page, "u")
    expect(page.get_by_text("You answered this pair")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert page.url == second
    page.go_forward()
    press(page, "f")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert Label.objects.count() == 1
