"""One real session of each kind of `bench.abuse_kinds`: a person's or an agent's hands on the real pages, in Chromium.

The site runs as in earnest (granian, PostgreSQL). What the browser summarized is read from the database and held
against what the kind expects. No model is asked: the one that "reads" the page does as the hidden text asks, as a
model may.
"""

from __future__ import annotations

import random
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar
from typing import Any

import psycopg
from psycopg.rows import dict_row

from annotation.domain.signals import FLAGS, NUMBERS
from bench.abuse_kinds import BY_NAME, KINDS, unlike

ANSWERS = 3
FORM = re.compile(
    r'<form[^>]* action="(/s/[\w-]+/work/(?:\d+/)?)"[^>]*>.*?csrfmiddlewaretoken" value="(\w+)"', re.DOTALL
)
WORD = re.compile(r"write the word “(\w+)”")
WROTE = (
    "The first answer does what is asked and explains each step, while the other one leaves half of it out."
)
HIDE = """(state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
SIGNALS = f"""
    SELECT a.enrollment_id, l.comment, {", ".join(f"s.{name}" for name in (*NUMBERS, *FLAGS))}
    FROM annotation_label l JOIN annotation_assignment a ON a.id = l.assignment_id
    LEFT JOIN annotation_answersignals s ON s.assignment_id = a.id
    JOIN annotation_enrollment e ON e.id = a.enrollment_id WHERE e.resume_token = %s
"""


def _away(page: Any, milliseconds: int = 300) -> None:
    """A headless browser never hides a page: what it would say is said for it."""
    page.evaluate(HIDE, "hidden")
    page.wait_for_timeout(milliseconds)
    page.evaluate(HIDE, "visible")


def _point_at(page: Any, selector: str) -> None:
    """Move the mouse there in steps, as a hand does, and press."""
    box = page.locator(selector).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 90, y - 120)
    page.mouse.move(x, y, steps=15)
    page.mouse.click(x, y)


CHOICE, SUBMIT = ".answer-bar label[for=choice-a]", ".answer-bar button[type=submit]"


def _open_comment(page: Any) -> None:
    page.keyboard.press("m")
    page.wait_for_selector("#comment:focus")


def _mouse(page: Any) -> None:
    page.mouse.wheel(0, 400)
    _point_at(page, CHOICE)
    _point_at(page, ".answer-bar-comment > summary")
    page.locator("#comment:focus").wait_for()
    numbers = random.Random(3)
    for letter in WROTE[:30]:
        page.keyboard.type(letter)
        page.wait_for_timeout(numbers.uniform(20, 90))
    _point_at(page, SUBMIT)


def _keyboard(page: Any) -> None:
    for key in ("ArrowDown", "ArrowDown", "a", "Enter"):
        page.keyboard.press(key)


def _phone(page: Any) -> None:
    page.locator(CHOICE).tap()
    page.locator(".answer-bar-comment > summary").tap()
    page.locator("#comment").tap()
    page.keyboard.insert_text("Better explained")  # words that the keyboard predicted
    page.locator(SUBMIT).tap()


def _screen_reader(page: Any) -> None:
    page.locator("#choice-a").focus()
    page.keyboard.press("Space")
    page.locator(SUBMIT).focus()
    page.keyboard.press("Space")


def _dictation(page: Any) -> None:
    _point_at(page, CHOICE)
    _open_comment(page)
    page.keyboard.insert_text(WROTE)
    _point_at(page, SUBMIT)


def _notes(page: Any) -> None:
    _point_at(page, CHOICE)
    _away(page)
    page.evaluate("(text) => navigator.clipboard.writeText(text)", WROTE)
    _open_comment(page)
    page.keyboard.press("ControlOrMeta+v")
    _point_at(page, SUBMIT)


def _lunch(page: Any) -> None:
    _point_at(page, CHOICE)
    _away(page, 1_000)
    _point_at(page, SUBMIT)


def _fixed(page: Any) -> None:
    page.wait_for_timeout(500)
    page.locator(CHOICE).click()
    page.wait_for_timeout(500)
    page.locator(SUBMIT).click()


def _human_delays(page: Any) -> None:
    page.wait_for_timeout(random.Random(4).lognormvariate(6, 0.4))
    _point_at(page, CHOICE)
    _point_at(page, SUBMIT)


def _comment_of_a_model(read: str) -> str:
    """What a model that does as it's asked answers to what it was given."""
    asked = WORD.search(read)
    return f"{WROTE} {asked[1]}" if asked else WROTE


def _reads_dom(page: Any) -> None:
    read = page.evaluate("document.body.innerText")
    page.locator(CHOICE).click()
    _open_comment(page)
    page.locator("#comment").fill(_comment_of_a_model(read))
    if asked := WORD.search(read):
        page.locator("[name=reader_code]").evaluate("(field, word) => (field.value = word)", asked[1])
    page.locator(SUBMIT).click()


