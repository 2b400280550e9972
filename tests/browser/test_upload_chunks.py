"""A large file in a real browser: the connection breaks, the page is reloaded, and all of the file is stored once."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Dataset, User
from judges.models import DatasetImport, FileUpload, VerdictImport
from judges.services import uploads
from judges.services.import_files import path_of
from tests.annotation.factories import dataset_make, user_make
from tests.browser.axe import violations
from tests.browser.conftest import PHONE, assert_no_sideways_scroll, confirm, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHUNK = 2**16
ROW = '{{"id": "q{n}", "instruction": "Say {n}. {pad}", "response_1": "a", "response_2": "b"}}\n'
TABLE = "".join(ROW.format(n=n, pad="x" * 900) for n in range(1_500)).encode()
CHUNKS = -(-len(TABLE) // CHUNK)
SENT = re.compile(r"/datasets/upload/\d+/$")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch, settings, tmp_path):
    monkeypatch.setattr(uploads, "CHUNK_BYTES", CHUNK)
    settings.IMPORTS_DIR = tmp_path / "imports"


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(TABLE)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return file


@pytest.fixture
def opened(new_context, live_server):
    """The form in a browser of Alice's; `site` is where it is reached."""
    context = None

    def open_form(*, site="", address="", is_new=False, **options):
        nonlocal context
        if context is None or is_new:
            context = new_context(**options)
        alice = User.objects.filter(username="alice").first() or user_make(username="alice")
        page = context.new_page()
        log_in(page, alice, (site or live_server.url) + (address or reverse("judges:dataset-upload")))
        page.wait_for_load_state("load")
        return page

    return open_form


def chosen(page, file, name="pairs"):
    page.get_by_label("File", exact=True).set_input_files(file)
    if name:
        page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Check file").click()


def assert_imported(page):
    """The one import of the file, with every byte of it."""
    expect(page.get_by_role("heading", name="pairs.jsonl", level=1)).to_be_visible()
    job = DatasetImport.objects.get()
    assert sha256(path_of(job).read_bytes()).digest() == sha256(TABLE).digest()
    return job


class Cutter:
    """A proxy before the site that breaks a connection in the middle of what goes up, and then is down."""

    def __init__(self, address: str) -> None:
        self.target = (urlsplit(address).hostname, urlsplit(address).port)
        self.left: int | None = None  # bytes that still go up; None: all
        self.is_down = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, goes_up: bool) -> None:
        with suppress(OSError):
            while not self.is_down and (data := source.recv(2**14)):
                if goes_up and self.left is not None:
                    data = data[: self.left]
                    self.left -= len(data)
                    if not self.left:
                        self.left, self.is_down = None, True
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def cutter(live_server) -> Iterator[Cutter]:
    one = Cutter(live_server.url)
    yield one
    one.listener.close()


@contextmanager
def held(page, *, after):
    """Let so many chunks of a page through, and none after them until it ends. Yields the offsets that it sends."""
    asked, hanging, is_over = [], [], False

    def answer(route):
        if route.request.method != "POST" or is_over:
            return route.continue_()
        asked.append(int(route.request.headers["upload-offset"]))
        return route.continue_() if len(asked) <= after else hanging.append(route)

    page.route(SENT, answer)
    yield asked
    is_over = True
    for route in hanging:
        with suppress(Exception):  # of a page that is gone, or that gave it up
            route.abort()


def stopped_after(page, asked, n):
    """Wait until the page sends the chunk that hangs."""
    while len(asked) <= n:
        page.wait_for_timeout(50)


def test_a_connection_that_breaks_in_the_middle_costs_one_chunk(opened, cutter, table):
    page = opened(site=cutter.url, watched=False)
    with held(page, after=999) as asked:
        cutter.left = 10 * CHUNK + CHUNK // 2
        chosen(page, table)
        expect(page.get_by_text("The connection broke. Trying again in")).to_be_visible()
        n_stored = FileUpload.objects.get().n_stored
        assert 8 * CHUNK <= n_stored <= 10 * CHUNK
        cutter.is_down = False
        assert_imported(page)
    assert sorted({offset for offset in asked if asked.count(offset) > 1}) == [n_stored]


def test_it_continues_after_a_reload_with_the_same_file(opened, table):
    page = opened()
    with held(page, after=9) as asked:
        chosen(page, table)
        expect(page.get_by_role("progressbar", name="Upload progress")).to_be_in_viewport()
        expect(page.locator("[data-upload-figures]")).to_contain_text("1.4 MB")
        stopped_after(page, asked, 9)
        page.reload()
    expect(page.get_by_text("pairs.jsonl, 576.0\xa0KB of 1.4\xa0MB uploaded.")).to_be_visible()
    with held(page, after=999) as asked:
        chosen(page, table)
        assert_imported(page)
    assert asked == list(range(9 * CHUNK, len(TABLE), CHUNK))


def test_two_tabs_that_send_the_same_file_at_once_store_it_once(opened, table):
    pages = [opened(), opened()]
    for page in pages:
        page.get_by_label("File", exact=True).set_input_files(table)
        page.get_by_label("Name", exact=True).fill("pairs")
    for page in pages:
        page.get_by_role("button", name="Check file").click(no_wait_after=True)
    for page in pages:
        assert_imported(page)
    upload = FileUpload.objects.get()
    assert (upload.n_stored, upload.is_taken) == (len(TABLE), True)


