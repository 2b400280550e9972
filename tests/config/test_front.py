"""Attacks on the site as it is served: requests that are slow, endless, large or cut off."""

import contextlib
import json
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests import migrated
from tests.hostile import CSRF, Person, Wire, wire
from tests.judges.props import wait_for
from tests.live_site import LiveSite, manage
from tests.services import scratch_directory

pytestmark = pytest.mark.service

SLOW = 24  # connections: more than the site has threads
HUGE = 300 * 2**20
CHUNK_BYTES = 4 * 2**20
PASSWORD = "correct-horse-42"
PEOPLE = """
from annotation.models import User
from annotation.services.tokens import token_create
for name in ("annotator", "researcher", "administrator"):
    user = User.objects.create_user(name, password="{password}", role=name)
print(token_create(user=user, name="test")[1])
"""


@pytest.fixture(scope="module")
def site() -> Iterator[LiveSite]:
    # Of its own each time: a run may come back to this module after others.
    folder = Path(tempfile.mkdtemp(prefix="front-", dir=scratch_directory()))
    (folder / "tmp").mkdir(parents=True)
    url = f"sqlite:///{folder / 'site.sqlite3'}"
    migrated.copy_to(folder / "site.sqlite3")
    token = manage(url, "shell", "--verbosity", "0", "--command", PEOPLE.format(password=PASSWORD))
    one = LiveSite(url, workers=2, TMPDIR=str(folder / "tmp"), RATELIMIT_ENABLE="true")
    one.token, one.tmp = token.strip(), folder / "tmp"  # type: ignore[attr-defined]
    one.start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def researcher(site: LiveSite) -> Person:
    return signed_in(site, "researcher")


def signed_in(site: LiveSite, name: str) -> Person:
    person = Person(site.port)
    assert person.log_in(name, PASSWORD).status == 302
    return person


