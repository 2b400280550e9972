"""Programs in the environments of other people's libraries.

The packages need not stand beside this project: TOUCHSTONE_PEERS names a folder of environments, each named after what
is installed in it: virtual ones of Python, and folders in which npm has installed a package.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MODULES = {
    "alpaca-eval": "alpaca_eval",
    "argilla": "argilla",
    "datasets": "datasets",
    "deepeval": "deepeval",
    "inspect-ai": "inspect_ai",
    "langfuse": "langfuse",
    "mlflow": "mlflow",
    "openai": "openai",
    "label-studio-sdk": "label_studio_sdk",
    "potato-annotation": "potato",
}
"""The module of each package."""


def environment(package: str) -> Path:
    """The folder of a package's environment, which need not be there."""
    return Path(os.environ.get("TOUCHSTONE_PEERS", "")) / package


def skip_without(package: str) -> None:
    """Skip the test, saying why."""
    pytest.skip(
        f"{package} is not installed; TOUCHSTONE_PEERS names a folder of environments such as {package}/"
    )


def python_with(package: str) -> str:
    """An interpreter that has a package; the test is skipped, saying so, where there is none."""
    found = environment(package) / "bin/python"
    if "TOUCHSTONE_PEERS" in os.environ and found.is_file():
        return str(found)
    if find_spec(MODULES[package]) is None:
        skip_without(package)
    return sys.executable


def program_of(package: str) -> str:
    """The program of a package that npm has installed; the test is skipped, saying so, where there is none."""
    found = environment(package) / "node_modules/.bin" / package
    if "TOUCHSTONE_PEERS" not in os.environ or not found.exists():
        skip_without(package)
    return str(found)


def run(package: str, program: str, *words: str, folder: Path, **variables: str) -> Any:
    """The JSON that a program prints last, in an interpreter that has a package."""
    return json.loads(
        output_of(
            [python_with(package), "-W", "ignore", "-c", program, *words], folder, variables
        ).splitlines()[-1]
    )


def output_of(words: list[str], folder: Path, variables: dict[str, str]) -> str:
    """What a program prints; it may reach no model hub, and tells nobody that it ran."""
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "home"),
        "DO_NOT_TRACK": "1",
        "NUMEXPR_MAX_THREADS": "1",
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**own, **offline, **variables},
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    return done.stdout
