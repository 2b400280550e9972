"""A real Chromium against a live server. A page that breaks its own Content-Security-Policy, logs an error or throws
fails the test that opened it.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

import axe_playwright_python
import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.signals import request_finished, request_started
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)
from pytest_django.live_server_helper import LiveServer

from annotation.models import Study
from tests.annotation.factories import dataset_make, study_make
from tests.browser.work_page import LONG
from tests.services import chromium_executable

# Those of Playwright's list (the last list counts) that a page may notice, then what costs a page load a fifth more: to
# draw each page in a frame of its own, and to hold a process ready for the next site.
DISABLED = [
    *(
        "AvoidUnnecessaryBeforeUnloadCheckSync",
        "DestroyProfileOnBrowserClose",
        "HttpsFirstBalancedModeAutoEnable",
    ),
    *("HttpsUpgrades", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding"),
    *("PreconnectToSearch", "ThirdPartyStoragePartitioning"),
    *("RenderDocument", "SpareRendererForSitePerProcess"),
]
LAUNCH = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--in-process-gpu",  # one process less to talk to
    "--renderer-process-limit=1",  # to start one costs more than to load a page; see `Contexts.take`
    "--disable-smooth-scrolling",  # a key scrolls at once, not in a dozen frames
    f"--disable-features={','.join(DISABLED)}",
]
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
AXE_ADDRESS = "/static/tests/axe.min.js"
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}
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


class Contexts:
    """Browser contexts of the session, lent to one test at a time; what a test leaves in one is cleared.

    A new context costs four times what a new page in one costs, and draws in a process of its own. So there is one for
    all windows, colors and motions: a page is told of these.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.free: dict[str, list[BrowserContext]] = {}
        self.keepers: dict[BrowserContext, Page] = {}

    def take(self, options: dict[str, object]) -> BrowserContext:
        free = self.free.get(repr(sorted(options.items())))
        if free:
            return free.pop()
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        # It stays open, and with it the process in which the pages of all tests are drawn, and what that has cached.
        self.keepers[context] = context.new_page()
        return context

    def give_back(self, context: BrowserContext, options: dict[str, object]) -> None:
        keeper = self.keepers[context]
        for page in context.pages:
            if page != keeper:
                page.close()
        # A clock of Playwright's stays with a context for ever.
        if keeper.evaluate("'__pwClock' in window"):
            del self.keepers[context]
            context.close()
            return
        context.unroute_all()
        context.set_offline(False)
        context.clear_permissions()
        context.set_storage_state({"cookies": [], "origins": []})
        self.free.setdefault(repr(sorted(options.items())), []).append(context)


@pytest.fixture(scope="session")
def contexts(chromium: Browser) -> Contexts:
    return Contexts(chromium)


class KeptFiles(StaticFilesHandler):
    """Static files that a browser keeps, as it does in production, where their names have hashes."""

    def serve(self, request: HttpRequest) -> HttpResponseBase:
        if request.path == AXE_ADDRESS:
            response: HttpResponseBase = FileResponse(AXE.open("rb"), content_type="text/javascript")
        else:
            response = super().serve(request)
        response["Cache-Control"] = "max-age=86400"
        return response


@pytest.fixture(scope="session", autouse=True)
def static_files_are_kept(live_server: LiveServer) -> None:
    """Else each page asks anew for each of its twenty files, or not, as a browser guesses from their age."""
    server = live_server.thread.httpd
    server.set_app(KeptFiles(server.get_app().application))


class Requests:
    """How many the live server is at."""

    def __init__(self) -> None:
        self.n = 0
        self.changed = threading.Condition()
        request_started.connect(self.begin)
        request_finished.connect(self.end)

    def begin(self, **_: object) -> None:
        with self.changed:
            self.n += 1

    def end(self, **_: object) -> None:
        with self.changed:
            self.n -= 1
            self.changed.notify_all()

    def all_answered(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.n <= 0, PATIENCE_MS / 1000), "a request is not answered"


@pytest.fixture
def requests(db: None) -> Iterator[Requests]:
    """What a page sent when it closed is answered before the rows go: it would write among those of the next test."""
    requests = Requests()
    yield requests
    requests.all_answered()
    request_started.disconnect(requests.begin)
    request_finished.disconnect(requests.end)


@pytest.fixture
def new_context(contexts: Contexts, requests: Requests) -> Iterator[Callable[..., BrowserContext]]:
    """Lend browser contexts (each a person's browser) whose pages are watched for errors, unless they are to see some:
    being offline is one, and so is an answer with an error's status.
    """
    complaints: list[str] = []
    lent: list[tuple[BrowserContext, dict[str, object], bool]] = []

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

    def make(
        *,
        watched: bool = True,
        viewport: ViewportSize = DESKTOP,
        color_scheme: Literal["light", "dark"] = "light",
        forced_colors: Literal["active", "none"] = "none",
        **options: object,
    ) -> BrowserContext:
        context = contexts.take(options)
        if watched:
            context.on("page", watch)

        def new_page() -> Page:
            page = BrowserContext.new_page(context)
            page.set_viewport_size(viewport)
            page.emulate_media(
                color_scheme=color_scheme, forced_colors=forced_colors, reduced_motion="reduce"
            )
            return page

        context.new_page = new_page  # type: ignore[method-assign]
        lent.append((context, options, watched))
        return context

    yield make
    for context, options, watched in lent:
        if watched:
            context.remove_listener("page", watch)
        del context.new_page
        contexts.give_back(context, options)
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


def settled(page: Page) -> None:
    """What htmx asked for is in its place: it would take the place of what is typed meanwhile."""
    expect(page.locator(".htmx-request")).to_have_count(0)


def log_in(page: Page, user: AbstractBaseUser, address: str) -> None:
    """Open a page of the site as a user who is logged in, without the form of the login, which has tests of its own."""
    client = Client()
    client.force_login(user)
    site = urljoin(address, "/")
    page.context.add_cookies(
        [{"name": one.key, "value": one.value, "url": site} for one in client.cookies.values()]
    )
    page.goto(address)
    expect(page).to_have_url(address)


def confirm(page: Page) -> None:
    """Say yes to the question before what cannot be undone."""
    page.locator("dialog.dialog-small[open] .btn-primary").click()


def assert_no_sideways_scroll(page: Page) -> None:
    page.wait_for_load_state("load")  # before its style sheets have come, a page has no width to speak of
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1], f"{page.url} is {widths[0]} px wide in a window of {widths[1]} px"
