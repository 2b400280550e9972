"""Time on task in a real browser: only while the tab is seen and somebody is there, by a clock that the test moves."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Label, Study
from tests.browser.conftest import press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ACTIVE = "() => window.touchstoneAnswers.of(document.querySelector('form[data-annotate]')).watch.read()"
SHOW = """state => {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def passes(page: Page, seconds: int) -> int:
    """How many seconds of active time that adds."""
    before = page.evaluate(ACTIVE)
    page.clock.run_for(seconds * 1000)
    return round((page.evaluate(ACTIVE) - before) / 1000)


def test_only_a_tab_that_is_seen_and_used_counts(page: Page, live_server, study):
    Study.objects.update(idle_seconds=30)
    page.clock.install(time="2026-01-01T00:00:00Z")
    open_work(page, live_server, study)
    page.wait_for_load_state("load")
    page.clock.pause_at("2026-01-01T01:00:00Z")
    assert passes(page, 60) == 0, "nobody has been there for an hour"
    page.mouse.move(200, 200)
    assert passes(page, 20) == 20
    assert passes(page, 60) == 10, "what is left of the half minute after the last input"
    page.mouse.move(300, 300)
    page.evaluate(SHOW, "hidden")
    assert passes(page, 600) == 0, "another tab is in front"
    page.evaluate(SHOW, "visible")
    assert passes(page, 5) == 5, "they have come back to it"
    active = page.evaluate(ACTIVE)
    page.clock.resume()
    press(page, "a")
    press(page, "Enter")
    expect(page.locator(".progress-label")).to_have_text("1 of 3")
    label = Label.objects.get()
    assert label.active_ms >= active
    assert label.wall_ms < 600_000, "from the lease to the answer by the server's clock, not the browser's"
