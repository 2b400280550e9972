"""The command `touchstone`, which is `python -m judges` too. Each subcommand is imported when it is asked for."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from traceback import format_exc
from types import MappingProxyType
from typing import ClassVar, cast

from annotation.importers.errors import ImportFileError
from judges.backends.errors import BackendError
from judges.strategies.errors import SpecError

BROKEN = 3
"""The exit code of a command that could not do what it is for: a file, a judge or an option is wrong."""


class StandaloneCommand:
    """A subcommand: its options, and what it does with them."""

    about: ClassVar[str] = ""
    usage_code: ClassVar[int] = 2
    """The exit code where an option is wrong."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add its options."""
        raise NotImplementedError

    def run(self, options: argparse.Namespace) -> int:
        """Do it; returns the exit code. What is raised of `REFUSALS` becomes a message and `BROKEN`."""
        raise NotImplementedError


COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "judge": ("judges.standalone.commands.judge:JudgeCommand", "Judge the items of a file."),
        "export": (
            "judges.standalone.commands.export:ExportCommand",
            "Write a judge as files of another tool.",
        ),
        "gate": ("metaeval.gate.command:GateCommand", "Say whether a judge may be trusted: for CI."),
        "demo": ("judges.standalone.commands.site:DemoCommand", "Run a demonstration site on this machine."),
        "manage": (
            "judges.standalone.commands.site:ManageCommand",
            "Run a management command of the site: migrate, serve.",
        ),
        "backup": ("judges.standalone.commands.site:BackupCommand", "Back up the site, or verify a backup."),
        "restore": ("judges.standalone.commands.site:RestoreCommand", "Restore a backup of the site."),
    }
)
"""By name, the class of a subcommand and what it does in a sentence."""


class CommandRefusedError(Exception):
    """A subcommand cannot be carried out as it was asked for; the message is for the person who typed it."""


REFUSALS = (CommandRefusedError, ImportFileError, SpecError, BackendError, OSError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else ""
    if name == "--version":
        sys.stdout.write(f"touchstone {_version()}\n")
        return 0
    if name not in COMMANDS:
        return _overview(name)
    command = _load(name)
    parser = argparse.ArgumentParser(
        prog=f"touchstone {name}",
        description=command.about or COMMANDS[name][1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    try:
        command.configure(parser)
        try:
            options = parser.parse_args(given[1:])
        except SystemExit as ended:
            return command.usage_code if ended.code else 0
        return command.run(options)
    except REFUSALS as error:
        sys.stderr.write(f"touchstone {name}: {_said(error)}\n")
        return BROKEN
    except BrokenPipeError:
        return 0
    except Exception:
        # Not 1, which the interpreter would make of it and which may mean something else here.
        sys.stderr.write(f"touchstone {name}: this should not happen; please report it.\n{format_exc()}")
        return BROKEN


def _overview(name: str) -> int:
    lines = [
        "usage: touchstone COMMAND ...",
        "",
        *(f"  {each:10} {about}" for each, (_, about) in COMMANDS.items()),
    ]
    lines += ["", "touchstone COMMAND --help says what a command takes."]
    is_asked = name in ("", "-h", "--help", "help")
    if not is_asked:
        lines.insert(0, f"touchstone: there is no command '{name}'.")
    (sys.stdout if is_asked and name else sys.stderr).write("\n".join(lines) + "\n")
    return 0 if is_asked and name else 2


def _version() -> str:
    try:
        return version("touchstone-judge")
    except PackageNotFoundError:
        return "of a checkout that isn't installed"


def _load(name: str) -> StandaloneCommand:
    module, _, attribute = COMMANDS[name][0].partition(":")
    return cast("type[StandaloneCommand]", getattr(import_module(module), attribute))()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)
