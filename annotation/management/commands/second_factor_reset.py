"""`manage.py second_factor_reset NAME`: for an administrator who lost their own second factor."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.selectors.users import user_find
from annotation.services.factors import factors_reset


class Command(BaseCommand):
    help = "Remove all second factors of a person and end their sessions; their password opens their account again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = user_find(options["username"])
        if user is None:
            raise CommandError(f"There is no account named {options['username']!r}.")
        n = factors_reset(user)
        self.stdout.write(f"Removed {n} second factors of {user.get_username()}, and ended all sessions.")
