"""`manage.py purge_requests --older-than 90`: retention of what was asked and answered."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from judges.services.retention import requests_purge


class Command(BaseCommand):
    help = (
        "Delete requests to models and their answers that are older than so many days. Judgments stay, with their "
        "text, costs and verdicts; their requests can no longer be shown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than", type=int, required=True, metavar="DAYS")

    def handle(self, *args: Any, **options: Any) -> None:
        days: int = options["older_than"]
        if days < 0:
            raise CommandError("--older-than: expected a number of days of at least 0.")
        say = self.stdout.write if options["verbosity"] > 1 else lambda _: None
        purged = requests_purge(before=timezone.now() - timedelta(days=days), say=say)
        self.stdout.write(
            f"Deleted {purged.requests:,} requests, {purged.texts:,} texts and {purged.blocks:,} blocks of texts."
        )
