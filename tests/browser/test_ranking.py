"""Putting cards in order in a real browser: every way in, on the parts alone."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page, expect

from tests.browser import ranking_page
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, press
from tests.browser.ranking_cards import SUBMIT, order, ranks

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.browser.ranking_page"),
]


@pytest.fixture(autouse=True)
def received() -> Iterator[list[dict]]:
    ranking_page.received.clear()
    yield ranking_page.received
    ranking_page.received.clear()


def said(page: Page) -> str:
    return page.inner_text("[data-rank-say]")


def card(page: Page, name: str):
    return page.locator("[data-rank-card]", has=page.locator(f"[name=rank-{name}]"))


def visit(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_load_state("load")


def test_digits_alone_rank_all_and_enter_submits(live_server, page: Page, received):
    visit(page, f"{live_server.url}/importance/off/")
    expect(page.locator(SUBMIT)).to_be_disabled()
    for digit in "31245":
        press(page, digit)
    assert order(page) == ["warm", "college", "letter", "memory", "saying"]
    assert page.inner_text("[data-rank-count]") == "All 5 ranked"
    expect(page.locator(SUBMIT)).to_be_enabled()
    press(page, "Enter")
    page.wait_for_selector("text=Thanks")
    assert received == [{"ranks": {"letter": 3, "warm": 1, "college": 2, "memory": 4, "saying": 5}}]


def test_an_untouched_order_is_no_answer(live_server, page: Page, received):
    visit(page, f"{live_server.url}/importance/ties/")
    assert order(page) == []
    press(page, "Enter")
    press(page, "r")  # nothing is ranked, so there is no rest
    expect(page.locator(SUBMIT)).to_be_disabled()
    page.evaluate("document.querySelectorAll('select').forEach(one => one.required = false)")
    page.evaluate("document.querySelector('form').submit()")
    page.wait_for_selector("text=Give every requirement a rank first.")
    assert received == []


def test_the_same_digit_is_a_tie_and_gaps_are_closed(live_server, page: Page, received):
    visit(page, f"{live_server.url}/importance/ties/")
    for digit in "2255":
        press(page, digit)
    assert "rank 5 of 5, tied with Is the child leaving for college?" in said(page)
    assert page.locator("[data-gap]").all_inner_texts() == ["1: free", "3: free", "4: free"]
    press(page, "1")
    assert page.locator("[data-gap]").count() == 0
    assert page.locator("[data-tied]:visible").count() == 4
    press(page, "Enter")
    page.wait_for_selector("text=Thanks")
    assert received == [{"ranks": {"letter": 2, "warm": 2, "college": 3, "memory": 3, "saying": 1}}]


def test_without_ties_a_taken_rank_makes_room(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/off/")
    for digit in "111":
        press(page, digit)
    assert order(page) == ["college", "warm", "letter"]
    card(page, "college").focus()
    press(page, "3")
    assert order(page) == ["warm", "letter", "college"]
    assert sorted(ranks(page).values()) == ["", "", "1", "2", "3"]
    press(page, "5")
    press(page, "r")
    assert order(page) == ["warm", "letter", "memory", "saying", "college"]


def test_keys_move_mark_and_undo(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    press(page, "j")
    press(page, "j")
    press(page, "n")
    assert order(page) == ["warm"]
    press(page, "k")  # from the next without a rank, back to the one before
    press(page, "n")
    assert order(page) == ["warm", "letter"]
    card(page, "letter").focus()
    press(page, "Shift+K")
    assert order(page) == ["letter", "warm"]
    assert "rank 1 of 5" in said(page)
    expect(card(page, "letter")).to_be_focused()
    press(page, "j")
    expect(card(page, "warm")).to_be_focused()
    press(page, "Delete")
    assert order(page) == ["letter"]
    press(page, "z")
    assert order(page) == ["letter", "warm"]
    assert said(page).startswith("Undone. Is the letter warm and supportive?: rank 2 of 5")
    for _ in range(3):
        press(page, "z")
    assert order(page) == []
    expect(page.locator("[data-rank-undo]")).to_be_disabled()


def test_keys_work_before_anything_has_the_focus(live_server, new_context: Callable[..., BrowserContext]):
    """On the body, as the page arrives: the next rank, and the rank removed, of the card that is marked."""
    page = new_context().new_page()
    visit(page, f"{live_server.url}/importance/ties/")
    press(page, "n")
    assert order(page) == ["letter"]
    page = new_context().new_page()
    ranked = "&".join(f"rank-{key}={rank}" for rank, (key, _) in enumerate(ranking_page.ASPECTS, start=1))
    visit(page, f"{live_server.url}/importance/ties/?{ranked}")
    press(page, "Delete")
    assert order(page) == ["warm", "college", "memory", "saying"]
    expect(card(page, "letter")).to_be_focused()
    page = new_context().new_page()
    visit(page, f"{live_server.url}/importance/ties/?rank-letter=1")
    press(page, "Delete")  # the marked one has no rank
    assert said(page) == "Is the letter warm and supportive?: not ranked yet. 4 not ranked yet."


def test_enter_after_undo_does_not_undo_again(live_server, page: Page, received):
    visit(page, f"{live_server.url}/importance/ties/")
    for digit in "123455":
        press(page, digit)
    press(page, "1")
    press(page, "z")
    assert ranks(page)["rank-saying"] == "5"
    press(page, "Enter")
    page.wait_for_selector("text=Thanks")
    assert received == [{"ranks": {"letter": 1, "warm": 2, "college": 3, "memory": 4, "saying": 5}}]


def test_keys_that_are_off_work_on_a_card_only(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    page.evaluate("localStorage.setItem('touchstone:keys-off', '1')")
    press(page, "1")
    assert order(page) == []
    card(page, "memory").focus()
    press(page, "1")
    assert order(page) == ["memory"]


def test_more_than_nine(live_server, page: Page):
    page.clock.install()  # whether two digits are one number is not for this machine's speed to say
    visit(page, f"{live_server.url}/importance/off/?size=12")
    page.keyboard.type("12")
    press(page, "1")
    page.clock.run_for(2_000)  # no second digit came
    page.wait_for_selector("[data-ranked] [name=rank-aspect-1]")
    assert ranks(page)["rank-aspect-0"] == "12"
    assert ranks(page)["rank-aspect-1"] == "1"
    press(page, "9")
    assert ranks(page)["rank-aspect-2"] == "9"


def test_buttons_pass_levels_and_never_tie(live_server, page: Page):
    visit(
        page,
        f"{live_server.url}/importance/ties/?rank-letter=1&rank-warm=2&rank-college=2&rank-memory=3&rank-saying=4",
    )
    assert order(page) == ["letter", "warm", "college", "memory", "saying"]
    card(page, "memory").locator("[data-move=up]").click()
    assert order(page) == ["letter", "memory", "warm", "college", "saying"]
    card(page, "warm").locator("[data-move=down]").click()  # out of its tie
    assert order(page) == ["letter", "memory", "college", "warm", "saying"]
    assert len(set(ranks(page).values())) == 5
    expect(card(page, "letter").locator("[data-move=up]")).to_be_disabled()
    expect(card(page, "saying").locator("[data-move=down]")).to_be_disabled()


def test_choosing_in_the_select_keeps_the_focus(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/off/")
    select = page.locator("[name=rank-college]")
    select.focus()
    select.select_option("2")
    assert order(page) == ["college"]
    expect(select).to_be_focused()
    select.select_option("")
    assert order(page) == []


def drag(page: Page, name: str, x: float, y: float) -> None:
    box = card(page, name).bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 30, steps=3)
    page.mouse.move(x, y, steps=6)


def test_dragging_with_a_mouse(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    target = page.locator("[data-rank-empty]").bounding_box()
    drag(page, "college", target["x"] + 300, target["y"] + 10)
    expect(page.locator(".rank-ghost [data-would]")).to_have_text("1")
    page.mouse.up()
    assert order(page) == ["college"]
    expect(page.locator(".rank-ghost")).to_have_count(0)
    box = card(page, "college").bounding_box()
    drag(page, "letter", box["x"] + 300, box["y"] + 3)
    page.mouse.up()
    assert order(page) == ["letter", "college"]
    box = card(page, "college").bounding_box()
    drag(page, "warm", box["x"] + 300, box["y"] + box["height"] / 2)
    expect(page.locator(".rank-ghost [data-would]")).to_have_text("2")
    expect(page.locator(".rank-ghost [data-tied]")).to_be_visible()
    page.mouse.up()
    assert [ranks(page)[f"rank-{name}"] for name in ("letter", "college", "warm")] == ["1", "2", "2"]
    drag(page, "letter", box["x"] + 300, box["y"] + box["height"] / 2)
    press(page, "Escape")
    page.mouse.up()
    assert ranks(page)["rank-letter"] == "1"
    rest = page.locator("[data-rest]").bounding_box()
    drag(page, "warm", rest["x"] + 300, rest["y"] + 40)
    page.mouse.up()
    assert order(page, "[data-unranked]") == ["warm", "memory", "saying"]


def test_dragging_scrolls_along_and_without_ties_goes_between(live_server, page: Page):
    page.set_viewport_size({"width": 1280, "height": 500})
    visit(
        page,
        f"{live_server.url}/importance/off/?size=9&" + "&".join(f"rank-aspect-{k}={k + 1}" for k in range(9)),
    )
    drag(page, "aspect-0", 800, 350)
    page.wait_for_function("() => scrollY > 200")
    page.mouse.up()
    assert ranks(page)["rank-aspect-0"] != "1"
    assert sorted(ranks(page).values()) == [str(k) for k in range(1, 10)]


def finger(cdp: CDPSession, kind: str, x: float = 0, y: float = 0) -> None:
    points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
    cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_dragging_with_a_finger(live_server, new_context: Callable[..., BrowserContext]):
    page = new_context(viewport=PHONE, has_touch=True, is_mobile=True).new_page()
    visit(page, f"{live_server.url}/importance/ties/?rank-letter=1&rank-warm=2")
    cdp = page.context.new_cdp_session(page)
    card(page, "college").evaluate(
        "card => card.scrollIntoView({block: 'center'})"
    )  # not under the answer bar
    grip = card(page, "college").locator("[data-grip]").bounding_box()
    above = card(page, "warm").bounding_box()
    x, y = grip["x"] + 10, grip["y"] + 20
    finger(cdp, "touchStart", x, y)
    for step in range(1, 11):
        finger(cdp, "touchMove", x, y + (above["y"] + 4 - y) * step / 10)
    expect(page.locator("[data-drop=before]")).to_have_count(1)
    finger(cdp, "touchEnd")
    assert order(page) == ["letter", "college", "warm"]
    # On the words of a card a finger scrolls, and moves nothing.
    before, words = page.evaluate("scrollY"), card(page, "warm").locator(".rank-label").bounding_box()
    way = 15 if before else -15  # to where there is more of the page
    finger(cdp, "touchStart", words["x"] + 20, words["y"] + 10)
    for step in range(1, 11):
        finger(cdp, "touchMove", words["x"] + 20, words["y"] + 10 + way * step)
    finger(cdp, "touchEnd")
    page.wait_for_function("before => scrollY !== before", arg=before)
    assert order(page) == ["letter", "college", "warm"]
    for button in page.locator(".rank-move, .rank-select").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 24
    assert_no_sideways_scroll(page)


def test_without_a_script_the_selects_do_the_work(
    live_server, new_context: Callable[..., BrowserContext], received
):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/importance/off/")
    assert not page.locator(".rank-move").first.is_visible()
    assert page.get_by_text("Use each rank once").is_visible()
    for name, rank in (("letter", "2"), ("warm", "2"), ("college", "1"), ("memory", "4"), ("saying", "3")):
        page.select_option(f"[name=rank-{name}]", rank)
    page.click(SUBMIT)
    assert "“letter” and “warm” both have 2" in page.inner_text("[role=alert]")
    assert (
        card(page, "letter")
        .locator(".rank-clash")
        .inner_text()
        .endswith("Is the letter warm and supportive?")
    )
    page.select_option("[name=rank-warm]", "5")
    page.click(SUBMIT)
    page.wait_for_selector("text=Thanks")
    assert received == [{"ranks": {"letter": 2, "warm": 5, "college": 1, "memory": 4, "saying": 3}}]


def test_a_draft_comes_back_arranged(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    for digit in "313":
        press(page, digit)
    kept = order(page)
    expect(page.locator("[data-draft-state]")).to_have_text("Draft kept in this browser")
    page.reload()
    page.wait_for_load_state("load")
    assert order(page) == kept == ["warm", "letter", "college"]
    assert page.inner_text("[data-rank-count]") == "3 of 5 ranked"
    press(page, "4")  # goes on where it was
    assert ranks(page)["rank-memory"] == "4"


def test_a_part_that_comes_later_is_started(live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    page.evaluate(
        """async () => {
          const text = await (await fetch('/answer_ranking/off/')).text();
          const fresh = new DOMParser().parseFromString(text, 'text/html').querySelector('form');
          document.querySelector('form').replaceWith(fresh);
          document.dispatchEvent(new CustomEvent('touchstone:work', {detail: {root: fresh}}));
        }"""
    )
    for digit in "21":
        press(page, digit)
    assert order(page) == ["1", "0"]


def test_long_answers_are_clamped_and_open(live_server, page: Page, received):
    visit(page, f"{live_server.url}/answer_ranking/off/")
    long, short = card(page, "1"), card(page, "0")
    assert long.bounding_box()["height"] < 320
    assert not short.locator("[data-expand]").is_visible()
    press(page, "j")
    press(page, "j")
    press(page, "e")
    assert long.bounding_box()["height"] > 500
    expect(long.locator("[data-expand]")).to_have_attribute("aria-expanded", "true")
    for digit in "1342":
        press(page, digit)
    assert order(page) == ["1", "0", "2", "3"]
    press(page, "Enter")
    page.wait_for_selector("text=Thanks")
    assert received == [{"ranks": {"0": 2, "1": 1, "2": 3, "3": 4}}]


WALK = """ties => {
  const { levelsOf, rankGive, rankMove, rankInsert, rankRest } = window.touchstoneOrder;
  let seed = 7;
  const draw = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let size = 1; size <= 7; size += 1) {
    let ranks = Array(size).fill(0);
    for (let step = 0; step < 2000; step += 1) {
      const [index, before] = [draw(size), ranks];
      const levels = [0, ...levelsOf(ranks.with(index, 0)), size + 1];
      const at = draw(levels.length - 1);
      const what = draw(5);
      if (what === 0) ranks = rankGive(ranks, index, 1 + draw(size), ties);
      if (what === 1) ranks = rankMove(ranks, index, draw(2) ? 1 : -1);
      if (what === 2) ranks = rankInsert(ranks, index, levels[at], levels[at + 1]);
      if (what === 3) ranks = ranks.with(index, 0);
      if (what === 4 && !draw(9)) ranks = rankRest(ranks, ranks.map((_, one) => one).filter((one) => !ranks[one]));
      const given = ranks.filter(Boolean);
      if (ranks.some((rank) => !Number.isInteger(rank) || rank < 0 || rank > size)) return ["range", before, ranks];
      if (!ties && new Set(given).size < given.length) return ["twice", before, ranks];
      const order = (all) => (a, b) => Math.sign(all[a] - all[b]);
      const others = ranks.map((_, one) => one).filter((one) => one !== index && before[one] && ranks[one]);
      const moved = what < 3 && others.some((a) => others.some((b) => order(before)(a, b) !== order(ranks)(a, b)));
      if (moved) return ["others changed places", what, index, before, ranks];
      if (what === 2 && ranks.filter((rank) => rank === ranks[index]).length > 1) return ["not alone", before, ranks];
    }
  }
  return null;
}"""


@pytest.mark.parametrize("ties", [True, False])
def test_whatever_is_done_only_the_card_that_moves_changes_its_place(ties: bool, live_server, page: Page):
    visit(page, f"{live_server.url}/importance/ties/")
    assert page.evaluate(WALK, ties) is None


@pytest.mark.parametrize("kind", ["importance", "answer_ranking"])
def test_nothing_breaks_wcag(kind: str, live_server, page: Page):
    visit(page, f"{live_server.url}/{kind}/ties/")
    found = violations(page)
    for digit in "22":
        press(page, digit)
    found += violations(page)
    press(page, "r")
    found += violations(page)
    assert not found, "\n".join(found)
