"""A backend whose requests run on an event loop in a thread of its own, so many at a time.

What asks the model is a subclass's: `_ask` for one request, `_end` when all is over.
"""

import asyncio
import threading
from collections import deque

from judges.backends.base import Mailbox, Outcome
from judges.backends.errors import BackendError, NotSentError, PermanentBackendError
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer


class AsyncBackend:
    """Submit, wait for a free place, ask, drain.

    What waits is asked as soon as a place is free, by the loop itself: the engine's thread need not run in between.
    Where a request fails, all that waits comes back as `NotSentError`: whether to go on is the engine's business.

    Parameters
    ----------
    capacity : int
        Requests in flight, >= 1; those beyond it wait.
    name : str
        Of the thread.
    """

    _key = ""

    def __init__(self, *, capacity: int, name: str) -> None:
        self.capacity = capacity
        self._mailbox = Mailbox()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._waiting: deque[tuple[int, WireRequest]] = deque()
        self._places = capacity
        self._n_active = 0
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
        self._thread.start()

    async def _ask(self, request: WireRequest) -> Answer:
        """Ask the model; raises BackendError of the class that says what to do about it."""
        raise NotImplementedError

    async def _end(self) -> None:
        """Free what `_ask` used."""

    def _clean(self, message: str) -> str:
        """Return a message without the key."""
        return message.replace(self._key, "[key]") if self._key else message

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    @property
    def places(self) -> int:
        """Requests in flight, at most `capacity`: fewer where others ask the same server."""
        return self._places

    @places.setter
    def places(self, n: int) -> None:
        self._places = max(min(n, self.capacity), 1)
        if self._waiting:
            self._loop.call_soon_threadsafe(self._start)

    def submit(self, token: int, request: WireRequest) -> None:
        """Start a request, or let it wait for a free place; returns at once."""
        if self._mailbox.closed:
            raise RuntimeError("the backend is closed")
        self._mailbox.expect()
        self._waiting.append((token, request))
        # In this order: a task that finds nothing to do says so first, and then looks again.
        if self._n_active < self._places:
            self._loop.call_soon_threadsafe(self._start)

    def recall(self) -> None:
        """Give back all that waits, the last first, as `NotSentError`; any thread may call it."""
        while self._waiting:
            try:  # the loop's thread may take it meanwhile
                token, _ = self._waiting.pop()
            except IndexError:
                return
            self._mailbox.put(token, NotSentError())

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has finished, waiting up to `timeout` seconds for the first."""
        return self._mailbox.drain(timeout)

    def close(self) -> None:
        """Cancel what is in flight and end the thread."""
        if self._mailbox.closed:
            return
        self._mailbox.closed = True  # what is put from here on is still expected, until the thread has ended
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._mailbox.close()  # what was cancelled never comes, so `drain` must not wait for it

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

    def _start(self) -> None:
        for _ in range(min(len(self._waiting), self._places - self._n_active)):
            self._n_active += 1
            task = self._loop.create_task(self._work())
            # The loop keeps only a weak reference to a task.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Ask one request after the other, as long as some wait and there are not too many at work."""
        while self._n_active <= self._places:
            try:
                token, request = self._waiting.popleft()
            except IndexError:
                break
            await self._answer(token, request)
        self._n_active -= 1
        self._start()

    async def _answer(self, token: int, request: WireRequest) -> None:
        result: Answer | BackendError
        try:
            result = await self._ask(request)
        except BackendError as error:
            result = error
        except Exception as error:  # a token that never comes back would hang the engine
            result = PermanentBackendError(self._clean(f"{type(error).__name__}: {error}"))
        if isinstance(result, BackendError):
            self.recall()
        self._mailbox.put(token, result)
