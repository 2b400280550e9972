"""What services measure of themselves, and who is told: nobody, unless the deployment asks for it.

A service names an action; the deployment (`config.observing`) registers what counts it. So no service knows of a
library for metrics, and an unobserved action costs two readings of a clock.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import DatabaseError

P = ParamSpec("P")
R = TypeVar("R")

Observer = Callable[[str, str, float], None]
"""Told of each action: its name, its outcome, and how many seconds it took."""

FAILED = "failed"
"""The database did not take it."""
REFUSED = "refused"
"""The service said no."""

_observers: list[Observer] = []


def observe(observer: Observer) -> None:
    """Tell this one of every measured action from now on. Twice is once."""
    if observer not in _observers:
        _observers.append(observer)


def observe_no_more(observer: Observer) -> None:
    """Take back `observe`."""
    if observer in _observers:
        _observers.remove(observer)


def action_measured(action: str, outcome: Callable[[R], str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Measure each call of a service; `outcome` says in a word what a returned value means."""

    def decorate(service: Callable[P, R]) -> Callable[P, R]:
        @wraps(service)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            began = time.perf_counter()
            word = FAILED
            try:
                result = service(*args, **kwargs)
                word = outcome(result)
            except DatabaseError:
                raise
            except Exception:
                word = REFUSED
                raise
            finally:
                seconds = time.perf_counter() - began
                for observer in _observers:
                    observer(action, word, seconds)
            return result

        return call

    return decorate
