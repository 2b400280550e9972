"""Bring the translations of the annotators' pages up to date with the code, or say what they lack."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.messages import catalogs_checked, catalogs_write, folder_of_catalogs


class Command(BaseCommand):
    help = "Updates and compiles the translations in locale/. GNU gettext isn't needed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="Change nothing; fail if a message isn't translated."
        )

    def handle(self, **options: Any) -> None:
        folder = folder_of_catalogs()
        if not options["check"]:
            catalogs_write(settings.BASE_DIR, folder)
        problems = list(catalogs_checked(settings.BASE_DIR, folder))
        for problem in problems:
            self.stdout.write(problem)
        if problems and options["check"]:
            raise CommandError(f"{len(problems)} problems. See docs/languages.md.")
        self.stdout.write(f"{len(problems)} problems." if problems else "Everything is translated.")
