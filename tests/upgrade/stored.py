"""The stored database, laid out on SQLite or PostgreSQL as its version left it."""

import lzma
import os
import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests import services

ROOT = Path(__file__).resolve().parents[2]
FROZEN = {"judges": "0002_by_hand", "metaeval": "0001_initial", "annotation": "0002_label_append_only"}
"""The last migration of each app in the stored version; those above come first, so that they can be undone."""
BOOKKEEPING = {"django_migrations", "django_content_type", "auth_permission", "sqlite_sequence"}
"""Tables that Django itself adds to when it migrates."""

Rows = dict[str, list[tuple[Any, ...]]]


class Site:
    """A site on a database of its own; commands run in processes of their own, as an operator runs them."""

    def __init__(self, url: str, var: Path) -> None:
        self.url, self.var = url, var

    def manage(self, *words: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
        clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=clean | {"DATABASE_URL": self.url, "TOUCHSTONE_VAR": str(self.var), "PYTHONPATH": str(ROOT)},
            input=code,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def connection(self) -> Iterator[Any]:
        if self.url.startswith("sqlite"):
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection:
                yield connection
        else:
            with psycopg.connect(self.url) as connection:
                yield connection

    def rows(self, columns: dict[str, list[str]]) -> Rows:
        """All rows of these columns, in the order of the primary key, which is the first."""
        found = {}
        with self.connection() as connection:
            for table, names in columns.items():
                listed = ", ".join(f'"{name}"' for name in names)
                found[table] = connection.execute(f'SELECT {listed} FROM "{table}" ORDER BY 1').fetchall()
        return found


def stored_dump() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(lzma.decompress((Path(__file__).parent / "first.sql.xz").read_bytes()).decode())
    return connection


def stored_columns() -> dict[str, list[str]]:
    """The columns of every table in which the stored version has rows, Django's bookkeeping aside."""
    with closing(stored_dump()) as source:
        tables = [name for (name,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: [column[1] for column in source.execute(f'PRAGMA table_info("{table}")')]
            for table in tables
            if table not in BOOKKEEPING and source.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone()
        }


def stored_on_sqlite(folder: Path) -> Site:
    path = folder / "site.sqlite3"
    with closing(stored_dump()) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)
    return Site(f"sqlite:///{path}", folder)


@contextmanager
def stored_on_postgres(folder: Path) -> Iterator[Site]:
    """The tables as the frozen migrations make them on PostgreSQL, with the rows of the stored database."""
    server, name = services.start_postgres(), f"upgrade_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    site = Site(server.replace("/postgres?", f"/{name}?"), folder)
    try:
        made = site.manage("migrate", "metaeval", FROZEN["metaeval"])  # it needs those of the other two
        assert made.returncode == 0, made.stderr
        _fill(site)
        yield site
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _fill(site: Site) -> None:
    columns = stored_columns()
    with closing(stored_dump()) as source, psycopg.connect(site.url) as target:
        kinds = {
            (table, column): kind
            for table, column, kind in target.execute(
                "SELECT table_name, column_name, data_type FROM information_schema.columns "
                "WHERE table_schema = 'public'"
            )
        }
        for table, names in columns.items():
            quoted = ", ".join(f'"{name}"' for name in names)
            flags = [kinds[table, name] == "boolean" for name in names]
            rows = [
                [
                    bool(cell) if flag and cell is not None else cell
                    for flag, cell in zip(flags, row, strict=True)
                ]
                for row in source.execute(f'SELECT {quoted} FROM "{table}"')
            ]
            with target.cursor() as cursor:
                cursor.executemany(
                    f'INSERT INTO "{table}" ({quoted}) VALUES ({", ".join(["%s"] * len(names))})', rows
                )
            if kinds.get((table, "id")) == "bigint":
                target.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM \"{table}\"))"
                )
