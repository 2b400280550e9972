"""The tables of a database of PostgreSQL: which there are, what they hold, and how they are dropped."""

from hashlib import sha256
from typing import Any

import psycopg
from psycopg import sql

from config.backup.archive import TableContent

OpenedPostgres = psycopg.Connection[Any]
# Hashes are of what COPY writes, so everything that changes its form is fixed.
FORM = (
    "SET statement_timeout = 0", "SET lock_timeout = 0", "SET idle_in_transaction_session_timeout = 0",
    "SET TimeZone = 'UTC'", "SET DateStyle = 'ISO, MDY'", "SET IntervalStyle = 'postgres'",
    "SET extra_float_digits = 1", "SET bytea_output = 'hex'",
)  # fmt: skip
TABLES = """
    SELECT c.oid, c.relname FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    ORDER BY c.relname COLLATE "C"
"""
# Everything that a dump of the schema makes, with what depends on it. What belongs to an extension stays.
DROPS = """
    WITH own AS (
        SELECT c.oid, c.relkind, c.relname FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace
          AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    )
    SELECT 1, format('DROP VIEW IF EXISTS %I.%I CASCADE', current_schema(), relname) FROM own WHERE relkind = 'v'
    UNION ALL
    SELECT 2, format('DROP MATERIALIZED VIEW IF EXISTS %I.%I CASCADE', current_schema(), relname)
    FROM own WHERE relkind = 'm'
    UNION ALL
    SELECT 3, format('DROP TABLE IF EXISTS %I.%I CASCADE', current_schema(), relname)
    FROM own WHERE relkind IN ('r', 'p')
    UNION ALL
    SELECT 4, format('DROP SEQUENCE IF EXISTS %I.%I CASCADE', current_schema(), relname) FROM own WHERE relkind = 'S'
    UNION ALL
    SELECT 5, format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT 6, format('DROP TYPE IF EXISTS %I.%I CASCADE', current_schema(), t.typname) FROM pg_type t
    WHERE t.typnamespace = current_schema()::regnamespace AND t.typtype IN ('e', 'd')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = t.oid AND d.deptype = 'e')
    ORDER BY 1, 2
"""


def _table_content(connection: OpenedPostgres, oid: int, table: str) -> TableContent:
    """Count and hash a table: its columns by name, its rows in the order of the primary key, as COPY writes them."""
    columns = connection.execute(
        """
        SELECT a.attname, array_position(i.indkey::int[], a.attnum::int), t.typcategory = 'S'
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attname COLLATE "C"
        """,
        [oid],
    ).fetchall()
    names = [name for name, _, _ in columns]
    key = sorted((place, name, is_text) for name, place, is_text in columns if place is not None)
    # The order of texts is that of their bytes, whatever the collation of the database.
    order = sql.SQL(", ").join(
        sql.SQL('{} COLLATE "C"' if is_text else "{}").format(sql.Identifier(name))
        for _, name, is_text in key
    )
    rows = sql.SQL("SELECT {} FROM {} {}").format(
        sql.SQL(", ").join(map(sql.Identifier, names)),
        sql.Identifier(table),
        sql.SQL("ORDER BY {}").format(order) if key else sql.SQL(""),
    )
    digest, n = sha256(f"{table}({','.join(names)})\n".encode()), 0
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY ({}) TO STDOUT").format(rows)) as copy:
        for row in copy:
            digest.update(row)
            n += 1
    return TableContent(n, digest.hexdigest())


def table_contents(connection: OpenedPostgres) -> dict[str, TableContent]:
    """Return count and hash of every table of the schema. The connection has the settings of `FORM`."""
    return {
        table: _table_content(connection, oid, table) for oid, table in connection.execute(TABLES).fetchall()
    }
