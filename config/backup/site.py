"""The database of this site."""

from pathlib import Path

from django.db import connection

from config.backup.databases import SiteDatabase
from config.backup.postgres import PostgresDatabase
from config.backup.sqlite import SqliteDatabase


def site_database() -> SiteDatabase:
    """Return the site's own database, as the settings have it."""
    if connection.vendor == "sqlite":
        return SqliteDatabase(Path(str(connection.settings_dict["NAME"])))
    return PostgresDatabase(connection.get_connection_params())
