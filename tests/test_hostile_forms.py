"""Every form and every address of the site, filled with what nobody should send: no error of the server, no half row.

The addresses are those of the URL configuration and the forms those that the pages show, so a new one is in here by
itself. Which of the values a field gets changes from form to form: all of them in all fields take an hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client

from tests.access_world import World, addresses

READERS = ("anonymous", "annotator", "owner", "administrator")
Value = str | bytes
VALUES: tuple[Value, ...] = (
    "",  # missing
    "x" * 5_000,
    "a\0b",
    b"\xed\xa0\x80",  # half a surrogate pair
    '"\\ud800"',  # the same, where JSON is read
    "99999999999999999999",
    "-1",
    "²",  # a digit that is no number to int()
    "NaN",
    "1e999",
    "[[], null]",
    '{"a": ',
    "../..",
)
PARTS = ("99999999999999999999", "x" * 500, "a\0b", "²", "%FF")
BODIES = (b"", b"\xff\0", b"a=" + b"&a=" * 2_000, b"[", b"null", b'{"a": NaN}')
TOGETHER = 2
"""Values that a form gets in all its fields at once, other ones for each form. Every second field alone gets one."""
_WRITE = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) .?(\w+)", re.IGNORECASE)
_SAVEPOINT = re.compile(r"(ROLLBACK TO )?SAVEPOINT (\S+)", re.IGNORECASE)
# A refusal may be remembered: in the session, and in the log of what administrators did.
MAY_BE_WRITTEN = frozenset({"django_session"})


@dataclass
class Form:
    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.fields if name != "csrfmiddlewaretoken"))


class _Forms(HTMLParser):
    """The forms of a page with their fields as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get").upper()))
        if not self.forms:
            return
        fields = self.forms[-1].fields
        if tag in ("input", "button", "textarea") and given.get("name"):
            is_choice = given.get("type") in ("checkbox", "radio")
            if not is_choice or "checked" in given or given["name"] not in dict(fields):
                fields.append((given["name"], given.get("value", "")))
        elif tag == "select" and given.get("name"):
            self._select = given["name"]
        elif tag == "option" and self._select and given.get("value"):
            fields.append((self._select, given["value"]))
            self._select = ""


class Writes:
    """The tables that a request wrote to and did not take back."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if mark := _SAVEPOINT.match(sql):
            name = f"savepoint {mark[2]}"
            if mark[1] and name in self._seen:
                del self._seen[len(self._seen) - 1 - self._seen[::-1].index(name) :]
            self._seen.append(name)
        elif found := _WRITE.match(sql):
            self._seen.append(found[1])
        return execute(sql, params, many, context)

    @property
    def tables(self) -> set[str]:
        return {name for name in self._seen if not name.startswith("savepoint ")} - MAY_BE_WRITTEN


def wrong_of(browser: Client, method: str, path: str, body: bytes, kind: str = "") -> str:
    """What is wrong with the answer to one request, of which nothing stays; empty if nothing is."""
    cache.clear()  # so many requests are more than one may send
    cookies, writes = browser.cookies.copy(), Writes()
    with transaction.atomic():
        with connection.execute_wrapper(writes):
            if method == "GET":
                answer = browser.get(f"{path}?{body.decode()}" if body else path)
            else:
                answer = browser.generic("POST", path, body, kind or "application/x-www-form-urlencoded")
            if answer.streaming:
                b"".join(answer.streaming_content)  # type: ignore[arg-type]
        transaction.set_rollback(True)
    browser.cookies = cookies
    sent = f"{answer.status_code} {method} {path[:200]} {body[:300]!r}"
    if answer.status_code >= 500:
        return sent
    if answer.status_code >= 400 and writes.tables:
        return f"{sent} wrote {sorted(writes.tables)}"
    return ""


def bodies_of(form: Form, turn: int) -> Iterator[bytes]:
    """Its fields with one value in all of them, with one of them spoiled, and none of them."""
    yield b""
    for k in range(TOGETHER):
        value = VALUES[(turn * TOGETHER + k) % len(VALUES)]
        yield urlencode([(name, value) for name in form.names]).encode()
    for place, name in list(enumerate(form.names))[turn % 2 :: 2]:
        rest = [(key, old) for key, old in form.fields if key != name]
        yield urlencode([*rest, (name, VALUES[(turn + place) % len(VALUES)])]).encode()
    yield urlencode([(name, one) for name in form.names for one in ("1", "2")]).encode()  # arrays


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_no_form_can_be_filled_so_that_the_server_fails_or_writes_half() -> None:
    world = World(split="public")
    done: set[tuple[str, str, tuple[str, ...]]] = set()
    wrong: list[str] = []
    for who in READERS:
        browser = world.browsers[who]
        for address in addresses():
            page = world.address_of(address)
            if address.route.startswith("api/") or "logout" in page:
                continue
            answer = browser.get(page)
            if answer.status_code != 200 or "html" not in answer["Content-Type"]:
                continue
            parser = _Forms()
            parser.feed(answer.content.decode())
            for form in parser.forms:
                action = urljoin(page, form.action)
                kind = (form.method, re.sub(r"\d+", "#", action), form.names)
                if kind in done or urlsplit(action).netloc or "logout" in action:
                    continue
                done.add(kind)
                bodies = bodies_of(form, len(done))
                wrong += filter(None, (wrong_of(browser, form.method, action, body) for body in bodies))
    assert len(done) > 50
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:60])


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_no_address_and_no_body_can_be_made_up_so_that_the_server_fails() -> None:
    world, wrong = World(split="public"), []
    for who, (turn, address) in product(READERS, enumerate(addresses())):
        browser = world.browsers[who]
        page = world.address_of(address)
        pieces = page.split("/")
        body = BODIES[turn % len(BODIES)]
        wrong.append(wrong_of(browser, "POST", page, body))
        for k, piece in enumerate(pieces):
            if piece and piece not in address.route.split("/"):
                value = PARTS[(turn + k) % len(PARTS)]
                made = "/".join([*pieces[:k], quote(value, safe="%"), *pieces[k + 1 :]])
                wrong += (wrong_of(browser, method, made, b"") for method in ("GET", "POST"))
    wrong = [one for one in wrong if one]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:60])
