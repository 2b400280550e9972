"""The engine's group statements.

Raw SQL, and only here: Django's `bulk_create` and `bulk_update` build model instances and CASE expressions,
which alone costs more than the 100 microseconds that the whole engine may take for a request. SQLite is
quickest with one prepared statement for many rows, PostgreSQL with one binary array a column.
"""

import os
import random
import socket
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, Model, OuterRef
from django.utils import timezone

from judges.backends.wire import answer_from_json
from judges.engine.request_store import StoredRequest
from judges.engine.works import Row
from judges.models import ModelRequest, RequestBatch, RequestState, RequestText, SweepRun, TextBlock, Worker
from judges.selectors.requests import BLOCK_BITS, least_block_key
from web.bulk import sqlite_insert

REQUESTS = ModelRequest._meta.db_table
TEXTS = RequestText._meta.db_table
BLOCKS = TextBlock._meta.db_table
RUNS = SweepRun._meta.db_table
BLOCK = 32
"""Texts in one block: larger ones are hardly smaller for each text, and are read to show one."""
BATCH = "batch-"
"""How the name of an owner begins that is a batch and no worker."""
CHUNK = 500
"""Hashes in one look-up."""
_PARAMETERS = 999
"""Of one statement of rows for SQLite: most statements are then of the same length, and prepared once."""


def database_time(moment: datetime) -> Any:
    """Return a moment as the database's raw statements take it."""
    return connection.ops.adapt_datetimefield_value(moment)


def worker_keep(*, owner: str, lease: float) -> None:
    """Give a sign of life for all that this worker has claimed."""
    Worker.objects.update_or_create(
        name=owner,
        defaults={"lease_until": timezone.now() + timedelta(seconds=lease)},
        create_defaults={
            "lease_until": timezone.now() + timedelta(seconds=lease),
            "host": f"{socket.gethostname()[:80]}:{os.getpid()}",
        },
    )


def worker_end(*, owner: str) -> None:
    """Give up all that a worker has claimed: others may take it over at once."""
    Worker.objects.filter(name=owner).delete()


def requests_claim(rows: Iterable[Row], *, owner: str) -> int:
    """Insert the requests that nobody has, as this worker's; returns how many those are.

    Parameters
    ----------
    rows : iterable of (hash, key of the form, digest of the text)
    """
    return _insert(
        REQUESTS,
        {"hash": "text", "form_id": "bigint", "text": "bytea"},
        # In one order everywhere: on PostgreSQL two workers that insert the same hashes wait for one another.
        sorted(rows),
        {
            "state": RequestState.CLAIMED.value,
            "owner": owner,
            "attempts": 0,
            "error": "",
            "created_at": database_time(timezone.now()),
        },
    )


def texts_save(texts: Mapping[bytes, bytes]) -> None:
    """Store the texts that are not stored yet, by their digests: many in a block, compressed together.

    Texts that are asked at the same time have most of their words in common. After the claims of requests in a
    transaction, never before: two workers that store the same would wait for one another.
    """
    digests = sorted(texts)
    blocks = [digests[start : start + BLOCK] for start in range(0, len(digests), BLOCK)]
    keys = block_keys(len(blocks))
    rows = [
        (each, key, place) for key, some in zip(keys, blocks, strict=True) for place, each in enumerate(some)
    ]
    if _insert(TEXTS, {"digest": "bytea", "block": "bigint", "place": "smallint"}, rows, {}) < len(rows):
        ours: set[bytes] = set()
        for chunk in _chunks(digests):
            found = RequestText.objects.filter(digest__in=chunk, block__in=keys)
            ours.update(bytes(each) for each in found.values_list("digest", flat=True))
        # A text that another worker stored leaves its place empty.
        blocks = [[each if each in ours else b"" for each in some] for some in blocks]
    bodies = [
        (key, zlib.compress(b"\n".join(texts[each] if each else b"" for each in some), 1))
        for key, some in zip(keys, blocks, strict=True)
        if any(some)
    ]
    _insert(BLOCKS, {"id": "bigint", "body": "bytea"}, bodies, {})


