"""Rivals, each in an environment of its own, and the clock that both sides are timed with."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def peer_python(name: str, *requirements: str) -> Path:
    """The interpreter of `.venv-peers/<name>`, with the requirements installed."""
    folder = ROOT / ".venv-peers" / name
    python = folder / "bin" / "python"
    if not python.is_file():
        print(f"  installing {' '.join(requirements)} into {folder.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    # pip is quick when it is there already, and finishes what an interrupted run began.
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements]
    subprocess.run(command, check=True)
    return python


def best_seconds(function: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest of several runs, after one that warms up."""
    function()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
