"""The threads that answer requests: few at a time, and more when those are held up.

Python runs one thread at a time, so requests that are answered at once slow each other down, and all of them are late.
Answered two at a time, in the order in which they came, the first are early and the last no later. Two, because one
waits for the database while the other computes. Pages that take seconds would hold up the others, so a request that has
waited for a while gets a thread beside these.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 2
PATIENCE = 0.1
"""Seconds that a request waits before it gets a thread beside; behind people who never pause it waits for less."""

Answer = TypeVar("Answer")


class PageThreads:
    """So many threads in all; up to `AT_ONCE` of them take what comes."""

    def __init__(self, threads: int) -> None:
        self._first = ThreadPoolExecutor(min(AT_ONCE, threads), thread_name_prefix="page")
        self._most_beside = max(threads - AT_ONCE, 0)
        self._beside = 0
        self._further = ThreadPoolExecutor(max(self._most_beside, 1), thread_name_prefix="page-beside")

    async def run(self, call: Callable[..., Answer], *given: object) -> Answer:
        """Return what the call returns, or raise what it raises."""
        submitted = self._first.submit(call, *given)
        result = asyncio.wrap_future(submitted)
        try:
            while self._most_beside:
                done, _ = await asyncio.wait((result,), timeout=PATIENCE)
                if done or submitted.running():
                    break
                # What has begun can't be cancelled. What hasn't is taken from the line and answered once.
                if self._beside < self._most_beside and submitted.cancel():
                    return await self._run_beside(call, *given)
            return await result
        finally:
            submitted.cancel()  # if the client has gone meanwhile; does nothing to what has begun

    async def _run_beside(self, call: Callable[..., Answer], *given: object) -> Answer:
        self._beside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._further, call, *given)
        finally:
            self._beside -= 1
