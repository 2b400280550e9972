"""Databases that have their tables: migrated once a run, by whoever needs one first, and copied from then on.

Migrating takes seconds of a processor, and each worker of a run and each site that a test starts wants a database.
"""

import fcntl
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests import services

TEMPLATE = "touchstone_migrated"  # the database to copy, on PostgreSQL


@contextmanager
def _alone() -> Iterator[None]:
    """No other worker of the run is here."""
    with (services.run_directory() / "migrated.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _file() -> Path:
    return services.run_directory() / "migrated.sqlite3"


def _store(source: sqlite3.Connection) -> None:
    draft = _file().with_suffix(".draft")
    source.execute("VACUUM INTO ?", (str(draft),))
    draft.rename(_file())


def make_test_database() -> None:
    """The database of this process, for pytest-django. Afterwards there is one to copy."""
    from django.db import connection

    with _alone():
        is_first = not (_file() if connection.vendor == "sqlite" else _mark()).exists()
        if is_first:
            _set_up()
            _keep()
    if is_first:
        return
    if connection.vendor == "sqlite":
        shutil.copyfile(_file(), connection.settings_dict["TEST"]["NAME"])
    else:
        connection.settings_dict["TEST"]["TEMPLATE"] = TEMPLATE
    _set_up()


def _set_up() -> None:
    from django.test.utils import setup_databases

    # What there is already is kept: the copy. Migrations find nothing to do there.
    setup_databases(verbosity=0, interactive=False, keepdb=True, serialized_aliases=[])


def _keep() -> None:
    from django.db import connection

    if connection.vendor == "sqlite":
        connection.ensure_connection()
        _store(connection.connection)
        return
    import psycopg
    from psycopg import sql

    connection.close()
    connection.close_pool()  # nobody may be in a database that is copied
    with psycopg.connect(services.test_database_url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(TEMPLATE), sql.Identifier(connection.settings_dict["NAME"])
            )
        )
    _mark().touch()


def _mark() -> Path:
    return services.run_directory() / "migrated.postgres"


def empty_only_what_has_rows() -> None:
    """After a test that commits Django empties all tables and makes its content types anew, which takes longer than
    many a test. Few tables have rows, and nobody changes content types or asks for permissions: a role says who may
    do what.
    """
    from django.contrib.contenttypes.management import create_contenttypes
    from django.contrib.contenttypes.models import ContentType
    from django.db import connection
    from django.db.models.signals import post_migrate

    def sql_flush(self: object, style: object, tables: Sequence[str], **_: Any) -> list[str]:
        names = [name for name in tables if name != ContentType._meta.db_table]
        found = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names)
        with connection.cursor() as cursor:
            cursor.execute(found)
            emptied = [f"DELETE FROM {name}" for (name,) in cursor.fetchall()]
        # In any order: PostgreSQL looks at foreign keys by triggers, which sleep then; SQLite when all is done.
        is_postgres = connection.vendor == "postgresql"
        return ["SET LOCAL session_replication_role = replica", *emptied] if is_postgres else emptied

    assert post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    assert post_migrate.disconnect(create_contenttypes)
    # Of the class: a test that drives a browser has an event loop, and there a connection of its own.
    type(connection.ops).sql_flush = sql_flush


def copy_to(path: Path) -> None:
    """A file of SQLite with the site's tables, for a site of a test's own."""
    from tests.live_site import manage

    with _alone():
        if not _file().exists():
            first = services.run_directory() / "first.sqlite3"
            manage(f"sqlite:///{first}", "migrate", "--verbosity", "0")
            with closing(sqlite3.connect(first)) as source:
                _store(source)
    shutil.copyfile(_file(), path)
