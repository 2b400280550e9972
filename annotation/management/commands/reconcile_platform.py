"""`manage.py reconcile_platform STUDY --platform NAME (--file FILE | --api)`: as the study's Entry page does it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.entry import PLATFORMS
from annotation.entry.errors import EntryError
from annotation.selectors.entry import platform_links_of
from annotation.selectors.overview import study_named
from annotation.services.reconcile import ReconcilePlan, Rules, Step, reconcile_apply, reconcile_plan
from annotation.services.secrets import secret_read


class Command(BaseCommand):
    help = "Import the status of a study's submissions from a crowdsourcing platform (docs/entry.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the slug: the last part of the address of its page")
        parser.add_argument("--platform", choices=sorted(PLATFORMS), default="prolific")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--file", type=Path, help="the platform's CSV export")
        source.add_argument("--api", action="store_true", help="use its API instead")
        parser.add_argument("--dry-run", action="store_true", help="show the changes without applying them")
        parser.add_argument(
            "--keep-returned", action="store_true", help="don't exclude labels of returned submissions"
        )
        parser.add_argument(
            "--set-aside-timed-out", action="store_true", help="exclude labels of timed-out submissions"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = study_named(options["study"])
        except LookupError as error:
            raise CommandError(str(error)) from None
        platform = PLATFORMS[options["platform"]]
        link = platform_links_of(study).get(platform.name)
        if link is None:
            raise CommandError(
                f"{study.slug} has no entry point for {platform.label}; set it up on its Entry page."
            )
        try:
            if options["api"]:
                token = secret_read(platform.api_variable)
                if not token:
                    raise CommandError(f"{platform.api_variable or 'An API token'} is not set.")
                rows = platform.fetch(link, token)
            else:
                rows = platform.rows(options["file"].read_bytes(), options["file"].name)
        except EntryError as error:
            raise CommandError(f"Nothing was changed. {error}") from error
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        exact = bool(options["api"])
        at = timezone.now() if exact else max((row.at for row in rows if row.at), default=None)
        rules = Rules(returned=not options["keep_returned"], timed_out=options["set_aside_timed_out"])
        if options["dry_run"]:
            plan = reconcile_plan(link=link, rows=rows, rules=rules, at=at, exact=exact)
        else:
            plan = reconcile_apply(
                link=link, rows=rows, channel="api" if exact else "file", rules=rules, at=at, exact=exact
            )
        self._say(plan, dry=options["dry_run"])

    def _say(self, plan: ReconcilePlan, *, dry: bool) -> None:
        words = {
            Step.LEAVE: "left",
            Step.RETURN: "came back",
            Step.NOTE: "with a new status",
            Step.SAME: "as before",
            Step.OLDER: "older than the stored status",
            Step.STRANGER: "never joined here",
            Step.OTHER: "another submission of someone who joined",
            Step.MISMATCH: "JOINED UNDER ANOTHER PERSON'S ID",
        }
        for step, text in words.items():
            if count := plan.counts[step]:
                self.stdout.write(f"{count:6,} {text}")
        for change in plan.without_code:
            finished = change.enrollment is not None and bool(change.enrollment.completion_code)
            here = "finished" if finished else "not finished"
            self.stdout.write(f"       {change.row.session}: submitted without a code, {here} here")
        for person in plan.missing:
            self.stdout.write(f"       {person.platform_session}: here, and not there")
        self.stdout.write("Nothing was changed." if dry else f"Done; {plan.labels:,} labels excluded.")
