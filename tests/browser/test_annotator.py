"""An annotator's way in a real browser: by keyboard alone, with reloads, double clicks, two tabs and a phone."""

import os
import re
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import (
    Assignment,
    Enrollment,
    Intervention,
    Item,
    ItemReport,
    Label,
    QualificationAnswer,
    QualificationQuestion,
    Response,
    Stage,
    Study,
)
from tests.annotation.factories import dataset_make, enrollment_make, invitation_make, study_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = """A cube has **six** equal faces, each with an area equal to the square of the side.

```python
def surface(side: float) -> float:
    return 6 * side ** 2  # six faces, each with the same area, whatever the unit of length happens to be
```

| step | value |
|---|---|
| square | 16 |
| times six | 96 |

So the surface area is $6 \\times 4^2 = 96$ square units."""


@pytest.fixture
def study() -> Study:
    dataset = dataset_make(pairs=5)
    dataset.instructions.update(text="Calculate the surface area of a cube with side length 4.")
    for response in dataset.items.get(position=2).responses.all():
        response.text = f"{response.text}\n\n{LONG}"
        response.save()
    return study_make(
        dataset=dataset,
        qualification=2,
        title="Which answer is better?",
        question="Which answer follows the instruction better?",
        guidelines="# How to choose\n\nPrefer the answer that **follows** the instruction.",
    )


