"""What an annotator's browser loads: the first page and the next item, in a real Chromium, over the wire.

The site runs as in earnest: granian, PostgreSQL, collected static files with hashed names. Sizes are of the answers as
they are transferred, headers and compression included, as Chromium counts them.

Figures
-------
first_load_kb, first_load_requests : from the personal link to the first item on the screen, with nothing cached:
    documents, styles, scripts, font, and the item. None has a formula; the first one brings its font, 175 kB.
next_item_kb : the answer to a submit, which carries the next item; mean over all. next_item_kb_max, the largest.
next_item_requests : requests that a submit makes until the next item is there.
next_item_ms, next_item_p95_ms : from the key that submits to the frame that shows the next item, on loopback.
long_pair_key_ms, long_pair_key_max_ms : of a pair of 20,000 words on a phone of 390 x 844 with its processor slowed
    four times, from a key to the frame that answers it; median and largest over keys that choose, scroll, go to the
    next section and to the other answer, with the words that differ marked.
long_pair_limit_ms : what the browser itself needs for such a key: median over keys that scroll by most of a screen, of
    the same texts on a page with nothing else on it, neither styles nor scripts of ours, slowed as much.
long_pair_times_limit : how many times that a key takes in the pair.
long_pair_ready_ms : there, from the personal link to the item on the screen.
long_pair_mark_ms, long_pair_mark_max_ms : there, where the study asks for evidence, of the keys that begin to mark,
    move and extend what is marked.
trace_kb, trace_ms : the page of a trace with 500 steps, reloaded: the document, uncompressed, and from the request to
    DOMContentLoaded; the median.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

from annotation.domain.reading import COOKIE

ITEMS = 200
SUBMITS = 60
WARM_UP = 5
# Runs in the page: presses Enter's button, and waits until another item has been painted.
SUBMIT = """() => new Promise((resolve) => {
    const before = document.querySelector("#work form[data-annotate]").action;
    const began = performance.now();
    const look = () => {
        const form = document.querySelector("#work form[data-annotate]");
        if (!form || form.action === before) return requestAnimationFrame(look);
        // The item is in the page, and this frame paints it; a message comes after that.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now() - began);
        port2.postMessage(0);
    };
    document.querySelector(".answer-bar button[type=submit]").click();
    look();
})"""


LONG_WORDS = 10_000  # of each answer of the pair
SLOWED = 4
# Each key twice at least; letters that choose come with those that read.
TRACE_STEPS = 500
MARK_KEYS = ("Shift+E", *("ArrowDown", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown") * 3)
LONG_KEYS = ("a", "PageDown", "j", "n", "b", "ArrowDown", "k", "n", "t", "PageDown", "j", "n") * 2
# Runs in a page with nothing on it: each key scrolls it.
SCROLL = """() => addEventListener("keydown", (event) => { event.preventDefault(); scrollBy(0, 0.8 * innerHeight); })"""
# Runs in the page: from each key to the frame that was painted after it. Before the page's own scripts, which keep some
# keys to themselves. Shift alone does nothing, and would be counted as a quick key.
WATCH_KEYS = """(() => {
    window.keyTimes = [];
    addEventListener("keydown", (event) => event.key !== "Shift" && requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.keyTimes.push(performance.now() - event.timeStamp);
        port2.postMessage(0);
    }), { capture: true });
})()"""


class Wire:
    """What Chromium received, request by request, through its debugging protocol."""

    def __init__(self, page: Any) -> None:
        self.received: list[tuple[str, float]] = []
        self._addresses: dict[str, str] = {}
        session = page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.loadingFinished", self._finished)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": False})

    def _sent(self, event: dict[str, Any]) -> None:
        if redirect := event.get("redirectResponse"):
            self.received.append((self._addresses[event["requestId"]], redirect["encodedDataLength"]))
        self._addresses[event["requestId"]] = event["request"]["url"]

    def _finished(self, event: dict[str, Any]) -> None:
        self.received.append((self._addresses.get(event["requestId"], ""), event["encodedDataLength"]))

    def take(self) -> list[tuple[str, float]]:
        """What came since the last time."""
        taken, self.received = self.received, []
        return taken


def _kb(received: list[tuple[str, float]]) -> float:
    return round(sum(size for _, size in received) / 1000, 1)


def run() -> dict[str, float]:
    """Start the site, open it as a person, answer `SUBMITS` items by keyboard."""
    from playwright.sync_api import sync_playwright

    from tests.live_site import live_site, manage
    from tests.live_study import live_study
    from tests.services import chromium_executable

    executable = chromium_executable()
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as var:
        os.environ["STATIC_MANIFEST"] = "true"
        os.environ["TOUCHSTONE_VAR"] = var
        manage(f"sqlite:///{var}/unused.sqlite3", "collectstatic", "--noinput", "--verbosity", "0")
        with live_site(TOUCHSTONE_VAR=var) as (postgres, site):
            study = live_study(postgres.url, items=ITEMS, people=2, overlap=2)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=executable, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
                )
                address = f"http://127.0.0.1:{site.port}"
                # Somebody has been there before: what is measured is the page, not the server's start.
                _work(browser, address + study.resume_paths[0], submits=WARM_UP)
                figures = _work(browser, address + study.resume_paths[1], submits=SUBMITS)
                long = live_study(
                    *(postgres.url,),
                    items=2, people=2, answer_words=LONG_WORDS, show_differences=True, evidence="optional",
                )  # fmt: skip
                _long_pair(browser, address + long.resume_paths[0])
                figures |= _long_pair(browser, address + long.resume_paths[1])
                traces = live_study(postgres.url, items=1, people=1, steps=TRACE_STEPS)
                figures |= _trace(browser, address + traces.resume_paths[0])
                browser.close()
    return figures


def _long_pair(browser: Any, link: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    host = link.split("/", 3)[:3]
    context.add_cookies([{"name": COOKIE, "value": "differences.marked", "url": "/".join(host)}])
    page = context.new_page()
    page.add_init_script(WATCH_KEYS)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    began = time.perf_counter()
    page.goto(link)
    page.wait_for_selector("#work form[data-annotate]")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    ready = 1000 * (time.perf_counter() - began)
    page.wait_for_function("() => CSS.highlights.has('differs')")
    for key in LONG_KEYS:
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    times = page.evaluate("window.keyTimes.splice(0)")
    for key in MARK_KEYS:
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    marking = page.evaluate("window.keyTimes")
    limit = _limit(
        context, page.locator(".response-body").evaluate_all("(all) => all.map((one) => one.innerHTML)")
    )
    context.close()
    return {
        "long_pair_limit_ms": round(limit, 1),
        "long_pair_times_limit": round(statistics.median(times) / limit, 2),
        "long_pair_mark_ms": round(statistics.median(marking), 1),
        "long_pair_mark_max_ms": round(max(marking), 1),
        "long_pair_key_ms": round(statistics.median(times), 1),
        "long_pair_key_max_ms": round(max(times), 1),
        "long_pair_ready_ms": round(ready, 0),
    }


def _limit(context: Any, answers: list[str]) -> float:
    """Median time of a key that scrolls these texts, where there is nothing beside them."""
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    page.set_content("<!doctype html><meta name=viewport content='width=device-width'>" + "".join(answers))
    page.evaluate(SCROLL)
    page.evaluate(WATCH_KEYS)
    for _ in LONG_KEYS:
        page.keyboard.press("PageDown")
        page.wait_for_timeout(250)
    return statistics.median(page.evaluate("window.keyTimes"))


def _trace(browser: Any, link: str) -> dict[str, float]:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(link)
    seen = []
    for _ in range(7):
        page.reload()
        seen.append(
            page.evaluate(
                """() => {
                    const [{ domContentLoadedEventEnd, decodedBodySize }] = performance.getEntriesByType("navigation");
                    return [domContentLoadedEventEnd, decodedBodySize];
                }"""
            )
        )
    page.context.close()
    return {
        "trace_kb": round(seen[-1][1] / 1000, 1),
        "trace_ms": round(statistics.median(took for took, _ in seen[2:]), 1),
    }


def _work(browser: Any, link: str, *, submits: int) -> dict[str, float]:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    wire = Wire(page)
    page.goto(link)
    page.wait_for_selector("#work form[data-annotate]")
    page.wait_for_load_state("networkidle")
    first = wire.take()
    times, answers, requests = [], [], []
    for _ in range(submits):
        page.locator(".answer-bar input[name=choice]").first.check()
        page.wait_for_selector("[data-draft-state][data-state=saved]")
        wire.take()
        times.append(page.evaluate(SUBMIT))
        page.wait_for_timeout(50)
        received = wire.take()
        requests.append(len(received))
        answers.append(_kb(received))
    page.context.close()
    return {
        "first_load_kb": _kb(first),
        "first_load_requests": len(first),
        "next_item_kb": round(statistics.mean(answers), 2),
        "next_item_kb_max": max(answers),
        "next_item_requests": max(requests),
        "next_item_ms": round(statistics.median(times), 1),
        "next_item_p95_ms": round(statistics.quantiles(times, n=20)[18], 1) if len(times) > 1 else times[0],
    }
