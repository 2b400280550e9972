"""Annotators' pages in each language on a phone: nothing cut off or beside the screen, and right to left in Arabic.

What is visited are the screens with made-up content (`annotation.views.screens`), since that is every one of them.
"""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize

from annotation.models import Annotator, Instruction, Study
from annotation.views.screens import SCREENS
from tests.annotation.factories import dataset_make, enrollment_make, study_make, user_make
from tests.browser.conftest import DESKTOP, assert_no_sideways_scroll, log_in
from tests.browser.work_page import open_work
from web.languages import NAMES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW: ViewportSize = {"width": 360, "height": 780}
# Texts whose box hides a part of them, that reach out of their box, or beside the screen. What is for screen readers
# alone has a box of a pixel; what people wrote scrolls by itself.
CUT = """() => {
    const found = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide`);
    const texts = "h1, h2, h3, button, a, label, legend, summary, p, li, dt, dd, th, td, span";
    const own = ".visually-hidden, .skip-link, .prose, .response-body, [data-judge-text], select";
    for (const one of document.querySelectorAll(texts)) {
        if (!one.checkVisibility({ visibilityProperty: true }) || one.closest(own)) continue;
        const box = one.getBoundingClientRect();
        const style = getComputedStyle(one);
        if (box.width < 3 || one.clientWidth < 3 || !one.textContent.trim()) continue;
        const words = `${one.tagName} ${one.className}: ${one.textContent.trim().slice(0, 60)}`;
        const isWide = one.scrollWidth > one.clientWidth + 1;
        if (isWide && style.display !== "inline" && style.overflowX !== "auto") found.push(`cut off: ${words}`);
        const scrolls = one.closest("[data-pair], .table-wrap, [popover], ol.steps");
        if ((box.right > innerWidth + 1 || box.left < -1) && !scrolls) found.push(`beside the screen: ${words}`);
    }
    return [...new Set(found)];
}"""


def reviewer(live_server, new_context) -> Page:
    page = new_context(viewport=NARROW, reduced_motion="reduce").new_page()
    log_in(page, user_make(username="alice"), f"{live_server.url}{reverse('annotation:screens')}")
    return page


def problems_of(page: Page, url: str, code: str, names: list[str]) -> dict[str, list[str]]:
    found = {}
    for name in names:
        answer = page.goto(f"{url}{reverse('annotation:screen', args=[code, name])}")
        assert answer is not None
        assert answer.status == 200, name
        assert page.evaluate("document.documentElement.lang") == code
        if wrong := page.evaluate(CUT):
            found[name] = wrong
    return found


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("code", NAMES)
def test_no_text_is_cut_off_at_360_pixels(live_server, new_context, code):
    page = reviewer(live_server, new_context)
    assert problems_of(page, live_server.url, code, list(SCREENS)) == {}


@pytest.mark.parametrize("code", ["ar", "de"])
def test_the_work_of_pairs_fits_at_360_pixels(live_server, new_context, code):
    page = reviewer(live_server, new_context)
    assert problems_of(page, live_server.url, code, ["work-pairwise", "work-seven-points", "join"]) == {}


def at_work_in_arabic(live_server, page: Page) -> Study:
    study = study_make(dataset=dataset_make(pairs=2), language="ar", preference_points=7)
    Instruction.objects.update(text="اشرح لماذا السماء زرقاء.")
    open_work(page, live_server, study)
    return study


def middle_of(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None, selector
    return box["x"] + box["width"] / 2


def test_an_arabic_page_runs_from_right_to_left(live_server, new_context):
    page = new_context(viewport=DESKTOP).new_page()
    at_work_in_arabic(live_server, page)
    assert page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["rtl", "ar"]
    assert middle_of(page, "[data-pane=a]") > middle_of(page, "[data-pane=b]")
    points = page.locator("[data-points] label").all()
    boxes = [one.bounding_box() for one in points]
    assert all(box is not None for box in boxes)
    places = [box["x"] for box in boxes if box is not None]
    assert places == sorted(places, reverse=True)
    assert middle_of(page, ".work-bar h1") > middle_of(page, "[data-theme-toggle]")
    label = page.locator("#instruction-label")
    assert label.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    text, label_box = page.locator("#instruction .prose").bounding_box(), label.bounding_box()
    assert text is not None
    assert label_box is not None
    assert abs(text["x"] + text["width"] - label_box["x"] - label_box["width"]) < 2
    assert_no_sideways_scroll(page)
    # The keys are the same, and what they say is Arabic.
    page.keyboard.press("a")
    assert page.locator("[data-announcer]").first.inner_text() == "A أفضل قليلًا: تم الاختيار"
    page.keyboard.press("?")
    assert "اختصارات" in page.locator("#keys-dialog").inner_text()


def test_on_an_arabic_phone_the_first_tab_is_at_the_right_and_arrows_follow(live_server, new_context):
    page = new_context(viewport=NARROW).new_page()
    at_work_in_arabic(live_server, page)
    assert middle_of(page, "#tab-a") > middle_of(page, "#tab-b")
    page.locator("#tab-a").focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tab-b").get_attribute("aria-selected") == "true"
    assert "مقروءة" in page.locator("#tab-b").inner_text() or "%" in page.locator("#tab-b").inner_text()
    assert_no_sideways_scroll(page)


def test_drafts_speak_the_language_of_the_page(live_server, new_context):
    page = new_context(viewport=DESKTOP).new_page()
    at_work_in_arabic(live_server, page)
    page.keyboard.press("a")
    page.locator("[data-draft-state]", has_text="تم حفظ المسودة").first.wait_for()


def test_a_language_is_chosen_at_the_foot_without_scripts_and_in_the_menu(live_server, new_context):
    page = new_context(viewport=NARROW, java_script_enabled=False, watched=False).new_page()
    study = study_make(dataset=dataset_make(pairs=2), guidelines="Read.")
    person = enrollment_make(study=study, stage="guidelines")
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    page.get_by_role("button", name="Español").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Pautas"
    assert page.evaluate("document.documentElement.lang") == "es"
    assert Annotator.objects.get(pk=person.annotator_id).language == "es"
    page.get_by_role("button", name="Empezar").click()
    page.get_by_role("button", name="Mostrar el siguiente ítem").click()
    page.goto(f"{live_server.url}{reverse('annotation:language')}?next=/s/{study.slug}/")
    page.get_by_role("button", name="العربية").click()
    assert page.evaluate("document.documentElement.dir") == "rtl"
