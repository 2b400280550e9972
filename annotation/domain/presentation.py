"""The order in which responses are shown: random per (annotator, item), the same whenever it is asked for."""

from hashlib import sha256
from uuid import UUID


def shown_order(annotator: UUID, item_id: int, n_responses: int = 2, *, salt: str = "") -> list[int]:
    """Response positions in the order in which this person sees them: ``[1, 0]`` shows the second as A.

    Each position gets a hash of (annotator, item, position) as its lot, so every order is equally likely, no
    state is needed, and no version of Python's `random` can change what a person sees after a reload. A `salt`
    draws anew, for the same item given a second time.

    Examples
    --------
    >>> shown_order(UUID(int=1), 7) == shown_order(UUID(int=1), 7)
    True
    """
    if n_responses < 0:
        raise ValueError(f"n_responses must not be negative, got {n_responses}")

    def lot(position: int) -> bytes:
        return sha256(f"{annotator.hex}:{item_id}:{position}{salt}".encode()).digest()

    return sorted(range(n_responses), key=lot)
