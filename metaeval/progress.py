"""How far a long computation is, told to whoever asked for it, without an argument through every function."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Takes a step's name, how much of it is done, and how much there is; may raise to end the computation.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` of all steps inside; what it raises ends the computation."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def told(step: str, of: int, things: Iterable[T]) -> Iterator[T]:
    """Go through `things`, telling how many of them are done.

    Examples
    --------
    >>> with listening(lambda *step: print(*step)):
    ...     total = sum(told("Judges", 2, [3, 4]))
    Judges 0 2
    Judges 1 2
    Judges 2 2
    """
    listener = _listener.get()
    for done, thing in enumerate(things):
        if listener is not None:
            listener(step, done, of)
        yield thing
    if listener is not None:
        listener(step, of, of)
