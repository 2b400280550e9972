"""Races, made on purpose: many at the same moment, and somebody else's step between two statements of one."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, connections
from django.test import Client

A = TypeVar("A")
R = TypeVar("R")
TOGETHER_WITHIN = 60  # seconds in which all have come to the start, also on a busy machine


def all_at_once(work: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
    """Run `work` of each argument in a thread of its own; all start together, and errors are raised."""
    start = threading.Barrier(len(arguments))

    def body(argument: A) -> R:
        try:
            start.wait(timeout=TOGETHER_WITHIN)
            return work(argument)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(body, arguments))


def browsers_of(user: AbstractBaseUser, count: int) -> list[Client]:
    """Browsers in which the user is logged in, each with a session of its own."""
    browsers = [Client() for _ in range(count)]
    for one in browsers:
        one.force_login(user)
    return browsers


@contextmanager
def _between(pattern: str, act: Callable[[], Any], *, times: int | None, before: bool) -> Iterator[list[str]]:
    wanted, met = re.compile(pattern), list[str]()
    acting = False

    def wrapper(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        nonlocal acting

        def now() -> None:
            nonlocal acting
            met.append(sql)
            acting = True
            try:
                act()
            finally:
                acting = False

        is_it = not acting and (times is None or len(met) < times) and wanted.search(sql)
        if is_it and before:
            now()
        done = execute(sql, *rest)
        if is_it and not before:
            now()
        return done

    with connection.execute_wrapper(wrapper):
        yield met
    assert met, f"no statement matched {pattern!r}"


def before(pattern: str, act: Callable[[], Any], *, times: int | None = 1):
    """Do `act` right before a statement that matches, as somebody else could; `times` None: before each of them.

    The step is taken in this transaction, so what undoes this one undoes it too. What `act` raises is raised by the
    statement, as of a database that fails. Yields the statements that were met.
    """
    return _between(pattern, act, times=times, before=True)


def after(pattern: str, act: Callable[[], Any], *, times: int | None = 1):
    """Do `act` right after a statement that matches: what it read is not so any more."""
    return _between(pattern, act, times=times, before=False)
