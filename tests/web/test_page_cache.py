"""An export keeps few pages of SQLite's file in memory, and the next user of the connection has as many as before."""

import io

import pytest
from django.db import connection

from judges.services.exports import ExportSubject, export_write
from tests.annotation.factories import dataset_make
from web.page_cache import READ_ONCE

pytestmark = pytest.mark.django_db


def kept() -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute("PRAGMA cache_size").fetchone()[0])


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps pages by itself")
def test_an_export_keeps_few_pages_and_gives_the_others_back() -> None:
    subject, before, found = ExportSubject(dataset_make(pairs=1)), kept(), []
    export_write(io.BytesIO(), subject, "judgments", "parquet", tell=lambda *_: found.append(kept()))
    assert found
    assert set(found) == {-READ_ONCE}
    assert kept() == before != -READ_ONCE
