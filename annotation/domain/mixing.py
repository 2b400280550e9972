"""Which turns of a person's work are hidden checks or repeats of their own: kept to the rate, and not to be guessed.

The turns are cut into blocks, each as long as one hidden item takes at the rate (ten turns at 0.1), and each block has
its one hidden item at a place drawn from a secret key. So the rate is kept from the first block on, in every stretch of
the work, and nobody without the key can tell where it is. Nothing is stored: the same turn of the same person is the
same whenever it is asked for.
"""

import hmac
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor

WORK, CHECK, REPEAT = "work", "check", "repeat"
PRECISION = 1000  # a rate is a fraction with a denominator up to this
SPACED = 3  # from this length on, the first turn of a block is work, so two hidden items never touch


def role_of_turn(key: bytes, turn: int, *, check_rate: float, repeat_rate: float) -> str:
    """`work`, `check` or `repeat`, for the item that a person is given after `turn` others.

    Where both checks and repeats are mixed in, they share the hidden places in proportion to their rates.

    Examples
    --------
    >>> turns = [role_of_turn(b"key", turn, check_rate=0.1, repeat_rate=0.1) for turn in range(100)]
    >>> turns.count("check"), turns.count("repeat")
    (10, 10)
    """
    checks, repeats = (Fraction(rate).limit_denominator(PRECISION) for rate in (check_rate, repeat_rate))
    hidden = min(checks + repeats, Fraction(1))
    if hidden <= 0:
        return WORK
    block = floor(turn * hidden)
    start, length = ceil(block / hidden), ceil((block + 1) / hidden) - ceil(block / hidden)
    first = 1 if length >= SPACED else 0
    if turn - start != first + _lot(key, "place", block) % (length - first):
        return WORK
    # The k-th hidden place is a check where the running count of checks, from a drawn beginning, steps up.
    share, phase = checks / (checks + repeats), Fraction(_lot(key, "phase", 0) % PRECISION, PRECISION)
    return CHECK if floor((block + 1) * share + phase) > floor(block * share + phase) else REPEAT


def pick(key: bytes, candidates: Iterable[int]) -> int | None:
    """One of the candidates, in an order that is another for each key; None if there are none."""
    return min(candidates, key=lambda candidate: (_lot(key, "pick", candidate), candidate), default=None)


def _lot(key: bytes, purpose: str, number: int) -> int:
    return int.from_bytes(hmac.digest(key, f"{purpose}:{number}".encode(), "sha256")[:8])
