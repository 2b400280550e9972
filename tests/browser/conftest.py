"""A real Chromium against a live server. A page that breaks its own Content-Security-Policy, logs an error or throws
fails the test that opened it.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from annotation.models import Study
from tests.annotation.factories import dataset_make, study_make
from tests.browser.work_page import LONG
from tests.services import chromium_executable

LAUNCH = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
# How long what is there to stay may take to come, on a machine that has much else to do.
PATIENCE_MS = 20_000


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    executable = chromium_executable()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=LAUNCH)
        yield browser
        browser.close()


@pytest.fixture
def new_context(chromium: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Make browser contexts (each a person's browser) whose pages are watched for errors."""
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def watch(page: Page) -> None:
        def said(message: ConsoleMessage) -> None:
            # htmx says so of a request that a newer one made pointless.
            is_overtaken = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
            # The page of a form that was refused.
            is_refused = any(f"responded with a status of {code} " in message.text for code in (409, 422))
            if message.type in ("error", "warning") and not (is_overtaken or is_refused):
                complaints.append(f"{message.type} at {page.url}: {message.text}")

        page.on("console", said)
        page.on("pageerror", lambda error: complaints.append(f"exception at {page.url}: {error}"))

    def make(**options: object) -> BrowserContext:
        context = chromium.new_context(**({"viewport": DESKTOP, "reduced_motion": "reduce"} | options))
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", watch)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context().new_page()


@pytest.fixture
def study() -> Study:
    """Five pairs, one with a long answer, and a test of two questions."""
    dataset = dataset_make(pairs=5)
    dataset.instructions.update(text="Calculate the surface area of a cube with side length 4.")
    for response in dataset.items.get(position=2).responses.all():
        response.text = f"{response.text}\n\n{LONG}"
        response.save()
    return study_make(
        dataset=dataset,
        qualification=2,
        title="Which answer is better?",
        question="Which answer follows the instruction better?",
        guidelines="# How to choose\n\nPrefer the answer that **follows** the instruction.",
    )


def press(page: Page, key: str) -> None:
    """Press a key once the scripts of the page listen; nobody is faster than they are, except a test."""
    page.wait_for_load_state("load")
    page.keyboard.press(key)


def confirm(page: Page) -> None:
    """Say yes to the question before what cannot be undone."""
    page.locator("dialog.dialog-small[open] .btn-primary").click()


def assert_no_sideways_scroll(page: Page) -> None:
    page.wait_for_load_state("load")  # before its style sheets have come, a page has no width to speak of
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1], f"{page.url} is {widths[0]} px wide in a window of {widths[1]} px"
