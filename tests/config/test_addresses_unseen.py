"""No address of a client is stored or logged: requests come from known ones, and everything is searched for them."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Enrollment, Study
from annotation.services.accounts import account_create
from config.observing.crashes import event_scrubbed
from config.observing.logs import JsonFormatter, PlainFormatter
from tests.annotation.factories import PASSWORD, invitation_make, study_make, user_make

pytestmark = pytest.mark.django_db
ADDRESSES = {"203.0.113.77": "203.0.113.0/24", "2001:db8:77:1:2:3:4:5": "2001:db8:77::/48"}


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """All that is logged, in both forms, as the site's handlers write it."""
    written = io.StringIO()
    handlers = []
    for formatter in (PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"), JsonFormatter()):
        handler = logging.StreamHandler(written)
        handler.setFormatter(formatter)
        handlers.append(handler)
        logging.getLogger().addHandler(handler)
    yield written
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


def everything_stored() -> str:
    """Every cell of every table."""
    said = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            said += [repr(row) for row in cursor.fetchall()]
    return "\n".join(said)


def visit_everything(browser: Client, study: Study) -> None:
    """What a client can do that stores or logs something."""
    user = user_make(role="administrator")
    login = reverse("login")
    for _ in range(12):  # some are refused as too many
        browser.post(login, {"username": user.username, "password": "wrong"})
    browser.get("/no-such-page/")
    browser.get("/api/v1/studies/", headers={"Authorization": "Bearer wrong"})
    browser.get("/admin/", follow=True)
    account = account_create(email=f"{user.username}@example.org", password=PASSWORD)
    sign_in = reverse("annotation:account-sign-in")
    browser.post(sign_in, {"email": account.email, "password": "wrong"})
    browser.post(sign_in, {"email": account.email, "password": PASSWORD})
    browser.post(reverse("annotation:account-sign-out"))
    join = reverse("annotation:join", args=[invitation_make(study=study).token])
    page = browser.get(join)
    browser.post(join, {"visit": page.context["visit"]})
    assert Enrollment.objects.filter(study=study).exists()
    browser.get(reverse("annotation:place", args=[study.slug]))
    browser.post(reverse("password-forgot"), {"email": "someone@example.org"})
    cache.clear()  # the limits
    assert browser.post(login, {"username": user.username, "password": PASSWORD}).status_code == 302
    browser.get(reverse("annotation:study-export", args=[study.slug, "csv"]))
    browser.post(reverse("logout"))


def noted(act: Callable[..., Any], kept: list[str]) -> Callable[..., Any]:
    """A method of the cache that also notes with what it was called."""

    def called(*given: Any, **named: Any) -> Any:
        kept.append(repr(given))
        return act(*given, **named)

    return called


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_stored_and_logged_nowhere(address, lines, settings, monkeypatch):
    settings.RATELIMIT_ENABLE = True
    settings.LOG_REQUESTS = True
    cache.clear()
    kept: list[str] = []
    for name in ("add", "incr", "set"):
        monkeypatch.setattr(cache, name, noted(getattr(cache, name), kept))
    visit_everything(Client(REMOTE_ADDR=address), study_make())
    said = lines.getvalue()
    assert "Failed login" in said
    assert "Failed sign-in" in said
    assert ADDRESSES[address] in said, "the network may be known"
    assert AuditEvent.objects.filter(network=ADDRESSES[address]).exists()
    assert any("throttle:" in one for one in kept)
    for where in (said, everything_stored(), "\n".join(kept)):
        assert address not in where


def test_the_address_behind_a_proxy_is_cut_too(lines, settings):
    settings.CLIENT_IP_HEADER = "X-Forwarded-For"
    browser = Client(REMOTE_ADDR="127.0.0.1", headers={"X-Forwarded-For": "198.51.100.9"})
    browser.post(reverse("login"), {"username": "a", "password": "b"})
    assert "198.51.100.0/24" in lines.getvalue()
    assert "198.51.100.9" not in lines.getvalue()


def test_what_another_library_logs_is_cut_as_well(lines, rf):
    from web.acting import CurrentRequestMiddleware

    def answer(request):
        logging.getLogger("some.library").warning("Odd request from %s", request.META["REMOTE_ADDR"])

    CurrentRequestMiddleware(answer)(rf.get("/", REMOTE_ADDR="203.0.113.77"))
    assert "203.0.113.77" not in lines.getvalue()
    assert "203.0.113.0/24" in lines.getvalue()


def test_sentry_is_sent_no_address():
    event = {
        "request": {
            "method": "GET",
            "env": {"REMOTE_ADDR": "203.0.113.77"},
            "headers": {"X-Forwarded-For": "203.0.113.77"},
        },
        "user": {"ip_address": "203.0.113.77"},
    }
    assert "203.0.113.77" not in json.dumps(event_scrubbed(event))


def test_the_limits_key_cannot_be_made_without_the_sites_secret(settings):
    from web.throttling import count_one

    settings.RATELIMIT_ENABLE = True
    cache.clear()
    assert count_one(group="g", by="203.0.113.77", rate="1/d").used == 1
    settings.SECRET_KEY = "another"
    assert count_one(group="g", by="203.0.113.77", rate="1/d").used == 1
