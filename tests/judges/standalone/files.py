"""The props of the tests of judges without a site: files of items, and the command in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from judges.backends.mock_server import MockServer

ROOT = Path(__file__).resolve().parent.parent.parent.parent

# What `pip install touchstone-judge[judge]` brings: our own packages, those of the extra, and what these need.
INSTALLED = {
    *("annotation", "judges", "metaeval", "web", "numpy", "scipy"),
    *("httpx", "httpcore", "anyio", "sniffio", "h11", "idna", "certifi", "typing_extensions"),
    *("yaml", "_yaml", "cachetools", "orjson", "re2", "_re2", "PIL"),
}
# Whoever imports Django, or anything else that the extra does not bring, is told that it is not there.
WITHOUT_DJANGO = f"""
import sys

class _Absent:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        known = first in sys.stdlib_module_names or first in {INSTALLED!r}
        if not known and not first.startswith(("sitecustomize", "_sysconfigdata")):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, _Absent())
"""
COMMAND = f"{WITHOUT_DJANGO}\nfrom judges.standalone.main import main\nsys.exit(main())"


def pairs_write(path: Path, n: int = 4, **fields: Any) -> Path:
    rows = [
        {
            "id": f"p{k}",
            "instruction": f"Write sentence number {k}.",
            "responses": [f"Sentence {k}.", f"This is a longer sentence, number {k}."],
            **fields,
        }
        for k in range(n)
    ]
    return rows_write(path, rows)


def rows_write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def at(server: MockServer, model: str = "mock-longer") -> list[str]:
    """The options that name a model of the mock server."""
    return ["--base-url", server.url, "--model", model]


def process(*arguments: object, **environment: str) -> "subprocess.Popen[bytes]":
    """Start the command where no Django is."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def command(*arguments: object, **environment: str) -> tuple[int, str, str]:
    """Run the command where no Django is; returns its exit code and what it wrote."""
    with process(*arguments, **environment) as started:
        out, err = started.communicate(timeout=120)
    return started.returncode, out.decode(), err.decode()
