"""A key before a long pair: of how many elements the styles are computed again until what it did is painted. With that
count a phone's time for a key grows, and no other load of the machine changes it.
"""

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import press
from tests.browser.long_items import long_work, open_long

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST = 40
"""A page shows more than 200 elements. A choice changes some 20: cards, tabs, options, what says that a draft is
saved."""
KEYS = ("a", "PageDown", "j", "n", "b", "PageDown", "n", "k", "ArrowDown")
MARK_KEYS = ("ArrowDown", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown") * 2
# From a key to the frame painted after it, as in bench/pages.py: before the page's own scripts, which keep some
# keys to themselves.
MARK_PAINTED = """addEventListener("keydown", ({ key }) => key !== "Shift" && requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => performance.mark("painted");
    port2.postMessage(0);
}), { capture: true })"""


def styled(trace: bytes) -> list[int]:
    """Elements whose styles were computed again, for each key but Shift, until what followed it was painted."""
    events = sorted(json.loads(trace)["traceEvents"], key=lambda event: event.get("ts", 0))
    counts: list[int] = []
    is_open = False
    for event in events:
        data = event.get("args", {}).get("data") or {}
        if event["name"] == "EventDispatch" and data.get("type") == "keydown":
            if not is_open:  # after Shift comes the key that goes with it
                counts.append(0)
            is_open = True
        elif event["name"] == "painted":
            is_open = False
        elif event["name"] == "UpdateLayoutTree" and is_open:
            counts[-1] += event["args"].get("elementCount", 0)
    return counts


def press_and_see(page: Page, *keys: str) -> None:
    for key in keys:
        painted = page.evaluate("performance.getEntriesByName('painted').length")
        press(page, key)
        page.wait_for_function("(n) => performance.getEntriesByName('painted').length > n", arg=painted)


def counted(page: Page, chromium: Browser, keys: tuple[str, ...]) -> list[tuple[str, int]]:
    chromium.start_tracing(page=page, categories=["devtools.timeline", "blink.user_timing"])
    try:
        press_and_see(page, *keys)
    finally:
        trace = chromium.stop_tracing()
    return list(zip(keys, styled(trace), strict=True))


@pytest.mark.parametrize(
    "size", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}], ids=["phone", "wide"]
)
def test_of_a_long_pair_a_key_computes_the_styles_of_few_elements(
    live_server, page: Page, chromium: Browser, size
):
    page.set_viewport_size(size)
    page.add_init_script(MARK_PAINTED)
    open_long(page, live_server, long_work("pairwise"))
    press_and_see(page, "n", "n")  # what only the first keys do
    counts = counted(page, chromium, KEYS)
    assert max(count for _, count in counts) < MOST, counts


def test_a_key_that_marks_computes_the_styles_of_few_elements(live_server, page: Page, chromium: Browser):
    page.set_viewport_size({"width": 390, "height": 844})
    page.add_init_script(MARK_PAINTED)
    open_long(page, live_server, long_work("pairwise", evidence="optional"))
    press_and_see(page, "Shift+E", "ArrowDown", "ArrowRight")
    expect(page.locator("[data-mark-bar]")).to_be_visible()
    counts = counted(page, chromium, MARK_KEYS)
    assert max(count for _, count in counts) < MOST, counts
