"""Run the mock server that speaks the OpenAI protocol."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from judges.backends.mock_server import main


class Command(BaseCommand):
    help = "Run a deterministic mock of an OpenAI-compatible server, for tests, demonstrations and dry runs."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8100, help="0 takes a free one; default 8100.")

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        main(["--host", host, "--port", str(port)])
