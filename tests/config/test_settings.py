"""The settings as a deployment meets them: in a process of its own, with nothing but its environment."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import services

pytestmark = pytest.mark.service

ROOT = Path(__file__).resolve().parents[2]


READY = "import django; django.setup()\n"


def run(code: str, var: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_RUNTIME_DIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean | {"DJANGO_SETTINGS_MODULE": "config.settings", "TOUCHSTONE_VAR": str(var)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


SECRET = "from django.conf import settings; print(settings.SECRET_KEY)"


def test_a_local_site_makes_itself_a_secret_once_and_keeps_it_to_itself(tmp_path):
    first, second = run(SECRET, tmp_path), run(SECRET, tmp_path)
    assert first.returncode == 0, first.stderr
    assert len(first.stdout.strip()) > 50
    assert first.stdout == second.stdout
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_public_site_must_be_given_its_secret(tmp_path):
    found = run(SECRET, tmp_path, SITE_URL="https://touchstone.example")
    assert found.returncode != 0
    assert "DJANGO_SECRET_KEY must be set when SITE_URL is https" in found.stderr


def test_another_kind_of_database_is_refused(tmp_path):
    found = run(SECRET, tmp_path, DATABASE_URL="mysql://user:secret@127.0.0.1/site")
    assert found.returncode != 0
    assert "DATABASE_URL must be a sqlite:// or postgres:// URL" in found.stderr


def test_sqlite_is_set_up_for_many_writers(tmp_path):
    code = f"""{READY}
from django.db import connection
with connection.cursor() as cursor:
    print(cursor.execute("PRAGMA journal_mode").fetchone()[0], connection.transaction_mode)
"""
    assert run(code, tmp_path).stdout.split() == ["wal", "IMMEDIATE"]


def test_postgres_connections_come_from_a_pool_that_is_shared_by_threads(tmp_path):
    code = f"""{READY}
from concurrent.futures import ThreadPoolExecutor
from django.db import connection
def ask(_):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), pg_sleep(0.01)")
        pid = cursor.fetchone()[0]
    connection.close()
    return pid
with ThreadPoolExecutor(16) as threads:
    print(len(set(threads.map(ask, range(64)))))
connection.close_pool()
"""
    found = run(code, tmp_path, DATABASE_URL=services.start_postgres(), DATABASE_POOL_SIZE="3")
    assert found.returncode == 0, found.stderr
    assert 1 <= int(found.stdout) <= 3


@pytest.mark.parametrize("seconds", ["0", "5"])
def test_a_connection_that_the_server_ended_is_replaced_and_a_sound_one_asked_nothing(tmp_path, seconds):
    code = f"""{READY}
import os
import psycopg
from django.db import connection
def ask(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        found = cursor.fetchone()[0]
    connection.close()
    return found
first = ask("SELECT pg_backend_pid()")
other = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
looked = "SELECT query, state_change FROM pg_stat_activity WHERE pid = %s"
before = other.execute(looked, [first]).fetchone()
connection.ensure_connection()  # takes it from the pool, which checks it
print(other.execute(looked, [first]).fetchone() == before)
connection.close()
other.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
print(ask("SELECT pg_backend_pid()") != first)
connection.close_pool()
"""
    environment = {"DATABASE_URL": services.start_postgres(), "DATABASE_POOL_SIZE": "1"}
    found = run(code, tmp_path, DATABASE_STATEMENT_TIMEOUT=seconds, **environment)
    assert found.stdout.split() == ["True", "True"], found.stderr


MAIL = """
from django.conf import settings
print(settings.SENDS_MAIL, settings.EMAIL_BACKEND.split(".")[-2], settings.EMAIL_HOST, settings.EMAIL_PORT)
print(getattr(settings, "EMAIL_USE_TLS", False), settings.EMAIL_HOST_PASSWORD, settings.DEFAULT_FROM_EMAIL)
"""


def test_mail_is_sent_where_a_server_is_named(tmp_path):
    assert run(MAIL, tmp_path).stdout.split()[:2] == ["False", "dummy"]
    assert run(MAIL, tmp_path, DJANGO_DEBUG="true").stdout.split()[:2] == ["True", "console"]
    server = {"EMAIL_URL": "smtp+tls://me:p%40ss@mail.example:587", "EMAIL_FROM": "touchstone@example.org"}
    assert run(MAIL, tmp_path, **server).stdout.split() == [
        *("True", "smtp", "mail.example", "587"),
        *("True", "p@ss", "touchstone@example.org"),
    ]


DEPLOYMENT = {
    "SITE_URL": "https://touchstone.example",
    "DJANGO_SECRET_KEY": "a-secret-that-is-long-enough" * 3,
}
CHECK = f"{READY}from django.core.management import call_command; call_command('check', '--deploy')"


def test_a_deployment_is_warned_of_limits_counted_alone_and_of_a_proxy_that_hides_who_asks(tmp_path):
    several = DEPLOYMENT | {"WEB_WORKERS": "2", "BEHIND_TLS_PROXY": "true"}
    said = run(CHECK, tmp_path, **several).stderr
    assert "touchstone.W001" in said, said
    assert "touchstone.W002" in said, said
    mended = {"CACHE_URL": "redis://127.0.0.1:1/0", "CLIENT_IP_HEADER": "X-Real-IP"}
    for environment in (several | mended, DEPLOYMENT):
        found = run(CHECK, tmp_path, **environment)
        assert found.returncode == 0, found.stderr
        assert "touchstone." not in found.stderr, found.stderr


@pytest.mark.parametrize("words", [["purge_requests", "--older-than", "90"], ["dataset_changes", "data"]])
def test_a_command_on_a_database_without_tables_says_so(words, tmp_path):
    made = f"import runpy, sys; sys.argv = ['manage.py', *{words}]; runpy.run_path('manage.py', run_name='__main__')"
    done = run(made, tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(
        r"The database isn't one of this version \(no such table: \w+\)\. Run `python manage\.py migrate` first, or "
        r"check DATABASE_URL\.\n",
        done.stderr,
    )


def test_what_is_there_at_the_start_is_not_searched_for_garbage_again(tmp_path):
    """All views are there then: a collection among requests that looked at them would stop every thread for long."""
    found = run(
        "import gc, sys, config.rsgi\n"
        "print(gc.get_freeze_count(), len(gc.get_objects()), 'annotation.views.annotator.work' in sys.modules)",
        tmp_path,
    )
    assert found.returncode == 0, found.stderr
    frozen, searched, has_views = found.stdout.split()
    assert int(frozen) > 100_000
    assert int(searched) < int(frozen) / 20
    assert has_views == "True"


@pytest.mark.parametrize(
    ("prepare", "seconds", "said"),
    [
        ("true", "15", "15s force_generic_plan"),
        ("true", "0", "0 force_generic_plan"),
        ("false", "0", "0 auto"),
    ],
)
def test_prepared_statements_are_planned_once(tmp_path, prepare, seconds, said):
    """Left to itself, PostgreSQL plans the largest anew at each run once there are statistics of its tables."""
    code = (
        f"{READY}from django.db import connection\n"
        "with connection.cursor() as cursor:\n"
        "    for name in ('statement_timeout', 'plan_cache_mode'):\n"
        "        cursor.execute(f'SHOW {name}')\n"
        "        print(cursor.fetchone()[0])\n"
    )
    environment = {"DATABASE_PREPARE": prepare, "DATABASE_STATEMENT_TIMEOUT": seconds}
    found = run(code, tmp_path, DATABASE_URL=services.start_postgres(), **environment)
    assert found.stdout.split() == said.split(), found.stderr
