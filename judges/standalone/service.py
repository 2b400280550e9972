"""A judge that waits for items: one thread drives the engine for as many callers as there are."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from judges.engine.codec import Result
from judges.engine.options import EngineOptions
from judges.engine.works import Row, Sink, Work
from judges.standalone.requests import MemoryStore
from judges.standalone.sessions import BackendMaker, JudgeSession, ModelAccess
from judges.strategies.spec import JudgeSpec
from judges.strategies.types import ItemView

WAIT = 0.01
"""Seconds in which an item that comes while others are under way is taken up."""
Done = Future[tuple[Work, Result]]


class JudgeUnavailableError(Exception):
    """The judge's models cannot be asked; the message says why."""


class JudgeService:
    """Judges what is submitted, until it is closed.

    Raises
    ------
    BackendError
        A model cannot be asked; the message says why.
    """

    def __init__(
        self,
        spec: JudgeSpec,
        *,
        access: ModelAccess,
        options: EngineOptions | None = None,
        backends: BackendMaker | None = None,
    ) -> None:
        self._new: queue.SimpleQueue[tuple[ItemView, Done] | None] = queue.SimpleQueue()
        self._waiting: deque[tuple[ItemView, Done]] = deque()
        self._asked: dict[int, Done] = {}
        self._is_closed = False
        self._settings: dict[str, Any] = {"access": access, "options": options, "backends": backends}
        self._spec = spec
        self._session = self._begin()
        self._thread = threading.Thread(target=self._work, name="touchstone-judge", daemon=True)
        self._thread.start()

    def _begin(self) -> JudgeSession:
        # A result's row is made while its work is at hand: that is when the caller is told.
        return JudgeSession(
            self._spec,
            store=MemoryStore(),
            sink=Sink(self._told, len),
            source=self._source(),
            **self._settings,
        )

    def submit(self, item: ItemView) -> Done:
        """Judge an item as it is presented; the future has the work and its result."""
        if self._is_closed:
            raise JudgeUnavailableError("The judge is closed.")
        done: Done = Future()
        self._new.put((item, done))
        return done

    def _source(self) -> Iterator[ItemView]:
        # An iterator that ends is asked again by the engine only if `exhausted` is taken back: see `_work`.
        return iter(self._next, None)

    def _next(self) -> ItemView | None:
        while self._waiting:
            item, done = self._waiting.popleft()
            if done.set_running_or_notify_cancel():
                self._asked[id(item)] = done
                return item
        return None

    def _told(self, work: Work, result: Result) -> Row:
        done = self._asked.pop(id(work.item), None)
        if done is not None:
            done.set_result((work, result))
        return ()

    def _work(self) -> None:
        try:
            while self._take():
                self._session.run.source = self._source()
                self._session.run.exhausted = not self._waiting
                self._session.engine.step(longest_wait=WAIT)
                if self._session.engine.troubles:
                    self._give_up("; ".join(message for _, message, _ in self._session.engine.troubles))
        except BaseException as error:
            self._is_closed = True
            self._fail_all(f"The judge broke down: {type(error).__name__}: {error}")
            raise
        finally:
            self._session.close()
            self._fail_all("The judge is closed.")

    def _take(self) -> bool:
        """Take in what was submitted, waiting for it where nothing is under way; False once it is to end."""
        is_idle = not (self._asked or self._waiting)
        while True:
            try:
                new = self._new.get(block=is_idle)
            except queue.Empty:
                return True
            if new is None:
                return False
            self._waiting.append(new)
            is_idle = False

    def _give_up(self, message: str) -> None:
        """Fail what is under way; what is submitted from here on tries anew."""
        self._fail_all(message)
        self._session.close()
        self._session = self._begin()

    def _fail_all(self, message: str) -> None:
        left = [*self._asked.values(), *(done for _, done in self._waiting)]
        self._asked.clear()
        self._waiting.clear()
        for done in left:
            if not done.done():
                done.set_exception(JudgeUnavailableError(message))

    def close(self) -> None:
        """End the thread and the backends; what is under way fails. May be called twice."""
        if not self._is_closed:
            self._is_closed = True
            self._new.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)