def block_keys(n: int) -> list[int]:
    """Return keys for new blocks: they grow with time, and chance tells those of two workers apart."""
    least = least_block_key(timezone.now())
    first = random.getrandbits(BLOCK_BITS - 1)
    return [least + first + k for k in range(n)]


def answers_save(rows: Sequence[Row]) -> int:
    """Store answers to claimed requests; returns how many were. The first stored answer stays.

    Parameters
    ----------
    rows : sequence of (answer as JSON text, attempts, hash)
    """
    now = database_time(timezone.now())
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.executemany(
                f"UPDATE {REQUESTS} SET state = 'done', finished_at = %s, error = '', answer = %s, "  # noqa: S608
                "attempts = %s WHERE hash = %s AND state = 'claimed'",
                [(now, *row) for row in rows],
            )
            return int(cursor.rowcount)
    columns = {"answer": "text", "attempts": "integer", "hash": "text"}
    return _execute_arrays(
        f"UPDATE {REQUESTS} AS r SET state = 'done', finished_at = %s, error = '', "  # noqa: S608
        f"answer = v.answer::jsonb, attempts = v.attempts FROM {_unnested(columns)} "
        "WHERE r.hash = v.hash AND r.state = 'claimed'",
        [now],
        columns,
        sorted(rows, key=lambda row: row[2]),
    )


def refusals_save(rows: Iterable[tuple[str, str, int]]) -> None:
    """Store lasting failures: (hash, error, attempts) each. They are few."""
    now = timezone.now()
    for each, error, attempts in sorted(rows):
        ModelRequest.objects.filter(hash=each, state=RequestState.CLAIMED).update(
            state=RequestState.FAILED,
            error=error or "It failed without a reason.",
            attempts=attempts,
            finished_at=now,
        )


def results_save(model: type[Model], columns: Mapping[str, str], rows: Sequence[Row], **same: Any) -> int:
    """Insert results of works, those that exist left as they are; returns how many were new.

    Parameters
    ----------
    columns : mapping
        Names and PostgreSQL types of a row's values; those of jsonb are JSON as text.
    """
    if not rows:
        return 0
    same = {**same, "created_at": database_time(timezone.now())}
    if connection.vendor == "sqlite":
        # A row of 19 columns takes a third less so than by itself; rows of few columns take longer.
        tail = tuple(same.values())
        return sqlite_insert(
            model._meta.db_table,
            (*columns, *same),
            ((*row, *tail) for row in rows),
            at_once=_PARAMETERS,
            conflict="ON CONFLICT DO NOTHING",
        )
    return _insert(model._meta.db_table, columns, rows, same)


def counts_add(rows: Sequence[Row]) -> None:
    """Add to the counters of runs.

    Parameters
    ----------
    rows : sequence of (done, unparsed, failed, requests, shared, tokens, cost, run)
    """
    names = ("n_done", "n_unparsed", "n_failed", "n_requests", "n_shared", "n_tokens", "cost")
    changes = ", ".join(f"{name} = {name} + %s" for name in names)
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {RUNS} SET {changes} WHERE id = %s", rows)  # noqa: S608


def requests_look_up(hashes: Iterable[str]) -> dict[str, StoredRequest]:
    """Return the rows there are of these requests."""
    found: dict[str, StoredRequest] = {}
    names = ("hash", "state", "answer", "error", "owner", "attempts")
    for chunk in _chunks(list(hashes)):
        for values in ModelRequest.objects.filter(hash__in=chunk).values_list(*names):
            each, state, answer, *rest = values
            done = state == RequestState.DONE and answer is not None
            found[each] = StoredRequest(each, state, answer_from_json(answer) if done else None, *rest)
    batches = {row.owner for row in found.values() if row.state == "claimed" and is_batch(row.owner)}
    if batches:
        opened = RequestBatch.objects.filter(key__in=batches, ended_at=None).values_list("key", flat=True)
        for key in set(opened):
            for each, row in list(found.items()):
                if row.owner == key and row.state == "claimed":
                    found[each] = replace(row, batch=key)
    return found


def is_batch(owner: str) -> bool:
    """Whether requests of this owner are in a batch."""
    return owner.startswith(BATCH)


def held_by_batch() -> Exists:
    """Return the condition of a request that an open batch has."""
    return Exists(RequestBatch.objects.filter(key=OuterRef("owner"), ended_at=None))


