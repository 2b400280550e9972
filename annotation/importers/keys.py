"""Names and the number of each, as many as an import has: memory does not grow with them."""

import json
import sqlite3
from collections.abc import Collection, Iterable

_CACHE_KIB = 8192
BITS = 25
MASK = (1 << BITS) - 1


class KeyStore:
    """A mapping of names to numbers in a file that is gone with it.

    Names have no NUL, at which SQLite's JSON ends a text; readers refuse files with one.

    Most names that are asked for are not there, which a Bloom filter of 4 MiB says without a look into the file: of a
    million names it is mistaken once in 300 times, which costs the look.
    """

    def __init__(self) -> None:
        self.is_empty = True

    def add(self, pairs: Iterable[tuple[str, int]]) -> None:
        """Add names with their numbers; of a name that is there the number is replaced."""
        new = dict(pairs)
        if not new:
            return
        if self.is_empty:
            self._open()
        for name in new:
            self._note(hash(name))
        # One statement: between rows, another thread would take the interpreter.
        self._file.execute(
            "INSERT OR REPLACE INTO keys SELECT key, value FROM json_each(?) ORDER BY key", (json.dumps(new),)
        )

    def get(self, name: str) -> int | None:
        """Return the number of a name, or None."""
        return self.found((name,)).get(name) if self._may_have(name) else None

    def found(self, names: Collection[str]) -> dict[str, int]:
        """Return those of the names that are there, with their numbers."""
        likely = [name for name in names if self._may_have(name)]
        if not likely:
            return {}
        query = "SELECT name, number FROM keys WHERE name IN (SELECT value FROM json_each(?))"
        return dict(self._file.execute(query, (json.dumps(likely),)))

    def _open(self) -> None:
        self.is_empty = False
        self._bits = bytearray(1 << (BITS - 3))
        # An empty name is a temporary file; the thread that frees it last need not be the one that made it.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._file.execute("CREATE TABLE keys (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID")

    def _note(self, key: int) -> None:
        for bit in (key & MASK, key >> BITS & MASK):
            self._bits[bit >> 3] |= 1 << (bit & 7)

    def _may_have(self, name: str) -> bool:
        if self.is_empty:
            return False
        key = hash(name)
        first, second = key & MASK, key >> BITS & MASK
        return bool(self._bits[first >> 3] >> (first & 7) & self._bits[second >> 3] >> (second & 7) & 1)
