"""Bring endpoints, datasets, studies, judges and sweeps of a YAML file into the site."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import ImportFileError
from annotation.selectors.users import administrator_find
from judges.services.applying import site_apply
from judges.services.plans import PlanError


class Command(BaseCommand):
    help = (
        "Bring endpoints, datasets, studies, judges and sweeps of a YAML file into the site, or the judge of a "
        "judge.json. All or nothing; applied again, it changes nothing. Keys are named by their variables."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--user", required=True, help="The administrator for whom it is done.")

    def handle(self, *args: Any, path: Path, user: str, **options: Any) -> None:
        person = administrator_find(user)
        if person is None:
            raise CommandError(f"There is no administrator '{user}'.")
        try:
            applied = site_apply(path=path, user=person)
        except PlanError as error:
            prefix = "" if error.field == str(path) else f"{path}: "
            raise CommandError(f"{prefix}{error}") from None
        except ImportFileError as error:
            raise CommandError(str(error)) from None
        for line in applied.said:
            self.stdout.write(line)
