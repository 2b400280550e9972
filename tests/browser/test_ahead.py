"""Items fetched ahead, in a real browser: the next one at once, with or without a connection, none lost or doubled."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import Annotator, Assignment, AssignmentState, Enrollment, Label, Study
from annotation.services.accounts import account_create
from annotation.services.leases import leases_reap
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.browser.conftest import press
from tests.browser.work_page import open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
READY = "3 items ready offline"


@pytest.fixture
def ahead_study() -> Study:
    return study_make(dataset=dataset_make(pairs=9), fetch_ahead=3, overlap=2)


@pytest.fixture
def unwatched(new_context):
    return new_context(watched=False)


def state(page: Page):
    return page.locator("[data-ahead-state]")


def begin(page: Page, live_server, study: Study) -> Enrollment:
    """At the first item, with three more in this browser and in its own store."""
    person = open_work(page, live_server, study)
    expect(state(page)).to_have_text(READY)
    page.wait_for_function(
        """async () => {
            const registration = await navigator.serviceWorker.getRegistration("/s/");
            if (!registration?.active) return false;
            const cache = await caches.open("touchstone-work-1");
            const files = await caches.open("touchstone-files-1");
            const kept = await cache.keys();
            return kept.filter(({ url }) => url.endsWith("?part")).length === 4
                && kept.some(({ url }) => url.endsWith("/offline/")) && (await files.keys()).length > 10;
        }"""
    )
    return person


def shown(page: Page) -> int:
    return int(re.search(r"/work/(\d+)/$", page.locator("form[data-annotate]").get_attribute("action"))[1])


def answer(page: Page, key: str) -> int:
    """Answer what is shown by keyboard, wait for the next item, and return which one was answered."""
    was = shown(page)
    press(page, key)
    press(page, "Enter")
    expect(page.locator(f'form[data-annotate]:not([action$="/work/{was}/"])')).to_be_visible()
    return was


class Held:
    """Answers on their way to the server, each of them until it is let go."""

    PATTERN = re.compile(r"/work/\d+/$")

    def __init__(self, page: Page) -> None:
        self.page = page
        self.routes: list[Route] = []
        page.route(self.PATTERN, lambda route: self.routes.append(route))

    def wait_for(self, n: int) -> Route:
        """The n-th of them, counted from one. The next item can be shown before it has left the page."""
        while len(self.routes) < n:
            self.page.wait_for_timeout(20)  # lets the route be told of it
        return self.routes[n - 1]

    def end(self) -> None:
        self.page.unroute(self.PATTERN)


def offline(context: BrowserContext) -> None:
    context.set_offline(True)


def online(context: BrowserContext) -> None:
    context.set_offline(False)


def test_the_next_item_is_shown_before_the_answer_has_arrived(page: Page, live_server, ahead_study):
    begin(page, live_server, ahead_study)
    held = Held(page)
    first = answer(page, "a")
    assert page.url.endswith(f"/work/{shown(page)}/")
    assert not Label.objects.exists()
    expect(state(page)).to_have_text("2 items ready offline")
    held.wait_for(1).continue_()
    held.end()
    expect(page.locator(".progress-label")).to_have_text("1 of 9")
    expect(state(page)).to_have_text(READY)
    label = Label.objects.get()
    assert label.assignment_id == first
    assert label.choice == label.shown_order[0] + 1
    assert Assignment.objects.filter(state=AssignmentState.OPEN).count() == 4
    expect(page.get_by_role("link", name="Change previous answer")).to_be_visible()
    expect(page.locator("[data-work-said]")).to_contain_text("Next item")


def test_what_was_sent_alone_is_not_shown_again(page: Page, live_server, ahead_study):
    """The site is slow: three answers wait, and of the first of these two the server says no new order."""
    begin(page, live_server, ahead_study)
    held = Held(page)
    given = [answer(page, "a")]
    first = held.wait_for(1)
    given += [answer(page, "a"), answer(page, "a")]
    first.continue_()
    second = held.wait_for(2)
    assert "alone=1" in second.request.post_data
    second.continue_()
    assert "ahead=1" in held.wait_for(3).request.post_data
    given.append(answer(page, "a"))
    assert shown(page) not in given
    held.end()
    expect(page.locator(".progress-label")).to_have_text("4 of 9")
    assert list(Label.objects.order_by("pk").values_list("assignment", flat=True)) == given


def test_everything_is_answered_once_and_in_order(page: Page, live_server, ahead_study):
    person = begin(page, live_server, ahead_study)
    asked = []
    page.on("request", lambda request: request.url.endswith("/work/ahead/") and asked.append(request))
    given = [answer(page, "atb"[k % 3]) for k in range(8)]
    assert not asked, "each answer brings what comes later"
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you")
    labels = list(Label.objects.order_by("pk"))
    assert [label.assignment_id for label in labels][:8] == given
    assert len(labels) == 9
    person.refresh_from_db()
    assert person.n_accepted == 9
    assert set(ahead_study.study_items.values_list("n_open", "n_accepted")) == {(0, 1)}
    # Of items fetched ahead the time is that in which they were shown.
    assert all(label.wall_ms is not None for label in labels)


def test_answers_wait_while_offline_and_are_sent_in_order(unwatched, live_server, ahead_study):
    page = unwatched.new_page()
    begin(page, live_server, ahead_study)
    offline(unwatched)
    given = [answer(page, "b"), answer(page, "a")]
    expect(state(page)).to_have_text("Offline: 2 answers waiting")
    expect(page.locator("[data-ahead-said]")).to_contain_text("You’re offline")
    assert not Label.objects.exists()
    online(unwatched)
    expect(page.locator(".progress-label")).to_have_text("2 of 9")
    expect(state(page)).to_have_text(READY)
    expect(page.locator("[data-ahead-said]")).to_have_text("You’re online again. 2 answers were sent.")
    labels = list(Label.objects.order_by("pk"))
    assert [label.assignment_id for label in labels] == given
    assert [label.choice for label in labels] == [
        labels[0].shown_order[1] + 1,
        labels[1].shown_order[0] + 1,
    ]


def test_an_answer_that_waits_can_be_changed(unwatched, live_server, ahead_study):
    page = unwatched.new_page()
    begin(page, live_server, ahead_study)
    offline(unwatched)
    first, second = answer(page, "b"), answer(page, "b")
    expect(state(page)).to_have_text("Offline: 2 answers waiting")
    third = shown(page)
    press(page, "u")
    expect(page.locator(f'form[data-annotate][action$="/work/{second}/"]')).to_be_visible()
    expect(radio(page, "b")).to_be_checked()
    expect(state(page)).to_have_text("Offline: 1 answer waiting")
    assert answer(page, "t") == second
    assert shown(page) == third
    online(unwatched)
    expect(page.locator(".progress-label")).to_have_text("2 of 9")
    assert dict(Label.objects.values_list("assignment", "choice"))[second] == 0
    assert set(Label.objects.values_list("assignment", flat=True)) == {first, second}
    assert Label.objects.filter(supersedes=None).count() == Label.objects.count() == 2


def test_the_page_opens_without_a_connection_and_goes_on(unwatched, live_server, ahead_study):
    page = unwatched.new_page()
    begin(page, live_server, ahead_study)
    first = answer(page, "b")
    expect(page.locator(".progress-label")).to_have_text("1 of 9")
    expect(state(page)).to_have_text(READY)
    second = shown(page)
    offline(unwatched)
    press(page, "a")  # typed, and not submitted
    expect(page.locator("[data-draft-state]")).to_have_text("Draft kept in this browser")
    page.reload()
    expect(radio(page, "a")).to_be_checked()
    assert shown(page) == second
    press(page, "Enter")
    expect(page.locator(f'form[data-annotate]:not([action$="/work/{second}/"])')).to_be_visible()
    third = answer(page, "t")
    expect(state(page)).to_have_text("Offline: 2 answers waiting")
    page.goto(f"{live_server.url}{reverse('annotation:work', args=[ahead_study.slug])}")
    expect(state(page)).to_have_text("Offline: 2 answers waiting")
    fourth = shown(page)
    assert fourth not in (first, second, third)
    online(unwatched)
    expect(page.locator(".progress-label")).to_have_text("3 of 9")
    assert list(Label.objects.order_by("pk").values_list("assignment", flat=True)) == [first, second, third]
    assert shown(page) == fourth


def test_when_all_are_answered_the_last_one_waits_with_the_others(unwatched, live_server, ahead_study):
    page = unwatched.new_page()
    begin(page, live_server, ahead_study)
    offline(unwatched)
    given = [answer(page, "a") for _ in range(3)]
    given.append(shown(page))
    press(page, "b")
    press(page, "Enter")
    expect(page.locator("[data-draft-state]")).to_contain_text("You’re offline. Your answer is saved here")
    expect(state(page)).to_have_text("Offline: 4 answers waiting")
    page.reload()
    expect(page.get_by_text("No more items are saved in this browser")).to_be_visible()
    online(unwatched)
    page.reload()
    expect(page.locator(".progress-label")).to_have_text("4 of 9")
    assert sorted(Label.objects.values_list("assignment", flat=True)) == sorted(given)
    assert Label.objects.current().count() == 4


def test_what_went_to_others_meanwhile_is_told(unwatched, live_server, ahead_study):
    page = unwatched.new_page()
    begin(page, live_server, ahead_study)
    offline(unwatched)
    late = answer(page, "a")
    leases_reap(now=Assignment.objects.latest("expires_at").expires_at.replace(year=2100))
    place = Assignment.objects.get(pk=late).study_item
    ahead_study.study_items.filter(pk=place.pk).update(n_accepted=2)
    online(unwatched)
    expect(page.get_by_text("Your answer is kept, but your time on that item ran out").first).to_be_visible()
    assert Label.objects.get().is_surplus


def test_a_break_gives_them_back_and_clears_this_browser(page: Page, live_server, ahead_study):
    begin(page, live_server, ahead_study)
    press(page, "q")
    page.get_by_role("button", name="Take a break").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Enjoy your break")
    assert not Assignment.objects.filter(state=AssignmentState.OPEN).exists()
    page.wait_for_function("async () => !(await caches.has('touchstone-work-1'))")


def test_signing_out_leaves_no_text_in_this_browser(page: Page, live_server, ahead_study):
    account = account_create(email="ann@example.org", password="correct horse battery staple")
    person = enrollment_make(study=ahead_study, annotator=Annotator.objects.get(pk=account.annotator_id))
    page.goto(f"{live_server.url}{reverse('annotation:account-sign-in')}")
    page.get_by_label("Email").fill("ann@example.org")
    page.get_by_label("Password").fill("correct horse battery staple")
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{live_server.url}{reverse('annotation:work', args=[ahead_study.slug])}")
    expect(state(page)).to_have_text(READY)
    page.wait_for_function("async () => (await (await caches.open('touchstone-work-1')).keys()).length > 4")
    page.goto(f"{live_server.url}{reverse('annotation:account')}")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in")
    page.wait_for_function("async () => !(await caches.has('touchstone-work-1'))")
    assert not Assignment.objects.filter(enrollment=person, state=AssignmentState.OPEN).exists()


def test_two_tabs_answer_each_item_once(page: Page, live_server, ahead_study):
    begin(page, live_server, ahead_study)
    other = page.context.new_page()
    other.goto(f"{live_server.url}{reverse('annotation:work', args=[ahead_study.slug])}")
    expect(state(other)).to_have_text(READY)
    assert shown(other) == shown(page)
    answer(page, "a")
    expect(page.locator(".progress-label")).to_have_text("1 of 9")
    answer(other, "b")
    expect(other.locator("#messages")).to_contain_text("Your first answer was kept")
    assert shown(other) == shown(page)
    assert Label.objects.count() == 1
    assert Assignment.objects.filter(state=AssignmentState.OPEN).count() == 4


def test_a_skipped_item_does_not_come_again(page: Page, live_server, ahead_study):
    begin(page, live_server, ahead_study)
    skipped = shown(page)
    press(page, "s")
    page.locator("#skip").get_by_label("The instruction is unclear").check()
    page.locator("#skip").get_by_role("button", name="Skip this item").click()
    expect(page.locator(f'form[data-annotate]:not([action$="/work/{skipped}/"])')).to_be_visible()
    expect(state(page)).to_have_text(READY)
    given = [answer(page, "a") for _ in range(4)]
    assert skipped not in given


def test_the_figures_of_ones_work_open_beside_it(page: Page, live_server, study):
    Study.objects.update(pay_per_item="0.25")
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    press(page, "h")
    dialog = page.get_by_role("dialog", name="Your work so far")
    expect(dialog.get_by_role("row", name="Earned")).to_contain_text("0.25 USD")
    expect(dialog).to_contain_text("2 items are left for you")


def test_after_another_tab_changed_the_language_items_are_fetched_again(page: Page, live_server, ahead_study):
    begin(page, live_server, ahead_study)
    other = page.context.new_page()
    other.goto(f"{live_server.url}{reverse('annotation:language')}?next=/s/{ahead_study.slug}/")
    other.get_by_role("button", name="Español").click()
    other.close()
    answer(page, "a")  # this tab keeps what it has once more
    expect(page.locator(".progress-label")).to_have_text("1 de 9")
    page.wait_for_function(
        """async () => {
            const kept = await (await caches.open("touchstone-work-1")).keys();
            return kept.filter(({ url }) => url.endsWith("?part")).length >= 3;
        }"""
    )
    page.reload()
    assert page.evaluate("document.documentElement.lang") == "es"
    expect(state(page)).to_have_text("3 ítems listos sin conexión")
    answer(page, "a")
    expect(page.locator(".answer-bar button[type=submit]")).to_contain_text("Enviar")