@pytest.fixture
def slow(site: LiveSite) -> Iterator[list[Wire]]:
    """Clients that begin a POST to the login, with a cookie of their own, and send a byte of it."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(wire(site.port)) for _ in range(SLOW)]
        for line in lines:
            line.head(
                "POST",
                "/login/",
                Cookie=f"csrftoken={CSRF}",
                Content_Type="application/x-www-form-urlencoded",
                Content_Length=1000,
            )
            line.send(b"a")
        yield lines


@pytest.mark.long
def test_slow_bodies_keep_nobody_from_being_served(site, slow):
    person = Person(site.port)
    assert person.get("/login/").status == 200
    for line in slow:
        line.send(b"b")
    assert person.log_in("researcher", PASSWORD).status == 302
    assert person.get("/studies/").status == 200
    assert not any(line.has_answer() for line in slow), "they hung all the while"
    for line in slow:
        assert line.reply().status == 408
        assert line.is_closed()


def test_a_large_multipart_login_is_refused_before_anything_is_stored(site):
    with wire(site.port) as line:
        line.head(
            "POST",
            "/login/",
            Cookie=f"csrftoken={CSRF}",
            Content_Type="multipart/form-data; boundary=limit",
            Content_Length=HUGE,
        )
        line.send(b'--limit\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + b"x" * 4096)
        reply = line.reply()
        assert reply.status == 413
        assert "The request is too large" in reply.body
        assert "content-security-policy" in reply.headers
        assert line.is_closed()
    assert not list(site.tmp.iterdir())


@pytest.mark.parametrize("path", ["/login/", "/datasets/upload/", "/no/such/page/", "/api/v1/judges/"])
def test_a_body_of_unknown_length_is_not_read(site, path):
    with wire(site.port) as line:
        line.head("POST", path, Cookie=f"csrftoken={CSRF}", Transfer_Encoding="chunked")
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        sent = 0
        while sent < HUGE and not line.has_answer() and line.send(chunk):
            sent += 0x10000
        assert sent < HUGE / 10
        assert line.reply().status == 411
    assert not list(site.tmp.iterdir())


@pytest.mark.parametrize("name", [None, "annotator"])
def test_an_upload_by_who_may_not_is_refused_before_its_body(site, name):
    person = signed_in(site, name) if name else Person(site.port)
    with wire(site.port) as line:
        line.head("POST", "/datasets/upload/", Cookie=person.cookie(), Content_Length=10 * 2**20)
        reply = line.reply()  # nothing of the body was sent
    assert reply.status == 403
    assert "needs an account" in reply.body


def test_an_upload_by_a_researcher_may_be_large(site, researcher):
    row = json.dumps(
        {"id": "1", "instruction": "Say it.", "responses": [{"text": "x" * 5_000_000}, {"text": "y"}]}
    )
    answer = researcher.upload(
        "/datasets/upload/",
        {"format": "generic", "name": "large", "split": "private"},
        name="large.jsonl",
        content=row.encode(),
    )
    assert answer.status == 302
    # Other tests look into that folder too, so this one ends when what reads the file has ended.
    wait_for(lambda: "Ready to import" in researcher.get(answer.headers["location"]).body)
    wait_for(lambda: not list(site.tmp.iterdir()))


def test_a_chunk_of_an_upload_is_limited_before_its_body(site, researcher):
    for name, length, status in (
        (None, CHUNK_BYTES, 403),
        ("annotator", CHUNK_BYTES, 403),
        ("researcher", CHUNK_BYTES + 1, 413),
    ):
        person = signed_in(site, name) if name else Person(site.port)
        with wire(site.port) as line:
            line.head("POST", "/datasets/upload/999999/", Cookie=person.cookie(), Content_Length=length)
            assert line.reply().status == status  # nothing of the body was sent
    with wire(site.port) as line:
        line.head(
            "POST",
            "/datasets/upload/999999/",
            Cookie=researcher.cookie(),
            X_CSRFToken=CSRF,
            Content_Type="application/octet-stream",
            Content_Length=CHUNK_BYTES,
        )
        line.send(b"x" * CHUNK_BYTES)
        assert line.reply().status == 404


def test_a_chunk_that_is_longer_or_shorter_than_it_says_is_not_stored(site, researcher):
    file = {"file_name": "a.jsonl", "file_size": "1000000", "file_modified": "1", "file_head": "0" * 64}
    form = {"format": "generic", "name": "chunks", "split": "private"}
    begun = researcher.post("/datasets/upload/begin/", form | file)
    address = json.loads(begun.body)["address"]
    content = b"x" * 1_000_000
    digest = b64encode(sha256(content).digest()).decode()
    for length, more in ((len(content) + 10, b""), (len(content), b"POST / HTTP/1.1 and more")):
        with wire(site.port) as line:
            line.head(
                "POST",
                address,
                Cookie=researcher.cookie(),
                X_CSRFToken=CSRF,
                Content_Type="application/octet-stream",
                Upload_Offset=0,
                Content_Digest=f"sha-256=:{digest}:",
                Content_Length=length,
            )
            line.send(content + more)
            if length > len(content):
                line.end()
                with contextlib.suppress(EOFError):
                    assert line.reply().status == 400
                assert json.loads(researcher.get(address).body)["offset"] == 0
            else:
                assert line.reply().status == 200
    assert json.loads(researcher.get(address).body)["offset"] == len(content), (
        "what is behind it isn't part of it"
    )


def test_an_upload_over_its_own_limit_is_refused(site, researcher):
    with wire(site.port) as line:
        line.head("POST", "/datasets/upload/", Cookie=researcher.cookie(), Content_Length=HUGE)
        assert line.reply().status == 413


def test_a_long_form_of_a_researcher_is_read_and_one_of_others_is_not(site, researcher):
    long = {"markdown": "word " * 100_000}
    assert researcher.post("/studies/preview/", long).status != 413
    assert Person(site.port).post("/studies/preview/", long).status == 403
    assert researcher.post("/login/", long).status == 413


def test_the_api_reads_more_from_who_has_a_token(site):
    def ask(token: str) -> int:
        body = json.dumps({"name": "x" * 500_000}).encode()
        with wire(site.port) as line:
            line.head(
                "POST",
                "/api/v1/sweeps/",
                Authorization=f"Bearer {token}",
                Content_Type="application/json",
                Content_Length=len(body),
            )
            line.send(body)
            reply = line.reply()
        assert "errors" in json.loads(reply.body)
        return reply.status

    assert ask(site.token) == 400
    assert ask("tst_nobodys") == 403


def test_a_body_that_is_cut_off_is_not_taken_for_a_whole_one(site):
    data = f"csrfmiddlewaretoken={CSRF}&username=researcher&password={PASSWORD}".encode()
    with wire(site.port) as line:
        line.head(
            "POST",
            "/login/",
            Cookie=f"csrftoken={CSRF}",
            Content_Type="application/x-www-form-urlencoded",
            Content_Length=len(data) + 10,
        )
        line.send(data)
        line.end()
        with contextlib.suppress(EOFError):  # no answer is an answer too
            assert line.reply().status == 400


def test_pages_files_and_downloads_come_as_they_should(site, researcher):
    page = researcher.get("/studies/")
    assert page.headers["content-type"].startswith("text/html")
    style = researcher.get("/static/css/tokens.css")
    assert style.body == (Path(__file__).resolve().parents[2] / "static/css/tokens.css").read_text()
    part = researcher.get("/static/css/tokens.css", Range="bytes=2-5")
    assert (part.status, part.body) == (206, style.body[2:6])
    assert researcher.get("/datasets/%C3%A4%20b/").status == 404
    assert researcher.get("/login/?next=/a%20b").status == 302
