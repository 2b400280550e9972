"""The web server is killed while somebody works, and comes back: what they submitted meanwhile arrives by itself."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from annotation.models import Label
from tests.annotation.factories import enrollment_make, study_make
from tests.judges.props import database_url
from tests.live_site import LiveSite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_an_answer_outlives_the_server(chromium: Browser):
    person = enrollment_make(study=study_make(pairs=5))
    site = LiveSite(database_url(), workers=1)
    context = chromium.new_context()
    try:
        site.start()
        page = context.new_page()
        page.clock.install()
        page.goto(f"http://127.0.0.1:{site.port}{reverse('annotation:resume', args=[person.resume_token])}")
        expect(page.get_by_role("button", name="Submit")).to_be_visible()
        site.kill()  # with its workers
        page.keyboard.press("b")
        page.keyboard.press("Enter")
        state = page.locator("[data-draft-state]")
        expect(state).to_contain_text("Your answer is saved here and will be sent")
        page.clock.run_for(2000)
        expect(state).to_contain_text("Your answer is saved here and will be sent")
        site.start()
        page.clock.run_for(30_000)  # it tries again every half minute
        expect(page.locator(".progress-label")).to_have_text("1 of 5")
    finally:
        context.close()
        site.stop()
    label = Label.objects.get()
    assert label.choice == label.shown_order[1] + 1
