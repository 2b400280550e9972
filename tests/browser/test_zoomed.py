"""What the accessibility statement says of zoom, spacing, colors, motion and names, on the page of each kind."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll
from tests.browser.long_items import KINDS, QUESTION, long_work, open_long

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ZOOMED = {"width": 320, "height": 256}
"""What 1280 x 1024 pixels are at 400% (WCAG 1.4.10, Reflow)."""
# WCAG 1.4.12, Text Spacing. By a sheet of the document's own: the policy of the site refuses styles in the page.
SPACED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
    p { margin-bottom: 2em !important }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}"""
# What stays where it is while the page is scrolled, as a share of the window.
COVERED = """() => {
  const held = [...document.querySelectorAll("body *")].filter((one) =>
    ["fixed", "sticky"].includes(getComputedStyle(one).position));
  let covered = 0;
  for (let y = 1; y < innerHeight; y += 2) {
    const top = document.elementFromPoint(innerWidth / 2, y);
    if (held.some((one) => one.contains(top))) covered += 2;
  }
  return covered / innerHeight;
}"""
# Text whose end is cut off by its own box.
CUT = """() => [...document.querySelectorAll(".answer-bar *, .topbar *, .btn, .choice")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => !one.matches(".visually-hidden, .visually-hidden *, select, textarea"))
  .filter((one) => getComputedStyle(one).overflow !== "visible")
  // What is shortened to whole lines on purpose, and opens.
  .filter((one) => ["none", ""].includes(getComputedStyle(one).webkitLineClamp))
  .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2)
  .map((one) => `${one.className}: ${one.textContent.trim().slice(0, 40)}`)"""


@pytest.mark.parametrize("kind", KINDS)
def test_at_400_percent(live_server, new_context: Callable[..., BrowserContext], kind: str):
    page = new_context(viewport=ZOOMED).new_page()
    open_long(page, live_server, long_work(kind))
    assert_no_sideways_scroll(page)
    page.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    assert page.evaluate(COVERED) < 0.6
    # From the first to the last of what one answers with: each comes into view when it has the focus.
    inputs = page.locator("form[data-annotate] :is(input:not([type=hidden]), select):visible")
    for one in (inputs.first, inputs.last):
        one.focus()
        expect(one).to_be_in_viewport()


@pytest.mark.parametrize("kind", KINDS)
def test_with_text_spaced_out(live_server, new_context: Callable[..., BrowserContext], kind: str):
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    open_long(page, live_server, long_work(kind))
    before = page.evaluate(CUT)
    page.evaluate(SPACED)
    assert_no_sideways_scroll(page)
    assert [each for each in page.evaluate(CUT) if each not in before] == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_moves_for_those_who_ask_for_calm(live_server, page: Page, kind: str):
    page.emulate_media(reduced_motion="reduce")
    open_long(page, live_server, long_work(kind))
    page.keyboard.press("j")
    page.keyboard.press("n")
    moving = page.evaluate(
        "document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 50).length"
    )
    assert moving == 0


@pytest.mark.parametrize("kind", KINDS)
def test_forced_colors_under_axe(live_server, new_context: Callable[..., BrowserContext], kind: str):
    page = new_context(forced_colors="active").new_page()
    open_long(page, live_server, long_work(kind))
    assert not violations(page)


@pytest.mark.parametrize("kind", KINDS)
def test_a_screen_reader_is_told_the_question_and_every_option(live_server, page: Page, kind: str):
    open_long(page, live_server, long_work(kind))
    tree = page.locator("body").aria_snapshot()
    assert f'heading "{QUESTION}" [level=1]' in tree
    assert '- button "Submit"' in tree
    # Nothing that one answers with is without a name.
    for role in ("radio", "checkbox", "combobox", "textbox", "slider", "spinbutton", "button"):
        assert f"- {role}\n" not in tree
        assert f'- {role} ""' not in tree
    assert "- main" in tree
