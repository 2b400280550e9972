"""Choosing categories in a real browser: one and several, by key, mouse and touch, at 360 pixels, under axe."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Aspect, Label, Study
from tests.annotation.factories import study_make
from tests.annotation.kinds import kind_dataset_make
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW = {"width": 360, "height": 740}
TOPICS = (
    ("delivery", "When and how an order arrives, and in which state. Not: what the product is like."),
    ("quality", "What the product is like: taste, size, how long it lasts."),
    ("price", "What it costs, and whether it's worth it."),
    ("service", "How the staff behaves, answers and helps."),
    ("donaudampfschifffahrtsgesellschaftskapitänsmütze", "A name that has no place to break."),
    ("other", "other"),
)
WORDS = "The bread came two days late, but it was very good, and the driver was kind enough to call."


def study_of(*, several: bool, topics: tuple[tuple[str, str], ...] = TOPICS) -> Study:
    scheme = {"several": several, "order": [key for key, _ in topics]}
    dataset = kind_dataset_make("classification", items=2, categories=scheme)
    dataset.instructions.update(text=WORDS)
    for instruction in dataset.instructions.all():
        instruction.aspects.all().delete()
        Aspect.objects.bulk_create(
            Aspect(instruction=instruction, key=key, text=text, position=place)
            for place, (key, text) in enumerate(topics)
        )
    return study_make(dataset=dataset, kind="classification", question="What is the review about?")


def said(study: Study) -> list[list[str]]:
    labels = Label.objects.filter(study=study).order_by("pk")
    return [sorted(key for key, chosen in label.value["categories"].items() if chosen) for label in labels]


@pytest.mark.parametrize("several", [False, True])
def test_by_key(live_server, page: Page, several: bool):
    study = study_of(several=several)
    open_work(page, live_server, study)
    expect(page.get_by_text("Choose all that apply." if several else "Choose one.")).to_be_visible()
    submit = page.get_by_role("button", name="Submit")
    if several:
        press(page, "Enter")
        expect(page.get_by_text("Choose at least one category first.")).to_have_count(1)
        expect(page.get_by_role("alert")).to_be_in_viewport()
        expect(page.locator("#part-1")).to_be_focused()
    else:
        expect(submit).to_be_disabled()
    press(page, "1")
    press(page, "3")
    expect(page.locator("#category-1")).to_be_checked(checked=several)
    expect(page.locator("#category-3")).to_be_checked()
    if several:
        press(page, "2")
        press(page, "2")  # a second press takes it back
        expect(page.locator("#category-2")).not_to_be_checked()
    press(page, "Enter")
    expect(page.locator("#category-3")).not_to_be_checked()  # the next item
    assert said(study) == [["delivery", "price"] if several else ["price"]]


@pytest.mark.parametrize("several", [False, True])
def test_by_touch_on_a_narrow_phone(live_server, new_context: Callable[..., BrowserContext], several: bool):
    study = study_of(several=several)
    page = new_context(viewport=NARROW, has_touch=True, is_mobile=True).new_page()
    open_work(page, live_server, study)
    assert_no_sideways_scroll(page)
    label = page.locator("label[for=category-5]")
    label.scroll_into_view_if_needed()
    assert label.bounding_box()["height"] >= 44  # type: ignore[index]
    label.tap()
    page.locator("label[for=category-2]").tap()
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator("#category-2")).not_to_be_checked()
    assert said(study) == [[TOPICS[4][0], "quality"] if several else ["quality"]]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(("several", "scheme"), [(False, "light"), (True, "dark")])
def test_by_mouse_and_under_axe(
    live_server, new_context: Callable[..., BrowserContext], several: bool, scheme: str, width: int
):
    study = study_of(several=several)
    page = new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    open_work(page, live_server, study)
    page.locator("label[for=category-4]").click()
    assert violations(page) == []
    assert_no_sideways_scroll(page)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#category-4")).not_to_be_checked()
    assert said(study) == [["service"]]


def test_more_categories_than_keys(live_server, page: Page):
    topics = tuple((f"topic {k}", f"Number {k} of many.") for k in range(30))
    study = study_of(several=False, topics=topics)
    open_work(page, live_server, study)
    press(page, "e")
    expect(page.locator("#category-11")).to_be_checked()
    page.locator("label[for=category-30]").click()
    press(page, "Enter")
    expect(page.locator("#category-30")).not_to_be_checked()
    assert said(study) == [["topic 29"]]