def _reads_tree(page: Any) -> None:
    read = page.locator("body").aria_snapshot()
    page.locator(CHOICE).click()
    _open_comment(page)
    page.locator("#comment").fill(_comment_of_a_model(read))
    page.locator(SUBMIT).click()


def _copies(page: Any) -> None:
    """Copies the whole page, asks in another tab, and pastes what it said."""
    _point_at(page, CHOICE)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("ControlOrMeta+c")
    _away(page)
    read = page.evaluate("navigator.clipboard.readText()")
    page.evaluate("(text) => navigator.clipboard.writeText(text)", _comment_of_a_model(read))
    _open_comment(page)
    page.keyboard.press("ControlOrMeta+v")
    _point_at(page, SUBMIT)


HANDS: dict[str, Callable[[Any], None]] = {
    "mouse": _mouse,
    "keyboard": _keyboard,
    "phone": _phone,
    "screen_reader": _screen_reader,
    "dictation": _dictation,
    "notes": _notes,
    "expert": _keyboard,
    "lunch": _lunch,
    "fixed_script": _fixed,
    "human_delays": _human_delays,
    "reads_dom": _reads_dom,
    "reads_tree": _reads_tree,
    "copies": _copies,
    "careful": _mouse,
}


def _in_browser(browser: Any, name: str, link: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    context = browser.new_context(
        **(phone if name == "phone" else {"viewport": {"width": 1280, "height": 800}})
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(link)
    for _ in range(ANSWERS):
        page.wait_for_selector("#work form[data-annotate]")
        before = page.url
        HANDS[name](page)
        page.wait_for_function("(before) => location.href !== before", arg=before)
    context.close()


def _by_http(link: str) -> None:
    """Without a browser: forms found in the HTML, sent as they are with a choice."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    host = "/".join(link.split("/", 3)[:3])
    page = opener.open(link).read().decode()
    answered = 0
    while answered < ANSWERS:
        found = FORM.search(page)
        assert found is not None
        is_item = "data-assignment" in found[0]
        fields = {"csrfmiddlewaretoken": found[2], **({"choice": "1"} if is_item else {})}
        asked = urllib.request.Request(
            host + found[1], urllib.parse.urlencode(fields).encode(), {"Referer": link}
        )
        page = opener.open(asked).read().decode()
        answered += is_item


@contextmanager
def _browsers(executable: str | None) -> Iterator[tuple[Any, Any]]:
    """One that says it's driven, and one that hides it."""
    from playwright.sync_api import sync_playwright

    common = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
    with sync_playwright() as playwright:
        launch = playwright.chromium.launch
        driven = launch(executable_path=executable, args=common)
        quiet = launch(
            executable_path=executable, args=[*common, "--disable-blink-features=AutomationControlled"]
        )
        yield driven, quiet
        driven.close()
        quiet.close()


def _rows(database_url: str, link: str) -> list[Mapping[str, Any]]:
    with psycopg.connect(database_url, row_factory=dict_row) as connection:
        return connection.execute(SIGNALS, (link.rstrip("/").rsplit("/", 1)[-1],)).fetchall()


def sessions() -> dict[str, float]:
    """Run a session of each kind on a live site, and hold the summaries against the kind."""
    from tests.live_site import live_site
    from tests.live_study import live_study
    from tests.services import chromium_executable

    figures: dict[str, float] = {}
    with live_site() as (postgres, site), _browsers(chromium_executable()) as (driven, quiet):
        rules = {"ask_comment": True, "machine_text": True, "collect_signals": True}
        study = live_study(postgres.url, items=ANSWERS + 2, people=len(KINDS), overlap=len(KINDS), **rules)
        for kind, path in zip(KINDS, study.resume_paths, strict=True):
            link = f"http://localhost:{site.port}{path}"
            if kind.name == "http_script":
                _by_http(link)
            else:
                _in_browser(driven if kind.name == "fixed_script" else quiet, kind.name, link)
            figures[f"browser_{kind.name}"] = float(_is_like(kind.name, _rows(postgres.url, link)))
    return figures


def _is_like(name: str, rows: list[Mapping[str, Any]]) -> bool:
    """Whether all answers of a real session are as the kind expects; says what they were."""
    wrong = sorted({each for row in rows for each in unlike(BY_NAME[name], row)})
    sent = sum(row["keys"] is not None for row in rows)
    shown = {key: rows[0][key] for key in (*NUMBERS, *FLAGS) if rows and rows[0][key]}
    words = sum(
        row["comment"].rpartition(" ")[2].isalpha() for row in rows if row["comment"].startswith(WROTE)
    )
    print(
        f"    browser, {BY_NAME[name].about}: {sent} of {len(rows)} sent one, {words} with the word asked for; {shown}"
    )
    if wrong:
        print(f"      not as assumed: {', '.join(wrong)}")
    is_sent = sent == (0 if name == "http_script" else ANSWERS)
    return len(rows) == ANSWERS and is_sent and not wrong
