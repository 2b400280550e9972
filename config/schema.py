"""Whether the database is one that the migrations can carry on from.

The first migrations of the apps were rewritten in place until the schema was frozen. A database made before that has
them recorded as applied, so Django finds nothing to do, or adds columns to tables that lack others, and the site
fails on its first query. `migrate` compares the tables with what the applied migrations say, before it changes any.
"""

import re
from typing import Any

from django.apps import AppConfig
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

APPS = ("annotation", "judges", "metaeval")


def refuse_foreign_schema(*, app_config: AppConfig, using: str, apps: Apps, **_: Any) -> None:
    """Receiver of `pre_migrate`; `apps` is the state of the models after the migrations that are applied.

    Raises
    ------
    CommandError
        A table, a column, an index or a constraint that these migrations made is not in the database.
    """
    if app_config.label not in APPS or not any(
        config.label == app_config.label for config in apps.get_app_configs()
    ):
        return
    missing = _missing(list(apps.get_app_config(app_config.label).get_models()), using)
    if missing:
        raise CommandError(
            f"This database was made by a version of Touchstone older than its first frozen schema ({missing} is "
            "missing), so it can't be upgraded: export its labels with the version that made it, then set "
            "DATABASE_URL to an empty database and import them there."
        )


def has_unapplied_migrations() -> bool:
    """Whether `migrate` has something to do; False where the database can't be asked."""
    try:
        executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        return False


def _missing(models: list[type[Model]], using: str) -> str:
    """The first thing of the models' tables that the database lacks, in words; empty if it has all."""
    connection = connections[using]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in models:
            table = model._meta.db_table
            if table not in tables:
                return f"table {table}"
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} LIMIT 0")  # noqa: S608  (our table)
            columns = {column[0] for column in cursor.description}
            for field in model._meta.local_concrete_fields:
                if field.column not in columns:
                    return f"column {field.column} of table {table}"
            made = _rules(connection, cursor, table)
            for rule in (*model._meta.indexes, *model._meta.constraints):
                if rule.name not in made:
                    return f"{rule.name} of table {table}"
    return ""


def _rules(connection: BaseDatabaseWrapper, cursor: CursorWrapper, table: str) -> set[str]:
    """The names of a table's indexes and constraints."""
    if connection.vendor != "sqlite":
        return set(connection.introspection.get_constraints(cursor, table))
    # Django's own reader of SQLite's CREATE TABLE stumbles over the commas inside our CHECK constraints.
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE tbl_name = %s", [table])
    found: set[str] = set()
    for name, statement in cursor.fetchall():
        found |= {name, *re.findall(r'CONSTRAINT "([^"]+)"', statement or "")}
    return found
