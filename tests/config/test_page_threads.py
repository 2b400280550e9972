"""Two at a time; beside them whatever would wait for long; each call once."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from config.page_threads import AT_ONCE, PageThreads

Answer = TypeVar("Answer")


class Held:
    """Calls that are at work until they are let go."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.changed = threading.Condition()
        self.let_go: set[int] = set()

    def __call__(self, number: int) -> int:
        with self.changed:
            self.begun.append(number)
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: number in self.let_go, 20)
        return number

    def end(self, *numbers: int) -> None:
        with self.changed:
            self.let_go.update(numbers)
            self.changed.notify_all()

    async def until_begun(self, n: int) -> list[int]:
        def wait() -> list[int]:
            with self.changed:
                assert self.changed.wait_for(lambda: len(self.begun) >= n, 20)
                return list(self.begun)

        return await asyncio.to_thread(wait)


def finished(run: Callable[[], Coroutine[object, object, Answer]]) -> Answer:
    """What it returns, in a thread of its own: a browser test before may have left this one an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(run())).result()


def tasks_of(threads: PageThreads, call, n: int) -> list[asyncio.Task]:
    return [asyncio.create_task(threads.run(call, k)) for k in range(n)]


def test_what_is_quick_is_answered_once_and_never_more_than_two_at_a_time():
    at_work, most, begun = 0, 0, []
    lock = threading.Lock()

    def quick(number: int) -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
            begun.append(number)
        with lock:
            at_work -= 1
        return number

    async def run() -> list[int]:
        return await asyncio.gather(*tasks_of(PageThreads(4), quick, 40))

    assert finished(run) == sorted(begun) == list(range(40))
    assert most <= AT_ONCE


def test_what_would_wait_for_long_gets_a_thread_beside_and_the_rest_waits():
    async def run() -> None:
        held = Held()
        tasks = tasks_of(PageThreads(4), held, 6)
        assert sorted(await held.until_begun(4)) == [0, 1, 2, 3]
        held.end(0)  # one of the first two: who waits takes its place
        assert (await held.until_begun(5))[4] == 4
        held.end(2)  # one beside
        assert (await held.until_begun(6))[5] == 5
        held.end(1, 3, 4, 5)
        assert await asyncio.gather(*tasks) == list(range(6))
        assert sorted(held.begun) == list(range(6)), "each once"

    finished(run)


@pytest.mark.parametrize("threads", [1, 2])
def test_few_threads_stay_few(threads):
    async def run() -> None:
        held = Held()
        tasks = tasks_of(PageThreads(threads), held, 4)
        held.end(*range(4))
        assert await asyncio.gather(*tasks) == sorted(held.begun) == list(range(4))

    finished(run)


def test_what_nobody_waits_for_any_more_is_not_begun():
    async def run() -> None:
        held, threads = Held(), PageThreads(2)
        tasks = tasks_of(threads, held, 4)
        await held.until_begun(2)
        tasks[2].cancel()
        await asyncio.wait((tasks[2],))
        held.end(*range(4))
        assert await asyncio.gather(tasks[0], tasks[1], tasks[3]) == [0, 1, 3]
        assert sorted(held.begun) == [0, 1, 3]

    finished(run)


def test_a_mistake_is_told():
    def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        finished(lambda: PageThreads(4).run(broken))
