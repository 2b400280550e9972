"""The form of a study in a real browser: what it shows, works out, and adds; with and without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Criterion, Study, User
from tests.annotation.factories import dataset_make, user_make
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, log_in, settled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def form(new_context, live_server):
    """Open the form of a new study, with or without scripts."""
    user_make(username="alice")
    dataset_make(pairs=12, name="pairs")
    rated = dataset_make(pairs=6, name="rated")
    rated.items.update(kind="rubric", gold={"ratings": {"clear": 3}})
    Criterion.objects.create(dataset=rated, key="clear", question="Is it clear?", options={}, position=0)

    def open_form(**options):
        page = new_context(**options).new_page()
        log_in(page, User.objects.get(username="alice"), live_server.url + reverse("annotation:study-create"))
        expect(page.get_by_role("heading", name="New study", level=1)).to_be_visible()
        page.wait_for_load_state("load")
        return page

    return open_form


def test_it_shows_what_applies_and_works_out_what_it_comes_to(form):
    page = form()
    page.get_by_label("Title").fill("Rate them")
    page.get_by_label("Dataset", exact=True).select_option(
        label="Rated (rated): 6 responses to rate (6 with gold)"
    )
    expect(page.get_by_role("group", name="Categories")).to_be_visible()
    page.get_by_role("radio", name="Rubric rating").check()
    settled(page)
    expect(page.get_by_role("checkbox", name="clear: Is it clear?")).to_be_visible()
    expect(page.get_by_role("group", name="Ties")).to_be_hidden()
    expect(page.get_by_label("Questions in the test")).to_have_value("0")
    page.get_by_label("Questions in the test").fill("2")
    expect(page.get_by_role("group", name="To pass")).to_be_visible()
    page.get_by_role("radio", name="Accuracy within a distance").check()
    expect(page.get_by_label("Right answers to pass")).to_be_hidden()
    page.get_by_label("Pay per item").fill("0.12")
    page.get_by_label("Seconds a label takes").fill("72")
    expect(page.locator("#study-estimate")).to_contain_text("4 items × 4 labels = 16 labels")
    expect(page.locator("#study-estimate")).to_contain_text("6.00 USD")
    expect(page.locator("#estimate-short")).to_contain_text("1.92 USD")
    page.get_by_role("button", name="Insert starter text").click()
    expect(page.locator("#preview-guidelines")).to_contain_text("How good is this answer?")
    page.get_by_role("button", name="Create draft").click()
    expect(page.get_by_role("heading", name="Rate them", level=1)).to_be_visible()
    study = Study.objects.get()
    assert (study.kind, study.qualification_rule) == ("rubric", "tolerant")
    assert study.guidelines.startswith("# How good is this answer?")


def test_a_kind_chosen_before_the_dataset_has_answered_is_kept(form):
    page = form()
    page.get_by_label("Title").fill("Rate them")
    held = []
    page.route("**/studies/new/", lambda route: held.append(route))  # the answer is on its way
    page.get_by_label("Dataset", exact=True).select_option(
        label="Rated (rated): 6 responses to rate (6 with gold)"
    )
    page.wait_for_function("() => document.querySelector('.htmx-request')")
    page.unroute("**/studies/new/")
    page.get_by_role("radio", name="Rubric rating").check()
    expect(page.get_by_role("checkbox", name="clear: Is it clear?")).to_be_visible()
    expect(page.get_by_role("radio", name="Rubric rating")).to_be_checked()
    settled(page)
    page.get_by_label("Questions in the test").fill("0")
    page.get_by_role("button", name="Create draft").click()
    expect(page.get_by_role("heading", name="Rate them", level=1)).to_be_visible()
    assert Study.objects.get().question == "How good is this answer?", "the usual one of the kind"


def test_questions_about_the_person_are_added_and_removed(form):
    page = form()
    page.get_by_label("Title").fill("Which?")
    page.get_by_label("Dataset", exact=True).select_option(index=1)
    settled(page)
    page.get_by_label("Questions in the test").fill("0")
    page.get_by_label("Question", exact=True).first.fill("Is English your first language?")
    options = page.get_by_label("Option", exact=True)
    options.nth(0).fill("Yes")
    options.nth(1).fill("No")
    page.get_by_role("checkbox", name="may take part").nth(1).uncheck()
    page.get_by_role("button", name="Add a question").click()
    page.keyboard.type("Left empty but for this")
    page.get_by_role("button", name="Remove this question").nth(1).click()
    page.get_by_role("button", name="Create draft").click()
    expect(page.get_by_role("heading", name="Which?", level=1)).to_be_visible()
    (question,) = Study.objects.get().eligibility
    assert [option["eligible"] for option in question["options"]] == [True, False]


def test_a_mistake_is_found_from_the_summary(form):
    page = form(viewport=PHONE, has_touch=True, color_scheme="dark")
    page.get_by_label("Dataset", exact=True).select_option(index=1)
    page.get_by_role("button", name="Create draft").click()
    expect(page.get_by_role("alert")).to_be_focused()
    page.get_by_role("link", name="Title").click()
    expect(page.get_by_label("Title")).to_be_focused()
    assert_no_sideways_scroll(page)


def test_without_scripts_everything_is_there(form):
    page = form(java_script_enabled=False)
    page.get_by_label("Title").fill("Plain")
    page.get_by_label("Dataset", exact=True).select_option(index=1)
    expect(page.get_by_role("group", name="Ties")).to_be_visible()
    page.get_by_role("button", name="Show what the dataset has").click()
    expect(page.get_by_label("Title")).to_have_value("Plain")
    page.get_by_role("checkbox", name="Brainstorm").check()
    page.get_by_label("Questions in the test").fill("0")
    page.get_by_role("button", name="Create draft").last.click()
    assert Study.objects.get().categories == ["Brainstorm"]
