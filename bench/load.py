"""People who label as fast as the site lets them: a closed loop of requests, in one thread, with little own work.

Each person has a connection that is kept alive and does what a browser does: opens the personal link, follows it to
the first item, and answers; the answer to a submit carries the next item. Whatever fails (the server was killed) is
begun again from the work page, as by somebody who reloads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import statistics
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlencode, urlsplit

TIMEOUT = 30
PAUSE_AFTER_FAILURE = 0.05
ENTRY_SECONDS = 60.0
GIVE_UP_AFTER = 60  # seconds in which nobody got an answer through
REDIRECTS = 6
NEXT_FORM = re.compile(rb'(?:action|hx-post)="(/s/[\w-]+/work/(\d+)/)"')
CLAIM_FORM = re.compile(rb'action="(/s/[\w-]+/work/)"')  # a claim changes something, so it is not a GET
WORK_PAGE = re.compile(r"/s/[\w-]+/work/$")
POTATO_ITEM = re.compile(rb'id="instance_id"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*id="instance_id"')


class Failed(Exception):  # noqa: N818
    """An answer that was not to be expected; what was asked may or may not have been done."""


FAILURES = (OSError, EOFError, TimeoutError, Failed)


@dataclass
class Answer:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


class Browser:
    """HTTP/1.1 over one connection, with cookies."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/x-www-form-urlencoded",
        **headers: str,
    ) -> Answer:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._request(method, path, body, kind, headers)
        except BaseException:
            self.close()
            raise

    async def _request(
        self, method: str, path: str, body: bytes | None, kind: str, headers: dict[str, str]
    ) -> Answer:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        assert self._reader is not None
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Accept-Encoding: gzip"]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        if body is not None:
            lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        answer = await self._read(self._reader)
        if answer.headers.get("connection") == "close":
            self.close()
        return answer

    async def _read(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                cookie, _, content = value.partition(";")[0].strip().partition("=")
                self.cookies[cookie] = content
            headers[name.lower()] = value
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int((await reader.readline()).partition(b";")[0], 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("content-encoding") == "gzip":
            body = zlib.decompress(body, wbits=31)
        return Answer(int(head[0].split(" ", 2)[1]), headers, body)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class Person(Protocol):
    """Somebody who labels at some site."""

    async def enter(self) -> bool:
        """Come to an item, for the first time or again. False when there is nothing (for the moment)."""

    async def answer(self) -> bool:
        """Answer it, acknowledge that, and come to the next. False when there is none."""

    def close(self) -> None: ...


@dataclass
class Log:
    """What happened: acknowledged answers as (assignment or item, choice as shown), times, failures."""

    acknowledged: list[tuple[int | str, int]] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def pairs_per_s(self) -> float:
        return len(self.acknowledged) / self.seconds

    def quantile(self, percent: int) -> float:
        return statistics.quantiles(self.milliseconds, n=100)[percent - 1]


class Annotator:
    """At our own site, through the pages that people use."""

    def __init__(self, port: int, resume_path: str, log: Log, seed: int) -> None:
        self.browser, self.resume_path, self.log = Browser(port), resume_path, log
        self.random = random.Random(seed)
        self.form, self.assignment = "", 0
        self.work_page = ""

    async def enter(self) -> bool:
        if not self.work_page:
            self.browser.cookies.clear()
        answer = await self._follow(self.work_page or self.resume_path)
        if claim := CLAIM_FORM.search(answer.body):
            answer = await self._post(claim[1].decode(), {"was": ""})
        return self._read(answer)

    async def _post(self, path: str, fields: dict[str, object]) -> Answer:
        """As htmx does it, so that the answer is the next part of the page."""
        answer = await self.browser.request(
            "POST",
            path,
            urlencode(fields).encode(),
            HX_Request="true",
            HX_Target="work",
            HX_Current_URL=f"http://127.0.0.1:{self.browser.port}{path}",
            X_CSRFToken=self.browser.cookies.get("csrftoken", ""),
        )
        if answer.status >= 400:
            raise Failed(f"status {answer.status}")
        return answer

    async def _follow(self, path: str) -> Answer:
        for _ in range(REDIRECTS):
            if WORK_PAGE.search(path):
                self.work_page = path
            answer = await self.browser.request("GET", path)
            if answer.status not in (301, 302, 303):
                return answer
            path = urlsplit(answer.headers["location"]).path
        raise Failed("too many redirects")

    def _read(self, answer: Answer) -> bool:
        if answer.status != 200:
            raise Failed(f"status {answer.status}")
        found = NEXT_FORM.search(answer.body)
        if found is None:
            return False
        self.form, self.assignment = found[1].decode(), int(found[2])
        return True

    async def answer(self) -> bool:
        choice, answered = self.random.choice((0, 1, 2)), self.assignment
        began = time.perf_counter()
        answer = await self._post(self.form, {"choice": choice, "active_ms": 900, "wall_ms": 1000})
        self.log.acknowledged.append((answered, choice))
        elsewhere = answer.headers.get("location") or answer.headers.get("hx-redirect")
        if elsewhere:
            answer = await self._follow(urlsplit(elsewhere).path)
        there = self._read(answer)
        self.log.milliseconds.append(1000 * (time.perf_counter() - began))
        return there

    def close(self) -> None:
        self.browser.close()


class AheadAnnotator(Annotator):
    """The same where a study fetches items ahead: an answer brings what comes later; now and then one has waited."""

    WAITED = 0.2

    def __init__(self, port: int, resume_path: str, log: Log, seed: int) -> None:
        super().__init__(port, resume_path, log, seed)
        self.order: list[int] = []

    async def enter(self) -> bool:
        return await super().enter() and self._fetched(
            await self._post(f"{self._work()}ahead/", {"known": ""})
        )

    def _work(self) -> str:
        return self.form.rsplit("/", 2)[0] + "/"

    def _fetched(self, answer: Answer) -> bool:
        if answer.status != 200 or not answer.headers.get("content-type", "").startswith("application/json"):
            raise Failed(f"status {answer.status}")
        found = json.loads(answer.body)
        self.order = [] if found.get("go") else found["order"]
        return bool(self.order)

    async def answer(self) -> bool:
        if len(self.order) > 1 and self.random.random() < self.WAITED:
            await self._submit(self.order[0], alone="1")
            self.order = self.order[1:]
        began = time.perf_counter()
        known = ",".join(map(str, self.order))
        there = self._fetched(await self._submit(self.order[0], ahead="1", known=known))
        self.log.milliseconds.append(1000 * (time.perf_counter() - began))
        return there

    async def _submit(self, assignment: int, **how: str) -> Answer:
        choice = self.random.choice((0, 1, 2))
        fields = {"choice": choice, "active_ms": 900, "wall_ms": 1000}
        answer = await self._post(f"{self._work()}{assignment}/", {**fields, **how})
        if answer.status != 204 and (answer.status != 200 or not answer.body.startswith(b"{")):
            raise Failed(f"status {answer.status}")
        self.log.acknowledged.append((assignment, choice))
        return answer


class PotatoAnnotator:
    """At Potato: the label is posted, then the page asks for the next instance and is loaded again, as its own
    script does.
    """

    def __init__(self, port: int, name: str, log: Log, seed: int) -> None:
        self.browser, self.name, self.log = Browser(port), name, log
        self.random = random.Random(seed)
        self.item = ""
        self.known = False

    async def enter(self) -> bool:
        if not self.known:
            form = urlencode({"email": self.name, "action": "login"}).encode()
            if (await self.browser.request("POST", "/auth", form)).status >= 400:
                raise Failed("no login")
            self.known = True
        return self._read(await self.browser.request("GET", "/annotate"))

    def _read(self, answer: Answer) -> bool:
        if answer.status != 200:
            raise Failed(f"status {answer.status}")
        found = POTATO_ITEM.search(answer.body)
        if found is None:
            return False
        self.item = (found[1] or found[2]).decode()
        return True

    async def answer(self) -> bool:
        choice = self.random.choice((0, 1, 2))
        label = {
            "instance_id": self.item,
            "annotations": {"pref:selection": ("tie", "A", "B")[choice]},
            "cleared_schemas": [],
            "span_annotations": [],
            "response_time_seconds": 1.0,
        }
        began = time.perf_counter()
        answer = await self._json("/updateinstance", label)
        if answer.status != 200 or json.loads(answer.body).get("status") not in ("success", "ok"):
            raise Failed(f"status {answer.status}")
        self.log.acknowledged.append((self.item, choice))
        moved = await self._json(
            "/annotate", {"action": "next_instance", "instance_id": self.item}, X_Potato_Navigation="1"
        )
        if moved.status >= 400:
            raise Failed(f"status {moved.status}")
        there = self._read(await self.browser.request("GET", "/annotate"))
        self.log.milliseconds.append(1000 * (time.perf_counter() - began))
        return there

    async def _json(self, path: str, data: object, **headers: str) -> Answer:
        return await self.browser.request(
            "POST", path, json.dumps(data).encode(), "application/json", **headers
        )

    def close(self) -> None:
        self.browser.close()


def run(
    people: Sequence[Person],
    log: Log,
    *,
    seconds: float = 1e9,
    pairs: float = 1e9,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Let all of them work at once until the time is over, that many pairs are acknowledged or all is labelled."""
    # In a thread of its own: whoever calls may have an event loop in theirs.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(_run(people, log, seconds, pairs, until))).result()


async def _run(
    people: Sequence[Person], log: Log, seconds: float, pairs: float, until: Callable[[], bool]
) -> None:
    await asyncio.gather(*(entered(person, log) for person in people))
    began = time.perf_counter()

    def over() -> bool:
        return time.perf_counter() - began >= seconds or len(log.acknowledged) >= pairs or until()

    async def watch() -> None:
        seen, since = -1, time.perf_counter()
        while not over():
            await asyncio.sleep(0.2)
            if len(log.acknowledged) != seen:
                seen, since = len(log.acknowledged), time.perf_counter()
            elif time.perf_counter() - since > GIVE_UP_AFTER:
                raise RuntimeError(f"nothing is acknowledged any more: {log.failures}")

    async def work(person: Person) -> None:
        there = True
        while not over():
            try:
                there = await (person.answer() if there else person.enter())
                if not there:  # left to others for the moment, or done
                    await asyncio.sleep(0.2)
                    log.failures["nothing there"] += 1
            except FAILURES as error:
                log.failures[str(error) if isinstance(error, Failed) else type(error).__name__] += 1
                there = False
                await asyncio.sleep(PAUSE_AFTER_FAILURE)

    await asyncio.gather(watch(), *(work(person) for person in people))
    log.seconds = time.perf_counter() - began
    for person in people:
        person.close()
    await asyncio.sleep(0)


async def entered(person: Person, log: Log) -> None:
    """Let the person come to an item; raises `RuntimeError` when they do not for long, as after a server's death."""
    until = time.monotonic() + ENTRY_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(*FAILURES):
            if await person.enter():
                return
        log.failures["no entry yet"] += 1
        await asyncio.sleep(PAUSE_AFTER_FAILURE)
    raise RuntimeError("someone does not get in")
