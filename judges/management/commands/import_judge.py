"""Define a judge from a published evaluator's files."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from judges.models import Endpoint
from judges.services.judges import DuplicateJudgeError
from judges.services.published import PublishedError, alpaca_eval_read, llmbar_read, published_create


class Command(BaseCommand):
    help = (
        "Define a judge that asks in the very words of LLMBar's or AlpacaEval's files, from your own copy of them. "
        "Nothing of it is asked yet."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=("llmbar", "alpaca_eval"))
        parser.add_argument(
            "path",
            type=Path,
            help="LLMBar: the folder with config/ and prompts/. AlpacaEval: a configs.yaml.",
        )
        parser.add_argument("--evaluator", default="", help="Which one, such as GPT-4/Swap_CoT.")
        parser.add_argument("--endpoint", required=True, help="Name of the endpoint that it asks.")
        parser.add_argument("--model", default="", help="In place of the model that the files name.")
        parser.add_argument("--name", default="", help="What to call the judge.")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = Endpoint.objects.filter(name=options["endpoint"]).first()
        if endpoint is None:
            known = ", ".join(Endpoint.objects.values_list("name", flat=True)) or "none yet"
            raise CommandError(f"There is no endpoint '{options['endpoint']}'; there is {known}.")
        try:
            if options["format"] == "llmbar":
                if not options["evaluator"]:
                    raise CommandError("Say which of LLMBar's evaluators: --evaluator GPT-4/Vanilla.")
                read = llmbar_read(folder=options["path"], evaluator=options["evaluator"])
            else:
                read = alpaca_eval_read(path=options["path"], name=options["evaluator"])
            judge = published_create(
                read=read, endpoint=endpoint, model=options["model"], name=options["name"]
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
