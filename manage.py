#!/usr/bin/env python
"""Django's command line for Touchstone."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed here. Run `make install` and use `.venv/bin/python manage.py`."
        ) from error
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
    except DatabaseError as error:
        from config.schema import has_unapplied_migrations

        if not has_unapplied_migrations():
            raise
        raise SystemExit(
            f"The database isn't one of this version ({error}). Run `python manage.py migrate` first, or check "
            "DATABASE_URL."
        ) from None


if __name__ == "__main__":
    main()
