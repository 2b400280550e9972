"""A researcher's way in a real browser: log in, make a study, open it, send a link, watch it, take the labels away."""

import os
import re
from pathlib import Path
from typing import Literal

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Dataset, Invitation, Study, User
from tests.annotation.cast import label_make, labels_make
from tests.annotation.factories import PASSWORD, dataset_make, study_make, user_make
from tests.browser import conftest
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, confirm, press, settled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice() -> User:
    return user_make(username="alice")


@pytest.fixture
def shot():
    """Save a picture when TOUCHSTONE_SHOTS names a folder, to be looked at by people."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")

    def take(page: Page, name: str, scheme: Literal["light", "dark"] = "light") -> None:
        if folder:
            page.emulate_media(color_scheme=scheme)
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/researcher-{name}.png", full_page=True)

    return take


def log_in(page: Page, live_server) -> None:
    conftest.log_in(page, User.objects.get(username="alice"), f"{live_server.url}/studies/")


def test_from_login_to_labels(page: Page, live_server, alice, shot, tmp_path):
    dataset_make(pairs=8, name="pairs")
    page.goto(live_server.url)
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.get_by_role("link", name="Studies", exact=True).click()
    expect(page.get_by_role("heading", name="Studies", level=1)).to_be_visible()
    expect(page.get_by_text("No studies yet")).to_be_visible()

    press(page, "n")
    expect(page.get_by_role("heading", name="New study")).to_be_visible()
    page.get_by_label("Title").fill("Which is better?")
    # What there is to test with comes with the dataset, and takes the place of the fields for it.
    page.wait_for_load_state("load")  # before that, no script hears of a choice
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_label("Dataset").select_option(index=1)
    settled(page)
    page.get_by_role("textbox", name="Guidelines").fill("Prefer what is **right**.")
    expect(page.locator("#preview-guidelines strong")).to_have_text("right")
    page.get_by_label("Questions in the test").fill("9")
    page.get_by_role("button", name="Create draft").click()
    expect(page.locator("#id_qualification_size_error")).to_contain_text("8 pairs with a known right answer")
    assert page.get_by_role("textbox", name="Guidelines").input_value() == "Prefer what is **right**."
    shot(page, "form-refused")
    page.get_by_label("Questions in the test").fill("2")
    page.get_by_label("Right answers to pass").fill("2")
    page.get_by_role("button", name="Create draft").dblclick()

    expect(page.get_by_role("heading", name="Which is better?", level=1)).to_be_visible()
    expect(page.get_by_text("asks for 24 labels")).to_be_visible()
    page.get_by_role("button", name="Open study").click()
    confirm(page)
    expect(page.get_by_text("The study is open")).to_be_visible()
    assert Study.objects.get().state == "open"

    page.get_by_label("Note").fill("Colleagues")
    page.get_by_role("button", name="Make a link").click()
    address = live_server.url + reverse("annotation:join", args=[Invitation.objects.get().token])
    expect(page.locator(".researcher-link")).to_have_text(address)
    shot(page, "open")

    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).first.click()
    path = tmp_path / "labels.csv"
    download.value.save_as(path)
    assert re.fullmatch(r"which-is-better-\w+-labels-\d{8}\.csv", download.value.suggested_filename)
    assert path.read_text().startswith("label_id,study,")


def test_the_study_page_follows_the_work(page: Page, live_server, alice, shot):
    study = study_make(pairs=4, owner=alice, overlap=4, slug="mine")
    labels_make(study, [[1, 1, 2], [2, 2, None]])
    log_in(page, live_server)
    page.clock.install()
    page.goto(live_server.url + reverse("annotation:study-detail", args=["mine"]))
    expect(page.locator(".progress-label")).to_have_text("5 of 16 labels")
    expect(page.get_by_role("button", name="Median time")).to_be_visible()
    label_make(study=study, item=study.dataset.items.get(position=2), choice=1)
    page.clock.run_for(11_000)
    expect(page.locator(".progress-label")).to_have_text("6 of 16 labels")
    # What came by htmx is as sortable as what came with the page.
    page.get_by_role("button", name="Agreement with the others").click()
    expect(page.locator("th[aria-sort=descending]", has_text="Agreement with the others")).to_be_visible()
    shot(page, "study")


def test_a_phone_and_the_dark(new_context, live_server, alice, shot):
    dataset = dataset_make(pairs=3, name="pairs")
    Dataset.objects.update(title="Averyveryveryveryveryveryverylongwordinatitle " * 4)
    study = study_make(
        dataset=dataset,
        owner=alice,
        overlap=4,
        slug="mine",
        title="Supercalifragilisticexpialidociousnesses " * 4,
    )
    labels_make(study, [[1, 1, 2], [2, 2, 0], [0, 1, None]])
    page = new_context(viewport=PHONE, has_touch=True).new_page()
    log_in(page, live_server)
    for name, args in [
        ("study-list", []),
        ("study-create", []),
        ("study-detail", ["mine"]),
        ("study-edit", ["mine"]),
        ("dataset-list", []),
        ("dataset-detail", ["pairs"]),
    ]:
        page.goto(live_server.url + reverse(f"annotation:{name}", args=args))
        assert_no_sideways_scroll(page)  # no color makes a page wider
        for scheme in ("light", "dark"):
            shot(page, f"{name}-360-{scheme}", scheme)
    page.locator("details.researcher-item").first.click()
    assert_no_sideways_scroll(page)
