"""Which migrations the previous version cannot run beside."""

import subprocess
import sys
from pathlib import Path

import pytest
from django_migration_linter.sql_analyser import analyse_sql_statements

from tools.configuration import table
from tools.migrations import APPS, Analyser, is_newer

ROOT = Path(__file__).resolve().parents[2]

CASES = {
    "a column that may be empty": (['ALTER TABLE "a" ADD COLUMN "b" integer NULL;'], []),
    "a column whose default is the database's": (
        ['ALTER TABLE "a" ADD COLUMN "b" integer DEFAULT 0 NOT NULL;'],
        [],
    ),
    "a column that old code doesn't fill": (
        [
            'ALTER TABLE "a" ADD COLUMN "b" integer DEFAULT 0 NOT NULL;',
            'ALTER TABLE "a" ALTER COLUMN "b" DROP DEFAULT;',
        ],
        ["NOT_NULL"],
    ),
    "a column that old code reads": (['ALTER TABLE "a" DROP COLUMN "b" CASCADE;'], ["DROP_COLUMN"]),
    "another name of a column": (['ALTER TABLE "a" RENAME COLUMN "b" TO "c";'], ["RENAME_COLUMN"]),
    "another name of a table": (['ALTER TABLE "a" RENAME TO "c";'], ["RENAME_TABLE"]),
    "a table that old code reads": (['DROP TABLE "a" CASCADE;'], ["DROP_TABLE"]),
    "another type": (['ALTER TABLE "a" ALTER COLUMN "b" TYPE bigint;'], ["ALTER_COLUMN"]),
    "an index that locks": (['CREATE INDEX "i" ON "a" ("b");'], ["CREATE_INDEX"]),
    "an index that doesn't": (['CREATE INDEX CONCURRENTLY "i" ON "a" ("b");'], []),
    "an index of a new table": (
        ['CREATE TABLE "a" ("b" integer NOT NULL);', 'CREATE INDEX "i" ON "a" ("b") WHERE ("b" > 1);'],
        [],
    ),
    "an index beside a new table": (
        ['CREATE TABLE "a" ("b" integer NOT NULL);', 'CREATE INDEX "i" ON "c" ("b");'],
        ["CREATE_INDEX"],
    ),
}


@pytest.mark.parametrize(("statements", "codes"), CASES.values(), ids=CASES)
def test_sql_that_old_code_cannot_run_beside_is_an_error(statements, codes):
    errors, _, _ = analyse_sql_statements(Analyser, statements, [])
    assert [each.code for each in errors] == codes


@pytest.mark.parametrize(
    ("name", "newer"), [("0025_a", True), ("0024_a", False), ("0003_z", False), ("0100_a", True)]
)
def test_the_number_says_what_is_new(name, newer):
    assert is_newer(name, "0024_evidence") == newer


def test_the_baseline_names_a_migration_of_each_app():
    released = table("migrations")["released"]
    assert set(released) == set(APPS)
    for app, name in released.items():
        assert (ROOT / app / "migrations" / f"{name}.py").is_file(), (app, name)


@pytest.mark.service
@pytest.mark.slow
@pytest.mark.parametrize(
    ("since", "said"),
    [
        ([], ""),
        (["--since", "metaeval", "0012_kinds_from_the_registry"], "NOT NULL constraint on columns"),
        (
            ["--since", "metaeval", "0012_no_such"],
            "metaeval.0012_no_such is the baseline of metaeval, but there is no",
        ),
    ],
)
def test_new_migrations_are_judged_and_released_ones_are_not(since, said):
    judged = subprocess.run(
        [sys.executable, "-m", "tools.migrations", *since],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == (1 if said else 0), judged.stderr
    assert said in judged.stderr
