"""Dataclasses of which there are several for every request to a model.

A frozen dataclass is made by one call of `object.__setattr__` a field: a microsecond and more, several times a request.
`record` is `dataclass` for the type checker, which refuses to change a field of a frozen one, and leaves the freezing
out when the program runs.
"""

from typing import TYPE_CHECKING

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool, slots: bool):  # noqa: ARG001 (for the type checker)
        """Make a dataclass that is compared and hashed by its fields as a frozen one is."""
        return dataclass(slots=slots, unsafe_hash=True)
