"""What the work page summarizes of how an answer is given, in a real browser."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import AnswerSignals, Label, Response, Study
from tests.annotation.factories import enrollment_make, study_make
from tests.browser.axe import violations
from tests.browser.work_page import LONG, open_work, radio

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def study(db) -> Study:
    study = study_make(pairs=4, overlap=2, ask_comment=True)
    Response.objects.update(text="\n\n".join([LONG] * 12))
    return study


def submitted(page: Page, number: int = 1) -> AnswerSignals:
    """The signals of the answer that is submitted now, the `number`th."""
    before = page.url
    page.locator(".answer-bar button[type=submit]").click()
    expect(page).not_to_have_url(before)
    assert Label.objects.count() == number
    return AnswerSignals.objects.latest("pk")


def test_a_mouse_the_wheel_and_keys(page, live_server, study):
    open_work(page, live_server, study)
    page.wait_for_timeout(600)
    page.mouse.move(200, 300, steps=10)
    page.mouse.wheel(0, 300)
    page.wait_for_timeout(200)
    page.keyboard.press("b")
    found = submitted(page)
    assert 500 <= found.first_ms < 10_000
    assert found.pointer >= 10
    assert (found.touch, found.keys, found.hidden, found.untrusted) == (0, 1, 0, 0)
    assert 0 < found.scrolled < 100
    assert (found.typed, found.gaps, found.gap_ms) == (0, 0, None)
    assert found.automated  # Playwright says so of itself


def test_typing_is_a_count_a_median_and_a_spread(page, live_server, study):
    open_work(page, live_server, study)
    radio(page, "a").check()
    page.keyboard.press("m")
    page.locator("#comment").press_sequentially("because it is right", delay=40)
    found = submitted(page)
    assert (found.typed, found.keyless, found.pasted, found.gaps) == (19, 0, 0, 18)
    assert 35 <= found.gap_ms <= 120
    assert found.gap_spread_ms <= 60


def test_text_without_keys_and_pasted_text_are_told_apart(page, live_server, study):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_work(page, live_server, study)
    radio(page, "a").check()
    page.keyboard.press("m")
    page.keyboard.insert_text("As dictated. ")  # what a phone's keyboard or dictation does
    page.evaluate("navigator.clipboard.writeText('Taken from elsewhere.')")
    page.keyboard.press("ControlOrMeta+v")
    page.keyboard.type("ok")
    found = submitted(page)
    assert (found.pastes, found.pasted) == (1, 21)
    assert (found.typed, found.keyless) == (36, 13)
    assert Label.objects.get().pasted_chars == 21


def test_what_a_script_does_is_counted_and_what_ours_do_is_not(page, live_server, study):
    open_work(page, live_server, study)
    page.keyboard.press("a")  # keys.js clicks for it
    page.wait_for_timeout(1200)
    page.evaluate("document.querySelector('[data-choice=b]').click()")
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }))")
    assert submitted(page).untrusted == 2


def test_a_hidden_page_is_counted_with_its_time(page, live_server, study):
    open_work(page, live_server, study)
    hide = """(state) => { Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
        document.dispatchEvent(new Event("visibilitychange")); }"""
    page.evaluate(hide, "hidden")
    page.wait_for_timeout(700)
    page.evaluate(hide, "visible")
    page.keyboard.press("a")
    found = submitted(page)
    assert found.hidden == 1
    assert 600 <= found.hidden_ms < 5_000


def test_a_reload_forgets_nothing_and_the_next_item_begins_anew(page, live_server, study):
    open_work(page, live_server, study)
    for key in ("ArrowDown", "ArrowDown", "a"):
        page.keyboard.press(key)
    page.wait_for_selector("[data-draft-state][data-state=saved]")
    page.reload()
    expect(page.locator("form[data-annotate]")).to_be_visible()
    assert submitted(page).keys == 3
    page.keyboard.press("b")
    assert submitted(page, 2).keys == 1


def test_without_scripts_nothing_is_sent(new_context, live_server, study):
    page = new_context(java_script_enabled=False).new_page()
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.locator("form[hx-trigger^=load] button").click()
    radio(page, "a").check()
    page.locator(".answer-bar button[type=submit]").click()
    assert Label.objects.count() == 1
    assert not AnswerSignals.objects.exists()


def test_an_answer_that_waited_offline_has_the_signals_of_its_own_time(new_context, live_server, study):
    page = new_context(watched=False).new_page()
    open_work(page, live_server, study)
    page.keyboard.press("a")
    page.context.set_offline(True)
    page.locator(".answer-bar button[type=submit]").click()
    expect(page.locator("[data-draft-state]")).to_contain_text("offline")
    page.mouse.move(10, 10, steps=30)
    page.context.set_offline(False)
    expect(page.locator(".progress-label")).to_contain_text("1 of")
    assert Label.objects.count() == 1
    assert AnswerSignals.objects.get().keys == 1


class TestHiddenText:
    @pytest.fixture
    def work(self, page, live_server, study) -> Page:
        Study.objects.update(machine_text=True)
        Response.objects.update(text="A plain answer.\n\n" * 9)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        open_work(page, live_server, study)
        return page

    def test_a_copy_of_the_whole_page_has_it_and_one_of_an_answer_has_not(self, work, study):
        word = Study.objects.get().reader_word
        work.evaluate("document.activeElement.blur()")
        work.keyboard.press("ControlOrMeta+a")
        assert word in work.evaluate("getSelection().toString()")
        work.keyboard.press("ControlOrMeta+c")
        assert word in work.evaluate("navigator.clipboard.readText()")
        work.evaluate("getSelection().removeAllRanges()")
        assert not work.evaluate("(word) => window.find(word)", word)
        assert not work.evaluate("window.find('automated readers')")
        work.evaluate("getSelection().selectAllChildren(document.querySelector('#pane-a'))")
        assert word not in work.evaluate("getSelection().toString()")

    def test_nobody_sees_or_hears_it_and_no_key_leads_there(self, work):
        word = Study.objects.get().reader_word
        assert word not in work.locator("body").aria_snapshot()
        assert "Reader code" not in work.locator("body").aria_snapshot()
        assert violations(work) == []
        box = work.locator("[data-machine-text]").bounding_box()
        assert box["width"] <= 1
        assert box["height"] <= 1
        names = set()
        for _ in range(60):
            work.keyboard.press("Tab")
            names.add(work.evaluate("document.activeElement.name ?? ''"))
        assert "choice" in names
        assert "reader_code" not in names

    def test_a_program_that_does_as_it_is_asked_leaves_the_word(self, work):
        word = Study.objects.get().reader_word
        assert word in work.evaluate("document.querySelector('main').innerText")
        radio(work, "a").check()
        work.locator("[name=reader_code]").evaluate("(field, word) => (field.value = word)", word)
        assert submitted(work).decoy

    def test_a_person_leaves_no_trace(self, work):
        work.keyboard.press("a")
        found = submitted(work)
        assert not found.decoy
        assert found.untrusted == 0
