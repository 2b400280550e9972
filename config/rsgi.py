"""Entry point of granian (RSGI): Django behind `config.front`. `manage.py serve` starts it."""

import gc
import os

STATEMENT_SECONDS = "15"
"""No page may wait longer for the database. Commands and workers have no such limit, unless they are given one."""
os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", STATEMENT_SECONDS)

from config.wsgi import application as wsgi_application  # noqa: E402, I001  (reads the environment, sets up Django)
from django.conf import settings  # noqa: E402
from django.urls import get_resolver  # noqa: E402
from config.front import Front  # noqa: E402

application = Front(wsgi_application, threads=settings.WEB_THREADS, body_seconds=settings.WEB_BODY_SECONDS)

# A full collection of garbage looks at every object and stops all threads meanwhile: 160 ms with the site's modules, in
# the middle of someone's request. What is there at the start stays to the end, so it isn't looked at again.
get_resolver().url_patterns  # noqa: B018  (imports all views, which the first request would do)
gc.collect()
gc.freeze()
# Of what comes later few objects refer to each other. A look at the young ones takes 0.3 ms, and every fourth answer
# had one.
gc.set_threshold(10_000)
