"""Images in a real browser: uploaded with a dataset, shown to annotators, enlarged by key, mouse and fingers."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.importers.images import read_generic_with_images
from annotation.models import Dataset, Label, Study
from annotation.services.datasets import dataset_import
from annotation.services.images import image_folder
from tests.annotation.factories import study_make, user_make
from tests.annotation.pictures import cats
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, log_in, press
from tests.browser.work_page import open_work, radio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(tmp_path, settings) -> Study:
    settings.IMAGES_DIR = tmp_path / "images"
    bundle = read_generic_with_images(cats(tmp_path), image_folder())
    return study_make(dataset=dataset_import(bundle=bundle, name="cats").dataset)


def test_a_researcher_uploads_an_archive(live_server, page: Page, tmp_path, settings):
    settings.IMAGES_DIR = tmp_path / "images"
    log_in(page, user_make(username="alice"), live_server.url + reverse("judges:dataset-upload"))
    page.wait_for_load_state("load")
    page.get_by_label("File", exact=True).set_input_files(cats(tmp_path))
    page.get_by_label("Name", exact=True).fill("cats")
    page.get_by_role("button", name="Check file").click()
    # What it becomes is shown first.
    page.get_by_role("button", name="Import 2 items").click()
    page.get_by_role("link", name="Open dataset").click()
    expect(page.get_by_role("heading", name="cats", level=1)).to_be_visible()
    assert Dataset.objects.get().images.count() == 2


def test_by_key(live_server, page: Page, study: Study):
    open_work(page, live_server, study)
    image = page.locator(".prose a.image-link").first
    expect(image.locator("img")).to_have_js_property("naturalWidth", 40)
    image.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.image-dialog")
    expect(dialog).to_be_visible()
    width = dialog.locator("img").bounding_box()["width"]
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(dialog.locator(".is-enlarged")).to_be_visible()
    # From the size that it had: an image of 40 pixels doesn't leap to more than the window's width.
    assert dialog.locator("img").bounding_box()["width"] == pytest.approx(1.5 * 1.5 * width, rel=0.05)
    # Keys of answers belong to the page below.
    page.keyboard.press("a")
    page.keyboard.press("0")
    expect(dialog.locator(".is-enlarged")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(radio(page, "a")).not_to_be_checked()
    press(page, "a")
    press(page, "Enter")
    expect(page.get_by_text("1 of 2", exact=False).first).to_be_visible()
    assert Label.objects.count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(new_context, live_server, study: Study, scheme: str):
    page = new_context(viewport=PHONE, color_scheme=scheme, has_touch=True).new_page()
    open_work(page, live_server, study)
    page.locator(".prose a.image-link").first.tap()
    expect(page.locator("dialog.image-dialog")).to_be_visible()
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Close").tap()
    assert violations(page) == []


def test_an_image_without_a_description_says_so(live_server, page: Page, study: Study):
    study.study_items.filter(item__external_id="cats").delete()
    open_work(page, live_server, study)
    expect(page.get_by_role("img", name="Image without a description")).to_be_visible()
    expect(page.locator(".prose .image-alt").filter(has_text=re.compile("^Image without"))).to_be_visible()
