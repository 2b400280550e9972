"""Forms of the administrator that change while they are filled in: endpoints, juries, slices, prompts."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Dataset
from judges.models import Endpoint, Judge, PromptText, Sweep
from tests.annotation.factories import dataset_make
from tests.browser.test_sweep_admin import log_in, strategy_choose
from tests.judges.props import endpoint_make, judge_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def dataset() -> Dataset:
    return dataset_make(pairs=6, name="small-set")


def test_the_form_of_an_endpoint_shows_what_its_kind_needs(page: Page, live_server) -> None:
    log_in(page, live_server, "admin:judges_endpoint_add")
    address, accelerators = page.get_by_label("Address"), page.get_by_label("Accelerators per model")
    device = page.get_by_label("Device")
    expect(address).to_be_visible()
    expect(accelerators).to_be_hidden()
    page.get_by_role("radio", name="vLLM engine in the worker").check()
    expect(address).to_be_hidden()
    expect(accelerators).to_be_visible()
    expect(device).to_be_hidden()
    page.get_by_role("radio", name="transformers in the worker").check()
    expect(device).to_be_visible()
    expect(accelerators).to_be_hidden()
    page.get_by_label("Name", exact=True).fill("encoders")
    page.get_by_label("Model, row 1").fill("small")
    page.get_by_role("button", name="More rows").click()
    expect(page.get_by_label("Model, row 4")).to_be_visible()
    expect(page.get_by_label("Model, row 1")).to_have_value("small")
    page.get_by_label("Prompt tokens, row 1").fill("0.1")
    page.get_by_label("Completion tokens, row 1").fill("0.2")
    page.get_by_label("Device").fill("cpu")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("It runs in the worker")).to_be_visible()
    endpoint = Endpoint.objects.get()
    assert (endpoint.kind, endpoint.queue, endpoint.options) == ("transformers", "cpu", {"device": "cpu"})
    assert endpoint.prices == {"small": [0.1, 0.2]}


def test_a_jury_is_put_together(page: Page, live_server) -> None:
    for name in ("One", "Two", "Three"):
        judge_make(endpoint_make(), model=name, name=name)
    log_in(page, live_server, "admin:judges_judge_add")
    page.get_by_label("Name", exact=True).fill("Jury of three")
    strategy_choose(page, "jury")
    page.get_by_role("button", name="More rows").click()
    expect(page.get_by_label("Judge, row 6")).to_be_visible()
    for row, name in enumerate(("One", "Two", "Three"), start=1):
        page.get_by_label(f"Judge, row {row}").select_option(label=name)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Judge 'Jury of three' is saved.")).to_be_visible()
    jury = Judge.objects.get(name="Jury of three")
    assert {row.key for row in jury.memberships.all()} == {"One", "Two", "Three"}


def test_the_slice_of_a_sweep_follows_its_datasets(page: Page, live_server, dataset: Dataset) -> None:
    judge_make(name="Long")
    log_in(page, live_server, "admin:judges_sweep_add")
    expect(page.get_by_text("To choose categories or subsets")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Only some")
    page.get_by_label("small-set").check()
    page.get_by_label("Brainstorm").check()
    page.get_by_label("Search judges").fill("nobody")
    expect(page.get_by_text("None found")).to_be_visible()
    page.get_by_label("Search judges").fill("long")
    page.get_by_role("checkbox", name="Long").check()
    page.get_by_label("Items of each dataset").fill("2")
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("4 judgments")).to_be_visible()
    sweep = Sweep.objects.get()
    assert (sweep.categories, sweep.sample_size) == (["Brainstorm"], 2)


def test_a_prompt_is_tried_on_an_item_and_saved(page: Page, live_server, dataset: Dataset) -> None:
    log_in(page, live_server, "admin:judges_prompttext_changelist")
    page.get_by_label("Search prompts").fill("vanilla")
    page.get_by_role("link", name="New version of vanilla").click()
    text = page.get_by_label("Text", exact=True)
    source = text.input_value()
    text.fill(source.replace("{{instruction}}", "{{instructions}}"))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("There is no variable {{instructions}}")).to_be_visible()
    text.fill(f"{source}Think of the reader.\n")
    page.get_by_label("Tie allowed").check()
    page.get_by_role("button", name="A random item").click()
    preview = page.locator("#preview")
    expect(preview.get_by_text("Think of the reader.").first).to_be_visible()
    expect(preview.get_by_text("or with tie if neither is").first).to_be_visible()
    assert not PromptText.objects.exists()
    page.get_by_label("Notes").fill("For people.")
    page.get_by_role("button", name="Save as a new version").dblclick()
    expect(page.get_by_role("heading", name="What changed since")).to_be_visible()
    assert PromptText.objects.get().notes == "For people."
