"""A backend whose requests run on an event loop in a thread of its own, so many at a time.

What asks the model is a subclass's: `_ask` for one request, `_end` when all is over.
"""

from __future__ import annotations

import asyncio
import queue
import threading

from judges.backends.base import Outcome
from judges.backends.errors import BackendError, PermanentBackendError
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer


class AsyncBackend:
    """Submit, wait for a free place, ask, drain.

    Parameters
    ----------
    capacity : int
        Requests in flight, >= 1; those beyond it wait.
    name : str
        Of the thread.
    """

    def __init__(self, *, capacity: int, name: str) -> None:
        self.capacity = capacity
        self._finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._places = asyncio.Semaphore(capacity)
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
        self._thread.start()

    async def _ask(self, request: WireRequest) -> Answer:
        """Ask the model; raises BackendError of the class that says what to do about it."""
        raise NotImplementedError

    async def _end(self) -> None:
        """Free what `_ask` used."""

    def _clean(self, message: str) -> str:
        """Return a message without the key."""
        return message

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def submit(self, token: int, request: WireRequest) -> None:
        """Start a request; returns at once."""
        if self._closed:
            raise RuntimeError("the backend is closed")
        with self._lock:
            self._in_flight += 1
        self._loop.call_soon_threadsafe(self._spawn, token, request)

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has finished, waiting up to `timeout` seconds for the first."""
        with self._lock:
            if not self._in_flight:
                return []
        finished: list[Outcome] = []
        try:
            finished.append(self._finished.get(timeout=max(timeout, 0.0)))
            while True:
                finished.append(self._finished.get_nowait())
        except queue.Empty:
            pass
        with self._lock:
            self._in_flight -= len(finished)
        return finished

    def close(self) -> None:
        """Cancel what is in flight and end the thread."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        with self._lock:
            self._in_flight = 0  # what was cancelled never comes, so `drain` must not wait for it

    async def _shut_down(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._end()
        # Libraries leave tasks of their own behind, which a closed loop would complain about.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _spawn(self, token: int, request: WireRequest) -> None:
        task = self._loop.create_task(self._answer(token, request))
        # The loop keeps only a weak reference to a task.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, token: int, request: WireRequest) -> None:
        result: Answer | BackendError
        try:
            async with self._places:
                result = await self._ask(request)
        except BackendError as error:
            result = error
        except Exception as error:  # a token that never comes back would hang the engine
            result = PermanentBackendError(self._clean(f"{type(error).__name__}: {error}"))
        self._finished.put((token, result))