@pytest.mark.parametrize("size", [{}, {"viewport": PHONE}])
def test_it_is_paused_resumed_and_discarded_by_key(opened, table, live_server, size):
    page = opened(**size)
    with held(page, after=5) as asked:
        chosen(page, table)
        stopped_after(page, asked, 5)
        pause = page.get_by_role("button", name="Pause upload")
        pause.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").get_by_text("Paused at 22%.")).to_be_visible()
    assert_no_sideways_scroll(page)
    assert violations(page) == []
    resume = page.get_by_role("button", name="Resume upload")
    expect(resume).to_be_focused()
    page.keyboard.press("Enter")
    assert_imported(page)
    table.write_bytes(TABLE + TABLE)
    page.goto(live_server.url + reverse("judges:dataset-upload"))
    with held(page, after=5) as asked:
        chosen(page, table)
        stopped_after(page, asked, 5)
        page.goto(live_server.url + reverse("judges:unfinished-imports"))
    expect(page.get_by_role("row", name="Upload not finished")).to_contain_text(
        "320.0\xa0KB of 2.8\xa0MB uploaded"
    )
    assert_no_sideways_scroll(page)
    assert violations(page) == []
    page.get_by_role("row", name="Upload not finished").get_by_role("button", name="Discard").click()
    confirm(page)
    expect(page.get_by_text("The import was discarded.")).to_be_visible()
    assert not FileUpload.objects.filter(is_taken=False).exists()


def test_offline_it_waits_until_the_browser_is_online(opened, table):
    page = opened(watched=False)
    with held(page, after=5) as asked:
        chosen(page, table)
        stopped_after(page, asked, 5)
        page.context.set_offline(True)
        expect(page.get_by_text("You're offline. The upload continues when you reconnect.")).to_be_visible()
    page.context.set_offline(False)
    assert_imported(page)


def test_a_session_that_ends_keeps_what_is_uploaded(opened, table):
    page = opened(watched=False)
    with held(page, after=5) as asked:
        chosen(page, table)
        stopped_after(page, asked, 5)
        page.context.clear_cookies()
    expect(page.get_by_text("Your session has ended. Log in again")).to_be_visible()
    assert FileUpload.objects.get().n_stored == 5 * CHUNK


def test_it_continues_on_another_day_from_the_list(opened, table, live_server):
    page = opened()
    with held(page, after=CHUNKS - 1) as asked:
        chosen(page, table)
        stopped_after(page, asked, CHUNKS - 1)
        page.close()
    page = opened(is_new=True)
    page.goto(live_server.url + reverse("judges:unfinished-imports"))
    page.get_by_role("link", name="Continue the import of pairs.jsonl").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("pairs")
    other = table.with_name("other.jsonl")
    other.write_bytes(TABLE)
    chosen(page, other, name="")
    expect(page.get_by_text("Expected the file pairs.jsonl")).to_be_visible()
    chosen(page, table, name="")
    assert_imported(page)


def test_a_file_that_is_whole_needs_no_choosing(opened, table, live_server):
    page = opened(watched=False)
    page.route(
        "**/datasets/upload/",
        lambda route: route.abort() if route.request.method == "POST" else route.continue_(),
    )
    chosen(page, table)
    expect(page.get_by_text("The connection broke. Trying again in")).to_be_visible()
    page.close()
    page = opened(is_new=True)
    page.goto(live_server.url + reverse("judges:unfinished-imports"))
    page.get_by_role("link", name="Continue the import of pairs.jsonl").click()
    expect(page.get_by_text("You don't need to choose it again.")).to_be_visible()
    page.get_by_role("button", name="Check file").click()
    assert_imported(page)


def test_another_file_of_the_same_name_size_and_time_is_noticed(opened, table):
    page = opened()
    with held(page, after=20) as asked:
        chosen(page, table)
        stopped_after(page, asked, 20)
        page.reload()
    place = 18 * CHUNK
    table.write_bytes(TABLE[:place] + b"?" + TABLE[place + 1 :])
    os.utime(table, (1_700_000_000, 1_700_000_000))
    chosen(page, table)
    expect(page.get_by_text("differs from what is uploaded of it")).to_be_visible()
    assert FileUpload.objects.get().n_stored == 20 * CHUNK


def test_what_is_wrong_in_the_form_is_said_before_the_file_is_sent(opened, table):
    page = opened()
    with held(page, after=999) as asked:
        chosen(page, table, name="no spaces")
        expect(page.get_by_text("Expected letters, digits, hyphens and underscores.")).to_be_visible()
        assert not asked
        chosen(page, table)
        assert_imported(page)


def test_an_end_that_does_not_arrive_is_sent_again(opened, table):
    page = opened(watched=False)
    ends = []

    def answer(route):
        if route.request.method != "POST":
            return route.continue_()
        ends.append(1)
        if len(ends) == 1:
            route.fetch()  # it arrives, and the answer doesn't
            return route.abort("connectionreset")
        return route.continue_()

    page.route("**/datasets/upload/", answer)
    chosen(page, table)
    assert_imported(page)
    assert len(ends) == 2


def test_verdicts_go_up_in_chunks_too(opened):
    alice = user_make(username="alice")
    dataset = dataset_make(pairs=2, name="pairs", owner=alice)
    items = dataset.items.order_by("position").values_list("external_id", flat=True)
    rows = "".join(f"{item},judge {n},0,1,{'x' * 200}\n" for n in range(200) for item in items)
    content = f"item,judge,order,verdict,raw\n{rows}".encode()
    assert len(content) > CHUNK
    page = opened(address=reverse("judges:verdict-import", args=["pairs"]))
    chosen(page, {"name": "v.csv", "mimeType": "text/csv", "buffer": content}, name="")
    expect(page.get_by_role("heading", name="v.csv")).to_be_visible()
    assert VerdictImport.objects.get().found["judgments"] == 400
    assert FileUpload.objects.get().is_taken


def test_it_posts_without_scripts(opened, table):
    page = opened(java_script_enabled=False)
    chosen(page, table)
    assert_imported(page)
    assert not FileUpload.objects.exists()
    assert not Dataset.objects.exists()
