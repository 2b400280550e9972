"""Many rows into one table at once: by COPY into PostgreSQL, by statements of many rows into SQLite.

No instance of a model is made, on which `bulk_create` spends more time than the database on its rows. The rows are
those that `bulk_create` would make: with the defaults of the model, and JSON in the form that the database has it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import orjson
from django.db import connection
from django.db.models import Field, JSONField, Model

from web.batches import batched

MAX_PARAMETERS = 30_000
"""Of a statement of SQLite, which takes 32,766 since 3.32."""
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


def foreign_keys_check_at_once() -> None:
    """Have PostgreSQL check foreign keys after each statement of this transaction.

    Left to the end of the transaction it keeps a note of each until then, in memory.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def keys_take(model: type[Model], n: int) -> Sequence[int]:
    """Return `n` new primary keys, ascending. The caller is in a transaction and inserts them before it takes more."""
    table, column = model._meta.db_table, _key_column(model)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                # The name is looked up once: as an argument of nextval it would be for each key.
                "SELECT nextval(name) FROM (SELECT pg_get_serial_sequence(%s, %s)::regclass AS name OFFSET 0)"
                " AS sequence, generate_series(1, %s)",
                [connection.ops.quote_name(table), column, n],
            )
            return [key for (key,) in cursor.fetchall()]
        # Nobody else writes until the transaction ends.
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        found = cursor.fetchone()
    last = found[0] if found else 0
    return range(last + 1, last + n + 1)


def rows_insert(model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of values of these fields; all other fields get their defaults.

    Parameters
    ----------
    fields
        Names of columns as attributes of the model, such as ``"dataset_id"``. Without ``"id"`` the database numbers the
        rows.
    rows
        Values as the columns have them; of JSON fields what they hold.
    """
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    given = [by_name[name] for name in fields]
    constants = {
        field.column: value
        for field in model._meta.concrete_fields
        if field not in given and not field.primary_key and field.column
        for value in [_default(field, model)]
        if value is not None
    }
    columns = [*(field.column or field.name for field in given), *constants]
    table = connection.ops.quote_name(model._meta.db_table)
    names = tuple(map(connection.ops.quote_name, columns))
    is_sqlite = connection.vendor == "sqlite"
    ready = _with_constants(
        *(rows, [isinstance(field, JSONField) for field in given], tuple(constants.values())),
        json.dumps if is_sqlite else _json,
    )
    if is_sqlite:
        # Of many rows one statement: between two, another thread would take the interpreter.
        sqlite_insert(table, names, ready, at_once=MAX_PARAMETERS)
        return
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN"
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in ready:
            copy.write_row(row)


def sqlite_insert(
    table: str,
    names: tuple[str, ...],
    rows: Iterable[Sequence[Any]],
    *,
    at_once: int,
    conflict: str = "",
) -> int:
    """Insert rows into SQLite in statements of many; returns how many went in.

    By the connection itself, since Django looks through the whole statement for placeholders each time.

    Parameters
    ----------
    table, names
        As they stand in the statement.
    at_once
        Parameters of a statement, at most `MAX_PARAMETERS`. One that comes again in the same length is prepared once.
    conflict
        What ends the statement, such as ``"ON CONFLICT DO NOTHING"``.
    """
    n_inserted = 0
    connection.ensure_connection()
    with connection.wrap_database_errors:
        for part in batched(rows, at_once // len(names)):
            statement = _sqlite_insertion(table, names, len(part), conflict)
            n_inserted += connection.connection.execute(statement, [*chain(*part)]).rowcount
    return n_inserted


@lru_cache(maxsize=128)
def _sqlite_insertion(table: str, names: tuple[str, ...], n_rows: int, conflict: str) -> str:
    marks = ", ".join([f"({', '.join('?' * len(names))})"] * n_rows)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {marks} {conflict}"  # noqa: S608


def _json(value: Any) -> str:
    """JSON for PostgreSQL, which stores what it says and not its text: a fifth of the time of `json.dumps`."""
    try:
        text = orjson.dumps(value)
    except TypeError:  # numbers of more than 64 bits, keys that are no text
        return json.dumps(value)
    # It makes null of what is no number, where PostgreSQL is to refuse that.
    return json.dumps(value) if b"null" in text else text.decode()


def _with_constants(
    rows: Iterable[Sequence[Any]],
    is_json: Sequence[bool],
    constants: tuple[Any, ...],
    dumps: Callable[[Any], str],
) -> Iterator[tuple[Any, ...]]:
    places = [place for place, one in enumerate(is_json) if one]
    for row in rows:
        cells = list(row)
        for place in places:
            if (value := cells[place]) is not None:
                cells[place] = _EMPTY[type(value)] if not value and type(value) in _EMPTY else dumps(value)
        yield (*cells, *constants)


def _default(field: "Field[Any, Any]", model: type[Model]) -> Any:
    """What the database is given where nothing is said, in a form that both ways of inserting take."""
    value = field.pre_save(model(), add=True)
    if value is None:
        return None
    if isinstance(field, JSONField):
        return json.dumps(value)
    stored = field.get_db_prep_save(value, connection)
    return str(stored) if connection.vendor == "postgresql" else stored


def _key_column(model: type[Model]) -> str:
    key = model._meta.pk
    assert key is not None
    assert key.column is not None
    return key.column
