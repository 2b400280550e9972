"""Make a sweep, with its judges, from a YAML file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.selectors.users import administrator_find
from judges.services.plans import PlanError, plan_carry_out, plan_read
from judges.services.sweeps import SweepError, sweep_start


class Command(BaseCommand):
    help = (
        "Create a draft sweep from a YAML file; missing judges are defined. All or nothing. "
        "With --start, the sweep is queued."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--user", required=True, help="User name of the administrator who owns it.")
        parser.add_argument("--start", action="store_true", help="Queue it for the workers.")

    def handle(self, *args: Any, path: Path, user: str, start: bool, **options: Any) -> None:
        person = administrator_find(user)
        if person is None:
            raise CommandError(f"There is no administrator '{user}'.")
        try:
            planned = plan_carry_out(plan=plan_read(path), user=person)
        except PlanError as error:
            prefix = "" if error.field == str(path) else f"{path}: "
            raise CommandError(f"{prefix}{error}") from None
        for judge in planned.made:
            self.stdout.write(f"Defined '{judge}'.")
        for judge in planned.found:
            self.stdout.write(f"Uses '{judge}'.")
        sweep = planned.sweep
        if start:
            try:
                launch = sweep_start(sweep=sweep)
            except SweepError as error:
                raise CommandError(
                    f"Sweep {sweep.pk} is a draft, and cannot start: {' '.join(error.messages)}"
                ) from None
            for warning in launch.warnings:
                self.stderr.write(f"Note: {warning}")
        state = "queued" if start else "a draft"
        self.stdout.write(
            f"Sweep {sweep.pk}, '{sweep.name}', is {state}: python manage.py run_sweep {sweep.pk}"
        )
