"""A page of docs/papers, followed to the letter: its files written, its commands executed in their order."""

import re
import shlex
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[3]
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"`(/[^` ]+/)`")
_LABEL = re.compile(r"\*\*([^*\n]+?)\.?\*\*")
_SWEEP = re.compile(r"^Sweep (\d+),", re.MULTILINE)


@dataclass
class HowTo:
    """A page; `run` does what it says in the working folder."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / "docs" / "papers" / f"{self.name}.md").read_text(encoding="utf-8")

    @property
    def pages(self) -> list[tuple[str, list[str]]]:
        """Each address that a paragraph names first, and what is bold after it: what there is to choose on the page."""
        prose = _BLOCK.sub("", self.text)
        found = []
        for paragraph in prose.split("\n\n"):
            if address := _ADDRESS.search(paragraph):
                found.append((address[1], _LABEL.findall(paragraph[address.end() :])))
        return found

    def run(self) -> str:
        """What the commands printed. The number of a sweep is the one that the page says is printed."""
        printed, sweep = [], ""
        for language, file, content in _BLOCK.findall(self.text):
            if file:
                Path(file).write_text(content, encoding="utf-8")
            elif language == "sh":
                for line in content.splitlines():
                    program, command, *arguments = shlex.split(line)
                    if program == "python":  # as people type it
                        program, command, *arguments = command, *arguments
                    assert program == "manage.py", line
                    if command == "run_sweep":
                        arguments = [sweep]
                    out = StringIO()
                    call_command(command, *arguments, stdout=out)
                    printed.append(out.getvalue())
                    sweep = "".join(_SWEEP.findall(out.getvalue())) or sweep
        return "".join(printed)
