"""Rows of a database of SQLite, written and read beside the site."""

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path


def annotator_insert(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO annotation_annotator (public_id, source, external_id, is_simulated, created_at) "
            "VALUES (?, 'test', ?, 0, '2026-07-22')",
            [uuid.uuid4().hex, name],
        )


def annotator_names(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [
            name for (name,) in connection.execute("SELECT external_id FROM annotation_annotator ORDER BY id")
        ]


def image_insert(path: Path, *digests: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for digest in digests:
            connection.execute(
                "INSERT INTO annotation_datasetimage (digest, width, height, size, dataset_id) VALUES (?, 1, 1, 7, 1)",
                [digest],
            )
