"""Django's command line: `manage.py` in a checkout, `python -m config` and `touchstone manage` when installed."""

import os
from collections.abc import Sequence

from config.places import is_installed


def main(arguments: Sequence[str]) -> None:
    """Run a management command; `arguments` are `sys.argv`.

    Raises
    ------
    SystemExit
        Django is not installed, the command failed, or the database is not one of this version.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    shown = "touchstone manage" if is_installed() else "python manage.py"
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        remedy = (
            "Install the site with it: pip install 'touchstone-judge[app]'."
            if is_installed()
            else "Run `make install` and use `.venv/bin/python manage.py`."
        )
        raise SystemExit(f"Django is not installed here. {remedy}") from error
    from django.db import DatabaseError

    try:
        execute_from_command_line(list(arguments))
    except DatabaseError as error:
        from config.schema import has_unapplied_migrations

        if not has_unapplied_migrations():
            raise
        raise SystemExit(
            f"The database isn't one of this version ({error}). Run `{shown} migrate` first, or check DATABASE_URL."
        ) from None
