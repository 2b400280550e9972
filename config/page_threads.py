"""The threads that answer requests: one at a time, and more when that one is held up.

Python runs one thread at a time, so requests that are answered at once slow each other down, and all of them are late.
Answered in the order in which they came, the first are early and the last no later, and each finds the processor and
the connection to the database as the one before left them. A page that takes seconds would hold up the others, so a
request that has waited for a while, or comes while another has been answered for a while, gets a thread beside.
"""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

PATIENCE = 0.1
"""Seconds that a request waits at most while a thread is free. Sixteen people who never pause wait for less in two
processes, so they are still answered one at a time."""

Answer = TypeVar("Answer")


class PageThreads:
    """So many threads in all, the first of which takes what comes.

    Parameters
    ----------
    threads : int
        How many there are, 1 or more.
    patience : float
        Seconds after which a request that waits gets another thread; and how long one is answered until those behind
        it no longer wait.
    clock : callable
        Tells the time, in seconds.
    """

    def __init__(
        self, threads: int, *, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._patience, self._clock = patience, clock
        self._first = ThreadPoolExecutor(1, thread_name_prefix="page")
        self._began = math.inf  # when the first thread began what it is at
        self._most_beside = threads - 1
        self._beside = 0
        self._further = ThreadPoolExecutor(max(self._most_beside, 1), thread_name_prefix="page-beside")

    async def run(self, call: Callable[..., Answer], *given: object) -> Answer:
        """Return what the call returns, or raise what it raises."""
        came = self._clock()
        submitted = self._first.submit(self._run_first, call, *given)
        result = asyncio.wrap_future(submitted)
        try:
            while self._most_beside:
                is_full = self._beside >= self._most_beside
                done, _ = await asyncio.wait(
                    (result,), timeout=self._patience if is_full else self._left(came)
                )
                if done or submitted.running():
                    break
                # What has begun can't be cancelled. What hasn't is taken from the line and answered once.
                if self._beside < self._most_beside and self._left(came) <= 0 and submitted.cancel():
                    return await self._run_beside(call, *given)
            return await result
        finally:
            submitted.cancel()  # if the client has gone meanwhile; does nothing to what has begun

    def _left(self, came: float) -> float:
        """Return how many seconds a request that came then waits from now on; fewer behind a long page."""
        return self._patience - (self._clock() - min(came, self._began))

    def _run_first(self, call: Callable[..., Answer], *given: object) -> Answer:
        self._began = self._clock()
        try:
            return call(*given)
        finally:
            self._began = math.inf

    async def _run_beside(self, call: Callable[..., Answer], *given: object) -> Answer:
        self._beside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._further, call, *given)
        finally:
            self._beside -= 1
