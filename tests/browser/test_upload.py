"""Uploading a dataset in a real browser: errors and columns are asked about while the chosen file stays."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Dataset, Item, User
from tests.annotation.factories import user_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ODD = "Question;A very long name of the first answer;Second;Best\nWhy?;a;b;1\nHow?;c;d;2\n"
COLUMNS = {"Question": "Instruction (prompt)", "Second": "Response 2", "Best": "Gold: 1, 2 or 0 for a tie"}


@pytest.fixture
def upload(new_context, live_server):
    def open_form(**options):
        if not Dataset.objects.exists():
            user_make(username="alice")
        page = new_context(**options).new_page()
        log_in(page, User.objects.get(username="alice"), live_server.url + reverse("judges:dataset-upload"))
        expect(page.get_by_role("heading", name="Import a dataset", level=1)).to_be_visible()
        page.wait_for_load_state("load")
        return page

    return open_form


@pytest.mark.parametrize("size", [{}, {"viewport": PHONE}])
def test_columns_are_mapped_without_choosing_the_file_again(upload, tmp_path, size):
    file = tmp_path / "odd.csv"
    file.write_text(ODD)
    page = upload(**size)
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Name", exact=True).fill("odd")
    page.get_by_role("button", name="Import dataset").click()
    expect(page.get_by_role("heading", name="Columns", exact=True)).to_be_visible()
    assert_no_sideways_scroll(page)
    for column, field in COLUMNS.items():
        page.get_by_label(column, exact=True).select_option(label=field)
    page.get_by_label("A very long name of the first answer").select_option(label="Response 1")
    page.get_by_role("button", name="Import dataset").click()
    expect(page.get_by_role("heading", name="odd", level=1)).to_be_visible()
    assert [item.gold for item in Item.objects.order_by("position")] == [{"choice": 1}, {"choice": 2}]


def test_errors_are_listed_and_a_mended_file_is_uploaded(upload, tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("prompt,chosen,rejected\nWhy?,a,b\nHow?,c\nWho?,d\n")
    page = upload()
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Name", exact=True).fill("pairs")
    page.get_by_role("button", name="Import dataset").click()
    expect(page.get_by_role("heading", name="Nothing was stored: 2 errors")).to_be_visible()
    expect(page.locator("#upload-report")).to_contain_text("pairs.csv, row 3: expected 3 fields")
    file.write_text("prompt,chosen,rejected\nWhy?,a,b\nHow?,c,d\n")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Import dataset").click()
    expect(page.get_by_role("heading", name="pairs", level=1)).to_be_visible()
    assert Dataset.objects.get().items.count() == 2


def test_without_scripts_the_file_is_chosen_again(upload, tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("Question,response_1,response_2\nWhy?,a,b\n")
    page = upload(java_script_enabled=False)
    for name in ("odd", "odd"):
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_label("Name", exact=True).fill(name)
        if page.get_by_role("heading", name="Columns", exact=True).is_visible():
            page.get_by_label("Question", exact=True).select_option(label="Instruction (prompt)")
        page.get_by_role("button", name="Import dataset").click()
    expect(page.get_by_role("heading", name="odd", level=1)).to_be_visible()
