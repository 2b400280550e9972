"""PostgreSQL: a snapshot that `pg_dump` and our own counts share, and its way back in one transaction."""

import re
import secrets
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from config.backup.archive import Manifest, TableContent
from config.backup.databases import BOOKKEEPING, counts_compare
from config.backup.errors import BackupError
from config.backup.postgres_programs import (
    PostgresPrograms,
    connection_string,
    programs_environment,
    programs_for,
)
from config.backup.postgres_tables import DROPS, FORM, TABLES, OpenedPostgres, table_contents

VENDOR = "postgresql"
_BLOCK = 2**20
_DUMP = (
    "--format=custom", "--compress=1", "--no-owner", "--no-privileges", "--no-comments", "--no-security-labels",
    "--no-publications", "--no-subscriptions", "--no-tablespaces",
    # The site uses no extension; that of a monitoring tool could keep the database from being restored elsewhere.
    "--extension=plpgsql",
)  # fmt: skip
_OTHER_SCHEMAS = """
    SELECT nspname FROM pg_namespace
    WHERE nspname <> current_schema() AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
"""


@dataclass(frozen=True, slots=True)
class PostgresSnapshot:
    """An open transaction whose snapshot `pg_dump` takes over."""

    database: "PostgresDatabase"
    connection: OpenedPostgres
    name: str
    server: str

    def dump(self) -> Iterator[bytes]:
        """Yield what `pg_dump` writes in its custom format; raises BackupError if it fails."""
        major = self.connection.info.server_version // 10000
        others = [f"--exclude-schema={_exactly(name)}" for (name,) in self.connection.execute(_OTHER_SCHEMAS)]
        command = self.database.command(
            programs_for(major), "pg_dump", *_DUMP, *others, f"--snapshot={self.name}"
        )
        with tempfile.TemporaryFile() as errors:
            dumping = self.database.started(command, errors, stdout=subprocess.PIPE)
            assert dumping.stdout is not None
            try:
                while block := dumping.stdout.read(_BLOCK):
                    yield block
                if dumping.wait():
                    raise BackupError(f"pg_dump failed: {_last_words(errors)}")
            finally:
                dumping.stdout.close()
                if dumping.poll() is None:
                    dumping.terminate()
                    dumping.wait()

    def tables(self) -> dict[str, TableContent]:
        """Return count and hash of the rows of every table."""
        return table_contents(self.connection)

    def column(self, table: str, column: str) -> Iterator[str]:
        """Yield the different texts in a column of a table; none where there's no such table."""
        if table in {name for _, name in self.connection.execute(TABLES).fetchall()}:
            query = sql.SQL("SELECT DISTINCT {} FROM {}").format(
                sql.Identifier(column), sql.Identifier(table)
            )
            for (value,) in self.connection.execute(query):
                yield str(value)

    def migrations(self) -> list[str]:
        """Return the migrations that are applied, as `app.name`."""
        if not self.connection.execute("SELECT to_regclass('django_migrations') IS NOT NULL").fetchone() == (
            True,
        ):
            raise BackupError("This database has no tables yet: there is nothing to back up.")
        rows = self.connection.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
        return sorted(f"{app}.{name}" for app, name in rows)


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database on a server, by the parameters of its connection."""

    params: Mapping[str, Any]
    vendor: str = VENDOR
    is_scratch: bool = False
    """Whether it may be filled and emptied itself, where a scratch database is needed."""

    @classmethod
    def emptied_at(cls, url: str) -> Self:
        """Make it of a URL, to be a scratch database itself; raises BackupError for what is no URL."""
        try:
            return cls(conninfo_to_dict(url), is_scratch=True)
        except psycopg.Error as error:
            raise BackupError(
                f"--scratch-url: expected postgres://..., found another text ({error})."
            ) from None

    @contextmanager
    def opened(self) -> Iterator[OpenedPostgres]:
        """A connection of its own, with no limits of time; errors of PostgreSQL become messages."""
        try:
            with closing(psycopg.connect(connection_string(self.params), autocommit=True)) as connection:
                for statement in FORM:
                    connection.execute(statement)
                if connection.info.server_version >= 170000:
                    connection.execute("SET transaction_timeout = 0")
                yield connection
        except psycopg.Error as error:
            raise BackupError(f"PostgreSQL: {str(error).strip()}") from error

    def command(self, programs: PostgresPrograms, program: str, *arguments: str) -> list[str]:
        """Return the command line of a program on this database. The password isn't in it."""
        return programs.command(
            program, f"--dbname={connection_string(self.params, password=None)}", "--no-password", *arguments
        )

    def started(self, command: list[str], errors: IO[bytes], **pipes: Any) -> subprocess.Popen[bytes]:
        """Start a program."""
        return subprocess.Popen(  # noqa: S603  (a program of PostgreSQL, with arguments of ours)
            command, stderr=errors, env=programs_environment(self.params), **pipes
        )

    def size(self) -> int:
        """Return the bytes of the database on the server, indexes too."""
        with self.opened() as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            return int(row[0]) if row else 0

    @contextmanager
    def snapshot(self, scratch: Path) -> Iterator[PostgresSnapshot]:  # noqa: ARG002  (SQLite needs a folder)
        """Take a snapshot, which is held as long as the context lasts."""
        with self.opened() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            row = connection.execute(
                "SELECT pg_export_snapshot(), current_setting('server_version')"
            ).fetchone()
            assert row is not None
            yield PostgresSnapshot(self, connection, row[0], f"PostgreSQL {row[1]}")

    def tables_with_rows(self) -> list[str]:
        """Return the tables that have rows, those of `BOOKKEEPING` left out."""
        with self.opened() as connection:
            tables = [name for _, name in connection.execute(TABLES).fetchall() if name not in BOOKKEEPING]
            has_rows = sql.SQL("SELECT EXISTS (SELECT 1 FROM {})")
            return [
                name
                for name in tables
                if connection.execute(has_rows.format(sql.Identifier(name))).fetchone() == (True,)
            ]

    def others_connected(self) -> int:
        """Return how many other clients are connected to this database."""
        with self.opened() as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND (backend_type IS NULL OR backend_type = 'client backend')"
            ).fetchone()
            return int(row[0]) if row else 0

    def restore(
        self,
        dump: Iterator[bytes],
        manifest: Manifest,
        scratch: Path,  # noqa: ARG002  (SQLite needs a folder)
    ) -> dict[str, TableContent]:
        """Drop all that is in the schema and restore the dump, in one transaction with a check of the counts."""
        with self.opened() as connection:
            drops = [statement for _, statement in connection.execute(DROPS).fetchall()]
            schema = connection.execute("SELECT current_schema()").fetchone()
            programs = programs_for(connection.info.server_version // 10000)
        if schema is None or schema[0] is None:
            raise BackupError(
                "The database user has no schema to restore into. Create one, or grant its use."
            )
        counts = {name: table.rows for name, table in manifest.tables.items()}
        # The script of pg_restore leaves the search path empty.
        check = [f"SET search_path = {_exactly(schema[0])}", _counts_check(counts), "COMMIT"]
        self._script_run(programs, dump, ["BEGIN", *drops], check)
        with self.opened() as connection:
            tables = table_contents(connection)
        counts_compare(tables, manifest)
        return tables

    def _script_run(
        self, programs: PostgresPrograms, dump: Iterator[bytes], before: list[str], after: list[str]
    ) -> None:
        """Give `psql` some statements, the script that `pg_restore` makes of a dump, and more statements.

        `psql` alone holds the transaction: where anything fails before its last statement, nothing was changed.
        """
        with tempfile.TemporaryFile() as making_errors, tempfile.TemporaryFile() as running_errors:
            making = self.started(
                programs.command("pg_restore", "--no-owner", "--no-privileges", "--file=-"),
                making_errors,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            running = self.started(
                self.command(programs, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"),
                running_errors,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
            assert making.stdin is not None
            assert making.stdout is not None
            assert running.stdin is not None
            feeder = _Feeder(dump, making.stdin)
            feeder.start()
            try:
                running.stdin.write(_statements(before))
                while block := making.stdout.read(_BLOCK):
                    running.stdin.write(block)
                feeder.join()
                if feeder.error is not None:
                    raise feeder.error
                if making.wait():
                    raise BackupError(f"pg_restore failed: {_last_words(making_errors)}")
                running.stdin.write(_statements(after))
                running.stdin.close()
            except BrokenPipeError:
                pass  # psql has ended, and says why
            except BaseException:
                # Without COMMIT: PostgreSQL takes everything back.
                running.terminate()
                raise
            finally:
                for process in (making, running):
                    _ended(process)
                feeder.join()
            if running.returncode:
                raise BackupError(
                    f"The restore failed, and nothing was changed: {_last_words(running_errors)}"
                )

    @contextmanager
    def scratch(self, folder: Path) -> Iterator["PostgresDatabase"]:  # noqa: ARG002  (SQLite needs a folder)
        """Make an empty database on the same server, which is dropped afterwards."""
        if self.is_scratch:
            if full := self.tables_with_rows():
                raise BackupError(
                    f"The scratch database isn't empty: it has rows in {full[0]}. Name an empty one."
                )
            try:
                yield self
            finally:
                self._empty()
            return
        name = f"touchstone_verify_{secrets.token_hex(6)}"
        with self.opened() as connection:
            try:
                connection.execute(
                    sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
                )
            except psycopg.errors.InsufficientPrivilege:
                raise BackupError(
                    "The database user may not create a scratch database. Allow it (ALTER ROLE ... CREATEDB), or name "
                    "an empty database with --scratch-url postgres://..."
                ) from None
            try:
                yield PostgresDatabase({**self.params, "dbname": name})
            finally:
                connection.execute(
                    sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
                )

    def _empty(self) -> None:
        with self.opened() as connection, connection.transaction():
            for _, statement in connection.execute(DROPS).fetchall():
                connection.execute(statement)


class _Feeder(threading.Thread):
    """Writes a dump into a pipe, beside the thread that reads what becomes of it."""

    def __init__(self, dump: Iterable[bytes], pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._dump, self._pipe = dump, pipe
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self._pipe as pipe:
                for piece in self._dump:
                    pipe.write(piece)
        except BrokenPipeError:
            pass  # pg_restore has ended, and says why
        except Exception as error:
            self.error = error


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Close its pipes, by which it ends, and wait for it."""
    for pipe in (process.stdout, process.stdin):
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.close()
    process.wait()  # indexes of large tables take their time


def _exactly(name: str) -> str:
    """A pattern of `pg_dump` that matches this name alone."""
    return '"' + name.replace('"', '""') + '"'


def _statements(statements: list[str]) -> bytes:
    return "".join(f"{statement};\n" for statement in statements).encode()


def _counts_check(counts: Mapping[str, int]) -> str:
    """A statement that fails unless each table has so many rows."""
    lines = [
        f"IF (SELECT count(*) FROM {_exactly(name)}) <> {n} THEN "  # noqa: S608  (a name, in quotes)
        f"RAISE EXCEPTION 'table % has other rows than the backup', {_literal(name)}; END IF;"
        for name, n in counts.items()
    ]
    return f"DO $check$ BEGIN {' '.join(lines)} END $check$"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _last_words(errors: IO[bytes]) -> str:
    """The end of what a program wrote to its standard error."""
    errors.seek(0)
    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", errors.read()).decode(errors="replace").strip().splitlines()
    return " ".join(lines[-3:]) or "it didn't say why."
