"""An import that is killed continues where it stopped, by the command and by a worker, and is as without the kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.services import start_postgres

ROOT = Path(__file__).parents[3]
ROWS = 17_000
TEXTS = (
    "SELECT i.external_id, i.position, n.external_id, n.text, l.value, a.external_id, l.source FROM annotation_item i "
    "JOIN annotation_instruction n ON n.id = i.instruction_id JOIN annotation_label l ON l.item_id = i.id "
    "JOIN annotation_annotator a ON a.id = l.annotator_id JOIN annotation_dataset d ON d.id = i.dataset_id "
    "WHERE d.name = '{}' ORDER BY i.position"
)
RESPONSES = (
    "SELECT i.external_id, o.position, r.external_id, r.text FROM annotation_itemresponse o "
    "JOIN annotation_item i ON i.id = o.item_id JOIN annotation_response r ON r.id = o.response_id "
    "JOIN annotation_dataset d ON d.id = i.dataset_id WHERE d.name = '{}' ORDER BY i.position, o.position"
)
WORKER = "from config.wsgi import application; from judges.services import dataset_imports as d; {}"
SEND = (
    "from annotation.models import User; u = User.objects.create_user('ann', role='researcher'); "
    "j = d.dataset_import_request(user=u, name='pairs.csv', content=open({!r}, 'rb'), dataset_name='demo'); "
    "d.dataset_imports_work(); j.refresh_from_db(); assert d.dataset_import_confirm(job=j, skip_bad_rows=False), "
    "(j.state, j.errors)"
)
LOUD = (
    "f = d.file_import; d.file_import = lambda *, stored, **o: "
    "f(stored=lambda r, b: (stored(r, b), print(r, flush=True)), **o); "
)
"""Has a worker say after which row it has stored a part."""


class Site:
    """A database of its own, and processes on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.environment = os.environ | {
            "DATABASE_URL": url,
            "TOUCHSTONE_VAR": str(folder),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_POOL_SIZE": "0",
            "CELERY_BROKER_URL": "memory://",
        }
        with self.command("migrate", "-v0") as migrated:
            migrated.communicate()

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def command(self, *words: str) -> "subprocess.Popen[str]":
        return self.start("manage.py", *words)

    def work(self, what: str) -> "subprocess.Popen[str]":
        return self.start("-c", WORKER.format(what))

    def rows(self, query: str) -> list[Any]:
        if self.url.startswith("sqlite"):
            import sqlite3

            with sqlite3.connect(self.url.removeprefix("sqlite:///")) as connection:
                return connection.execute(query).fetchall()
        with psycopg.connect(self.url) as connection:
            return connection.execute(query).fetchall()  # type: ignore[call-overload,no-any-return]

    def visible(self) -> list[Any]:
        return [name for (name,) in self.rows("SELECT name FROM annotation_dataset WHERE NOT is_staged")]

    def stored(self, name: str) -> list[Any]:
        return [self.rows(query.format(name)) for query in (TEXTS, RESPONSES)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "pairs.csv"
    with path.open("w") as out:
        out.write("id,instruction,response_1,response_2,annotator:ann\n")
        out.writelines(f"q{n},Say {n},a {n},b,1\n" for n in range(ROWS))
    return path


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def site(request, tmp_path_factory, file):
    """A site with a dataset of the file, whose import nothing stopped."""
    folder = tmp_path_factory.mktemp("site")
    url = f"sqlite:///{folder}/site.sqlite3"
    if request.param == "postgres":
        url = start_postgres()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS killed_import WITH (FORCE)")
            connection.execute("CREATE DATABASE killed_import")
        url = url.replace("/postgres?", "/killed_import?")
    found = Site(url, folder)
    with found.command("import_dataset", "generic", str(file), "--name", "whole") as whole:
        said, _ = whole.communicate()
    assert "17,000 items, 0 gold; 17,000 labels. Created." in said
    return found


pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.timeout(180)]


def test_kill_9_of_the_command(site, file):
    load = ("import_dataset", "generic", str(file), "--name", "by-command")
    with site.command(*load) as killed:
        assert killed.stderr is not None
        assert any("5,001 rows" in line for line in killed.stderr)
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    assert "by-command" not in site.visible()
    (stopped_at,) = site.rows('SELECT "row" FROM annotation_stagedimport')
    assert stopped_at[0] >= 5_001
    with site.command(*load) as stopped:
        assert stopped.stderr is not None
        assert f"Continuing after row {stopped_at[0]:,}." in stopped.stderr.readline()
        assert any("rows (" in line for line in stopped.stderr)
        stopped.send_signal(signal.SIGINT)
        _, told = stopped.communicate()
    assert stopped.returncode in (0, 130)
    if stopped.returncode:
        assert "Run the same command to continue, or with --restart to begin again." in told
        with site.command(*load) as again:
            said, _ = again.communicate()
        assert "17,000 items, 0 gold; 17,000 labels. Created." in said
    assert site.stored("by-command") == site.stored("whole")
    assert site.rows("SELECT count(*) FROM annotation_stagedimport") == [(0,)]


def test_kill_9_of_a_worker(site, file):
    with site.work(SEND.format(str(file))) as sent:
        _, told = sent.communicate()
    assert sent.returncode == 0, told
    with site.work(f"{LOUD}d.dataset_imports_work()") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline().strip() == "5001"
        killed.kill()
    assert "demo" not in site.visible()
    forget = "d.DatasetImport.objects.update(lease_until=d.timezone.now()); "
    with site.work(f"{LOUD}{forget}d.dataset_imports_work()") as again:
        said, told = again.communicate()
    assert again.returncode == 0, told
    rows = said.split()
    assert "5001" not in rows, "it began again"
    assert rows[-1] == "15001"
    assert site.rows("SELECT state FROM judges_datasetimport") == [("done",)]
    (ours, responses), (others, their_responses) = site.stored("demo"), site.stored("whole")
    assert len(ours) == ROWS
    assert responses == their_responses
    # A label names its row in the file, which has another name in the folder of imports.
    assert [(*row[:-1], row[-1].partition(":")[2]) for row in ours] == [
        (*row[:-1], row[-1].partition(":")[2]) for row in others
    ]
