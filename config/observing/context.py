"""What is being done in this thread: fields that every log line of it carries."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Field = str | int | None | Callable[[], str | int | None]

_fields: ContextVar[Mapping[str, Field]] = ContextVar("log_fields", default={})  # noqa: B039  (never changed)


@contextmanager
def log_fields_bound(**fields: Field) -> Iterator[None]:
    """Within it, log lines carry these fields, beside those bound outside. A callable is asked at each line."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


def log_fields_begin(**fields: Field) -> None:
    """Let log lines carry these fields, and no others, until `log_fields_end`."""
    _fields.set(fields)


def log_fields_end(**_: object) -> None:
    """Forget them."""
    _fields.set({})


def log_fields() -> dict[str, str | int]:
    """The fields that are bound now and have a value."""
    found = {name: value() if callable(value) else value for name, value in _fields.get().items()}
    return {name: value for name, value in found.items() if value is not None}
