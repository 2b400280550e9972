"""In front of Django: reads each request whole before one of the few threads that answer is taken.

Django reads a body in the thread that answers it, and reads it early: the CSRF check comes before any limit on the
number of requests. So a handful of clients that send a byte now and then would hold all threads, and anybody could
fill the disk with an upload that is refused afterwards. Here bodies are read by the event loop of the web server
(granian, RSGI), which waits for thousands of clients at no cost, with these rules:

- how much is read depends on the address (`web.bodies`): little, unless the person may send more, which
  is asked of their session or token before the first byte is read;
- a body has `WEB_BODY_SECONDS`, and a second more for each `BYTES_PER_SECOND` that have come;
- files under `STATIC_URL` are answered by threads of their own, so that they come whatever the database does;
- when too many requests wait for a thread, further ones are told to come back later.

What is refused here is answered by Django all the same (`config.errors.RefusalMiddleware`), so that it has the looks
and the headers of every other page.
"""

import asyncio
import io
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError, close_old_connections
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from annotation.api.access import has_valid_token
from annotation.models import User
from config.errors import REFUSAL, Refusal
from config.page_threads import PageThreads
from web.api.parsing import MOST_BYTES
from web.bodies import DEFAULT_BYTES, FORM_BYTES, BodyLimit

BYTES_PER_SECOND = 64 * 1024
"""How slow a connection may be that uploads much."""
IN_MEMORY = 1024 * 1024
"""Bodies and answers up to this size stay in memory, larger ones go to a temporary file."""
HELD_BYTES = 128 * 1024 * 1024
"""How much of bodies that are still on their way one process keeps in memory."""
WAITING_PER_THREAD = 32
"""How many requests may wait for each thread."""
FILE_THREADS = 2

Environ = dict[str, Any]


def _is_administrator(request: HttpRequest) -> bool:
    user = get_user(request)
    return isinstance(user, User) and user.is_administrator


BY_NAMESPACE = {
    "admin": BodyLimit(FORM_BYTES, _is_administrator),
    "api": BodyLimit(
        MOST_BYTES + 1, has_valid_token
    ),  # a byte more, so that the API itself says what is too much
}
"""Limits of views that others have written, and of whole interfaces."""


