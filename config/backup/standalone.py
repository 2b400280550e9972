"""`touchstone backup` and `touchstone restore`: the site's commands, where its extra is installed."""

import argparse
import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from judges.standalone.main import CommandRefusedError, StandaloneCommand


class SiteCommand(StandaloneCommand):
    """A command of `manage.py`, with its options."""

    name: ClassVar[str]

    def configure(self, parser: argparse.ArgumentParser) -> None:
        self._command().add_arguments(parser)

    def run(self, options: argparse.Namespace) -> int:
        from django.core.management.base import CommandError
        from django.db import DatabaseError

        try:
            self._command().handle(**vars(options))
        except (CommandError, DatabaseError) as error:
            raise CommandRefusedError(str(error)) from error
        return 0

    def _command(self) -> Any:
        if find_spec("django") is None:
            raise CommandRefusedError(
                "this command is of the site, which isn't installed here. Install it with: "
                "pip install 'touchstone-judge[app]'."
            )
        import django
        from django.core.exceptions import ImproperlyConfigured

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        try:
            django.setup()
        except ImproperlyConfigured as error:
            raise CommandRefusedError(str(error)) from error
        return import_module(f"config.management.commands.{self.name}").Command()


class BackupCommand(SiteCommand):
    name = "backup"
    about = """\
Back up the site into one file while it's running: database, files and secret key.

  touchstone backup --keep 14                 in the folder of backups, of which the newest 14 stay
  touchstone backup /mnt/backups              in another folder
  touchstone backup --verify FILE             make none; prove that this one can be restored"""


class RestoreCommand(SiteCommand):
    name = "restore"
    about = """\
Restore a backup into this site. Stop the web processes and workers first.

  touchstone restore FILE                     into an empty database
  touchstone restore FILE --replace           in place of what there is"""
