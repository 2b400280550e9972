"""`python -m tools.migrations`: whether the previous version can run while new migrations are applied.

django-migration-linter reads the SQL that each migration runs on PostgreSQL. Migrations of released versions are not
judged: they are listed as the baseline in pyproject.toml (`[tool.touchstone.migrations]`), with the exemptions and
their reasons. The rules are in docs/operations.md, "Upgrades".
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING

from django_migration_linter.sql_analyser.base import Check, CheckMode, CheckType
from django_migration_linter.sql_analyser.postgresql import PostgresqlAnalyser

from tools.configuration import table

if TYPE_CHECKING:
    from django_migration_linter import MigrationLinter

APPS = ("annotation", "judges", "metaeval")
IRREVERSIBLE = ("RUNPYTHON_REVERSIBLE", "RUNSQL_REVERSIBLE")
NAMING = ("RUNPYTHON_MODEL_VARIABLE_NAME", "RUNPYTHON_ARGS_NAMING_CONVENTION", "CREATE_INDEX_EXCLUSIVE")
"""Checks that say nothing of an upgrade while the site runs, or that `CREATE_INDEX` covers here."""
_INDEX = re.compile(r'CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?.*? ON ("[^"]+"|\S+)')
_TABLE = re.compile(r'CREATE TABLE ("[^"]+"|\S+)')


def indexes_existing_table(statements: Sequence[str], **_: object) -> bool:
    """Whether an index is built, without CONCURRENTLY, on a table that these statements didn't make.

    The linter's own check takes an index with a condition for one on an existing table.
    """
    made = {found.group(1) for each in statements if (found := _TABLE.match(each))}
    indexes = [found for each in statements if (found := _INDEX.match(each))]
    return any(not found.group(1) and found.group(2) not in made for found in indexes)


class Analyser(PostgresqlAnalyser):
    """The linter's rules for PostgreSQL, with an index that locks a table as an error."""

    migration_checks = [
        *(each for each in PostgresqlAnalyser.migration_checks if each.code != "CREATE_INDEX"),
        Check(
            code="CREATE_INDEX",
            fn=indexes_existing_table,
            message="CREATE INDEX locks table: use AddIndexConcurrently",
            mode=CheckMode.TRANSACTION,
            type=CheckType.ERROR,
        ),
    ]


def is_newer(name: str, released: str) -> bool:
    """Whether a migration comes after the last one of the released version: by the number before the name."""
    return int(name.partition("_")[0]) > int(released.partition("_")[0])


def problems(released: Mapping[str, str], exempt: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the migrations after `released` (by app), a paragraph each.

    Django has to be set up on PostgreSQL. `exempt` has a reason for each "app.migration" that is not judged.
    """
    linter = _linter()
    disk = linter.migration_loader.disk_migrations
    for key in exempt:
        if tuple(key.split(".", 1)) not in disk:
            yield f"{key} is exempt, but there is no such migration."
    for app, name in released.items():
        if (app, name) not in disk:
            yield f"{app}.{name} is the baseline of {app}, but there is no such migration."
    for app, name in sorted(disk):
        if app not in APPS or not is_newer(name, released[app]) or f"{app}.{name}" in exempt:
            continue
        said = StringIO()
        before = linter.nb_erroneous
        with redirect_stdout(said):
            linter.lint_migration(disk[app, name])
        if linter.nb_erroneous > before:
            yield said.getvalue().strip()


def _linter() -> "MigrationLinter":
    from django_migration_linter import MigrationLinter

    linter = MigrationLinter(
        no_cache=True, exclude_migration_tests=NAMING, warnings_as_errors_tests=IRREVERSIBLE
    )
    linter.sql_analyser_class = Analyser
    return linter


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the new migrations; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.migrations", description=__doc__)
    parser.add_argument(
        "--since", nargs=2, action="append", default=[], metavar=("APP", "MIGRATION"), help="another baseline"
    )
    options = parser.parse_args(arguments)
    accepted = table("migrations")
    released: dict[str, str] = accepted["released"] | dict(options.since)

    import django

    # By name: mypy reads no tests.
    start_postgres: Callable[[], str] = import_module("tests.services").start_postgres
    os.environ |= {"DATABASE_URL": start_postgres(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    django.setup()
    found = list(problems(released, accepted["exempt"]))
    for each in found:
        sys.stderr.write(f"{each}\n")
    if found:
        sys.stderr.write("The rules are in docs/operations.md, 'Upgrades'.\n")
    else:
        sys.stdout.write("Migrations: the previous version can run beside those that are new.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
