"""`manage.py annotator_data STUDY PSEUDONYM FILE`: all that the site holds about a person of a study."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotation.models import Enrollment
from annotation.selectors.annotators import enrollment_by_pseudonym
from annotation.selectors.overview import study_named
from annotation.selectors.own_data import own_data, own_data_zip
from annotation.services.audit import audit


class Command(BaseCommand):
    help = "Write all that the site holds about an annotator of a study into a ZIP file, for them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the slug: the last part of the address of its page")
        parser.add_argument("annotator", help="the pseudonym, as in exports")
        parser.add_argument("file", type=Path, help="the ZIP file to write; it must not exist")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = study_named(options["study"])
            person = enrollment_by_pseudonym(study, options["annotator"])
        except LookupError as error:
            raise CommandError(str(error)) from None
        except (Enrollment.DoesNotExist, ValidationError):
            raise CommandError(f"{study.slug} has no annotator {options['annotator']}.") from None
        try:
            with options["file"].open("xb") as file:
                file.write(own_data_zip([(study.slug, own_data(person))]))
        except OSError as error:
            raise CommandError(f"{options['file']} can't be written: {error.strerror}.") from None
        audit("annotator.data exported", study)
        self.stdout.write(f"Written to {options['file']}.")
