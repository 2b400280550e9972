"""Names and the number of each, as many as an import has: memory does not grow with them."""

import sqlite3
from collections.abc import Iterable

_CACHE_KIB = 8192


class KeyStore:
    """A mapping of names to numbers in a file that is gone with it."""

    def __init__(self) -> None:
        # An empty name is a temporary file; whoever frees it last need not be the thread that made it.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._file.execute("CREATE TABLE keys (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID")
        self.is_empty = True

    def add(self, pairs: Iterable[tuple[str, int]]) -> None:
        """Add names with their numbers; of a name that is there the number is replaced."""
        self._file.execute("BEGIN")
        n = self._file.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?)", sorted(pairs)).rowcount
        self._file.execute("COMMIT")
        self.is_empty = self.is_empty and n <= 0

    def get(self, name: str) -> int | None:
        """Return the number of a name, or None."""
        if self.is_empty:
            return None
        found = self._file.execute("SELECT number FROM keys WHERE name = ?", (name,)).fetchone()
        return None if found is None else int(found[0])

    def found(self, names: Iterable[str]) -> dict[str, int]:
        """Return those of the names that are there, with their numbers."""
        numbers = ((name, self.get(name)) for name in names)
        return {name: number for name, number in numbers if number is not None}
