"""Statements that run at every answer, written with the ORM and compiled to SQL once a connection.

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
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Generic, TypeVar, cast

import psycopg
import psycopg.sql
from django.db import connection
from django.db.models import Expression, Field, Model, QuerySet
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

    def bound(self, values: Mapping[str, Any]) -> Any:
        return self.output_field.get_db_prep_value(values[self.name], connection)


class _Compiled(Generic[B]):
    """SQL with the places of its parameters, from what is built; kept with the connection, whose dialect it is in."""

    def __init__(self, build: Callable[[], B]) -> None:
        self._key = f"_compiled_{next(_numbers)}"
        self._build = build

    def _compile(self) -> Any:
        raise NotImplementedError

    def _ready(self) -> Any:
        known = connection.__dict__.get(self._key)
        if known is None:
            sql, parameters, *more = self._compile()
            known = connection.__dict__[self._key] = (*_constants_inlined(sql, parameters), *more)
        return known


def _constants_inlined(sql: str, parameters: Sequence[Any]) -> tuple[str, list[Any]]:
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


def _execute(sql: str, parameters: Sequence[Any]) -> Any:
    """The cursor of a statement that has run.

    Django's own cursors on PostgreSQL put the values into the text, so that nothing could be prepared. Where somebody
    looks on at the statements (tests that count them), they go the usual way.
    """
    if connection.vendor == "postgresql" and not (connection.execute_wrappers or connection.queries_logged):
        connection.ensure_connection()
        connection.validate_no_broken_transaction()
        with connection.wrap_database_errors:
            return psycopg.Cursor(connection.connection).execute(sql, parameters, prepare=True)
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    return cursor


def _bind(parameters: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    return [one.bound(values) if isinstance(one, Parameter) else one for one in parameters]


class CompiledSelect(_Compiled[QuerySet[M]], Generic[M]):
    """A SELECT of model instances, with what `select_related` and `annotate` add to them."""

    def _compile(self) -> tuple[Any, ...]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        info, select = compiler.klass_info, compiler.select
        fields = info["select_fields"]
        start, end = fields[0], fields[-1] + 1
        return (
            sql,
            parameters,
            tuple(compiler.get_converters([expression for expression, _, _ in select]).items()),
            info["model"],
            [one[0].target.attname for one in select[start:end]],
            (start, end),
            cast("Any", get_related_populators)(info, select, connection.alias),
            tuple(compiler.annotation_col_map.items()),
        )

    def all(self, **values: Any) -> list[M]:
        sql, parameters, converters, model, names, (start, end), populators, annotations = self._ready()
        rows = _execute(sql, _bind(parameters, values)).fetchall()
        found = []
        for raw in rows:
            row = list(raw)
            _convert(row, converters)
            instance = model.from_db(connection.alias, names, row[start:end])
            for populator in populators:
                populator.populate(row, instance)
            for name, place in annotations:
                setattr(instance, name, row[place])
            found.append(instance)
        return found

    def first(self, **values: Any) -> M | None:
        found = self.all(**values)
        return found[0] if found else None


class CompiledRows(_Compiled[QuerySet[Any, Any]]):
    """A SELECT of plain rows, by `values_list`."""

    def _compile(self) -> tuple[Any, ...]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
        return sql, parameters, tuple(converters.items())

    def all(self, **values: Any) -> list[list[Any]]:
        sql, parameters, converters = self._ready()
        rows = [list(row) for row in _execute(sql, _bind(parameters, values)).fetchall()]
        for row in rows:
            _convert(row, converters)
        return rows


def _convert(row: list[Any], converters: tuple[Any, ...]) -> None:
    for place, (functions, expression) in converters:
        for function in functions:
            row[place] = function(row[place], expression, connection)


class CompiledInsert(_Compiled[type[M]], Generic[M]):
    """An INSERT of one row. Signals are not sent; nobody here listens to them."""

    def __init__(self, model: type[M]) -> None:
        super().__init__(lambda: model)

    def _compile(self) -> tuple[str, list[Any]]:
        meta: Any = self._build()._meta
        quote = connection.ops.quote_name
        fields = [field for field in meta.concrete_fields if not field.primary_key]
        columns = ", ".join(quote(field.column) for field in fields)
        places = ", ".join(["%s"] * len(fields))
        table, key = quote(meta.db_table), quote(meta.pk.column)
        # Names of our own columns, and no value among them.
        return f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING {key}", fields  # noqa: S608

    def create(self, **values: Any) -> M:
        sql, fields = self._ready()
        instance = self._build()(**values)
        parameters = [field.get_db_prep_save(field.pre_save(instance, True), connection) for field in fields]
        instance.pk = _execute(sql, parameters).fetchone()[0]
        instance._state.adding, instance._state.db = False, connection.alias
        return instance


class CompiledStatement(_Compiled[tuple[str, list[Any]]]):
    """A statement in words of our own, with parts that the ORM compiled; `build` gives its SQL and parameters."""

    def _compile(self) -> tuple[str, list[Any]]:
        return self._build()

    def row(self, **values: Any) -> tuple[Any, ...] | None:
        """The one row that it returns, if it does."""
        sql, parameters = self._ready()
        found: tuple[Any, ...] | None = _execute(sql, _bind(parameters, values)).fetchone()
        return found


class CompiledUpdate(_Compiled[tuple[QuerySet[M], Mapping[str, Any]]], Generic[M]):
    """An UPDATE; `build` gives the rows and what is set in them. Running it returns the number of rows."""

    def _compile(self) -> tuple[str, tuple[Any, ...]]:
        rows, changes = self._build()
        query: Any = rows.query.chain(UpdateQuery)
        query.add_update_values(dict(changes))
        sql, parameters = query.get_compiler(connection=connection).as_sql()
        return sql, tuple(parameters)

    def run(self, **values: Any) -> int:
        sql, parameters = self._ready()
        return int(_execute(sql, _bind(parameters, values)).rowcount)
