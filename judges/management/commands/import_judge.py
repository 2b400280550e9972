"""Define a judge from a published evaluator's files."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from judges.models import Endpoint
from judges.services.judges import DuplicateJudgeError
from judges.services.published import published_create
from judges.services.published_files import FORMATS, PublishedError, evaluator_read


class Command(BaseCommand):
    help = (
        "Define a judge with the exact prompts of a benchmark's files, from your own copy of them. "
        "No request is sent yet."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=FORMATS)
        parser.add_argument(
            "path",
            type=Path,
            help=(
                "LLMBar: the folder with config/ and prompts/. AlpacaEval and HREF: a configs.yaml. FastChat "
                "(MT-bench): judge_prompts.jsonl. Arena-Hard: its configuration, such as judge_config.yaml."
            ),
        )
        parser.add_argument("--evaluator", default="", help="Evaluator, such as GPT-4/Swap_CoT or pair-v2.")
        parser.add_argument(
            "--drawn-order",
            action="store_true",
            help="Show each pair once, in the order that AlpacaEval's own run draws for it.",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="Seed of that run (default: 0; HREF uses 42)."
        )
        parser.add_argument("--endpoint", required=True, help="Name of the endpoint that it uses.")
        parser.add_argument("--model", default="", help="Model to use instead of the one in the files.")
        parser.add_argument("--name", default="", help="Name of the judge.")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = Endpoint.objects.filter(name=options["endpoint"]).first()
        if endpoint is None:
            known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
            raise CommandError(f"There is no endpoint '{options['endpoint']}'; there is {known}.")
        try:
            read = evaluator_read(options["format"], options["path"], options["evaluator"])
            judge = published_create(
                read=read,
                endpoint=endpoint,
                model=options["model"],
                name=options["name"],
                drawn_order=options["drawn_order"],
                seed=options["seed"],
            )
        except PublishedError as error:
            raise CommandError(str(error)) from None
        except DuplicateJudgeError as error:
            self.stdout.write(f"'{error.existing}' is this judge already.")
            return
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        for note in read.notes:
            self.stderr.write(f"Note: {note}")
        self.stdout.write(f"Defined '{judge}': {judge.model} at '{endpoint}'.")
