"""Pairs, rubrics and checklists in a real browser: by keyboard, by touch on a phone, without a script, under axe."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.test import override_settings
from playwright.sync_api import BrowserContext, Page, expect

from annotation.importers import read_generic
from annotation.models import Label, Study
from annotation.services.criteria import criteria_set
from annotation.services.datasets import dataset_import
from tests.annotation.factories import study_make
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE_PAGES = [
    "pairwise/full",
    "pairwise/turns",
    "rubric/full",
    "rubric/turns",
    "rubric/helm",
    "checklist/full",
]


@pytest.fixture
def kinds(live_server) -> str:
    with override_settings(ROOT_URLCONF="tests.browser.kinds_urls"):
        yield f"{live_server.url}/kinds"


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()


def current(page: Page):
    return page.locator("[data-part][aria-current]")


def read(page: Page) -> str:
    return page.locator("#read pre").inner_text()


class TestRubric:
    def test_digits_answer_and_lead_to_the_next_open_criterion(self, kinds: str, page: Page):
        page.goto(f"{kinds}/rubric/full/")
        submit = page.get_by_role("button", name="Submit")
        expect(submit).to_be_disabled()
        expect(current(page)).to_contain_text("Helpfulness")
        press(page, "j")
        expect(current(page)).to_contain_text("Helpfulness")
        expect(current(page)).to_be_focused()
        press(page, "j")
        expect(current(page)).to_contain_text("Completeness")
        press(page, "4")
        expect(current(page)).to_contain_text("Conciseness")
        press(page, "k")
        expect(current(page)).to_contain_text("Completeness")
        press(page, "2")
        expect(current(page)).to_contain_text("Conciseness")
        press(page, "5")
        expect(current(page)).to_contain_text("Helpfulness")
        expect(page.locator("[data-parts-count]")).to_have_text("2 of 3 rated")
        press(page, "1")
        expect(page.locator("[data-parts-count]")).to_have_text("3 of 3 rated")
        expect(submit).to_be_enabled()
        press(page, "Enter")
        expect(page.locator("#read")).to_be_visible()
        assert "'ratings': {'helpfulness': 1, 'completeness': 2, 'conciseness': 5}" in read(page)
        expect(page.locator("#read .answer-words")).to_contain_text("2: Less than half")

    def test_enter_goes_to_what_is_missing(self, kinds: str, page: Page):
        page.goto(f"{kinds}/rubric/full/")
        press(page, "3")
        press(page, "j")
        press(page, "j")
        press(page, "3")
        expect(current(page)).to_contain_text("Completeness")
        press(page, "k")
        press(page, "Enter")
        expect(current(page)).to_contain_text("Completeness")

    def test_no_option_is_in_the_light_before_one_is_chosen(self, kinds: str, page: Page):
        page.goto(f"{kinds}/rubric/full/")
        press(page, "3")
        expect(current(page)).to_be_focused()
        press(page, "Tab")
        expect(page.locator("#part-2-1")).to_be_focused()

    def test_the_list_of_keys_is_that_of_the_current_criterion(self, kinds: str, page: Page):
        page.goto(f"{kinds}/rubric/full/")
        press(page, "?")
        listed = page.locator("[data-keys-list]")
        expect(listed.get_by_text("It helps fully")).to_have_count(1)
        expect(listed.get_by_text("Just right")).to_have_count(0)

    def test_by_touch_on_a_phone(self, kinds: str, phone: Page):
        phone.goto(f"{kinds}/rubric/full/")
        assert_no_sideways_scroll(phone)
        for number, points in ((1, 2), (2, 3), (3, 4)):
            option = phone.locator(f"label[for=part-{number}-{points}]")
            assert option.bounding_box()["height"] >= 44
            option.tap()
        button = phone.get_by_role("button", name="Submit")
        assert button.bounding_box()["height"] >= 44
        button.tap()
        assert "'conciseness': 4" in read(phone)

    def test_a_point_taken_by_touch_does_not_move_the_page(self, kinds: str, phone: Page):
        phone.goto(f"{kinds}/rubric/full/")
        option = phone.locator("label[for=part-2-1]")
        option.scroll_into_view_if_needed()
        before = phone.evaluate("scrollY")
        option.tap()
        expect(current(phone)).to_contain_text("Completeness")
        assert phone.evaluate("scrollY") == before


class TestChecklist:
    def test_by_keyboard_alone(self, kinds: str, page: Page):
        page.goto(f"{kinds}/checklist/full/")
        for key in ("y", "n", "c"):
            press(page, key)
        expect(page.locator("[data-parts-count]")).to_have_text("3 of 3 answered")
        press(page, "m")
        page.keyboard.type("Odd: no y, n or c here.")
        press(page, "Escape")
        press(page, "Tab")
        page.get_by_role("button", name="Submit").focus()
        press(page, "Enter")
        expect(page.locator("#read")).to_be_visible()
        assert "'answers': {'a1': True, 'a2': False, 'a3': None}" in read(page)
        assert "Odd: no y, n or c here." in read(page)

    def test_by_touch_on_a_phone(self, kinds: str, phone: Page):
        phone.goto(f"{kinds}/checklist/full/")
        assert_no_sideways_scroll(phone)
        for number in (1, 2, 3):
            option = phone.locator(f"label[for=part-{number}-no]")
            box = option.bounding_box()
            assert min(box["height"], box["width"]) >= 44
            option.tap()
        phone.get_by_role("button", name="Submit").tap()
        assert "'a3': False" in read(phone)


class TestPair:
    def test_a_preference_has_a_strength(self, kinds: str, page: Page):
        page.goto(f"{kinds}/pairwise/full/")
        submit = page.get_by_role("button", name="Submit")
        expect(submit).to_be_disabled()
        press(page, "6")
        expect(submit).to_be_enabled()
        press(page, "Enter")
        expect(page.locator("#read")).to_be_visible()
        assert "{'choice': 2, 'strength': 'better'}" in read(page)

    @pytest.mark.parametrize(
        ("keys", "chosen"),
        [
            ("1", "1-much"),
            ("7", "2-much"),
            ("a", "1-slightly"),
            ("aa", "1-better"),
            ("aaa", "1-much"),
            ("aaaa", "1-much"),
            ("ab", "2-slightly"),
            ("aabb", "2-better"),
            ("1a", "1-much"),
            ("t", "0"),
            ("4", "0"),
            ("4a", "1-slightly"),
        ],
    )
    def test_one_key_a_point_and_a_side_that_grows_stronger(self, kinds: str, page: Page, keys, chosen):
        page.goto(f"{kinds}/pairwise/full/")
        for key in keys:
            press(page, key)
        expect(page.locator("[data-points] input:checked")).to_have_value(chosen)

    def test_a_tie_and_both_bad_have_none(self, kinds: str, page: Page):
        page.goto(f"{kinds}/pairwise/full/")
        press(page, "2")
        press(page, "x")
        press(page, "Enter")
        expect(page.locator("#read")).to_be_visible()
        assert "{'choice': 0, 'both_bad': True}" in read(page)

    def test_what_is_pasted_into_the_comment_is_counted(self, kinds: str, page: Page):
        page.goto(f"{kinds}/pairwise/full/")
        press(page, "t")
        press(page, "m")
        box = page.get_by_label("Comment (optional)")
        expect(box).to_be_focused()
        page.keyboard.type("typed ")
        box.evaluate(
            """box => {
              const data = new DataTransfer();
              data.setData("text", "pasted");
              const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
              if (box.dispatchEvent(event)) box.setRangeText("pasted", box.value.length, box.value.length, "end");
            }"""
        )
        page.get_by_role("button", name="Submit").click()
        assert "'comment': 'typed pasted', 'pasted': 6" in read(page)

    def test_by_touch_on_a_phone(self, kinds: str, phone: Page):
        phone.goto(f"{kinds}/pairwise/full/")
        assert_no_sideways_scroll(phone)
        for label in phone.locator(".answer-bar label.choice").all():
            box = label.bounding_box()
            assert min(box["height"], box["width"]) >= 44
        phone.locator("label[for=choice-a-much]").tap()
        phone.get_by_role("button", name="Submit").tap()
        assert "'strength': 'much'" in read(phone)


class TestWithoutScript:
    @pytest.fixture
    def page(self, new_context: Callable[..., BrowserContext]) -> Page:
        return new_context(java_script_enabled=False).new_page()

    def test_a_rubric_is_plain_radios(self, kinds: str, page: Page):
        page.goto(f"{kinds}/rubric/full/")
        for number in (1, 2, 3):
            page.locator(f"label[for=part-{number}-4]").click()
        page.get_by_role("button", name="Submit").click()
        assert "'completeness': 4" in read(page)

    def test_a_point_is_one_plain_radio(self, kinds: str, page: Page):
        page.goto(f"{kinds}/pairwise/full/")
        page.locator("label.choice[for=choice-b-better]").click()
        page.get_by_role("button", name="Submit").click()
        assert "{'choice': 2, 'strength': 'better'}" in read(page)

    def test_a_tie_needs_no_strength(self, kinds: str, page: Page):
        page.goto(f"{kinds}/pairwise/full/")
        page.locator("label[for=choice-tie]").click()
        page.get_by_role("button", name="Submit").click()
        assert "{'choice': 0}" in read(page)


def study_of(kind: str, **rules: object) -> Study:
    """Two items of the kind."""
    criteria = criteria_set("helm-instruct") if kind == "rubric" else ()
    aspects = [{"key": f"a{n}", "text": f"Is requirement {n} met?"} for n in range(3)]
    rows = [
        {"id": f"x{n}", "kind": kind, "instruction": f"Say {n}.", "responses": [f"It is {n}."]}
        | ({"aspects": aspects} if kind == "checklist" else {})
        for n in range(2)
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        dataset = dataset_import(bundle=read_generic(path, criteria=criteria), name="d").dataset
    return study_make(dataset=dataset, kind=kind, consent="", guidelines="", overlap=1, **rules)


class TestWorkPage:
    def test_a_rubric_is_rated_and_the_next_comes_in_its_place(self, live_server, page: Page):
        open_work(page, live_server, study_of("rubric", ask_comment=True))
        for key in "12":
            press(page, key)
        expect(page.get_by_text("Draft saved")).to_be_visible()
        page.reload()
        expect(page.locator("[data-parts-count]")).to_have_text("2 of 5 rated")
        expect(current(page)).to_contain_text("Completeness")
        for key in "345":
            press(page, key)
        press(page, "Enter")
        expect(page.locator("[data-parts-count]")).to_have_text("0 of 5 rated")
        expect(current(page)).to_contain_text("Helpfulness")
        assert Label.objects.get().value == {
            "ratings": {
                "helpfulness": 1,
                "understandability": 2,
                "completeness": 3,
                "conciseness": 4,
                "harmlessness": 5,
            }
        }
        press(page, "5")
        expect(page.locator("[data-parts-count]")).to_have_text("1 of 5 rated")
        assert not violations(page)

    def test_an_answered_checklist_is_changed_by_its_keys(self, live_server, page: Page):
        open_work(page, live_server, study_of("checklist", allow_cannot_tell=False))
        for key in "ynyc":
            press(page, key)
        expect(page.locator("[data-parts-count]")).to_have_text("3 of 3 answered")
        expect(page.get_by_text("Cannot tell", exact=True)).to_have_count(0)
        press(page, "Enter")
        expect(page.locator("[data-parts-count]")).to_have_text("0 of 3 answered")
        press(page, "u")
        expect(page.get_by_text("You answered this item")).to_be_visible()
        press(page, "n")
        press(page, "Enter")
        expect(page.get_by_text("Your answer was changed.")).to_be_visible()
        assert Label.objects.standing().get().value == {"answers": {"a0": False, "a1": False, "a2": True}}


@pytest.mark.parametrize("name", WIDE_PAGES)
def test_accessibility(kinds: str, page: Page, name: str):
    page.goto(f"{kinds}/{name}/")
    found = violations(page) if name.endswith("full") else []
    press(page, "a" if name.startswith("pair") else "j")
    if name.endswith("full"):
        press(page, "m")
    found += violations(page)
    assert not found, "\n".join(found)
