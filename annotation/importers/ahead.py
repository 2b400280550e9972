"""Reading ahead: the next part of a file is read while the one before it is stored."""

import threading
from collections.abc import Iterator
from queue import Full, Queue
from typing import TypeVar

T = TypeVar("T")
_END = object()
_LOOK_SECONDS = 0.2


def read_ahead(parts: Iterator[T]) -> Iterator[T]:
    """Yield the parts, of which one is made in advance, in a thread of its own.

    What making them raises is raised where it would have been. Closing the iterator closes `parts`.
    """
    made: Queue[object] = Queue(maxsize=1)
    stopped = threading.Event()

    def put(one: object) -> bool:
        while not stopped.is_set():
            try:
                made.put(one, timeout=_LOOK_SECONDS)
            except Full:
                continue
            return True
        return False

    def make() -> None:
        end: object = _END
        try:
            for one in parts:
                if not put(one):
                    break
        except BaseException as error:
            end = _Raised(error)
        finally:
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        put(end)

    reader = threading.Thread(target=make, name="reading-ahead", daemon=True)
    reader.start()
    try:
        while (one := made.get()) is not _END:
            if isinstance(one, _Raised):
                raise one.error
            yield one  # type: ignore[misc]
    finally:
        stopped.set()
        reader.join()


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error
