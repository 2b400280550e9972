"""Putting cards in order on the work page, in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import (
    Aspect,
    Assignment,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Kind,
    Label,
    Response,
    Study,
)
from tests.annotation.factories import study_make
from tests.browser import ranking_page
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.ranking_cards import ASPECTS, SUBMIT, order, ranks
from tests.browser.work_page import open_work

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.browser.ranking_page"),
]


def study_to_rank(kind: str, **rules: object) -> Study:
    """Two items: an instruction with its aspects, or a question with its answers."""
    dataset = Dataset.objects.create(name="ranked", title="Ranked")
    for number in range(2):
        instruction = Instruction.objects.create(
            dataset=dataset, external_id=f"i{number}", text=f"Letter {number}"
        )
        for position, (key, text) in enumerate(ASPECTS.items()):
            Aspect.objects.create(instruction=instruction, key=key, text=text, position=position)
        item = Item.objects.create(
            dataset=dataset, instruction=instruction, external_id=f"p{number}", kind=kind, position=number
        )
        for position, text in enumerate(ranking_page.ANSWERS if kind == Kind.ANSWER_RANKING else ()):
            response = Response.objects.create(
                instruction=instruction, external_id=f"{number}-{position}", system="secret-system", text=text
            )
            ItemResponse.objects.create(item=item, response=response, position=position)
    return study_make(dataset=dataset, kind=kind, **rules)


@pytest.mark.urls("config.urls")
def test_importance_on_the_work_page(live_server, page: Page):
    open_work(page, live_server, study_to_rank("importance", question="What matters most?"))
    expect(page.locator(SUBMIT).first).to_be_disabled()
    press(page, "2")
    press(page, "1")
    kept = order(page)
    page.wait_for_selector("text=Draft saved")
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_load_state("load")
    assert order(page) == kept
    assert len(kept) == 2
    for digit in "333":
        press(page, digit)
    given = {name.removeprefix("rank-"): int(rank) for name, rank in ranks(page).items()}
    first = page.url
    press(page, "Enter")
    page.wait_for_function("first => location.href !== first", arg=first)
    expect(page.locator("[data-ranked] [data-rank-card]")).to_have_count(0)
    assert Label.objects.get().value == {"ranks": {key: given[key] for key in ASPECTS}}
    for digit in "54321":  # the next one came without a page load, and takes keys at once
        page.keyboard.press(digit)
    assert sorted(ranks(page).values()) == ["1", "2", "3", "4", "5"]
    assert not violations(page)
    page.keyboard.press("Enter")
    page.wait_for_function("() => !document.querySelector('[data-ranking]')")
    assert Label.objects.count() == 2


@pytest.mark.urls("config.urls")
def test_answers_on_the_work_page_are_stored_by_their_place(live_server, page: Page):
    open_work(page, live_server, study_to_rank("answer_ranking", tie_policy="off"))
    shown = Assignment.objects.get().shown_order
    page.set_viewport_size(PHONE)
    for shown_index, rank in enumerate("3142"):
        page.select_option(f"[name=rank-{shown_index}]", rank)
    assert order(page) == ["1", "3", "0", "2"]
    assert_no_sideways_scroll(page)
    assert not violations(page)
    page.click(f"{SUBMIT} >> nth=0")
    page.wait_for_function("() => !document.querySelector('[data-ranked] [data-rank-card]')")
    value = Label.objects.get().value["ranks"]
    assert [value[str(position)] for position in shown] == [3, 1, 4, 2]
