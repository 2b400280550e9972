"""`touchstone demo`, `manage`, `backup` and `restore`: the site's own commands, where its extra is installed.

Nothing of the site is imported by its name here: without the extra, this module has to be there to say so.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

from judges.standalone.main import CommandRefusedError, StandaloneCommand

OURS = frozenset({"annotation", "config", "judges", "metaeval", "web"})


@contextmanager
def needs_the_site() -> Iterator[None]:
    """Name the extra where a module that the site needs isn't installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OURS:
            raise
        raise CommandRefusedError(
            f"this command is of the site, which needs {missing}, and that isn't installed here. Install the site "
            "with: pip install 'touchstone-judge[app]'."
        ) from error


def managed(words: list[str]) -> int:
    """Run `manage.py` with these words; returns its exit code."""
    with needs_the_site():
        manage = import_module("config.manage")
        import_module("django")
    try:
        manage.main(["touchstone manage", *words])
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        raise  # a sentence, which the interpreter writes to the standard error
    return 0


class SiteCommand(StandaloneCommand):
    """A command of `manage.py`, with its options."""

    name: ClassVar[str]

    def configure(self, parser: argparse.ArgumentParser) -> None:
        self._command().add_arguments(parser)

    def run(self, options: argparse.Namespace) -> int:
        command_error = import_module("django.core.management.base").CommandError
        database_error = import_module("django.db").DatabaseError
        try:
            self._command().handle(**vars(options))
        except (command_error, database_error) as error:
            raise CommandRefusedError(str(error)) from error
        return 0

    def _command(self) -> Any:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        with needs_the_site():
            not_configured = import_module("django.core.exceptions").ImproperlyConfigured
            try:
                # A second time it would set logging up anew, under a program that has handlers of its own.
                if not import_module("django.apps").apps.ready:
                    import_module("django").setup()
            except not_configured as error:
                raise CommandRefusedError(str(error)) from error
            return import_module(f"config.management.commands.{self.name}").Command()


class DemoCommand(StandaloneCommand):
    """`manage.py demo`, where there is no `manage.py`."""

    about = "Build the demonstration (once) and serve it on this machine. Ctrl-C stops everything."

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the site (8000)")
        parser.add_argument("--mock-port", type=int, help="port of the mock model server")
        parser.add_argument("--no-serve", action="store_true", help="build the demonstration and exit")

    def run(self, options: argparse.Namespace) -> int:
        words = ["demo", "--port", str(options.port)]
        if options.mock_port is not None:
            words += ["--mock-port", str(options.mock_port)]
        if options.no_serve:
            words.append("--no-serve")
        return managed(words)


class ManageCommand(StandaloneCommand):
    """Each command of `manage.py`."""

    about = (
        "Run a management command of the site: migrate, createsuperuser, serve, export, report and others.\n"
        "`touchstone manage help` lists them."
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND ...")

    def run(self, options: argparse.Namespace) -> int:
        return managed(options.words or ["help"])


class BackupCommand(SiteCommand):
    name = "backup"
    about = """\
Back up the site into one file while it's running: database, files and secret key.

  touchstone backup --keep 14                 in the folder of backups, of which the newest 14 stay
  touchstone backup /mnt/backups              in another folder
  touchstone backup --verify FILE             make none; prove that this one can be restored

Exit codes: 0 it is made or verified; 2 an option is wrong; 3 it can't be."""


class RestoreCommand(SiteCommand):
    name = "restore"
    about = """\
Restore a backup into this site. Stop the web processes and workers first.

  touchstone restore FILE                     into an empty database
  touchstone restore FILE --replace           in place of what there is

Exit codes: 0 it is restored; 2 an option is wrong; 3 it can't be."""
