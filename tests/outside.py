"""What a test reaches outside of its own process: processes that it starts, sockets that it opens.

Tests that `make test-quick` runs reach nothing: `tests/conftest.py` fails one that does without the mark `service`.
"""

import functools
import os
import socket
import subprocess
from typing import Any

WAYS_OUT = ((subprocess.Popen, "__init__"), (os, "fork"), (os, "posix_spawn"), (socket.socket, "bind"),
            (socket.socket, "connect"), (socket.socket, "connect_ex"))  # fmt: skip
reached: list[str] = []


def _watched(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def watching(*arguments: Any, **options: Any) -> Any:
        reached.append(f"{owner.__name__}.{name}{arguments[1:2]}")
        return original(*arguments, **options)

    setattr(owner, name, watching)


def watch() -> None:
    """From now on, `reached` grows with each way out that is taken."""
    for owner, name in WAYS_OUT:
        _watched(owner, name)
