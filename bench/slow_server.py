"""A server that takes 200 ms an answer and next to no processor time: what a bench measures is then the engine.

It takes requests of the OpenAI protocol, whole and with their length said, and answers "A" to each. The mock server
of `judges.backends` reads what it is asked, a millisecond for each, and four workers would measure that.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 0.2
_LENGTH = b"content-length:"


def slow_server() -> AbstractContextManager[str]:
    """Run the server in a process of its own; gives its base URL."""
    return serving("bench.slow_server")


@contextmanager
def serving(module: str) -> Iterator[str]:
    """Run a module that prints its base URL and serves there, in a process of its own; yields the URL."""
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _reply(content: object) -> bytes:
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_ANSWER = _reply(
    {
        "id": "slow",
        "object": "chat.completion",
        "created": 0,
        "model": "slow",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 1, "total_tokens": 501},
    }
)


class _Connection(asyncio.Protocol):
    n_asked = 0
    transport: asyncio.Transport

    def __init__(self) -> None:
        self.arrived = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.arrived += data
        while (end := self.arrived.find(b"\r\n\r\n")) >= 0:
            head = self.arrived[:end].lower()
            at = head.find(_LENGTH)
            length = int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.arrived) < (whole := end + 4 + length):
                return
            self.arrived = self.arrived[whole:]
            if head.startswith(b"get /stats"):
                self.transport.write(_reply({"requests": _Connection.n_asked}))
            else:
                _Connection.n_asked += 1
                asyncio.get_running_loop().call_later(SECONDS, self.transport.write, _ANSWER)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, backlog=256)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    gc.disable()  # nothing here goes round in circles
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
