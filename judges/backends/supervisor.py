"""Runs a command for another process and ends it with all its children when that process is gone.

::

    python -m judges.backends.supervisor COMMAND...

The command gets a session of its own. When this process's standard input ends (whoever started it closed the pipe, or
was killed, however suddenly), the whole group is ended. A server that starts engines as processes of its own leaves
none behind this way, neither when it dies itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

GRACE = 8.0
"""Seconds between asking the group to end and ending it."""


def supervise(command: list[str]) -> int:
    """Run the command until it ends or standard input does; returns its exit status."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    status = process.wait()
    _signal(process.pid, signal.SIGKILL)
    return status


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    _signal(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        _signal(process.pid, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        # It ends when its input does, and not before what it runs.
        signal.signal(each, signal.SIG_IGN)
    sys.exit(supervise(sys.argv[1:]))
