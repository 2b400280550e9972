"""The deployment's files, read as the tools that use them would."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
VARIABLE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")


def compose(**environment: str) -> dict[str, Any]:
    """compose.yaml with its variables put in, as Compose does; a required one that is missing raises."""

    def value(found: re.Match[str]) -> str:
        name, rule, word = found.groups()
        if environment.get(name):
            return environment[name]
        if rule == "?":
            raise KeyError(word)
        return word or ""

    return yaml.safe_load(VARIABLE.sub(value, (ROOT / "compose.yaml").read_text()))


def instructions(dockerfile: str) -> list[tuple[str, str, str]]:
    """Stage, instruction and arguments of each line of a Dockerfile."""
    found, stage = [], ""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE))
    for line in filter(str.strip, text.splitlines()):
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            stage = rest.split(" AS ")[1]
        found.append((stage, word, rest.strip()))
    return found


def dockerfile() -> list[tuple[str, str, str]]:
    return instructions((ROOT / "Dockerfile").read_text())


def runs_of(stage: str) -> list[str]:
    """The commands that build a stage, as its shell gets them."""
    return [rest for where, word, rest in dockerfile() if (where, word) == (stage, "RUN")]


def copied_into(stage: str) -> list[str]:
    """What a stage copies out of the checkout."""
    lines = [rest.split() for where, word, rest in dockerfile() if (where, word) == (stage, "COPY")]
    return [source for words in lines if not words[0].startswith("--from") for source in words[:-1]]


def environment_of(stage: str) -> dict[str, str]:
    """What a stage sets in the environment, over all its lines."""
    found: dict[str, str] = {}
    for where, word, rest in dockerfile():
        if (where, word) == (stage, "ENV"):
            found |= dict(one.split("=", 1) for one in shlex.split(rest))
    return found


def started_by(stage: str) -> list[str]:
    """The command that an image of this stage starts."""
    (command,) = [rest for where, word, rest in dockerfile() if (where, word) == (stage, "CMD")]
    return json.loads(command)


def documents(folder: str) -> list[dict[str, Any]]:
    """All documents of a folder of YAML files."""
    files = sorted((DEPLOY / folder).glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text()) if one]


def clean_environment() -> dict[str, str]:
    """What a container's process has of this machine: nothing but where programs are."""
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
