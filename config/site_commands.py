"""`touchstone demo` and `touchstone manage`: the site from the command that an installed distribution has."""

import argparse

from judges.standalone.main import StandaloneCommand


class DemoCommand(StandaloneCommand):
    """`manage.py demo`, where there is no `manage.py`."""

    about = "Build the demonstration (once) and serve it on this machine. Ctrl-C stops everything."

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the site (8000)")
        parser.add_argument("--mock-port", type=int, help="port of the mock model server")
        parser.add_argument("--no-serve", action="store_true", help="build the demonstration and exit")

    def run(self, options: argparse.Namespace) -> int:
        words = ["demo", "--port", str(options.port)]
        if options.mock_port is not None:
            words += ["--mock-port", str(options.mock_port)]
        if options.no_serve:
            words.append("--no-serve")
        return _manage(words)


class ManageCommand(StandaloneCommand):
    """Each command of `manage.py`."""

    about = (
        "Run a management command of the site: migrate, createsuperuser, serve, export, report and others.\n"
        "`touchstone manage help` lists them."
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND ...")

    def run(self, options: argparse.Namespace) -> int:
        return _manage(options.words or ["help"])


def _manage(words: list[str]) -> int:
    from config.manage import main

    try:
        main(["touchstone manage", *words])
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        raise  # a sentence, which the interpreter writes to the standard error
    return 0