def requests_take_over(hashes: Iterable[str], *, owner: str) -> set[str]:
    """Claim requests whose worker gave no sign of life, and that no open batch has; returns those that are ours now."""
    won: set[str] = set()
    alive = Worker.objects.filter(name=OuterRef("owner"), lease_until__gte=timezone.now())
    for chunk in _chunks(sorted(hashes)):
        with transaction.atomic():
            rows = ModelRequest.objects.filter(hash__in=chunk, state=RequestState.CLAIMED)
            rows.filter(~Exists(alive), ~held_by_batch()).update(owner=owner)
            won.update(rows.filter(owner=owner).values_list("hash", flat=True))
    return won


def requests_release(hashes: Iterable[tuple[str, int]], *, owner: str) -> None:
    """Give up claims: (hash, attempts) each. One that was never sent leaves no trace."""
    rows = list(hashes)
    mine = ModelRequest.objects.filter(owner=owner, state=RequestState.CLAIMED)
    for chunk in _chunks([each for each, attempts in rows if not attempts]):
        mine.filter(hash__in=chunk).delete()
    by_attempts: dict[int, list[str]] = {}
    for each, attempts in rows:
        if attempts:
            by_attempts.setdefault(attempts, []).append(each)
    for attempts, sent in by_attempts.items():
        for chunk in _chunks(sent):
            mine.filter(hash__in=chunk).update(owner="", attempts=attempts)


def _insert(table: str, columns: Mapping[str, str], rows: Sequence[Row], same: dict[str, Any]) -> int:
    """Insert rows, those in conflict left out; returns how many went in.

    Parameters
    ----------
    columns : dict
        Names and PostgreSQL types of a row's values.
    same : dict
        Columns that are the same in every row.
    """
    if not rows:
        return 0
    names = ", ".join([*columns, *same])
    if connection.vendor == "sqlite":
        marks = ", ".join(["%s"] * (len(columns) + len(same)))
        tail = tuple(same.values())
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING",  # noqa: S608
                [(*row, *tail) for row in rows] if tail else rows,
            )
            return int(cursor.rowcount)
    # jsonb comes as text that is JSON itself.
    read = [f"v.{name}::jsonb" if kind == "jsonb" else f"v.{name}" for name, kind in columns.items()]
    values = ", ".join([*read, *["%s"] * len(same)])
    return _execute_arrays(
        f"INSERT INTO {table} ({names}) SELECT {values} FROM {_unnested(columns)} "  # noqa: S608
        "ON CONFLICT DO NOTHING",
        list(same.values()),
        columns,
        rows,
    )


def _unnested(columns: Mapping[str, str]) -> str:
    arrays = ", ".join(f"%s::{'text' if kind == 'jsonb' else kind}[]" for kind in columns.values())
    return f"unnest({arrays}) AS v({', '.join(columns)})"


def _execute_arrays(statement: str, first: list[Any], columns: Mapping[str, str], rows: Sequence[Row]) -> int:
    """Execute a statement of PostgreSQL with the parameters `first` and then an array a column of `rows`.

    By a cursor of psycopg's own: Django's writes the parameters into the statement as text, which takes longer
    than the insertion. Of no rows there is nothing to do: a batch may hold refusals alone.
    """
    if not rows:
        return 0
    import psycopg

    arrays = [
        array_text(values, kind)
        for values, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)
    ]
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, [*first, *arrays])
        return cursor.rowcount


_NUMBERS = frozenset({"bigint", "int", "integer", "smallint", "float8"})


def array_text(values: Sequence[Any], kind: str) -> str:
    """Return values as the text of a PostgreSQL array: psycopg's own dumper of lists takes ten times as long.

    >>> array_text([1, None, 3], "bigint")
    '{1,NULL,3}'
    """
    if kind in _NUMBERS:
        written: Iterable[str] = (
            ["NULL" if each is None else str(each) for each in values] if None in values else map(str, values)
        )
    elif kind == "bytea":
        written = ["NULL" if each is None else f'"\\\\x{each.hex()}"' for each in values]
    else:
        written = [
            "NULL" if each is None else '"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for each in values
        ]
    return "{" + ",".join(written) + "}"


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]
