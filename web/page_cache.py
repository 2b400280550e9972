"""How much of SQLite's database file a connection keeps in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

READ_ONCE = 4096
"""Kibibytes of pages for who reads a table from its beginning to its end."""


@contextmanager
def pages_read_once() -> Iterator[None]:
    """Keep few pages meanwhile: the settings' 64 MB are for pages that are read again.

    PostgreSQL has a cache of its own, outside of this process.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        before = cursor.execute("PRAGMA cache_size").fetchone()[0]
        cursor.execute(f"PRAGMA cache_size = {-READ_ONCE}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA cache_size = {before}")
