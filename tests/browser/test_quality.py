"""People, adjudication and reported items in a real browser: suspended with a question first, decided by keys alone."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Adjudication, Assignment, Enrollment, Label, Study, User
from annotation.services.quality import item_report, message_send
from tests.annotation.cast import label_make, labels_make
from tests.annotation.factories import annotator_make, enrollment_make, study_make, user_make
from tests.browser import conftest
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, confirm, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study() -> Study:
    study = study_make(
        pairs=12, slug="mine", title="Which is better?", owner=user_make(username="alice"), overlap=6
    )
    labels_make(study, [[1, 1, 2, 1], [1, 2, 0, 1]] + [[k % 2 + 1] * 4 for k in range(8)])
    odd = annotator_make(source="prolific", external_id="5f3c0a9e1b2d4c6f8a7b9c0d")
    items = [place.item for place in study.study_items.select_related("item").order_by("position")]
    for k, item in enumerate(items[:10]):
        label_make(
            study=study, item=item, choice=(k + 1) % 2 + 1 if k > 1 else 0, annotator=odd, active_ms=1_200,
            pasted_chars=30, comment="As an assistant, I prefer the first one." if k == 9 else "",
        )  # fmt: skip
    for k, label in enumerate(Label.objects.filter(annotator=odd)[:6]):
        Label.objects.create(
            item=label.item, annotator=odd, study=study, kind="pairwise", value={"choice": 1}, choice=1,
            role="check", check_score=float(k == 0), shown_order=[0, 1], active_ms=1_500,
        )  # fmt: skip
    enrollment_make(study=study, stage="consent")
    message_send(enrollment=Enrollment.objects.get(annotator=odd), by=None, text="Please take your time.")
    for lease, reason in zip(
        Assignment.objects.order_by("pk")[:3], ("broken", "missing", "other"), strict=True
    ):
        item_report(assignment=lease, reason=reason, note="Answer B ends in the middle of a sentence.")
    return study


def log_in(page: Page, live_server) -> None:
    conftest.log_in(page, User.objects.get(username="alice"), f"{live_server.url}/studies/")


def shots(page: Page, name: str) -> None:
    """Pictures, wide and narrow, light and dark, when TOUCHSTONE_SHOTS names a folder."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    for size in ({"width": 1280, "height": 800}, PHONE):
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.screenshot(path=f"{folder}/quality-{name}-{size['width']}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def test_people_and_reports(page: Page, live_server, study):
    log_in(page, live_server)
    found = []
    page.goto(f"{live_server.url}/studies/mine/people/")
    shots(page, "people")
    found += violations(page)
    row = page.get_by_role("row").filter(has_text="fails checks")
    expect(row).to_contain_text("disagrees")
    page.get_by_role("button", name="Fast").click()
    expect(page.locator("tbody tr").first).to_contain_text("fails checks")
    row.get_by_role("link").first.click()

    expect(page.get_by_text("Please take your time.")).to_be_visible()
    shots(page, "person")
    page.get_by_text("Suspend", exact=True).first.click()
    page.get_by_label("Reason").last.scroll_into_view_if_needed()
    form = page.locator("form[action$='/suspend/']")
    form.get_by_label("Reason").fill("careless")
    form.get_by_label("Exclude their labels").check()
    found += violations(page)
    form.get_by_role("button", name="Suspend").click()
    confirm(page)
    expect(page.get_by_text("The annotator is suspended")).to_be_visible()
    assert Enrollment.objects.get(annotator__source="prolific").n_accepted == 0
    shots(page, "person-suspended")

    page.get_by_role("link", name="Reported items (1)").click()
    shots(page, "reports")
    page.get_by_role("button", name=re.compile("Withdraw")).first.click()
    confirm(page)
    expect(page.get_by_text("The item is withdrawn")).to_be_visible()
    found += violations(page)
    assert not found, "\n".join(found)


def test_the_table_is_kept_up_to_date(page: Page, live_server, study):
    log_in(page, live_server)
    page.goto(f"{live_server.url}/studies/mine/people/")
    expect(page.locator("#people tbody tr")).to_have_count(6)
    page.get_by_role("button", name="Fast").click()
    expect(page.locator("#people tbody tr").first).to_contain_text("fails checks")
    enrollment_make(study=study, stage="consent")
    page.evaluate("htmx.ajax('GET', document.querySelector('#people').getAttribute('hx-get'), "
                  "{target: '#people', swap: 'outerHTML'})")  # fmt: skip
    expect(page.locator("#people tbody tr")).to_have_count(7)
    # As they had sorted it.
    expect(page.get_by_role("columnheader", name="Fast")).to_have_attribute("aria-sort", "descending")
    expect(page.locator("#people tbody tr").first).to_contain_text("fails checks")


def test_adjudicated_by_keys_alone(page: Page, live_server, study):
    log_in(page, live_server)
    found = []
    page.goto(f"{live_server.url}/studies/mine/adjudicate/")
    first = page.url
    expect(page.get_by_text("Annotators' answers", exact=True)).to_have_count(0)
    shots(page, "adjudicate")
    press(page, "p")
    expect(page.get_by_role("heading", name="Annotators' answers")).to_be_visible()
    shots(page, "adjudicate-said")
    found += violations(page)
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_text("Decided.")).to_be_visible()
    assert page.url != first
    assert Adjudication.objects.count() == 1
    press(page, "Enter")  # nothing is chosen: the browser says so, and nothing is sent
    assert Adjudication.objects.count() == 1
    while "/adjudicate/" in page.url and page.locator(".answer-bar").count():
        before = page.url
        press(page, "t")
        press(page, "Enter")
        page.wait_for_url(lambda url, before=before: url != before)
    expect(page.get_by_text("Everything is decided")).to_be_visible()
    shots(page, "adjudicate-done")
    page.goto(first)
    expect(page.get_by_role("heading", name="Annotators' answers")).to_be_visible()
    assert not found, "\n".join(found)
