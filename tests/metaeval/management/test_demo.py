"""`manage.py demo`, as it is typed: where it builds, and what it serves."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import services
from tests.hostile import Person
from tests.live_site import ROOT

pytestmark = [pytest.mark.timeout(300), pytest.mark.service]


def demo(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'site.sqlite3'}",
        "TOUCHSTONE_VAR": str(folder),
        "LOG_LEVEL": "ERROR",
    }
    mock = str(services.free_port())
    command = [sys.executable, "manage.py", "demo", "--mock-port", mock, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)


def administrators(path: Path) -> list[str]:
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'annotation_user'").fetchone():
            return []
        rows = database.execute("SELECT username FROM annotation_user WHERE role = 'administrator'")
        return [name for (name,) in rows]


@pytest.mark.long
def test_where_it_builds_and_that_it_outlives_a_killed_worker(tmp_path):
    port = services.free_port()
    process = demo(tmp_path, "--port", str(port))
    try:
        assert process.stdout is not None
        while b"Ctrl-C stops everything" not in (line := process.stdout.readline()):
            assert line or process.poll() is None, "it ended"
        assert administrators(tmp_path / "site.sqlite3") == []
        assert administrators(tmp_path / "demo.sqlite3") == ["admin"]
        person = answered(port)
        assert person.log_in("admin", "touchstone-demo").status == 302
        (server,) = psutil.Process(process.pid).children()
        (worker,) = (one for one in server.children() if "resource_tracker" not in " ".join(one.cmdline()))
        worker.kill()
        psutil.wait_procs([worker])
        assert answered(port).get("/login/").status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    # In the configured database, when asked for: one that has all but the administrator, since building takes long.
    other = tmp_path / "other"
    other.mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "demo.sqlite3")) as built:
        built.execute("UPDATE annotation_user SET username = 'somebody' WHERE username = 'admin'")
        built.commit()
        built.execute("VACUUM INTO ?", [str(other / "site.sqlite3")])
    process = demo(other, "--no-serve", "--use-configured-database")
    process.communicate()
    assert process.returncode == 0
    assert sorted(administrators(other / "site.sqlite3")) == ["admin", "somebody"]
    assert not (other / "demo.sqlite3").exists()


def answered(port: int) -> Person:
    """Somebody whom the site answers; waits for it."""
    deadline = time.monotonic() + 60
    while True:
        try:
            Person(port).get("/login/")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return Person(port)
