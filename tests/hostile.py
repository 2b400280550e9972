"""A client of the live site that does what no browser does: it speaks HTTP by the byte."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

CSRF = "x" * 32
ANSWER_WITHIN = 60


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: str


class Wire:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_WITHIN)

    def send(self, data: bytes) -> bool:
        """Whether the site still takes it."""
        try:
            self._socket.sendall(data)
        except OSError:
            return False
        return True

    def head(self, method: str, path: str, **headers: str | int) -> bool:
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.send("\r\n".join([*lines, "", ""]).encode())

    def has_answer(self) -> bool:
        self._socket.setblocking(False)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK)) or True
        except BlockingIOError:
            return False
        finally:
            self._socket.settimeout(ANSWER_WITHIN)

    def reply(self) -> Reply:
        """Wait for the answer, up to where the site ends the connection or the answer says it ends."""
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := self._socket.recv(65536):
                data += chunk
                head, found, body = data.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                if found and length and len(body) >= int(length[1]):
                    break
        if not data:
            raise EOFError("the site closed the connection without an answer")
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Reply(int(first.split()[1]), headers, body.decode("utf-8", "replace"))

    def end(self) -> None:
        """Say that nothing more comes, and listen on."""
        self._socket.shutdown(socket.SHUT_WR)

    def is_closed(self) -> bool:
        """Wait for the site to end the connection."""
        with contextlib.suppress(ConnectionResetError):
            return self._socket.recv(65536) == b""
        return True

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def wire(port: int) -> Iterator[Wire]:
    one = Wire(port)
    try:
        yield one
    finally:
        one.close()


@dataclass
class Person:
    """Somebody with a browser: GET, POST with a CSRF token, cookies kept."""

    port: int
    cookies: dict[str, str] = field(default_factory=lambda: {"csrftoken": CSRF})

    def get(self, path: str, **headers: str) -> Reply:
        return self._ask("GET", path, b"", headers)

    def post(self, path: str, fields: dict[str, str]) -> Reply:
        data = urlencode({"csrfmiddlewaretoken": CSRF} | fields).encode()
        return self._ask("POST", path, data, {"Content_Type": "application/x-www-form-urlencoded"})

    def upload(self, path: str, fields: dict[str, str], *, name: str, content: bytes) -> Reply:
        parts = [
            f'--limit\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in ({"csrfmiddlewaretoken": CSRF} | fields).items()
        ]
        parts.append(
            f'--limit\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        )
        data = "".join(parts).encode() + content + b"\r\n--limit--\r\n"
        return self._ask("POST", path, data, {"Content_Type": "multipart/form-data; boundary=limit"})

    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def log_in(self, username: str, password: str) -> Reply:
        return self.post("/login/", {"username": username, "password": password})

    def _ask(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> Reply:
        more = {"Content_Length": len(data)} if data else {}
        with wire(self.port) as line:
            line.head(method, path, Cookie=self.cookie(), **headers, **more)
            line.send(data)
            reply = line.reply()
        # One cookie an answer is enough here: that of the session.
        if found := re.match(r"([^=;]+)=([^;]*)", reply.headers.get("set-cookie", "")):
            self.cookies[found[1]] = found[2]
        return reply
