"""When Python's garbage collector looks, and through what: it stops all threads meanwhile."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OF_REQUESTS = 10_000
"""Objects made by people's requests after which it looks among them. Few refer to each other; a look takes 0.3 ms, and
after 700 objects, Python's own number, every fourth answer had one."""
OF_SESSIONS = 50_000
"""The same in a session of an engine, whose objects live until their answer is stored."""

is_for_good = False


def freeze_for_good() -> None:
    """Never search again what is in memory now, as a web process does once it is ready.

    A full collection takes 160 ms with the site's modules, in the middle of a request.
    """
    global is_for_good
    is_for_good = True
    gc.collect()
    gc.freeze()
    gc.set_threshold(OF_REQUESTS)


@contextmanager
def present_frozen() -> Iterator[None]:
    """Keep what is in memory already, all of Django for a start, from being searched for garbage during a session.

    The objects of its requests set off full collections, which took a fifth of the engine's time. A process that has
    frozen objects for good is left as it is: Python can only give all of them back at once.
    """
    if is_for_good:
        yield
        return
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(OF_SESSIONS, *before[1:])
    try:
        yield
    finally:
        if not is_for_good:  # the web process may have become ready meanwhile
            gc.set_threshold(*before)
            gc.unfreeze()
