"""One way to the API: a token, repeated where that is safe, and problems as exceptions."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import httpx

PASSING = frozenset({429, 502, 503, 504})
"""Statuses that pass: the same request is sent again."""
LONGEST_WAIT = 60.0
WAIT = 3600.0
"""Seconds that something is waited for, unless said otherwise."""
MOST_BYTES = 800_000
"""Of the rows in one request; the API takes a megabyte."""


class ApiProblem(Exception):  # noqa: N818  (reads as what the API calls it)
    """What the API refused: `status`, `title`, `type`, and `errors`, each with its `message` and mostly a `field`."""

    def __init__(self, status: int, members: Mapping[str, Any]) -> None:
        self.status = status
        self.type = str(members.get("type", "about:blank"))
        self.title = str(members.get("title", f"HTTP {status}"))
        self.detail = str(members.get("detail", ""))
        self.errors: list[dict[str, str]] = list(members.get("errors", ()))
        super().__init__(f"{self.title} ({status}): {self.detail}")


class WaitError(TimeoutError):
    """What was waited for did not end in time."""


class Connection:
    """Requests with a token. `sleep` and `transport` are for tests."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._base = url.rstrip("/").removesuffix("/api/v1") + "/api/v1/"
        self._retries = retries
        self._sleep = sleep
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            timeout=timeout,
            transport=transport,
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, path: str, **query: Any) -> Any:
        """Read; `path` is below `/api/v1/`."""
        return self._send("GET", path, query=query)

    def file(self, path: str, **query: Any) -> bytes:
        """Read a file."""
        return self._answered("GET", path, query=query).content

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Write, with a key of its own, so that sending it again after a broken connection has one effect."""
        return self._send("POST", path, body=body or {}, headers={"Idempotency-Key": uuid.uuid4().hex})

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change."""
        return self._send("PATCH", path, body=body)

    def delete(self, path: str) -> None:
        """Delete. What a first attempt has deleted, whose answer was lost, is deleted."""
        self._send("DELETE", path)

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        """The rows of a list, page by page, as they are asked for."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            # Its cursor alone: behind a proxy the site may know itself under another address.
            page = self.get(path, **dict(httpx.URL(page["next"]).params))

    def wait(self, read: Callable[[], Any], is_done: Callable[[Any], bool], timeout: float) -> Any:
        """Read until it is done. Raises WaitError."""
        deadline, pause = time.monotonic() + timeout, 0.5
        while not is_done(found := read()):
            if time.monotonic() > deadline:
                raise WaitError(f"It wasn't done after {timeout:g} s.")
            self._sleep(pause)
            pause = min(pause * 1.5, 10.0)
        return found

    def _send(self, method: str, path: str, **said: Any) -> Any:
        return _read(self._answered(method, path, **said))

    def _answered(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        asked = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        content = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                answer = self._client.request(
                    method,
                    self._base + path,
                    params=asked,
                    content=content,
                    headers={**kind, **(headers or {})},
                )
            except httpx.TransportError:
                if is_last:
                    raise
                self._sleep(_pause(attempt))
                continue
            if answer.status_code in PASSING and not is_last:
                self._sleep(_pause(attempt, answer.headers.get("Retry-After", "")))
                continue
            # What a first attempt has deleted is deleted.
            if answer.is_error and not (method == "DELETE" and answer.status_code == 404 and attempt):
                _refuse(answer)
            return answer
        raise AssertionError("the last attempt returns or raises")


def parts_of(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Rows in parts that fit a request; one part at least."""
    part: list[Any] = []
    size = 0
    for row in rows:
        length = len(json.dumps(row)) + 2
        if part and size + length > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    yield part


def _read(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return {}


def _refuse(answer: httpx.Response) -> NoReturn:
    members = _read(answer)
    raise ApiProblem(answer.status_code, members if isinstance(members, dict) else {})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pause(attempt: int, said: str = "") -> float:
    wanted = float(said) if said.isdecimal() else 0.5 * 2**attempt
    return min(wanted, LONGEST_WAIT)
