"""Where a judge that runs by itself keeps requests and answers: in memory, or in a file beside its output.

Both are a `judges.engine.request_store.RequestStore` of one process. A claim lives in memory: who dies has none.
"""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from judges.backends.wire import answer_from_json
from judges.engine.codec import answer_to_json
from judges.engine.request_store import CLAIMED, DONE, FAILED, Answered, Claim, StoredRequest
from judges.engine.works import ActiveRun, Counts, Row, Sink
from judges.strategies.types import Answer

MOST_IN_MEMORY = 10_000
_LOOKED_UP = 500
"""Hashes in one statement."""


class MemoryStore:
    """Requests of one process, gone with it.

    Parameters
    ----------
    most : int
        Answers that are kept, the newest ones; a request that comes again is answered by them.

    Attributes
    ----------
    totals : Counts
        What has happened in all.
    """

    def __init__(self, *, most: int = MOST_IN_MEMORY) -> None:
        self.most = most
        self.totals = Counts()
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._claimed: dict[str, int] = {}
        self._refused: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._owner = ""
        self._results: list[tuple[Sink, Row]] = []

    def atomic(self) -> AbstractContextManager[object]:
        return nullcontext()

    def claim(self, rows: Sequence[Claim], *, owner: str) -> int:
        self._owner = owner
        known = self.known([row[0] for row in rows])
        new = [row[0] for row in rows if row[0] not in known and row[0] not in self._claimed]
        self._claimed.update(dict.fromkeys(new, 0))
        return len(new)

    def save_answers(self, rows: Sequence[Answered]) -> int:
        self.keep([(key, answer_to_json(answer)) for key, _, answer, _ in rows])
        for key, *_ in rows:
            self._claimed.pop(key, None)
        return len(rows)

    def save_refusals(self, rows: Iterable[tuple[str, str, int]]) -> None:
        for key, error, attempts in rows:
            self._claimed.pop(key, None)
            self._refused[key] = error, attempts
            while len(self._refused) > self.most:
                self._refused.popitem(last=False)

    def save_results(self, results: Sequence[tuple[Sink, Row]]) -> None:
        for sink in dict.fromkeys(sink for sink, _ in results):
            sink.save([row for each, row in results if each is sink])

    def save_counts(self, runs: Iterable[ActiveRun]) -> None:
        for run in runs:
            for name in Counts.__slots__:
                setattr(self.totals, name, getattr(self.totals, name) + getattr(run.counts, name))
            run.counts = Counts()

    def look_up(self, hashes: Iterable[str]) -> Mapping[str, StoredRequest]:
        wanted = list(hashes)
        found = {}
        for key, answer in self.stored(wanted).items():
            found[key] = StoredRequest(key, DONE, answer, "", "", 0)
        for key in wanted:
            if key in self._claimed:
                found[key] = StoredRequest(key, CLAIMED, None, "", self._owner, self._claimed[key])
            elif key in self._refused:
                error, attempts = self._refused[key]
                found[key] = StoredRequest(key, FAILED, None, error, "", attempts)
        return found

    def take_over(self, hashes: Iterable[str], *, owner: str) -> None:
        """Do nothing: there is no other worker."""

    def release(self, hashes: Iterable[tuple[str, int]], *, owner: str) -> None:  # noqa: ARG002 (there is one)
        for key, _ in hashes:
            self._claimed.pop(key, None)

    def keep(self, rows: Sequence[tuple[str, str]]) -> None:
        """Keep answers, hash and JSON text each, the oldest ones going first."""
        for key, text in rows:
            self._answers[key] = text
        while len(self._answers) > self.most:
            self._answers.popitem(last=False)

    def known(self, hashes: Sequence[str]) -> set[str]:
        """Return which of these are answered or refused."""
        return {key for key in hashes if key in self._answers or key in self._refused}

    def stored(self, hashes: Sequence[str]) -> dict[str, Answer]:
        """Return the answers that are kept."""
        return {
            key: answer_from_json(json.loads(self._answers[key])) for key in hashes if key in self._answers
        }

    def spent(self) -> tuple[float, int]:
        """Return what the answers that were kept before took: US dollars and tokens."""
        return 0.0, 0

    def close(self) -> None:
        """Free what is held."""


class FileStore(MemoryStore):
    """Requests of one command, with their answers in a file: who is killed goes on with them.

    The file is SQLite's, which survives a killed process at every moment and finds an answer among millions.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        self._rows.execute("PRAGMA wal_autocheckpoint = 16000")
        self._rows.execute(
            "CREATE TABLE IF NOT EXISTS answers (hash TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
        )

    def keep(self, rows: Sequence[tuple[str, str]]) -> None:
        self._rows.execute("BEGIN")
        self._rows.executemany(
            "INSERT INTO answers (hash, answer) VALUES (?, ?) ON CONFLICT DO NOTHING",
            rows,
        )
        self._rows.execute("COMMIT")

    def known(self, hashes: Sequence[str]) -> set[str]:
        return {key for key, _ in self._read(hashes)} | {key for key in hashes if key in self._refused}

    def stored(self, hashes: Sequence[str]) -> dict[str, Answer]:
        return {key: answer_from_json(json.loads(text)) for key, text in self._read(hashes)}

    def _read(self, hashes: Sequence[str]) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for start in range(0, len(hashes), _LOOKED_UP):
            part = hashes[start : start + _LOOKED_UP]
            marks = ", ".join("?" * len(part))
            found += self._rows.execute(f"SELECT hash, answer FROM answers WHERE hash IN ({marks})", part)  # noqa: S608
        return found

    def spent(self) -> tuple[float, int]:
        row = self._rows.execute(
            "SELECT TOTAL(json_extract(answer, '$.cost')), TOTAL(json_extract(answer, '$.prompt_tokens')) + "
            "TOTAL(json_extract(answer, '$.completion_tokens')) FROM answers"
        ).fetchone()
        return float(row[0]), int(row[1])

    def close(self) -> None:
        self._rows.close()

    def remove(self) -> None:
        """Delete the file: all that was to be judged is judged."""
        self.close()
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
