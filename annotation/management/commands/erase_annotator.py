"""`manage.py erase_annotator STUDY PSEUDONYM`: as the study's Privacy page does it."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotation.models import Enrollment
from annotation.selectors.annotators import enrollment_by_pseudonym
from annotation.selectors.overview import study_named
from annotation.services.consent import labels_may_stay
from annotation.services.erasure import annotator_erase, enrollment_erase
from annotation.services.erasure_log import REQUEST


class Command(BaseCommand):
    help = (
        "Anonymize an annotator of a study, or delete them where their labels may not stay (docs/privacy.md)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the slug: the last part of the address of its page")
        parser.add_argument("annotator", help="the pseudonym, as in exports")
        parser.add_argument("--with-labels", action="store_true", help="delete labels that may stay, too")
        parser.add_argument(
            "--everywhere",
            action="store_true",
            help="also in all other studies, in imported labels, and with their account",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = study_named(options["study"])
            person = enrollment_by_pseudonym(study, options["annotator"])
        except LookupError as error:
            raise CommandError(str(error)) from None
        except (Enrollment.DoesNotExist, ValidationError):
            raise CommandError(f"{study.slug} has no annotator {options['annotator']}.") from None
        if options["dry_run"]:
            stay = labels_may_stay(person) and not options["with_labels"]
            self.stdout.write("Would be anonymized." if stay else "Would be deleted with their labels.")
            return
        if options["everywhere"]:
            found = annotator_erase(
                annotator=person.annotator, why=REQUEST, with_labels=options["with_labels"]
            )
        else:
            one = enrollment_erase(enrollment=person, why=REQUEST, with_labels=options["with_labels"])
            found = [] if one is None else [one]
        for erased in found:
            said = "stayed" if erased.kind == "anonymized" else "deleted"
            self.stdout.write(f"{erased.kind.label}; labels {said}: {erased.n_labels:,}.")
