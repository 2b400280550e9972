"""`manage.py apply_retention [--dry-run]`: erase people whose time is over, as a worker does now and then."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.selectors.overview import study_named
from annotation.services.retention import retention_apply, retention_due


class Command(BaseCommand):
    help = (
        "Anonymize or delete the people of closed studies whose retention period is over (docs/privacy.md)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", help="only the study with this slug")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = None
        if options["study"]:
            try:
                study = study_named(options["study"])
            except LookupError as error:
                raise CommandError(str(error)) from None
        plans = list(retention_due(study=study))
        for plan in plans:
            what = "deleted with their labels" if plan.deletes else "anonymized"
            due = f"{plan.due_at:%d %b %Y}"
            self.stdout.write(f"{plan.study.slug}: {plan.n_people:,} people to be {what}, due since {due}.")
        if options["dry_run"]:
            return
        done = retention_apply(study=study, limit=None)
        self.stdout.write(f"{done:,} people erased.")
        expected = sum(plan.n_people for plan in plans)
        if done < expected:
            raise CommandError(f"{expected - done:,} people could not be erased; the log says why.")
