"""Importing a table in a real browser: columns are mapped, items looked at, and rows with errors left out."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Dataset, Item, User
from tests.annotation.factories import user_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, confirm, log_in

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
def test_columns_are_mapped_and_items_looked_at_before_they_are_stored(upload, tmp_path, size):
    file = tmp_path / "odd.csv"
    file.write_text(ODD)
    page = upload(**size)
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Name", exact=True).fill("odd")
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("heading", name="Columns", exact=True)).to_be_visible()
    assert_no_sideways_scroll(page)
    for column, field in COLUMNS.items():
        page.get_by_label(column, exact=True).select_option(label=field)
    page.get_by_label("A very long name of the first answer").select_option(label="Response 1")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("Ready to import")).to_be_visible()
    page.get_by_role("link", name="Item 2", exact=True).click()
    expect(page.get_by_role("heading", name="Preview: item 2 of 2")).to_be_visible()
    expect(page.locator(".item-preview")).to_contain_text("How?")
    assert_no_sideways_scroll(page)
    assert not Dataset.objects.exists()
    page.get_by_role("button", name="Import 2 items").click()
    page.get_by_role("link", name="Open dataset").click()
    expect(page.get_by_role("heading", name="odd", level=1)).to_be_visible()
    assert [item.gold for item in Item.objects.order_by("position")] == [{"choice": 1}, {"choice": 2}]


def test_rows_with_errors_are_listed_and_left_out_on_request(upload, tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("prompt,chosen,rejected\nWhy?,a,b\nHow?,c\nWho?,d\n")
    page = upload()
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Name", exact=True).fill("pairs")
    page.get_by_role("button", name="Check file").click()
    expect(page.locator("#errors")).to_contain_text("expected 3 fields as in the header, found 2.")
    page.get_by_label("Leave out the 2 rows with errors").check()
    page.get_by_role("button", name="Import 1 item").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the 2 rows left out").click()
    assert download.value.suggested_filename == "pairs.left-out.jsonl"
    assert download.value.path().read_text().count("\n") == 2
    assert Dataset.objects.get().versions.get().rows_left_out == 2


def test_it_works_without_scripts(upload, tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("Question,response_1,response_2\nWhy?,a,b\n")
    page = upload(java_script_enabled=False)
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("Name", exact=True).fill("odd")
    page.get_by_role("button", name="Check file").click()
    page.get_by_label("Question", exact=True).select_option(label="Instruction (prompt)")
    page.get_by_role("button", name="Check again").click()
    page.get_by_role("button", name="Import 1 item").click()
    page.get_by_role("link", name="Open dataset").click()
    expect(page.get_by_role("heading", name="odd", level=1)).to_be_visible()


@pytest.mark.parametrize("size", [{}, {"viewport": PHONE}])
def test_an_import_that_was_left_is_found_continued_and_discarded(upload, live_server, tmp_path, size):
    page = upload(**size)
    for name in ("first", "second"):
        page.goto(live_server.url + reverse("judges:dataset-upload"))
        file = tmp_path / f"{name}.csv"
        file.write_text(ODD)
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Check file").click()
        expect(page.get_by_role("heading", name="Columns", exact=True)).to_be_visible()
    page.goto(live_server.url + reverse("annotation:dataset-list"))
    page.get_by_role("link", name="Unfinished imports (2)").click()
    expect(page.get_by_role("row", name="first.csv")).to_contain_text("Not ready to import")
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Discard the import of first.csv").click()
    confirm(page)
    expect(page.get_by_text("The import was discarded.")).to_be_visible()
    expect(page.get_by_role("row", name="first.csv")).to_have_count(0)
    page.get_by_role("link", name="Continue the import of second.csv").click()
    expect(page.get_by_role("heading", name="second.csv", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Columns", exact=True)).to_be_visible()
