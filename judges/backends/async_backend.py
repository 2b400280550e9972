"""A backend whose requests run on an event loop in a thread of its own, so many at a time.

What asks the model is a subclass's: `_ask` for one request, `_end` when all is over.
"""

import asyncio
import threading

from judges.backends.base import Mailbox, Outcome
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

    _key = ""

    def __init__(self, *, capacity: int, name: str) -> None:
        self.capacity = capacity
        self._mailbox = Mailbox()
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
        return message.replace(self._key, "[key]") if self._key else message

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def submit(self, token: int, request: WireRequest) -> None:
        """Start a request; returns at once."""
        if self._mailbox.closed:
            raise RuntimeError("the backend is closed")
        self._mailbox.expect()
        self._loop.call_soon_threadsafe(self._spawn, token, request)

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
        self._mailbox.put(token, result)