class RefusedError(Exception):
    """The request is not read further; `status` says why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ClosedError(Exception):
    """The client went away in the middle of its request."""


class Front:
    """An RSGI application around a WSGI one.

    Parameters
    ----------
    application : WSGI application
    threads : int
        How many requests are answered at the same time at most (`config.page_threads`).
    body_seconds : float
        How long a client may take to send a body, beside the time that its size needs.
    """

    def __init__(self, application: Callable[..., Any], *, threads: int, body_seconds: float) -> None:
        self._application = application
        self._body_seconds = body_seconds
        self._pages = PageThreads(threads)
        self._files = ThreadPoolExecutor(FILE_THREADS, thread_name_prefix="file")
        self._waiting = 0
        self._most_waiting = WAITING_PER_THREAD * threads
        self._held = 0

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        environ = _environ(scope)
        try:
            body = await self._body(environ, protocol)
        except ClosedError:
            protocol.response_empty(400, [("connection", "close")])
            return
        except RefusedError as refused:
            body = _refuse(environ, refused.status)
        with body:
            environ["wsgi.input"] = body
            # What needs no database has its own threads: files, and what is refused.
            light = REFUSAL in environ or environ["PATH_INFO"].startswith(settings.STATIC_URL)
            if not light and self._waiting >= self._most_waiting:
                environ["wsgi.input"] = _refuse(environ, 503)
                light = True
            status, headers, answer = await self._answered(environ, light=light)
        if REFUSAL in environ:
            headers.append(("connection", "close"))  # the rest of the body is not wanted
        if isinstance(answer, bytes):
            protocol.response_bytes(status, headers, answer)
            return
        with answer:
            transport = protocol.response_stream(status, headers)
            while chunk := answer.read(IN_MEMORY):
                await transport.send_bytes(chunk)

    async def _answered(
        self, environ: Environ, *, light: bool
    ) -> tuple[int, list[tuple[str, str]], bytes | IO[bytes]]:
        if light:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._files, _answer, self._application, environ)
        self._waiting += 1
        try:
            return await self._pages.run(_answer, self._application, environ)
        finally:
            self._waiting -= 1

    async def _body(self, environ: Environ, protocol: Any) -> IO[bytes]:
        """The body, read whole.

        Raises
        ------
        RefusedError
            It is too large, too slow, of unknown length, or from somebody who may not send so much.
        ClosedError
            It ends before its end.
        """
        if "HTTP_TRANSFER_ENCODING" in environ:
            # The server cannot tell the end of such a body from a connection that broke; browsers send none.
            raise RefusedError(411)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if not length:
            return io.BytesIO()
        if length > DEFAULT_BYTES:
            await self._check_much(environ, length)
        body = await self._read(protocol)
        if body.tell() != length:
            body.close()
            raise ClosedError
        body.seek(0)
        return body

    async def _check_much(self, environ: Environ, length: int) -> None:
        """Refuse a large body that this address does not take, or not from this person."""
        limit = _limit(environ["PATH_INFO"])
        if limit is None or length > limit.most:
            raise RefusedError(413)
        if self._waiting >= self._most_waiting:
            raise RefusedError(503)
        self._waiting += 1
        try:
            may = await self._pages.run(_may, limit, dict(environ))
        except DatabaseError:
            raise RefusedError(503) from None
        finally:
            self._waiting -= 1
        if not may:
            raise RefusedError(403)

    async def _read(self, protocol: Any) -> IO[bytes]:
        clock = asyncio.get_running_loop().time
        body: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  (the caller closes it)
        end, held, received = clock() + self._body_seconds, 0, 0
        chunks = aiter(protocol)
        try:
            while True:
                async with asyncio.timeout_at(end + received / BYTES_PER_SECOND):
                    chunk = await anext(chunks)
                received += len(chunk)
                if received <= IN_MEMORY:
                    held += len(chunk)
                    self._held += len(chunk)
                if self._held > HELD_BYTES:
                    raise RefusedError(503)
                body.write(chunk)
        except StopAsyncIteration:
            return body
        except TimeoutError:
            body.close()
            raise RefusedError(408) from None
        except BaseException:
            body.close()
            raise
        finally:
            self._held -= held


def _limit(path: str) -> BodyLimit | None:
    try:
        match = resolve(path.encode("latin-1").decode("utf-8", "replace"))
    except Resolver404:
        return None
    return getattr(match.func, "body_limit", None) or BY_NAMESPACE.get(
        match.namespaces[0] if match.namespaces else ""
    )


def _may(limit: BodyLimit, environ: Environ) -> bool:
    request = WSGIRequest(environ | {"wsgi.input": io.BytesIO(), "CONTENT_LENGTH": "0"})
    engine = import_module(settings.SESSION_ENGINE)
    request.session = engine.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    try:
        return limit.who(request)
    finally:
        close_old_connections()


def _refuse(environ: Environ, status: int) -> IO[bytes]:
    """Have Django answer with this refusal; returns the body that it gets."""
    environ[REFUSAL] = Refusal(status)
    environ["CONTENT_LENGTH"] = "0"
    return io.BytesIO()


def _environ(scope: Any) -> Environ:
    """The request as WSGI says it."""
    client, _, _ = scope.client.rpartition(":")
    server, _, port = scope.server.rpartition(":")
    environ: Environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode("utf-8").decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "REMOTE_ADDR": client.strip("[]"),
        "SERVER_NAME": server.strip("[]") or "localhost",
        "SERVER_PORT": port or "80",
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        # `x_real_ip` would be read as `x-real-ip`, which only the proxy may set.
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        known = environ.get(key)
        environ[key] = value if known is None else f"{known}{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
    return environ


def _answer(
    application: Callable[..., Iterable[bytes]], environ: Environ
) -> tuple[int, list[tuple[str, str]], bytes | IO[bytes]]:
    """Run the WSGI application; the whole answer, in a file where it is large.

    It is complete before the first byte is sent, so that no slow reader holds a thread or a connection to the database.
    """
    started: list[tuple[int, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
        started.append((int(status.partition(" ")[0]), headers))

    parts = application(environ, start_response)
    spool: IO[bytes] | None = None
    try:
        held: list[bytes] = []
        size = 0
        for part in parts:
            size += len(part)
            if spool is not None:
                spool.write(part)
                continue
            held.append(part)
            if size > IN_MEMORY:
                spool = tempfile.TemporaryFile()  # noqa: SIM115  (closed when it was sent)
                spool.writelines(held)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    # The name of the header is compared by every HTTP client without case; the server wants it in small letters.
    status, headers = started[-1]
    headers = [(name.lower(), value) for name, value in headers]
    if spool is None:
        return status, headers, b"".join(held)
    spool.seek(0)
    return status, headers, spool
