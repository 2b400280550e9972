"""The engine's group statements.

Raw SQL, and only here: Django's `bulk_create` and `bulk_update` build model instances and CASE expressions,
which alone costs more than the 100 microseconds that the whole engine may take for a request. SQLite is
quickest with one prepared statement for many rows, PostgreSQL with one binary array a column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from judges.backends.wire import answer_from_json
from judges.models import ModelRequest, RequestState, SweepRun
from judges.strategies.types import Answer

REQUESTS = ModelRequest._meta.db_table
RUNS = SweepRun._meta.db_table
CHUNK = 500
"""Rows in one statement of many rows, and hashes in one look-up."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request row as it is now.

    Attributes
    ----------
    state : str
        A value of RequestState.
    answer : Answer or None
        Only of a done request.
    """

    hash: str
    state: str
    answer: Answer | None
    error: str
    owner: str
    attempts: int


def database_time(moment: datetime) -> Any:
    """Return a moment as the database's raw statements take it."""
    return connection.ops.adapt_datetimefield_value(moment)


def requests_claim(rows: Iterable[Row], *, owner: str, lease: float) -> int:
    """Insert the requests that nobody has, as this worker's; returns how many those are.

    Parameters
    ----------
    rows : iterable of (hash, kind, endpoint, model, payload as JSON text)
    """
    now = timezone.now()
    return _insert(
        REQUESTS,
        {"hash": "text", "kind": "text", "endpoint": "text", "model": "text", "payload": "jsonb"},
        # In one order everywhere: on PostgreSQL two workers that insert the same hashes wait for one another.
        sorted(rows),
        {
            "state": RequestState.CLAIMED.value,
            "owner": owner,
            "lease_until": database_time(now + timedelta(seconds=lease)),
            "attempts": 0,
            "error": "",
            "created_at": database_time(now),
        },
    )


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
        sorted(rows, key=lambda row: row[2]),
    )


def refusals_save(rows: Iterable[tuple[str, str, int]]) -> None:
    """Store lasting failures: (hash, error, attempts) each. They are few."""
    now = timezone.now()
    for each, error, attempts in sorted(rows):
        ModelRequest.objects.filter(hash=each, state=RequestState.CLAIMED).update(
            state=RequestState.FAILED, error=error, attempts=attempts, finished_at=now
        )


def results_save(model: type[Model], columns: Mapping[str, str], rows: Sequence[Row], **same: Any) -> int:
    """Insert results of works, those that exist left as they are; returns how many were new.

    Parameters
    ----------
    columns : mapping
        Names and PostgreSQL types of a row's values; those of jsonb are JSON as text.
    """
    created = {"created_at": database_time(timezone.now())}
    return _insert(model._meta.db_table, columns, rows, {**same, **created})


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
    return found


def requests_take_over(hashes: Iterable[str], *, owner: str, lease: float) -> set[str]:
    """Claim requests whose worker gave no sign of life; returns those that are now this worker's."""
    now = timezone.now()
    won: set[str] = set()
    for chunk in _chunks(list(hashes)):
        with transaction.atomic():
            rows = ModelRequest.objects.filter(hash__in=chunk, state=RequestState.CLAIMED)
            rows.filter(lease_until__lt=now).update(owner=owner, lease_until=now + timedelta(seconds=lease))
            won.update(rows.filter(owner=owner).values_list("hash", flat=True))
    return won


def requests_release(hashes: Iterable[tuple[str, int]], *, owner: str) -> None:
    """Give up claims: (hash, attempts) each. One that was never sent leaves no trace."""
    now = timezone.now()
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
            mine.filter(hash__in=chunk).update(lease_until=now, attempts=attempts)


def requests_keep(*, owner: str, lease: float) -> None:
    """Give a sign of life for all claims of this worker."""
    ModelRequest.objects.filter(owner=owner, state=RequestState.CLAIMED).update(
        lease_until=timezone.now() + timedelta(seconds=lease)
    )


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
                [(*row, *tail) for row in rows],
            )
            return int(cursor.rowcount)
    # jsonb comes as text that is JSON itself.
    read = [f"v.{name}::jsonb" if kind == "jsonb" else f"v.{name}" for name, kind in columns.items()]
    values = ", ".join([*read, *["%s"] * len(same)])
    return _execute_arrays(
        f"INSERT INTO {table} ({names}) SELECT {values} FROM {_unnested(columns)} "  # noqa: S608
        "ON CONFLICT DO NOTHING",
        list(same.values()),
        rows,
    )


def _unnested(columns: Mapping[str, str]) -> str:
    arrays = ", ".join(f"%b::{'text' if kind == 'jsonb' else kind}[]" for kind in columns.values())
    return f"unnest({arrays}) AS v({', '.join(columns)})"


def _execute_arrays(statement: str, first: list[Any], rows: Sequence[Row]) -> int:
    """Execute a statement of PostgreSQL with the parameters `first` and then an array a column of `rows`.

    By a cursor of psycopg's own: Django's writes the parameters into the statement as text, which takes longer
    than the insertion.
    """
    import psycopg

    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, [*first, *map(list, zip(*rows, strict=True))])
        return cursor.rowcount


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]
