"""Every form and every address of the site, filled with what nobody should send: never an error of the server.

The forms are those that the pages show, so a new one is in here by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from tests.access_world import World, addresses

WORST = ("²", "x\0y", "99999999999999999999", "NaN")
"""A digit that is no number to int(), a character that no database takes, more than any column holds."""
VALUES = ("", "1e999", "-1", "[]", '{"a": ', "x" * 5_000, "\u202e", "../..")
PARTS = ("99999999999999999999", "x" * 500, "a\0b", "²", "%FF")
READERS = ("anonymous", "annotator", "owner", "administrator")


@dataclass
class Form:
    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)


class _Forms(HTMLParser):
    """The forms of a page, and the queries of its links."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get").upper()))
        elif tag == "a" and "?" in given.get("href", ""):
            self.links.append(given["href"])
        for method in ("get", "post"):
            if tag not in ("form", "a") and f"hx-{method}" in given and not self.forms:
                self.links.append(given[f"hx-{method}"])
        if not self.forms:
            return
        fields = self.forms[-1].fields
        if tag in ("input", "button", "textarea") and given.get("name"):
            if (
                given.get("type") not in ("checkbox", "radio")
                or "checked" in given
                or given["name"] not in dict(fields)
            ):
                fields.append((given["name"], given.get("value", "")))
        elif tag == "select" and given.get("name"):
            self._select = given["name"]
        elif tag == "option" and self._select and given.get("value"):
            fields.append((self._select, given["value"]))
            self._select = ""


def _forms(html: str, page: str) -> Iterator[Form]:
    parser = _Forms()
    parser.feed(html)
    for form in parser.forms:
        yield Form(urljoin(page, form.action), form.method, form.fields)
    for link in parser.links:
        parts = urlsplit(urljoin(page, link))
        if not parts.netloc and parts.query:
            yield Form(parts.path, "GET", parse_qsl(parts.query, keep_blank_values=True))


def _ask(browser: Client, method: str, path: str, pairs: list[tuple[str, str]]) -> int:
    """The status of one request, of which nothing stays."""
    cache.clear()  # so many requests are more than one may send
    cookies = browser.cookies.copy()
    with transaction.atomic():
        if method == "GET":
            answer = browser.get(f"{path}?{urlencode(pairs)}")
        else:
            answer = browser.generic("POST", path, urlencode(pairs), "application/x-www-form-urlencoded")
        if answer.streaming:
            b"".join(answer.streaming_content)
        transaction.set_rollback(True)
    browser.cookies = cookies
    return answer.status_code


def _spoiled(form: Form) -> Iterator[list[tuple[str, str]]]:
    """The form's fields with one of them spoiled, with all of them, and with none there."""
    names = list(dict.fromkeys(name for name, _ in form.fields if name != "csrfmiddlewaretoken"))
    for place, name in enumerate(names):
        rest = [(key, old) for key, old in form.fields if key != name]
        # Those that most often go wrong, and one of the others in turn: all of them in each field take an hour.
        for value in (*WORST, VALUES[place % len(VALUES)]):
            yield [*rest, (name, value)]
    for value in (*WORST, *VALUES):
        yield [(name, value) for name in names]
    yield []


@pytest.mark.django_db
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("who", READERS)
def test_no_form_can_be_filled_so_that_the_server_fails(who: str) -> None:
    world = World(split="public")
    browser = world.browsers[who]
    done: set[tuple[str, str, tuple[str, ...]]] = set()
    wrong = []
    for address in addresses():
        page = world.address_of(address)
        if address.route.startswith("api/") or "logout" in page:
            continue
        answer = browser.get(page)
        if answer.status_code != 200 or "html" not in answer["Content-Type"]:
            continue
        for form in _forms(answer.content.decode(), page):
            names = tuple(sorted({name for name, _ in form.fields}))
            kind = re.sub(r"\d+", "#", form.action)
            if (form.method, kind, names) in done or urlsplit(form.action).netloc or "logout" in form.action:
                continue
            done.add((form.method, kind, names))
            for pairs in _spoiled(form):
                status = _ask(browser, form.method, form.action, pairs)
                if status >= 500:
                    wrong.append(f"{status} {form.method} {form.action}: {str(pairs)[:300]}")
    assert done
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:60])


@pytest.mark.django_db
@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", READERS)
def test_no_address_can_be_made_up_so_that_the_server_fails(who: str) -> None:
    world = World(split="public")
    browser, wrong = world.browsers[who], []
    for address in addresses():
        page = world.address_of(address)
        pieces = page.split("/")
        for k, piece in enumerate(pieces):
            if not piece or piece in address.route.split("/"):
                continue
            for value in PARTS:
                made = "/".join([*pieces[:k], quote(value, safe="%"), *pieces[k + 1 :]])
                for method in ("GET", "POST"):
                    status = _ask(browser, method, made, [])
                    if status >= 500:
                        wrong.append(f"{status} {method} {made[:200]}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:60])
