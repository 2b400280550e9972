"""Statements that run at every answer, written with the ORM and compiled to SQL once.

Compiling a query costs several times what running it does, and a submit runs more than a dozen. Here a query is built
once, with a `Parameter` wherever a value differs from run to run; afterwards only its values are bound and its rows
made into instances, as the ORM itself does it. On PostgreSQL they are prepared statements too (`DATABASE_PREPARE`),
which spares the server planning them anew.

    BY_TOKEN = CompiledSelect(
        lambda: Enrollment.objects.select_related("study").filter(
            resume_token=Parameter.of(Enrollment, "resume_token", "token")
        )
    )
    BY_TOKEN.first(token="...")
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, Generic, TypeVar, cast

import psycopg
import psycopg.sql
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, IntegerField, Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery

M = TypeVar("M", bound=Model)
B = TypeVar("B")
_numbers = count()


class Parameter(Expression):
    """A value that is named now and bound when the statement runs, as a value of `field`."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002  (Django's signature)
        return "%s", [self]

    @classmethod
    def of(cls, model: type[Model], field: str, name: str = "") -> "Parameter":
        """A value of the model's field, named like it unless `name` says otherwise."""
        return cls(name or field, cast("Field[Any, Any]", model._meta.get_field(field)))

    def bound(self, values: Mapping[str, Any], connection: Any) -> Any:
        return self.output_field.get_db_prep_value(values[self.name], connection)


