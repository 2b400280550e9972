"""What the work page shows to who has no scripts, who magnifies it, and who hears it."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Study
from tests.annotation.factories import enrollment_make
from tests.browser.conftest import press
from tests.browser.work_page import open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_no_key_is_shown_without_scripts(live_server, new_context, study):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(
        live_server.url + reverse("annotation:resume", args=[enrollment_make(study=study).resume_token])
    )
    page.locator("main button[type=submit]").first.click()  # the claim, which scripts send by themselves
    expect(page.locator(".answer-bar")).to_be_visible()
    assert page.locator("kbd").count() > 0
    assert page.locator("kbd:visible").count() == 0


@pytest.mark.parametrize("points", [3, 7])
def test_the_decision_stays_in_view_at_200_percent(live_server, new_context, study, points):
    Study.objects.update(preference_points=points)
    page = new_context(viewport={"width": 640, "height": 400}).new_page()  # what is left of 1280 by 800
    open_work(page, live_server, study)
    page.wait_for_load_state("load")
    for chosen in (False, True):
        if chosen:
            press(page, "a")
        for shown in (
            radio(page, "a").first,
            radio(page, "b").last,
            page.locator(".answer-bar button[type=submit]"),
        ):
            box = shown.bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 400


def test_a_choice_is_announced_once(live_server, page: Page, study):
    open_work(page, live_server, study)
    page.wait_for_load_state("load")
    page.evaluate(
        """() => {
            window.said = [];
            const heard = (region) => region.textContent && window.said.push(region.textContent);
            const watch = (region) => new MutationObserver(() => heard(region))
                .observe(region, { childList: true, characterData: true, subtree: true });
            document.querySelectorAll("[aria-live], [role=status], [role=alert]").forEach(watch);
        }"""
    )
    press(page, "a")
    page.wait_for_selector("[data-draft-state][data-state=saved]")
    assert page.evaluate("window.said") == ["A is better: chosen"]
