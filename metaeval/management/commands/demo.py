"""`manage.py demo`: a running site with something to see on it.

Its people have passwords that everybody can read in the source, so it has a database of its own.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from judges.backends.mock_server import running_mock_server
from metaeval.demo.build import ADMINISTRATOR, PASSWORD, RESEARCHER, Demo, demo_build

MOCK_PORT = 8011
DATABASE = settings.VAR_DIR / "demo.sqlite3"
CONFIGURED = "--use-configured-database"
OWN = {"DATABASE_URL": f"sqlite:///{DATABASE}", "CELERY_BROKER_URL": "", "CACHE_URL": ""}
"""The environment of the demonstration: a broker would have workers of another database."""


class Command(BaseCommand):
    help = "Build the demonstration (once) and serve it on this machine. Ctrl-C stops everything."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--mock-port", type=int, default=MOCK_PORT, help="port of the mock model server")
        parser.add_argument("--no-serve", action="store_true", help="build the demonstration and exit")
        parser.add_argument(
            CONFIGURED,
            action="store_true",
            help=f"build it in the database that is configured, not in {DATABASE.name}: "
            "this creates an administrator there whose password is public",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["use_configured_database"] and not _is_in_own_database():
            command = [*settings.MANAGE_COMMAND, "demo", "--port", str(options["port"])]
            command += ["--mock-port", str(options["mock_port"])]
            command += ["--no-serve"] if options["no_serve"] else []
            os.execve(command[0], command, os.environ | OWN)  # noqa: S606  (this command again)
        port, mock_port = options["port"], options["mock_port"]
        if not options["no_serve"] and _is_taken(port):
            raise CommandError(
                f"Port {port} is taken. Try another one: --port {port + 1}, or make demo PORT={port + 1}"
            )
        call_command("migrate", verbosity=0, interactive=False)
        demo = demo_build(
            mock_url=f"http://127.0.0.1:{mock_port}/v1", say=lambda line: self.stdout.write(f"  {line}")
        )
        if options["no_serve"]:
            return
        with _mock_server(mock_port) as message:
            if message:
                self.stderr.write(self.style.WARNING(message))
            self.stdout.write(_welcome(demo, port))
            self.stdout.flush()
            sys.exit(_serve(port))


def _is_in_own_database() -> bool:
    return str(settings.DATABASES["default"]["NAME"]) == str(DATABASE)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


@contextlib.contextmanager
def _mock_server(port: int) -> Iterator[str]:
    """Run the mock model server beside the site; yields what to say if that cannot be."""
    if _is_taken(port):
        yield f"Port {port} is taken: no mock model server is started; another demo may be running one."
        return
    with running_mock_server(port=port):
        yield ""


def _serve(port: int) -> int:
    """Serve until Ctrl-C; returns the exit status."""
    command = [*settings.MANAGE_COMMAND, "serve", "--port", str(port), "--log-level", "warning"]
    environment = os.environ | {"SITE_URL": f"http://127.0.0.1:{port}"}
    with subprocess.Popen(command, cwd=settings.WORKING_DIR, env=environment) as server:  # noqa: S603  (our own)
        # A terminal sends Ctrl-C to both; where only this process is told to stop, it tells the server.
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        while True:
            try:
                return max(server.wait(), 0)
            except KeyboardInterrupt:
                server.terminate()


def _welcome(demo: Demo, port: int) -> str:
    site = f"http://127.0.0.1:{port}"
    join = reverse("annotation:join", args=[demo.invitation.token])
    study = reverse("annotation:study-detail", args=[demo.study.slug])
    comparison = reverse("metaeval:comparison", args=[demo.sweep.pk])
    report = reverse("metaeval:report-detail", args=[demo.report.pk])
    kinds = "\n".join(
        f"    {kind.study.kind.replace('_', ' '):15} {site}{reverse('annotation:join', args=[kind.invitation.token])}"
        for kind in demo.kinds
    )
    return f"""
  Touchstone runs on {site}

  Annotator         {site}{join}
                  no account needed; the existing labels come from simulated annotators
{kinds}
  Researcher      {site}/login/          {RESEARCHER} / {PASSWORD}
    study         {site}{study}
    report        {site}{report}
  Administrator   {site}/admin/          {ADMINISTRATOR} / {PASSWORD}
    comparison    {site}{comparison}
    a sweep to launch and watch: "Prompted judges on the mock server" under Sweeps

  Ctrl-C stops everything; run it again to continue with the same data.
"""
