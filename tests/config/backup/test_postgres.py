"""PostgreSQL: which programs are used, what a failed restore leaves, and scratch databases."""

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from config.backup.archive import BackupFile, TableContent
from config.backup.errors import BackupError
from config.backup.making import backup_make
from config.backup.postgres import PostgresDatabase
from config.backup.postgres_programs import PROGRAMS, connection_string, programs_environment, programs_for
from config.backup.restoring import RestoreOptions, backup_restore, backup_verify
from tests.config.backup.archives import content_of, rewritten
from tests.config.backup.sites import IS_POSTGRES, BackedSite, postgres_programs

needs_postgres = [
    pytest.mark.both_databases,
    pytest.mark.service,
    pytest.mark.skipif(not IS_POSTGRES, reason="of PostgreSQL"),
]


def programs_make(folder: Path, major: int, names: tuple[str, ...] = PROGRAMS) -> Path:
    """Programs that say their version, as those of PostgreSQL do."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {major}.4 (Debian {major}.4-1)'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.service
class TestPrograms:
    @pytest.fixture(autouse=True)
    def _no_others(self, monkeypatch, settings):
        monkeypatch.setattr("config.backup.postgres_programs.FOLDERS", ())
        settings.POSTGRES_BIN = ""

    def test_those_of_the_server_s_version_are_used_else_the_next_later(self, tmp_path, monkeypatch):
        folders = [programs_make(tmp_path / str(major), major) for major in (18, 15, 17)]
        monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), "/bin", "/usr/bin"]))
        monkeypatch.setattr("os.get_exec_path", lambda: list(map(str, folders)))
        assert programs_for(17).folder == tmp_path / "17"
        assert programs_for(16).major == 17
        assert programs_for(18).command("pg_dump", "--x") == [str(tmp_path / "18" / "pg_dump"), "--x"]

    def test_without_them_it_says_what_to_install(self, tmp_path, monkeypatch):
        programs_make(tmp_path / "old", 15)
        programs_make(tmp_path / "half", 18, ("pg_dump",))
        monkeypatch.setattr("os.get_exec_path", lambda: [str(tmp_path / "half"), str(tmp_path / "old")])
        with pytest.raises(BackupError) as refused:
            programs_for(18)
        for text in (
            "pg_dump, pg_restore, psql",
            f"Found: 15 in {tmp_path / 'old'}",
            "postgresql-client-18",
            "POSTGRES_BIN",
        ):
            assert text in str(refused.value)

    def test_a_folder_that_is_named_is_the_only_one(self, tmp_path, settings, monkeypatch):
        monkeypatch.setattr("os.get_exec_path", lambda: [str(programs_make(tmp_path / "a", 18))])
        settings.POSTGRES_BIN = str(tmp_path / "b")
        with pytest.raises(BackupError, match="Found: none"):
            programs_for(18)


def test_the_password_is_in_the_environment_alone():
    params = {"dbname": "a", "user": "u", "password": "pass word", "host": "/run/x", "prepare_threshold": 0}
    assert connection_string(params, password=None) == "dbname=a user=u host=/run/x"
    assert programs_environment(params)["PGPASSWORD"] == "pass word"
    assert "PGPASSWORD" not in programs_environment(params | {"password": ""}) or os.environ.get("PGPASSWORD")


@pytest.fixture
def postgres(site: BackedSite, here: Path, settings) -> PostgresDatabase:
    """The site's database, with three annotators, and the folders of the site in this process."""
    settings.POSTGRES_BIN = str(postgres_programs())
    with psycopg.connect(site.url) as connection:
        for name in ("Åsa\twith\ttabs", "Bo\\N", "C\nD"):
            connection.execute(
                "INSERT INTO annotation_annotator (public_id, source, external_id, is_simulated, created_at) "
                "VALUES (gen_random_uuid(), 'test', %s, false, now())",
                [name],
            )
    return PostgresDatabase(conninfo_to_dict(site.url))


@pytest.fixture
def empty(elsewhere: BackedSite) -> PostgresDatabase:
    return PostgresDatabase(conninfo_to_dict(elsewhere.url))


def names(database: PostgresDatabase) -> list[str]:
    with database.opened() as connection:
        return [
            name for (name,) in connection.execute("SELECT external_id FROM annotation_annotator ORDER BY id")
        ]


def restored(path: Path, database: PostgresDatabase, **options):
    with BackupFile(path, ()) as file:
        return backup_restore(file, database, RestoreOptions(**options), lambda _: None)


def made(database: PostgresDatabase, place: Path) -> Path:
    return backup_make(database, place, None, lambda _: None).path