class Returned(Expression):
    """What another part of the same statement returns: a column of its one row, or `count(*)`; see `CompiledWith`."""

    def __init__(self, column: str, part: str) -> None:
        super().__init__(output_field=IntegerField())
        self._sql = f"(SELECT {column} FROM {part})"  # noqa: S608  (names in our own code)

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002  (Django's signature)
        return self._sql, []


def _database() -> Any:
    """The connection of this thread. `django.db.connection` looks it up at each of its attributes."""
    return connections[DEFAULT_DB_ALIAS]


_kept: defaultdict[str, dict[str, Any]] = defaultdict(dict)


def _kept_of(connection: Any) -> dict[str, Any]:
    """What is compiled already, by name: of each dialect once, since each thread has a connection of its own."""
    return _kept[connection.vendor]


class _Compiled(Generic[B]):
    """SQL with the places of its parameters, from what is built; kept for all connections of its dialect."""

    def __init__(self, build: Callable[[], B]) -> None:
        self._key = f"_compiled_{next(_numbers)}"
        self._build = build

    def _compile(self, connection: Any) -> Any:
        raise NotImplementedError

    def _ready(self, connection: Any) -> Any:
        known = _kept_of(connection).get(self._key)
        if known is None:
            sql, parameters, *more = self._compile(connection)
            inlined = _constants_inlined(sql, parameters, connection)
            known = _kept_of(connection)[self._key] = (*inlined, *more)
        return known


def _constants_inlined(sql: str, parameters: Sequence[Any], connection: Any) -> tuple[str, list[Any]]:
    """Statement and parameters without those that are the same in every run.

    A plan that is kept cannot use an index `WHERE state = 'open'` for a `state = $1`.
    """
    if connection.vendor != "postgresql":
        return sql, list(parameters)
    left = iter(parameters)
    kept: list[Any] = []

    def place(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        value = next(left)
        if isinstance(value, Parameter | Field):
            kept.append(value)
            return "%s"
        plain = str(value) if isinstance(value, str) else value  # choices are texts of a type of their own
        return psycopg.sql.Literal(plain).as_string().replace("%", "%%")

    return re.sub("%s|%%", place, sql), kept


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> bytes:
    """The statement with the parameters' numbers, as PostgreSQL itself writes them.

    From `%s`, psycopg does this at every run where a statement is longer than it keeps.
    """
    numbers = count(1)
    place = lambda found: "%" if found[0] == "%%" else f"${next(numbers)}"  # noqa: E731
    return re.sub("%s|%%", place, sql).encode()


def _execute(connection: Any, sql: str, parameters: Sequence[Any]) -> Any:
    """The cursor of a statement that has run.

    Django's own cursors on PostgreSQL put the values into the text, so that nothing could be prepared. Where somebody
    looks on at the statements (tests that count them), they go the usual way.
    """
    if connection.vendor == "postgresql" and not (connection.execute_wrappers or connection.queries_logged):
        connection.ensure_connection()
        connection.validate_no_broken_transaction()
        with connection.wrap_database_errors:
            return psycopg.RawCursor(connection.connection).execute(_numbered(sql), parameters, prepare=True)
    cursor = connection.cursor()
    try:
        cursor.execute(sql, parameters)
    except Exception:
        # On SQLite an error keeps the statement of its cursor until garbage is collected. A thread that does so inside
        # a transaction would wait for this connection, which may itself be waiting for that transaction to end.
        cursor.close()
        raise
    return cursor


def _bind(connection: Any, parameters: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    return [one.bound(values, connection) if isinstance(one, Parameter) else one for one in parameters]


class _Loader:
    """Makes instances of a model from rows, each column put where the field would put it.

    `Model.from_db` calls `__init__`, which looks at each argument and sends signals that nobody here listens to; of a
    study's eighty columns that takes as long as to fetch them.
    """

    def __init__(self, model: type[Model]) -> None:
        self._model = model

    def from_db(self, alias: str, names: Sequence[str], values: Sequence[Any]) -> Any:
        new = self._model.__new__(self._model)
        new.__dict__.update(zip(names, values, strict=True))  # what is not in it is deferred
        new._state = ModelState()
        new._state.adding, new._state.db = False, alias
        return new


def _loader(model: type[Model]) -> Any:
    """How instances of the model are made: by the model itself where it has ways of its own."""
    has_own = (
        model.__init__ is not Model.__init__
        or cast("Any", model.from_db).__func__ is not cast("Any", Model.from_db).__func__
    )
    return model if has_own else _Loader(model)


def made(model: type[M], fields: Sequence[Any], values: Mapping[str, Any]) -> M:
    """An instance that is in no table yet, as the model makes it from these values, without `Model.__init__`."""
    if isinstance(_loader(model), type):
        return model(**values)
    new = model.__new__(model)
    new._state = ModelState()
    known = new.__dict__
    known[model._meta.pk.attname] = None
    for field in fields:
        name, attname = field.name, field.attname
        if name in values and field.is_relation:
            setattr(new, name, values[name])
        elif name in values or attname in values:
            known[attname] = values[name] if name in values else values[attname]
        else:
            known[attname] = field.get_default()
    return new


def _populators(populators: Sequence[Any]) -> Sequence[Any]:
    for populator in populators:
        populator.model_cls = _loader(populator.model_cls)
        _populators(populator.related_populators)
    return populators


class CompiledSelect(_Compiled[QuerySet[M]], Generic[M]):
    """A SELECT of model instances, with what `select_related` and `annotate` add to them."""

    def _compile(self, connection: Any) -> tuple[Any, ...]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        info, select = compiler.klass_info, compiler.select
        fields = info["select_fields"]
        start, end = fields[0], fields[-1] + 1
        return (
            sql,
            parameters,
            tuple(compiler.get_converters([expression for expression, _, _ in select]).items()),
            _loader(info["model"]),
            [one[0].target.attname for one in select[start:end]],
            (start, end),
            _populators(cast("Any", get_related_populators)(info, select, connection.alias)),
            tuple(compiler.annotation_col_map.items()),
            len(select),
        )

    def all(self, **values: Any) -> list[M]:
        connection = _database()
        sql, parameters, *_ = self._ready(connection)
        rows = _execute(connection, sql, _bind(connection, parameters, values)).fetchall()
        return self._instances(connection, rows)

    def _instances(self, connection: Any, rows: Sequence[Sequence[Any]]) -> list[M]:
        _, _, converters, loader, names, (start, end), populators, annotations, _ = self._ready(connection)
        found = []
        for raw in rows:
            row = list(raw)
            _convert(row, converters, connection)
            instance = loader.from_db(connection.alias, names, row[start:end])
            for populator in populators:
                populator.populate(row, instance)
            for name, place in annotations:
                setattr(instance, name, row[place])
            found.append(instance)
        return found

    def width(self, connection: Any) -> int:
        """How many columns it selects."""
        *_, width = self._ready(connection)
        return cast("int", width)

    def first(self, **values: Any) -> M | None:
        found = self.all(**values)
        return found[0] if found else None

    def get_after(self, *writes: "Write", **values: Any) -> tuple[list[Any], M]:
        """What `run_together` returns of the `writes`, and the one row that this selects, which they may not change.

        On PostgreSQL all of it is one statement.
        """
        connection = _database()
        sql, parameters, *_ = self._ready(connection)
        if connection.vendor != "postgresql":
            said = run_together(*writes)
            return said, self._one(self.all(**values))
        key = "+".join((*(write.key for write in writes), self._key))
        together = _kept_of(connection).get(key)
        if together is None:
            together = f"{_with(writes, connection)}, {sql.removeprefix('SELECT ')}"
            _kept_of(connection)[key] = together
        given = [value for write in writes for value in write.parameters] + _bind(
            connection, parameters, values
        )
        rows = _execute(connection, together, given).fetchall()
        said = [write.ran(number) for write, number in zip(writes, rows[0], strict=False)] if rows else []
        return said, self._one(self._instances(connection, [row[len(writes) :] for row in rows]))

    @staticmethod
    def _one(found: list[M]) -> M:
        (one,) = found
        return one


class CompiledRows(_Compiled[QuerySet[Any, Any]]):
    """A SELECT of plain rows, by `values_list`."""

    def _compile(self, connection: Any) -> tuple[Any, ...]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
        return sql, parameters, tuple(converters.items())

    def all(self, **values: Any) -> list[list[Any]]:
        connection = _database()
        sql, parameters, converters = self._ready(connection)
        found = _execute(connection, sql, _bind(connection, parameters, values)).fetchall()
        rows = [list(row) for row in found]
        for row in rows:
            _convert(row, converters, connection)
        return rows


def _convert(row: list[Any], converters: tuple[Any, ...], connection: Any) -> None:
    for place, (functions, expression) in converters:
        for function in functions:
            row[place] = function(row[place], expression, connection)


@dataclass(frozen=True, slots=True)
class Write:
    """A statement that changes rows, with its values; `run_together` runs it."""

    key: str
    sql: str
    parameters: list[Any]
    row: Model | None = None
    """What an INSERT inserts; None of an UPDATE."""

    def ran(self, number: int) -> Any:
        """The result, of `number`: the key of an inserted row or the number of rows changed."""
        if self.row is None:
            return number
        self.row.pk = number
        self.row._state.adding, self.row._state.db = False, DEFAULT_DB_ALIAS
        return self.row


def run_together(*writes: Write) -> list[Any]:
    """Run statements that change rows of different tables; an instance for each INSERT, a number of rows for each
    UPDATE.

    On PostgreSQL they are one statement, a WITH, and one round trip; each of them sees what was there before it, and
    they lock rows in the order given. Elsewhere they run one after the other.
    """
    connection = _database()
    if len(writes) < 2 or connection.vendor != "postgresql":
        return [write.ran(_number(write, connection)) for write in writes]
    key = "+".join(write.key for write in writes)
    sql = _kept_of(connection).get(key)
    if sql is None:
        sql = _kept_of(connection)[key] = _with(writes, connection)
    numbers = _execute(connection, sql, [value for write in writes for value in write.parameters]).fetchone()
    return [write.ran(number) for write, number in zip(writes, numbers, strict=True)]


def _number(write: Write, connection: Any) -> int:
    cursor = _execute(connection, write.sql, write.parameters)
    return int(cursor.rowcount if write.row is None else cursor.fetchone()[0])


def _with(writes: Sequence[Write], connection: Any) -> str:
    parts, results = _parts(writes, connection)
    return f"WITH {parts} SELECT {results}"


def _parts(writes: Sequence[Write], connection: Any) -> tuple[str, str]:
    """The statements as parts of a WITH, named w0, w1 and so on, and what is selected of them."""
    parts, results = [], []
    for place, write in enumerate(writes):
        if write.row is None:
            parts.append(f"w{place} AS ({write.sql} RETURNING 1)")
            results.append(f"(SELECT count(*) FROM w{place})")  # noqa: S608
        else:
            column = connection.ops.quote_name(write.row._meta.pk.column)
            parts.append(f"w{place} AS ({write.sql})")
            results.append(f"(SELECT {column} FROM w{place})")  # noqa: S608
    return ", ".join(parts), ", ".join(results)


class CompiledInsert(_Compiled[type[M]], Generic[M]):
    """An INSERT of one row. Signals are not sent; nobody here listens to them."""

    def __init__(self, model: type[M]) -> None:
        super().__init__(lambda: model)

    def _compile(self, connection: Any) -> tuple[str, list[Any]]:
        meta: Any = self._build()._meta
        quote = connection.ops.quote_name
        fields = [field for field in meta.concrete_fields if not field.primary_key]
        columns = ", ".join(quote(field.column) for field in fields)
        places = ", ".join(["%s"] * len(fields))
        table, key = quote(meta.db_table), quote(meta.pk.column)
        # Names of our own columns, and no value among them.
        return f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING {key}", fields  # noqa: S608

    def write(self, **values: Any) -> Write:
        connection = _database()
        sql, fields = self._ready(connection)
        instance = made(self._build(), fields, values)
        parameters = [field.get_db_prep_save(field.pre_save(instance, True), connection) for field in fields]
        return Write(self._key, sql, parameters, instance)

    def create(self, **values: Any) -> M:
        return cast("M", run_together(self.write(**values))[0])


class CompiledStatement(_Compiled[tuple[str, list[Any]]]):
    """A statement in words of our own, with parts that the ORM compiled; `build` gives its SQL and parameters."""

    def _compile(self, connection: Any) -> tuple[str, list[Any]]:  # noqa: ARG002
        return self._build()

    def row(self, **values: Any) -> tuple[Any, ...] | None:
        """The one row that it returns, if it does."""
        connection = _database()
        sql, parameters = self._ready(connection)
        cursor = _execute(connection, sql, _bind(connection, parameters, values))
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found


def update_statement(
    rows: QuerySet[Any], changes: Mapping[str, Any], connection: Any
) -> tuple[str, tuple[Any, ...]]:
    """The UPDATE that sets this in the rows, and its parameters."""
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(dict(changes))
    sql, parameters = query.get_compiler(connection=connection).as_sql()
    return sql, tuple(parameters)


class CompiledUpdate(_Compiled[tuple[QuerySet[M], Mapping[str, Any]]], Generic[M]):
    """An UPDATE; `build` gives the rows and what is set in them. Running it returns the number of rows."""

    def _compile(self, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return update_statement(*self._build(), connection)

    def write(self, **values: Any) -> Write:
        connection = _database()
        sql, parameters = self._ready(connection)
        return Write(self._key, sql, _bind(connection, parameters, values))

    def run(self, **values: Any) -> int:
        return cast("int", run_together(self.write(**values))[0])


class CompiledWith(_Compiled[tuple[str, list[Any]]], Generic[M]):
    """Writes, further parts of their WITH in words of our own, and at most one row that is made into an instance: all
    of it one statement of PostgreSQL.

    `parts` gives those parts, which may name the writes (w0, w1 and so on) and each other, `said` the expressions that
    are selected of them. `shown` selects the row, by what the parts return.
    """

    def __init__(
        self,
        *,
        parts: Callable[[], tuple[str, list[Any]]],
        said: Callable[[], tuple[str, list[Any]]],
        shown: Callable[[], QuerySet[M]],
    ) -> None:
        super().__init__(parts)
        self._said = CompiledStatement(said)
        self._shown = CompiledSelect(shown)

    def _compile(self, connection: Any) -> tuple[str, list[Any]]:  # noqa: ARG002
        return self._build()

    def run(self, *writes: Write, **values: Any) -> tuple[list[Any], list[Any], M | None]:
        """What `run_together` returns of the writes, what is said of the parts, and the row if there is one."""
        connection = _database()
        ends = [compiled._ready(connection) for compiled in (self, self._said, self._shown)]
        key = "+".join((*(write.key for write in writes), self._key))
        sql = _kept_of(connection).get(key)
        if sql is None:
            (parts, *_), (said, *_), (shown, *_) = ends
            before, results = _parts(writes, connection)
            said_alone = f"SELECT {results}, {said}"
            sql = _kept_of(connection)[key] = (
                f"WITH {before}, {parts} SELECT said.*, shown.* FROM ({said_alone}) said "  # noqa: S608
                f"LEFT JOIN ({shown}) shown ON TRUE"
            )
        given = [value for write in writes for value in write.parameters]
        for _, parameters, *_ in ends:
            given += _bind(connection, parameters, values)
        (row,) = _execute(connection, sql, given).fetchall()
        first = len(row) - self._shown.width(connection)
        ran = [write.ran(number) for write, number in zip(writes, row, strict=False)]
        there = row[first] is not None
        found = self._shown._instances(connection, [row[first:]]) if there else [None]
        return ran, list(row[len(writes) : first]), found[0]
