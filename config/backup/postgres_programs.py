"""PostgreSQL's own programs: where `pg_dump`, `pg_restore` and `psql` are, and how they are told the database."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from psycopg import pq
from psycopg.conninfo import make_conninfo

from config.backup.errors import BackupError

PROGRAMS = ("pg_dump", "pg_restore", "psql")
FOLDERS = (
    "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*",
    "/opt/homebrew/opt/postgresql@*/bin", "/opt/homebrew/opt/libpq/bin", "/usr/local/opt/postgresql@*/bin",
    "/usr/local/opt/libpq/bin", "/usr/local/pgsql/bin",
)  # fmt: skip
"""Where distributions and Homebrew install them beside the search path."""
_VERSION = re.compile(r"\) (\d+)")


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """A folder that has the programs, and their major version."""

    folder: Path
    major: int

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command line of one of them."""
        return [str(self.folder / program), *arguments]


def programs_for(server_major: int) -> PostgresPrograms:
    """Find the programs of the server's major version, or of the next later one that is installed.

    `pg_dump` refuses a server that is newer than itself.

    Raises
    ------
    BackupError
        None is installed that is new enough; the message says what to install.
    """
    found: dict[int, Path] = {}
    for folder in _folders():
        if (major := _major_in(folder)) is not None:
            found.setdefault(major, folder)
    usable = [major for major in found if major >= server_major]
    if usable:
        return PostgresPrograms(found[min(usable)], min(usable))
    seen = ", ".join(f"{major} in {folder}" for major, folder in sorted(found.items())) or "none"
    raise BackupError(
        f"The server is PostgreSQL {server_major}: a backup needs {', '.join(PROGRAMS)} of version {server_major} or "
        f"later. Found: {seen}. Install the package postgresql-client-{server_major} (Debian and Ubuntu, from "
        f"apt.postgresql.org), postgresql{server_major} (Fedora, Red Hat), postgresql{server_major}-client (Alpine) or "
        f"postgresql@{server_major} (Homebrew), or set POSTGRES_BIN to the folder that has them."
    )


def _folders() -> Iterator[Path]:
    if settings.POSTGRES_BIN:
        yield Path(settings.POSTGRES_BIN)
        return
    for pattern in FOLDERS:
        yield from sorted(Path("/").glob(pattern.removeprefix("/")))
    for name in os.get_exec_path():
        yield Path(name)


def _major_in(folder: Path) -> int | None:
    """The version of the programs in a folder; None if one is missing."""
    if not all(shutil.which(program, path=str(folder)) for program in PROGRAMS):
        return None
    said = subprocess.run(  # noqa: S603  (a program of PostgreSQL)
        [folder / "pg_dump", "--version"], capture_output=True, text=True, check=False
    )
    version = _VERSION.search(said.stdout)
    return int(version[1]) if version else None


def connection_string(params: Mapping[str, Any], **changed: Any) -> str:
    """Return libpq's connection string of Django's parameters, with some changed; without a password if it's None."""
    known = {default.keyword.decode() for default in pq.Conninfo.get_defaults()}
    kept = {name: value for name, value in params.items() if name in known} | changed
    return make_conninfo("", **{name: value for name, value in kept.items() if value is not None})


def programs_environment(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of a program: with the password, which other users could read in a command line."""
    password = params.get("password")
    return {
        **os.environ,
        "PGAPPNAME": "touchstone backup",
        **({"PGPASSWORD": str(password)} if password else {}),
    }
