"""An annotator's way in a real browser: by keyboard alone, with reloads, double clicks, two tabs and a phone."""

import os
import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import (
    Assignment,
    Enrollment,
    Intervention,
    Item,
    ItemReport,
    Label,
    QualificationQuestion,
    Response,
    Stage,
    Study,
)
from tests.annotation.factories import enrollment_make, invitation_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.work_page import open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def shot(request: pytest.FixtureRequest):
    """Save a picture when TOUCHSTONE_SHOTS names a folder, to be looked at by people."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")

    def take(page: Page, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}.png")

    return take


def answer_rightly(page: Page, number: int) -> None:
    """Press the key of the response that the test knows to be right, when question `number` of two is there."""
    expect(page.locator(".progress-label")).to_have_text(f"Question {number} of 2")
    shown = page.locator(
        "form[data-annotate] input[name=question]"
    ).input_value()  # each person has an order of their own
    question = QualificationQuestion.objects.select_related("item").get(pk=shown)
    wanted = f"Response {question.item.gold['choice'] - 1} to"
    key = "a" if wanted in page.locator(".response-a").inner_text() else "b"
    press(page, key)
    press(page, "Enter")


def test_from_the_invitation_to_the_code_by_keyboard(page: Page, live_server, study, shot):
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    expect(page.get_by_role("heading", level=1)).to_have_text(study.title)
    shot(page, "1-join")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you start")
    shot(page, "2-consent")
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Guidelines")
    shot(page, "3-guidelines")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    shot(page, "4-test")
    answer_rightly(page, 1)
    answer_rightly(page, 2)

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
    dialog.get_by_role("button", name="Report problem").click()
    expect(page.locator("#messages")).to_contain_text("The researchers will look at that item")
    assert ItemReport.objects.get().reason == "broken"


def test_a_person_who_reads_for_long_keeps_the_item(page: Page, live_server, study):
    Study.objects.update(idle_seconds=3600)
    page.clock.install()
    open_work(page, live_server, study)
    before = Assignment.objects.get().expires_at
    with page.expect_response("**/draft/") as heartbeat:
        page.clock.run_for(11 * 60 * 1000)
    assert heartbeat.value.status == 204
    assert Assignment.objects.get().expires_at > before
    assert not Label.objects.exists()


def test_skip_by_key(page: Page, live_server, study, shot):
    open_work(page, live_server, study)
    press(page, "s")
    dialog = page.get_by_role("dialog", name="Skip this item")
    dialog.get_by_label("Something else").check()
    shot(page, "9-skip")
    dialog.get_by_role("button", name="Skip this item").click()
    expect(page.locator(".progress-label")).to_have_text("0 of 2")
    assert Assignment.objects.filter(release_reason="other").count() == 1


def test_nothing_scrolls_sideways_on_a_phone(new_context, live_server, study, shot):
    page = new_context(viewport=PHONE, has_touch=True).new_page()
    invitation = invitation_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:join', args=[invitation.token])}")
    assert_no_sideways_scroll(page)
    heading = page.get_by_role("heading", level=1)
    page.get_by_role("button", name="Start").tap()
    expect(heading).to_have_text("Before you start")
    assert_no_sideways_scroll(page)
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Continue").tap()
    expect(heading).to_have_text("Guidelines")
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Start the test").tap()
    expect(page.locator(".progress-label")).to_have_text("Question 1 of 2")
    assert_no_sideways_scroll(page)
    shot(page, "phone-test")
    Enrollment.objects.update(stage=Stage.WORK)
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    page.locator("label.choice", has=radio(page, "b")).tap()
    shot(page, "phone-work")
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-23456-789AB")
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    assert_no_sideways_scroll(page)
    shot(page, "phone-done")


def test_it_works_without_scripts(new_context, live_server, study):
    page = new_context(java_script_enabled=False).new_page()
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.get_by_role("button", name="Show the next item").click()
    expect(page).to_have_url(re.compile(r"/work/\d+/$"))
    page.locator("label.choice", has=radio(page, "a")).click()
    expect(page.locator(".response-a .response-picked")).to_be_visible()
    expect(page.locator(".response-b .response-picked")).to_be_hidden()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    page.get_by_role("link", name="Skip", exact=True).click()
    page.get_by_label("Something else").check()
    page.get_by_role("button", name="Skip this item").click()
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


def test_an_answer_that_is_refused_is_not_called_the_next_item(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "a")
    # As of a browser that doesn't check forms by itself.
    page.evaluate(
        """() => {
            const form = document.querySelector("form[data-annotate]");
            form.noValidate = true;
            form.querySelectorAll("[name=choice]").forEach((one) => { one.value = "9"; });
        }"""
    )
    press(page, "Enter")
    expect(page.locator("#work .flash-error")).to_be_visible()
    said = page.locator("[data-work-said]").text_content()
    assert "Next item" not in said
    assert "of 3" not in said
    assert not Label.objects.exists()


def test_an_answer_that_is_changed_is_not_called_the_next_item(page: Page, live_server, study):
    open_work(page, live_server, study)
    press(page, "a")
    press(page, "Enter")
    expect(page.locator("[data-work-said]")).to_have_text("Next item. 1 of 3")
    press(page, "u")
    expect(page.get_by_text("You answered this pair")).to_be_visible()
    expect(page.locator("[data-work-said]")).not_to_contain_text("Next item")
