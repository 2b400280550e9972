"""Arabic and Hebrew, and mathematics, where the page is laid out in earnest: positions, directions and fonts."""

import pytest
from playwright.sync_api import Page

from annotation.models import Aspect, Instruction, Kind, Response, Study
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.annotation.visits import url
from tests.browser.conftest import DESKTOP, PHONE, assert_no_sideways_scroll
from tests.browser.work_page import open_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ARABIC = "تناول كل جرعة في الوقت نفسه من اليوم مع كوب كامل من الماء"
HEBREW = "יש ליטול כל מנה באותה שעה ביום עם כוס מים מלאה"
MARKDOWN = """# {0}

{0}

- {0}
- {0}

1. {0}
2. {0}

> {0}

| {0} | 2 |
|---|---|
| {0} | 4 |

```python
x = 1
```
"""
PLACES = """() => {
    const box = (element) => element.getBoundingClientRect();
    const body = document.querySelector(".response-a .response-body");
    const one = (selector) => body.querySelector(selector);
    const style = (selector) => getComputedStyle(one(selector));
    const words = (element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return box(range);
    };
    return {
        direction: Object.fromEntries(["h3", "p", "ul > li", "ol > li", "blockquote", "table", "pre"].map(
            (name) => [name, style(name).direction])),
        align: Math.abs(box(one("p")).right - words(one("p")).right),
        bullet: box(one("ul")).right - box(one("ul > li")).right,
        number: box(one("ol")).right - box(one("ol > li")).right,
        left: box(one("ul > li")).left - box(one("ul")).left,
        bar: [style("blockquote").borderRightWidth, style("blockquote").borderLeftWidth],
        columns: box(one("th:first-child")).left - box(one("th:last-child, td:last-child")).left,
        code: Math.abs(box(one("pre code")).left - box(one("pre")).left) < 40,
        lang: body.lang, page: document.documentElement.lang,
    };
}"""


@pytest.mark.parametrize("text", [ARABIC, HEBREW], ids=["Arabic", "Hebrew"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_bullets_numbers_bars_and_columns_are_on_the_side_where_the_text_begins(
    live_server, new_context, text, viewport
):
    dataset = dataset_make(pairs=1)
    dataset.instructions.update(text=text)
    Response.objects.update(text=MARKDOWN.format(text))
    page = new_context(viewport=viewport).new_page()
    open_work(page, live_server, study_make(dataset=dataset))
    found = page.evaluate(PLACES)
    expected = dict.fromkeys(("h3", "p", "ul > li", "ol > li", "blockquote", "table"), "rtl")
    assert found["direction"] == expected | {"pre": "ltr"}
    assert found["align"] < 2
    assert found["bullet"] > 15  # room for the bullet, and none on the other side
    assert found["number"] > 15
    assert found["left"] == 0
    assert found["bar"] == ["3px", "0px"]
    assert found["columns"] > 0
    assert found["code"]
    assert (found["page"], found["lang"]) == ("en", "")
    assert_no_sideways_scroll(page)


def test_cards_to_order_begin_at_the_right(live_server, page: Page):
    dataset = kind_dataset_make(Kind.IMPORTANCE, items=1)
    Instruction.objects.update(text=ARABIC)
    Aspect.objects.update(text=ARABIC[:20])
    open_work(page, live_server, study_make(dataset=dataset, kind=Kind.IMPORTANCE))
    label = page.locator(".rank-label").first
    words = label.evaluate(
        """(label) => { const range = document.createRange(); range.selectNodeContents(label);
        const [text, whole] = [range, label.closest(".rank-words")].map((one) => one.getBoundingClientRect());
        return [getComputedStyle(label).direction, whole.right - text.right, text.left - whole.left]; }"""
    )
    assert words[0] == "rtl"
    assert words[1] < 60  # the room of what says that it is tied
    assert words[2] > words[1]


@pytest.mark.parametrize("kind", [Kind.IMPORTANCE, Kind.ANSWER_RANKING])
def test_grip_and_rank_stand_where_the_words_of_a_card_begin(live_server, page: Page, kind):
    dataset = kind_dataset_make(kind, items=1)
    Instruction.objects.update(text=ARABIC)
    Aspect.objects.update(text=ARABIC[:20])
    Response.objects.update(text=ARABIC)
    open_work(page, live_server, study_make(dataset=dataset, kind=kind))
    places = page.locator(".rank-head").first.evaluate(
        """(head) => [".rank-grip", ".rank-choose", ".rank-words", ".rank-moves"].map((one) => {
            const box = head.querySelector(one).getBoundingClientRect();
            return box.left + box.width / 2;
        })"""
    )
    assert places == sorted(places, reverse=True)
    assert_no_sideways_scroll(page)


def test_what_is_typed_said_and_titled_begins_at_the_side_of_its_script(live_server, page: Page):
    study = study_make(dataset=dataset_make(pairs=1), title=HEBREW, ask_comment=True)
    Study.objects.update(question=ARABIC)
    open_work(page, live_server, study)
    page.locator("[data-comment] summary").click()
    page.locator("textarea[name=comment]").fill(HEBREW)
    page.evaluate("document.querySelector('#report [name=note]').value = 'תשובה'")
    for selector in ("h1", "textarea[name=comment]", "#report [name=note]"):
        assert page.locator(selector).evaluate("(one) => getComputedStyle(one).direction") == "rtl", selector
    page.goto(f"{live_server}{url('answers', study)}")
    brand = page.locator(".brand span", has_text=HEBREW)
    assert brand.evaluate("(one) => getComputedStyle(one).direction") == "rtl"


def test_the_font_of_formulas_is_fetched_when_there_is_one(live_server, new_context):
    for text, expected in (("No formula.", 0), (r"So $\sqrt{x^2 + \sum_{i=1}^n y_i}$ is.", 1)):
        dataset = dataset_make(pairs=1)
        Response.objects.filter(instruction__dataset=dataset).update(text=text)
        page = new_context().new_page()
        fetched: list[str] = []
        page.on("request", lambda request, fetched=fetched: fetched.append(request.url))
        open_work(page, live_server, study_make(dataset=dataset))
        page.wait_for_load_state("networkidle")
        page.evaluate("document.fonts.ready")
        assert sum("noto-sans-math" in url for url in fetched) == expected, text
        loaded = page.evaluate(
            "[...document.fonts].filter((f) => f.family.includes('Math')).map((f) => f.status)"
        )
        assert loaded == (["loaded"] if expected else ["unloaded"])
