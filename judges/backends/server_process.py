"""A model server as a process that this one starts, watches and ends."""

import contextlib
import logging
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO

import httpx

from judges.backends.errors import EndpointError
from judges.backends.supervisor import GRACE

logger = logging.getLogger(__name__)

COMMAND_VARIABLE = "TOUCHSTONE_VLLM_COMMAND"
"""Who runs the worker may say by which command the server is started, e.g. ``/opt/vllm/bin/vllm serve``.

It is no option of an endpoint: whoever may edit endpoints could run any command on the worker.
"""
_MODULE = "vllm.entrypoints.openai.api_server"
_LOG_LINES = 12
_ERROR = re.compile(r"(Error|Exception)\b")


def vllm_command(model: str) -> list[str]:
    """Return the beginning of the command: ``vllm serve MODEL``, or the module where there is no such script."""
    given = shlex.split(os.environ.get(COMMAND_VARIABLE, ""))
    if given:
        return [*given, model] if given[-1] == "serve" else [*given, "--model", model]
    script = shutil.which("vllm", path=str(Path(sys.executable).parent))
    # The CPU build's script asks for a distribution named "vllm", which is not there.
    if script and _has_distribution("vllm"):
        return [script, "serve", model]
    return [sys.executable, "-m", _MODULE, "--model", model]


def _has_distribution(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


class ServerProcess:
    """A server on a free port of this machine, with a key that nobody else knows.

    It listens on the loopback interface alone. It is ended, with all processes of its group, by `shutdown`, and when
    this process is gone; see `judges.backends.supervisor`.

    Parameters
    ----------
    name : str
        For messages.
    command : callable
        Given the port, returns the whole command.
    environment : mapping
        More variables for the server.
    startup_timeout : float
        Seconds until it has to be healthy.

    Attributes
    ----------
    url : str
        With the version; empty until it is started.
    key : str
    """

    def __init__(
        self,
        *,
        name: str,
        command: Callable[[int], list[str]],
        environment: Mapping[str, str],
        startup_timeout: float,
    ) -> None:
        self.name = name
        self.url = ""
        self.key = secrets.token_urlsafe(32)
        self._command = command
        self._environment = dict(environment)
        self._startup_timeout = startup_timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def is_alive(self) -> bool:
        """Whether it is of use: also one that died is, since it is started again."""
        return not self._closed

    def is_running(self) -> bool:
        """Whether its process is there."""
        process = self._process
        return process is not None and process.poll() is None

    def start(self) -> None:
        """Start it, if it does not run, and wait until it answers.

        Raises
        ------
        EndpointError
            It ended, or was not healthy in time; the message has the last lines of its log.
        """
        with self._lock:
            if self._closed:
                raise EndpointError(f"The server of '{self.name}' was shut down.")
            if self.is_running():
                return
            self._end()
            self._launch()
        deadline = time.monotonic() + self._startup_timeout
        while not self._is_healthy():
            if not self.is_running():
                raise EndpointError(
                    f"The server of '{self.name}' ended before it was ready: {self.last_lines()}"
                )
            if time.monotonic() > deadline:
                lines = self.last_lines()
                with self._lock:
                    self._end()
                raise EndpointError(
                    f"The server of '{self.name}' was not ready within {self._startup_timeout:g} s: {lines}"
                )
            time.sleep(0.25)

    def shutdown(self) -> None:
        """End it with all its processes. May be called twice."""
        self._closed = True
        with self._lock:
            self._end()

    def last_lines(self) -> str:
        """Return the end of its log, on one line, without its key."""
        if self._log is None:
            return "it has no log."
        self._log.flush()
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(size - 20_000, 0))
        lines = [line.strip() for line in self._log.read().decode("utf-8", "replace").splitlines()]
        told = [line for line in lines if line]
        # The last line that names an error, with what explains it below; a server repeats that an engine failed.
        causes = [k for k, line in enumerate(told) if _ERROR.search(line) and "See root cause" not in line]
        shown = told[causes[-1] : causes[-1] + 3] if causes else told[-_LOG_LINES:]
        return " | ".join(shown)[-1500:].replace(self.key, "[key]")

    def _launch(self) -> None:
        port = _free_port()
        command = self._command(port)
        self._log = tempfile.TemporaryFile(prefix="touchstone-server-")  # noqa: SIM115 (kept while it runs)
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "judges.backends.supervisor", *command],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=Path(__file__).resolve().parents[2],
                env=os.environ | self._environment | {"VLLM_API_KEY": self.key},
            )
        except OSError as error:
            raise EndpointError(f"The server of '{self.name}' cannot be started: {error}") from error
        self.url = f"http://127.0.0.1:{port}/v1"
        logger.info("Started a server for %s on port %d", self.name, port)

    def _is_healthy(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            address = self.url.removesuffix("/v1") + "/health"
            return httpx.get(address, timeout=5.0, trust_env=False).status_code == 200
        return False

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                # The supervisor sees the end of its input, and ends the group.
                with contextlib.suppress(OSError):
                    process.stdin.close()
            try:
                process.wait(GRACE + 7.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._log is not None:
            self._log.close()
            self._log = None


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
