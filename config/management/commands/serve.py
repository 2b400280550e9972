"""`manage.py serve`: the web server, with the options that keep it up."""

import os
import resource
import tempfile
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config.checks import not_shared
from config.observing.metrics import FOLDER
from config.serving import server_command


class Command(BaseCommand):
    help = "Run the web server (granian). SIGTERM or Ctrl-C ends it after the requests in progress."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--workers", type=int, default=settings.WEB_WORKERS, help="Processes; each has its own threads."
        )
        parser.add_argument("--log-level", default="info")

    def handle(self, *args: Any, **options: Any) -> None:
        # A connection is an open file, and many systems allow only 1,024 unless a process asks for more.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if options["workers"] > 1 and not settings.CACHE_URL:
            warning = not_shared(options["workers"])
            self.stderr.write(self.style.WARNING(f"{warning.msg} {warning.hint}"))
        if settings.METRICS:
            # Each process writes its counters there, and answers for all. A new folder, so that no process that is gone
            # is counted on; of systems with a read-only root, /tmp is the place that may be written to.
            os.environ.setdefault(FOLDER, tempfile.mkdtemp(prefix="touchstone-metrics-"))
        os.chdir(settings.WORKING_DIR)
        command = server_command(
            host=options["host"],
            port=options["port"],
            workers=options["workers"],
            log_level=options["log_level"],
        )
        # This process becomes the server, so that it gets the signals meant for it.
        os.execv(command[0], command)  # noqa: S606  (our own command line)