@pytest.fixture
def role(postgres: PostgresDatabase) -> Iterator[str]:
    """A user that may connect to the site's database and read it, and nothing more."""
    name = f"reader_{secrets.token_hex(4)}"
    user = sql.Identifier(name)
    with postgres.opened() as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(user))
        admin.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(user))
        admin.execute(sql.SQL("GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(user))
        yield name
        admin.execute(sql.SQL("DROP OWNED BY {}").format(user))
        admin.execute(sql.SQL("DROP ROLE {}").format(user))


class TestOnAServer:
    pytestmark = needs_postgres

    def test_a_restore_that_fails_takes_everything_back(self, postgres, here):
        path = made(postgres, here / "made.tar")
        with postgres.opened() as connection:
            connection.execute(
                "UPDATE annotation_annotator SET external_id = 'Eve' WHERE external_id LIKE 'Bo%'"
            )
        before = names(postgres)

        def counted_otherwise(manifest, _):
            return replace(
                manifest, tables=manifest.tables | {"annotation_annotator": TableContent(4, "0" * 64)}
            )

        def cut_short(_, content):
            content["database/000000"] = content["database/000000"][:-5000]

        for change, said in (
            (counted_otherwise, "nothing was changed.*annotation_annotator has other rows than the backup"),
            (cut_short, "pg_restore failed|nothing was changed"),
        ):
            with pytest.raises(BackupError, match=said):
                restored(rewritten(path, change), postgres, replace=True)
            (here / f"changed-{path.name}").unlink()
            assert names(postgres) == before

    def test_what_is_not_of_the_backup_is_dropped(self, postgres, here):
        path = made(postgres, here / "made.tar")
        with postgres.opened() as connection:
            connection.execute("CREATE TYPE mood AS ENUM ('sad')")
            connection.execute("CREATE TABLE of_a_later_version (id int, mood mood)")
            connection.execute("CREATE VIEW seen AS SELECT * FROM of_a_later_version")
        restored(path, postgres, replace=True)
        with postgres.opened() as connection:
            assert connection.execute(
                "SELECT to_regclass('of_a_later_version'), to_regtype('mood')"
            ).fetchone() == (
                None,
                None,
            )
            # The database still refuses to change a label.
            triggers = connection.execute(
                "SELECT 1 FROM pg_trigger WHERE tgname = 'annotation_label_append_only'"
            )
            assert triggers.fetchall() == [(1,)]

    def test_other_schemas_and_extensions_are_left_alone(self, postgres, empty, here):
        with postgres.opened() as connection:
            connection.execute('CREATE SCHEMA "Other Tool"')
            connection.execute('CREATE TABLE "Other Tool".notes AS SELECT 1 AS id')
        path = made(postgres, here / "made.tar")
        manifest, _ = restored(path, empty)
        assert "notes" not in manifest.tables
        with empty.opened() as connection:
            assert connection.execute("SELECT to_regnamespace('\"Other Tool\"')").fetchone() == (None,)
        restored(path, postgres, replace=True)
        with postgres.opened() as connection:
            assert connection.execute('SELECT id FROM "Other Tool".notes').fetchone() == (1,)
        assert names(empty) == names(postgres) == ["Åsa\twith\ttabs", "Bo\\N", "C\nD"]

    def test_the_snapshot_is_of_one_moment(self, postgres, here):
        """Rows that come while the dump is made are neither in it nor counted."""
        with postgres.snapshot(here) as snapshot:
            dump = snapshot.dump()
            pieces = [next(dump)]
            with postgres.opened() as connection:
                connection.execute("DELETE FROM annotation_annotator WHERE external_id LIKE 'Bo%'")
            pieces += dump
            assert snapshot.tables()["annotation_annotator"].rows == 3
        assert len(names(postgres)) == 2
        assert b"".join(pieces).startswith(b"PGDMP")

    def test_a_user_who_may_not_create_databases_names_one(self, postgres, empty, role, here):
        limited = PostgresDatabase({**postgres.params, "user": role})
        path = made(limited, here / "made.tar")
        with BackupFile(path, ()) as file:
            with pytest.raises(BackupError, match=r"CREATEDB.*--scratch-url"):
                backup_verify(file, limited, lambda _: None)
            scratch = PostgresDatabase.emptied_at(connection_string(empty.params))
            manifest, _ = backup_verify(file, scratch, lambda _: None)
            assert manifest.tables["annotation_annotator"].rows == 3
            assert empty.tables_with_rows() == []
            with empty.opened() as connection:
                assert connection.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
            filled = PostgresDatabase.emptied_at(connection_string(postgres.params))
            with pytest.raises(BackupError, match="isn't empty"):
                backup_verify(file, filled, lambda _: None)
        assert len(names(postgres)) == 3

    def test_verifying_leaves_no_database(self, postgres, here):
        path = made(postgres, here / "made.tar")
        with BackupFile(path, ()) as file:
            backup_verify(file, postgres, lambda _: None)
        with postgres.opened() as connection:
            (left,) = connection.execute(
                "SELECT count(*) FROM pg_database WHERE datname LIKE 'touchstone_verify%'"
            ).fetchone()
        assert left == 0
        assert content_of(path)["database/000000"].startswith(b"PGDMP")

    def test_a_server_that_is_not_there_is_said(self, postgres, here):
        gone = PostgresDatabase({**postgres.params, "host": str(here)})
        with pytest.raises(BackupError, match="PostgreSQL: connection"):
            made(gone, here / "made.tar")
        assert not (here / "made.tar").exists()
        with pytest.raises(BackupError, match="--scratch-url: expected postgres://"):
            PostgresDatabase.emptied_at("nonsense")
