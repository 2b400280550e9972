"""Entry point of granian (RSGI): Django behind `config.front`. `manage.py serve` starts it."""

import os

STATEMENT_SECONDS = "15"
"""No page may wait longer for the database. Commands and workers have no such limit, unless they are given one."""
os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", STATEMENT_SECONDS)

from config.wsgi import application as wsgi_application  # noqa: E402, I001  (reads the environment, sets up Django)
from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.urls import get_resolver  # noqa: E402
from config.front import Front  # noqa: E402
from config.postgres import use_last_first  # noqa: E402
from judges.engine.garbage import freeze_for_good  # noqa: E402

application = Front(wsgi_application, threads=settings.WEB_THREADS, body_seconds=settings.WEB_BODY_SECONDS)

if pool := getattr(connection, "pool", None):  # of PostgreSQL alone
    use_last_first(pool)

# What is there at the start stays to the end: all views, which the first request would import.
get_resolver().url_patterns  # noqa: B018
freeze_for_good()
