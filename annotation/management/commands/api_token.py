"""Tokens with which programs use the API."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import TOKEN_SCOPES, ApiToken, User
from annotation.models.tokens import READ, WRITE
from annotation.selectors.users import tokens_valid
from annotation.services.tokens import DEFAULT_DAYS, token_create, token_revoke


class Command(BaseCommand):
    help = "Create, list or revoke API tokens. A new token is shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="What it is for.")
        parser.add_argument(
            "--days",
            type=int,
            default=DEFAULT_DAYS,
            help=f"How long it is valid; {DEFAULT_DAYS} if not given.",
        )
        parser.add_argument(
            "--no-expiry",
            action="store_true",
            help="The token doesn't expire, but ends when the password changes.",
        )
        parser.add_argument(
            "--scope",
            action="append",
            choices=(READ, WRITE, *TOKEN_SCOPES),
            metavar="SCOPE",
            help="Its scopes, such as studies:read; `read` and `write` stand for all of these. Default: all.",
        )
        parser.add_argument("--list", action="store_true", dest="listing", help="Show the user's tokens.")
        parser.add_argument("--revoke", metavar="PREFIX", help="Revoke the token that starts with this text.")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no user '{username}'.")
        if options["listing"]:
            self._list(user)
        elif options["revoke"]:
            self._revoke(user, options["revoke"])
        else:
            try:
                _, secret = token_create(
                    user=user,
                    name=options["name"],
                    days=None if options["no_expiry"] else options["days"],
                    scopes=_scopes(options["scope"]),
                )
            except ValueError as error:
                raise CommandError(str(error)) from None
            self.stderr.write("Save it now: it can't be shown again.")
            self.stdout.write(secret)

    def _list(self, user: User) -> None:
        valid = set(tokens_valid(user))
        for token in ApiToken.objects.filter(user=user):
            if token.revoked_at:
                state = "revoked"
            elif token not in valid:
                state = "ended"
            else:
                state = f"until {token.expires_at:%F}" if token.expires_at else "valid"
            used = f"last used {token.last_used_at:%F %H:%M}" if token.last_used_at else "never used"
            self.stdout.write(f"{token.prefix}…  {state}, {used}, {token.scope_names}  {token.name}")

    def _revoke(self, user: User, prefix: str) -> None:
        tokens = list(ApiToken.objects.filter(user=user, prefix__startswith=prefix[:12], revoked_at=None))
        if len(tokens) != 1:
            raise CommandError(f"{len(tokens)} valid tokens begin with '{prefix}'.")
        token_revoke(token=tokens[0])
        self.stdout.write(f"{tokens[0]} is revoked.")


def _scopes(asked: list[str] | None) -> list[str]:
    """The scopes that were asked for, with `read` and `write` written out."""
    return [
        scope for scope in TOKEN_SCOPES if not asked or scope in asked or scope.partition(":")[2] in asked
    ]