@pytest.fixture
def shot(request: pytest.FixtureRequest):
    """Save a picture when TOUCHSTONE_SHOTS names a folder, to be looked at by people."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")

    def take(page: Page, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}.png")

    return take


def open_work(page: Page, live_server, study: Study) -> Enrollment:
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(page).to_have_url(re.compile(r"/work/\d+/$"))
    return person


def radio(page: Page, choice: str):
    return page.locator(f"input[data-choice={choice}]")


def answer_rightly(page: Page) -> None:
    """Press the key of the response that the test knows to be right."""
    number = QualificationAnswer.objects.count()
    shown = page.locator(
        "form[data-annotate] input[name=question]"
    ).input_value()  # each person has an order of their own
    question = QualificationQuestion.objects.select_related("item").get(pk=shown)
    wanted = f"Response {question.item.gold['choice'] - 1} to"
    key = "a" if wanted in page.locator(".response-a").inner_text() else "b"
    press(page, key)
    press(page, "Enter")
    page.wait_for_function("n => !document.body.innerText.includes(n)", arg=f"Question {number + 1} of 2")


def test_from_the_invitation_to_the_code_by_keyboard(page: Page, live_server, study, shot):
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    expect(page.get_by_role("heading", level=1)).to_have_text(study.title)
    shot(page, "1-join")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you begin")
    shot(page, "2-consent")
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Guidelines")
    shot(page, "3-guidelines")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    shot(page, "4-test")
    answer_rightly(page)
    answer_rightly(page)

    expect(page.locator(".progress-label")).to_have_text("0 of 3")
    expect(page.get_by_role("heading", level=1)).to_have_text(study.question)
    press(page, "g")
    expect(page.get_by_role("dialog", name="Guidelines")).to_be_visible()
    press(page, "g")
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys on this page")).to_contain_text("Submit")
    shot(page, "5-keys")
    press(page, "Escape")
    for number, key in enumerate(["a", "b", "t"]):
        expect(page.locator(".progress-label")).to_have_text(f"{number} of 3")
        expect(page.get_by_role("button", name="Submit")).to_be_disabled()
        press(page, key)
        shot(page, f"6-work-{number}")
        press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you!")
    person = Enrollment.objects.get()
    expect(page.locator("#code")).to_have_text(person.completion_code)
    shot(page, "7-done")
    assert person.n_accepted == Label.objects.current().count() == 3
    for label, shown in zip(Label.objects.order_by("pk"), [0, 1, None], strict=True):
        assert label.choice == (0 if shown is None else label.shown_order[shown] + 1)
        assert label.wall_ms is not None


def test_undo_by_key_changes_the_last_answer(page: Page, live_server, study, shot):
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    press(page, "u")
    expect(page.get_by_text("You answered this pair")).to_be_visible()
    expect(radio(page, "a")).to_be_checked()
    shot(page, "8-undo")
    press(page, "b")
    press(page, "Enter")
    expect(page.get_by_text("Your answer was changed")).to_be_visible()
    label = Label.objects.current().get()
    assert label.choice == label.shown_order[1] + 1


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
def unwatched(chromium):
    """A browser that is not watched for errors: being offline is one."""
    context = chromium.new_context()
    context.set_default_timeout(10_000)
    yield context
    context.close()


def draft_state(page: Page):
    return page.locator("[data-draft-state]")


def test_a_submit_without_a_network_is_kept_and_sent_when_it_is_back(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    work = page.url
    unwatched.set_offline(True)
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft kept in this browser")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("No connection. Your answer is kept in this browser")
    page.wait_for_timeout(1500)  # tried again meanwhile, in vain
    assert not Label.objects.exists()
    assert page.url == work
    unwatched.set_offline(False)
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    label = Label.objects.get()
    assert label.choice == label.shown_order[1] + 1
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('draft')).length") <= 1


def test_what_was_submitted_offline_is_sent_by_the_next_page(unwatched, live_server, study):
    page = unwatched.new_page()
    person = open_work(page, live_server, study)
    work = page.url
    unwatched.set_offline(True)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("No connection")
    page.close()
    unwatched.set_offline(False)
    page = unwatched.new_page()
    page.goto(work)
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    assert Label.objects.get().choice == Label.objects.get().shown_order[0] + 1
    person.refresh_from_db()
    assert person.n_accepted == 1


def test_what_waits_for_another_item_is_sent_too(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    unwatched.set_offline(True)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("No connection")
    page.close()
    late = Assignment.objects.get()
    late.study_item.item.study_items.update(overlap=1, n_open=0, n_accepted=1)
    Assignment.objects.update(state="expired")
    unwatched.set_offline(False)
    page = unwatched.new_page()
    with page.expect_response(lambda response: response.status == 204):
        page.goto(f"{live_server.url}{reverse('annotation:work', args=[study.slug])}")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    assert str(late.pk) not in page.url.rsplit("/work/", 1)[1]
    assert Label.objects.get().is_surplus
    page.reload()
    expect(page.get_by_text("Your answer is kept, but it came after the time")).to_be_visible()


def test_another_choice_calls_back_what_waits(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    unwatched.set_offline(True)
    press(page, "a")
    press(page, "Enter")
    expect(draft_state(page)).to_contain_text("No connection")
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft kept in this browser")
    unwatched.set_offline(False)
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
    expect(draft_state(page)).to_contain_text("Your answer is kept in this browser")
    in_trouble = False
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    assert Label.objects.count() == 1


def test_whom_the_browser_does_not_know_any_more_gets_the_page_that_says_so(unwatched, live_server, study):
    page = unwatched.new_page()
    open_work(page, live_server, study)
    unwatched.clear_cookies(name="studies")
    press(page, "b")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("We do not know you in this browser")
    assert page.locator("h1").count() == 1


def test_who_is_suspended_meanwhile_is_told_on_a_page_of_its_own(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "b")
    expect(draft_state(page)).to_have_text("Draft saved")
    Enrollment.objects.update(suspended_at=timezone.now(), suspended_because="checks")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your work here has stopped")
    assert Label.objects.get().is_surplus


def test_after_a_submit_the_next_item_is_at_its_top_and_named(page: Page, live_server, study):
    open_work(page, live_server, study)
    first = page.url
    page.set_viewport_size({"width": 800, "height": 400})
    press(page, "a")
    page.evaluate("scrollTo(0, 500)")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    expect(page.locator("main")).to_be_focused()
    assert page.evaluate("scrollY") == 0
    assert page.url != first
    expect(page).to_have_title(study.question)
    expect(page.locator("[data-work-said]")).to_have_text("Next item. 1 of 3")
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
    page.reload()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")


def test_a_break_frees_the_item_and_keeps_the_draft(page: Page, live_server, study):
    open_work(page, live_server, study)
    work = page.url
    press(page, "b")
    press(page, "q")
    page.get_by_role("button", name="Take a break").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Enjoy your break")
    assert not Assignment.objects.filter(state="open").exists()
    press(page, "Enter")
    expect(radio(page, "b")).to_be_checked()
    assert page.url == work
    assert Assignment.objects.get().state == "open"


def test_a_message_is_read_once_and_new_guidelines_are_told(page: Page, live_server, study):
    person = open_work(page, live_server, study)
    Intervention.objects.create(enrollment=person, action="message", text="Please take your time.")
    Enrollment.objects.update(guidelines_read_version=1)
    Study.objects.update(guidelines_version=2)
    page.reload()
    expect(page.get_by_text("Please take your time.")).to_be_visible()
    press(page, "o")
    expect(page.get_by_text("Please take your time.")).to_have_count(0)
    expect(page.get_by_text("The guidelines have changed")).to_be_visible()
    press(page, "y")
    expect(page.get_by_text("The guidelines have changed")).to_have_count(0)
    person.refresh_from_db()
    assert person.guidelines_read_version == 2


def test_a_problem_is_reported_by_key(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "p")
    dialog = page.get_by_role("dialog", name="Report a problem")
    dialog.get_by_label("A text is broken").check()
    dialog.get_by_role("button", name="Report it").click()
    expect(page.locator("#messages")).to_contain_text("The researchers will look at that item")
    assert ItemReport.objects.get().reason == "broken"


def test_a_person_who_reads_for_long_keeps_the_item(page: Page, live_server, study):
    Study.objects.update(idle_seconds=3600)
    page.clock.install()
    open_work(page, live_server, study)
    before = Assignment.objects.get().expires_at
    page.clock.run_for(11 * 60 * 1000)
    page.wait_for_timeout(300)
    assert Assignment.objects.get().expires_at > before
    assert not Label.objects.exists()


def test_a_slow_draft_does_not_overtake_a_later_one(page: Page, live_server, study):
    open_work(page, live_server, study)
    held = []

    def slow(route):
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/draft/", slow)
    press(page, "a")
    page.wait_for_timeout(900)  # the draft is sent after 600 ms, and waits on its way
    press(page, "b")
    page.wait_for_timeout(900)
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
    expect(other.locator("#messages")).to_contain_text("You had answered that item already")
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


def test_skip_by_key(page: Page, live_server, study, shot):
    open_work(page, live_server, study)
    press(page, "s")
    dialog = page.get_by_role("dialog", name="Leave this one out")
    dialog.get_by_label("Something else").check()
    shot(page, "9-skip")
    dialog.get_by_role("button", name="Leave it out").click()
    expect(page.locator(".progress-label")).to_have_text("0 of 2")
    assert Assignment.objects.filter(release_reason="other").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone(new_context, live_server, study, shot, scheme):
    page = new_context(viewport=PHONE, color_scheme=scheme, has_touch=True).new_page()
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    assert_no_sideways_scroll(page)
    heading = page.get_by_role("heading", level=1)
    page.get_by_role("button", name="Begin").tap()
    expect(heading).to_have_text("Before you begin")
    assert_no_sideways_scroll(page)
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Continue").tap()
    expect(heading).to_have_text("Guidelines")
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Start the test").tap()
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    assert_no_sideways_scroll(page)
    shot(page, f"phone-{scheme}-test")
    Enrollment.objects.update(stage=Stage.WORK)
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    page.locator("label.choice", has=radio(page, "b")).tap()
    shot(page, f"phone-{scheme}-work")
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-23456-789AB")
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    shot(page, f"phone-{scheme}-done")


def test_dark_on_a_desk(new_context, live_server, study, shot):
    page = new_context(color_scheme="dark").new_page()
    open_work(page, live_server, study)
    press(page, "b")
    expect(radio(page, "b")).to_be_checked()
    shot(page, "dark-work")


def test_it_works_without_scripts(new_context, live_server, study):
    page = new_context(java_script_enabled=False).new_page()
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.get_by_role("button", name="Show it").click()
    expect(page).to_have_url(re.compile(r"/work/\d+/$"))
    page.locator("label.choice", has=radio(page, "a")).click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    page.get_by_role("link", name="Skip S").click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Leave it out").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    page.get_by_role("link", name="Guidelines").click()
    expect(page.get_by_role("heading", name="Guidelines")).to_be_visible()


def test_text_begins_where_its_script_begins(page: Page, live_server, study):
    texts = ["مرحبا، هذا جواب قصير.", "A short answer.\n\n- שלום, עולם.\n\n短い答えです。"]
    for response, text in zip(Item.objects.get(position=2).responses.order_by("pk"), texts, strict=True):
        Response.objects.filter(pk=response.pk).update(text=text)
    open_work(page, live_server, study)
    starts = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".response-body :is(p, li)")].map((box) => {
            const range = document.createRange(); range.selectNodeContents(box);
            const text = range.getBoundingClientRect(), whole = box.getBoundingClientRect();
            return [box.textContent.trim(), whole.right - text.right < text.left - whole.left ? "right" : "left"];
        }))"""
    )
    assert starts == {
        texts[0]: "right",
        "A short answer.": "left",
        "שלום, עולם.": "right",
        "短い答えです。": "left",
    }
