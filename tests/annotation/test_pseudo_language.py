"""Everything that an annotator's page says comes from gettext: read in a language that marks each message."""

import re
from html.parser import HTMLParser

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import translation

from tests.browser.every_page import Stop, door_stops, steps_stops, work_stops

pytestmark = pytest.mark.django_db
OPEN, CLOSE = "⟦", "⟧"
# What isn't said by the interface: names of keys, codes, what researchers wrote, the name of the product.
OWN = {"kbd", "code", "bdi", "script", "style", "svg", "textarea", "option"}
OWN_CLASSES = {"brand", "badge", "points", "point-side", "rank-label", "languages", "part-name", "tool-name"}
SAID = ("aria-label", "title", "placeholder", "alt", "data-key-label", "data-announce", "data-head")
VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
MARKED = re.compile(rf"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")


class Texts(HTMLParser):
    """The texts of a page that the interface says, and those of attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        classes = set((given.get("class") or "").split())
        is_own = tag in OWN or bool(classes & OWN_CLASSES) or given.get("lang") == "" or "dir" in given
        within = is_own or (bool(self.open) and self.open[-1][1])
        if not within and tag != "html":
            self.texts += [given[name] for name in SAID if given.get(name)]
        if tag not in VOID:
            self.open.append((tag, within and tag != "html"))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if not (self.open and self.open[-1][1]):
            self.texts.append(data)


def unmarked(html: str) -> list[str]:
    """Texts with letters that are outside of marked messages; what is put into a message may be marked, too."""
    page = Texts()
    page.feed(html)
    text = "\n".join(page.texts)
    while text != (text := MARKED.sub("", text)):
        pass
    return [line.strip() for line in text.split("\n") if re.search(r"[^\W\d_]{2,}", line)]


@pytest.fixture
def pseudo(monkeypatch):
    """Each message in brackets, that of a plural as well."""
    real = translation._trans

    def mark(name, place):
        found = getattr(real, name)
        monkeypatch.setattr(real, name, lambda *args: f"{OPEN}{found(*args)}{CLOSE}" if args[place] else "")

    for name, place in (("gettext", 0), ("ngettext", 0), ("pgettext", 1), ("npgettext", 1)):
        mark(name, place)


# Of the studies that are visited, and the names of languages.
NAMES = ("Touchstone", "Prolific", "TS-", "UTC", "USD", "Español", "Which is better?")
WRITTEN = re.compile(r"(Yes|No|format|length|tone|The \w+ is right\.|(helpful|clear)\b.*)")


def said_unmarked(stop: Stop) -> list[str]:
    stop.then()
    browser = Client(headers={"accept-language": "es"})
    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = "es"  # English is shown without being looked up
    if stop.person is not None:
        browser.get(reverse("annotation:resume", args=[stop.person.resume_token]))
    page = browser.get(stop.address, follow=True)
    assert page.status_code in (200, 400, 403, 404, 410, 422), (stop.what, page.status_code)
    html = page.content.decode()
    if '<html lang="en"' in html:  # a page of staff, or for everybody
        return []
    return [
        text
        for text in unmarked(html)
        if not WRITTEN.fullmatch(text) and not any(name in text for name in NAMES)
    ]


@pytest.mark.parametrize("stops", [steps_stops, work_stops, door_stops])
def test_a_page_says_nothing_that_is_not_a_message(pseudo, stops):
    found = {stop.what: texts for stop in stops() if (texts := said_unmarked(stop))}
    assert found == {}
