"""Submits that arrive at a given rate, whether the earlier ones are answered or not: an open loop.

In a closed loop (`bench.load.run`) a slow server slows its clients down, and is asked less when it is at its worst.
Here arrivals are a Poisson process, and a time begins when a submit is due, not when someone is free to send it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.load import FAILURES, Failed, Log, Person, entered

DRAIN_SECONDS = 30
ENTER_AT_ONCE = 32
"""Thousands who come in the same second would wait for each other until they give up."""


def run_open(
    people: Sequence[Person],
    log: Log,
    *,
    per_second: float,
    seconds: float,
    seed: int = 0,
    are_there: bool = False,
) -> None:
    """Submit at `per_second` for `seconds`; the milliseconds of each in the log are from when it was due.

    The people come to their first item before, unless they `are_there` already.

    Raises `RuntimeError` when the site is so far behind that what was due is not answered `DRAIN_SECONDS` later.
    """
    # In a thread of its own: the caller may have an event loop.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(
            lambda: asyncio.run(_run(people, log, per_second, seconds, random.Random(seed), are_there))
        ).result()


async def _run(
    people: Sequence[Person],
    log: Log,
    per_second: float,
    seconds: float,
    chance: random.Random,
    are_there: bool,
) -> None:
    at_once = asyncio.Semaphore(ENTER_AT_ONCE)

    async def enter(person: Person) -> None:
        async with at_once:
            await entered(person, log)

    if not are_there:
        await asyncio.gather(*(enter(person) for person in people))
    free, due, times = deque(people), deque[float](), list[float]()
    wake, began, is_over = asyncio.Condition(), time.perf_counter(), False

    async def arrive() -> None:
        nonlocal is_over
        at = began
        while (at := at + chance.expovariate(per_second)) < began + seconds:
            await asyncio.sleep(at - time.perf_counter())
            async with wake:
                due.append(at)
                wake.notify()
        async with wake:
            is_over = True
            wake.notify_all()

    async def work() -> None:
        while True:
            async with wake:
                await wake.wait_for(lambda: (due and free) or (is_over and not due))
                if not due:
                    return
                at, person = due.popleft(), free.popleft()
            try:
                is_next = await person.answer()
                times.append(1000 * (time.perf_counter() - at))
                if not is_next:
                    await entered(person, log)
            except FAILURES as error:
                log.failures[str(error) if isinstance(error, Failed) else type(error).__name__] += 1
                await entered(person, log)
            async with wake:
                free.append(person)
                wake.notify()

    try:
        async with asyncio.timeout(seconds + DRAIN_SECONDS):
            await asyncio.gather(arrive(), *(work() for _ in people))
    except TimeoutError:
        raise RuntimeError(f"{len(due)} submits still wait; failures: {dict(log.failures)}") from None
    finally:
        for person in people:
            person.close()
    log.seconds = time.perf_counter() - began
    log.milliseconds = times  # people log theirs too, from when they send
    await asyncio.sleep(0)
