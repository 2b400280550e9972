"""One at a time; beside it what would wait for long; each call once."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from config.page_threads import PageThreads

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


def test_what_is_quick_is_answered_once_and_one_at_a_time():
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
        return await asyncio.gather(*tasks_of(PageThreads(4, patience=20), quick, 40))

    assert finished(run) == begun == list(range(40)), "in the order in which they came"
    assert most == 1


def test_what_would_wait_for_long_gets_a_thread_beside_and_the_rest_waits():
    async def run() -> None:
        held = Held()
        tasks = tasks_of(PageThreads(4), held, 6)
        first, *beside = await held.until_begun(4)
        assert first == 0
        waiting = sorted({1, 2, 3, 4, 5} - set(beside))  # they came within a few microseconds
        held.end(first)  # one that waits takes its place
        assert (await held.until_begun(5))[4] == waiting[0]
        held.end(beside[0])
        assert (await held.until_begun(6))[5] == waiting[1]
        held.end(*range(6))
        assert await asyncio.gather(*tasks) == list(range(6))
        assert sorted(held.begun) == list(range(6)), "each once"

    finished(run)


def test_what_comes_while_the_first_is_held_up_does_not_wait():
    now = 0.0

    async def run() -> None:
        nonlocal now
        held, threads = Held(), PageThreads(3, patience=1000, clock=lambda: now)
        first = tasks_of(threads, held, 1)
        await held.until_begun(1)
        now = 1001.0  # the first has been answered for so long
        beside = asyncio.create_task(threads.run(held, 1))
        assert await held.until_begun(2) == [0, 1]
        held.end(0, 1, 2, 3)
        assert await asyncio.gather(*first, beside) == [0, 1]
        # It is free again: what comes now is answered there, in order.
        assert await asyncio.gather(*(threads.run(held, number) for number in (2, 3))) == [2, 3]
        assert held.begun == [0, 1, 2, 3]

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
        begun = await held.until_begun(2)
        gone = next(number for number in range(4) if number not in begun)
        tasks[gone].cancel()
        await asyncio.wait((tasks[gone],))
        held.end(*range(4))
        left = [number for number in range(4) if number != gone]
        assert await asyncio.gather(*(tasks[number] for number in left)) == left
        assert sorted(held.begun) == left

    finished(run)


def test_a_mistake_is_told():
    def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        finished(lambda: PageThreads(4).run(broken))
