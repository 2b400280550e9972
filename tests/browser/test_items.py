"""Items by keyboard, and the drawer of items beside a comparison: a real browser's focus, keys and sizes."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Instruction, Item, Response
from tests.annotation.factories import dataset_make, user_make
from tests.browser.axe import violations
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.test_accessibility import picture
from tests.browser.walks import log_in
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ARABIC = "اكتب رسالة قصيرة إلى جارك."


@pytest.fixture
def swept_dataset():
    alice = user_make(username="alice")
    dataset = dataset_make(pairs=30, owner=alice)
    for k, one in enumerate(dataset.instructions.order_by("pk")):
        subset = ("Natural", "Adversarial/Neighbor", "Adversarial/GPTInst")[k % 3]
        Instruction.objects.filter(pk=one.pk).update(subset=subset)
    first = dataset.items.order_by("position")[0]
    Instruction.objects.filter(pk=first.instruction_id).update(text=ARABIC)
    Response.objects.filter(items=first).update(text=ARABIC)
    labels_make(dataset=dataset, choices=[(1, 1, 1 + (k % 5 == 0)) for k in range(30)])
    Item.objects.filter(dataset=dataset).update(gold={"choice": 1})
    good, poor = judge_make("Good"), judge_make("Poor", strategy="cot")
    judgments_make(judge=good, dataset=dataset, choices=[(1, 1 + (k % 7 == 0)) for k in range(30)])
    judgments_make(judge=poor, dataset=dataset, choices=[(1 + (k % 2 == 0),) * 2 for k in range(30)])
    return dataset, sweep_make(judges=[good, poor], datasets=[dataset]), poor


def test_the_items_behind_a_cell_open_beside_the_table(live_server, page: Page, swept_dataset):
    _, sweep, poor = swept_dataset
    log_in(page, live_server.url, "alice")
    page.goto(live_server.url + reverse("metaeval:comparison", args=[sweep.pk]) + "?measure=agreement")
    cell = page.locator(f"a.behind[href*='{poor.fingerprint}'][href*='Neighbor']")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        cell.focus()
        page.keyboard.press("Enter")
        drawer = page.get_by_role("dialog", name=re.compile(r"\d+ items"))
        expect(drawer.get_by_role("heading", level=2)).to_be_focused()
        expect(drawer.locator(".item-row").first).to_be_visible()
        assert page.url.endswith("measure=agreement")  # the comparison stays
        # The cell stays in sight: neither scrolled away nor covered.
        over = cell.evaluate(
            "e => { const b = e.getBoundingClientRect();"
            " return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2) === e }"
        )
        assert over, size
        expect(cell).to_have_attribute("aria-expanded", "true")
        picture(page, f"drawer-{size['width']}")
        page.set_viewport_size(size)
        if size is DESKTOP:  # it looks at both sizes; a cell that is half scrolled away is no small target
            page.evaluate("document.querySelectorAll('.table-wrap').forEach(box => box.scrollLeft = 0)")
            assert not violations(page)
        page.keyboard.press("?")
        expect(page.locator("#keys-dialog")).to_contain_text("Close the items")
        page.keyboard.press("Escape")
        expect(drawer).to_be_visible()  # the dialog closes first
        page.keyboard.press("Escape")
        expect(drawer).to_have_count(0)
        expect(cell).to_be_focused()
    page.set_viewport_size(DESKTOP)
    cell.click()
    # How many there are comes after the tabs.
    drawer.get_by_role("link", name=re.compile(r"^All( 10)?$")).click()
    expect(drawer.get_by_role("heading", level=2)).to_have_text("10 items")
    expect(drawer.locator("[dir=auto]").first).to_be_visible()
    drawer.get_by_role("link", name="Open all 10 items").click()
    page.wait_for_url("**/items/?**")
    expect(page.get_by_role("heading", level=1)).to_have_text("Items")


def test_items_by_keyboard(live_server, page: Page, swept_dataset):
    dataset, *_ = swept_dataset
    log_in(page, live_server.url, "alice")
    page.goto(live_server.url + reverse("metaeval:dataset-items", args=[dataset.name]))
    names = page.locator("a.item-name")
    page.keyboard.press("j")
    expect(names.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(names.nth(2)).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("input[name=item]:checked")).to_have_count(2)
    arabic = page.locator(".item-asked").first
    assert arabic.evaluate("e => getComputedStyle(e).direction") == "rtl"
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/*/?**")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        dataset.items.order_by("position")[2].external_id
    )
    page.go_back()
    page.go_back()
    page.get_by_role("button", name="Label these items again").click()
    expect(page.get_by_text("exactly these 2 items")).to_be_visible()


def test_cells_lead_to_the_page_without_a_script(live_server, new_context, swept_dataset):
    _, sweep, poor = swept_dataset
    page = new_context(java_script_enabled=False).new_page()
    log_in(page, live_server.url, "alice")
    page.goto(live_server.url + reverse("metaeval:comparison", args=[sweep.pk]) + "?measure=agreement")
    page.locator(f"a.behind[href*='{poor.fingerprint}'][href*='Neighbor']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Items")
    expect(page.locator(".item-row").first).to_be_visible()
