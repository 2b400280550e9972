"""`manage.py make_pairs SOURCE --name NAME --contestant NAME`: thin, over `pairs_make`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import ImportFileError
from annotation.models import User
from annotation.selectors.datasets import DatasetNotFound, dataset_get
from annotation.selectors.users import user_find
from judges.models import Judge
from judges.services.contestants import Baseline, PairsError, pairs_make


class Command(BaseCommand):
    help = (
        "Create a dataset of pairs: the responses of contestants to the instructions of another dataset, each against "
        "the human-written reference, a system of that dataset or another contestant."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", help="The dataset whose instructions were answered.")
        parser.add_argument("--name", required=True, help="Of the new dataset.")
        parser.add_argument("--title", default="", help="Title shown on pages (default: the name).")
        parser.add_argument(
            "--contestant",
            action="append",
            required=True,
            metavar="JUDGE",
            help="Name of a contestant; may be given several times.",
        )
        beside = parser.add_mutually_exclusive_group()
        beside.add_argument(
            "--beside-system", metavar="SYSTEM", help="A system with responses in the source."
        )
        beside.add_argument("--beside-contestant", metavar="JUDGE", help="Another contestant.")
        parser.add_argument(
            "--all-samples", action="store_true", help="One pair per sample instead of the first sample only."
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="Seed that randomizes which response comes first (default: 0).",
        )
        parser.add_argument("--owner", help="User name of who owns the new dataset.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = pairs_make(
                name=options["name"],
                title=options["title"],
                source=dataset_get(options["source"]),
                contestants=[_judge(name) for name in options["contestant"]],
                baseline=_baseline(options["beside_system"], options["beside_contestant"]),
                all_samples=options["all_samples"],
                seed=options["seed"],
                owner=_owner(options["owner"]),
            )
        except (DatasetNotFound, PairsError, ImportFileError) as error:
            raise CommandError(f"Nothing was created. {error}") from None
        self.stdout.write(result.summary())


def _baseline(system: str | None, contestant: str | None) -> Baseline:
    if contestant is not None:
        return Baseline(contestant=_judge(contestant))
    return Baseline(system=system) if system else Baseline(reference=True)


def _judge(name: str) -> Judge:
    judge = Judge.objects.filter(name=name).first()
    if judge is None:
        raise CommandError(f"There is no contestant {name!r}.")
    return judge


def _owner(name: str | None) -> User | None:
    if name is None:
        return None
    owner = user_find(name)
    if owner is None:
        raise CommandError(f"--owner: there is no user {name!r}.")
    return owner
