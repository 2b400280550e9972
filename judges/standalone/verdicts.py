"""Verdicts as they go out: a line of JSON each, with the columns of an export of judgments, in a file that goes on
where a killed command left it.
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from annotation.importers.errors import ImportFileError, quoted
from judges.backends.answerers import answerers_text, answerers_words
from judges.engine.codec import FAILED, Result, encode
from judges.engine.works import Row, Work
from judges.standalone.item_files import digest
from judges.strategies.contents import item_content_hash
from judges.strategies.documents import JudgeDocument
from judges.strategies.presentation import is_presented
from judges.strategies.types import ItemView

Key = tuple[str, int, int]
"""Item, presentation order and sample."""
_SHOWN = ([0, 1], [1, 0])


def verdict_row(work: Work, result: Result, about: Mapping[str, str]) -> dict[str, Any]:
    """Return a judgment as JSON values, with the names that an export of judgments has.

    Parameters
    ----------
    about : mapping
        What the rows of a judge share, as `judge_columns` returns it.
    """
    status, choice, probability, value_text, thought, raw = result
    item = work.item
    value = None if value_text is None else json.loads(value_text)
    reason = (value or {}).get("reason")
    return {
        "item": item.external_id,
        "order": item.order,
        "sample": item.sample,
        "kind": item.kind,
        "status": status,
        "choice": choice,
        "probability": probability,
        "value": value,
        "reason": reason if isinstance(reason, str) else None,
        "raw_text": raw,
        **({"thought": thought} if thought else {}),
        **about,
        "answered_by": answerers_words(answerers_text(work.answerers)),
        "shown_order": _SHOWN[item.order] if is_presented(item.kind) else None,
        **({"category": item.category} if item.category else {}),
        **({"subset": item.subset} if item.subset else {}),
        "requests": work.requests,
        "prompt_tokens": work.prompt_tokens or None,
        "completion_tokens": work.completion_tokens or None,
        **({"reasoning_tokens": work.reasoning_tokens} if work.reasoning_tokens else {}),
        "cost": work.cost,
        "latency_ms": round(work.latency, 3),
        "content": item_content_hash(item),
    }


def judge_columns(document: JudgeDocument) -> dict[str, str]:
    """Return what the rows of a judge share."""
    return {
        "judge": document.name,
        "fingerprint": document.spec.fingerprint(),
        "strategy": document.spec.strategy,
        "model": ", ".join(dict.fromkeys(model.model for model in document.spec.models().values())),
    }


class DoneVerdicts:
    """Which verdicts a file has, and on which texts: 16 bytes each, however many there are."""

    def __init__(self, keys: Sequence[int] = (), contents: Sequence[int] = ()) -> None:
        found = np.asarray(keys, dtype=np.uint64)
        self._order = np.argsort(found, kind="stable")
        self._keys = found[self._order]
        self._contents = np.asarray(contents, dtype=np.uint64)[self._order]

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: Key) -> bool:
        return self.content_of(key) is not None

    def content_of(self, key: Key) -> int | None:
        """Return the digest of the texts that were judged, None where there is no such verdict."""
        if not len(self._keys):
            return None
        wanted = np.uint64(digest(*key))
        place = int(np.searchsorted(self._keys, wanted))
        is_there = place < len(self._keys) and self._keys[place] == wanted
        return int(self._contents[place]) if is_there else None

    def repeated(self) -> int | None:
        """Return the place, in the order given, of the first verdict that is a second one; None if none is."""
        again = self._order[1:][self._keys[1:] == self._keys[:-1]]
        return int(again.min()) if len(again) else None


class VerdictFile:
    """An output file, one verdict a line, that is only ever appended to.

    Opening it reads what a command before has written. A last line without its end, as a killed process leaves it, is
    cut off: its verdict comes again from the answers that are stored.

    Parameters
    ----------
    fingerprint : str
        The judge's: a file with another judge's verdicts is refused.

    Raises
    ------
    ImportFileError
        Names the line: it is no verdict, one of another judge, or there is another one of the same item and order. Or
        another command is writing to the file.
    """

    def __init__(self, path: Path, *, fingerprint: str, retry_failed: bool = False) -> None:
        self.path = path
        self.done = DoneVerdicts()
        self.n_failed = 0
        self._file = self._opened()
        try:
            if retry_failed:
                self._drop_failed()
            self._read(fingerprint)
        except BaseException:
            self._file.close()
            raise

    def _opened(self) -> IO[bytes]:
        file = self.path.open("a+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ImportFileError(self.path, None, None, "another command is writing to it.") from None
        return file

    def _read(self, fingerprint: str) -> None:
        end = 0
        keys, contents = array("Q"), array("Q")
        for number, line in enumerate(self._lines(), start=1):
            if not line.endswith(b"\n"):
                self._file.truncate(end)
                break
            end += len(line)
            row = verdict_read(self.path, number, line)
            if row["fingerprint"] != fingerprint:
                raise ImportFileError(
                    self.path,
                    number,
                    "fingerprint",
                    f"expected {fingerprint}, found {quoted(row['fingerprint'])}: the verdicts of another judge. "
                    "Name another file.",
                )
            keys.append(digest(row["item"], row["order"], row["sample"]))
            contents.append(digest(row["content"]))
            self.n_failed += row["status"] == FAILED
        self.done = DoneVerdicts(keys, contents)
        if (place := self.done.repeated()) is not None:
            row = self._row_at(place)
            raise ImportFileError(
                self.path,
                place + 1,
                "item",
                f"a second verdict on {quoted(row['item'])} in order {row['order']}.",
            )
        self._file.seek(0, os.SEEK_END)

    def _row_at(self, place: int) -> dict[str, Any]:
        line = next(islice(self._lines(), place, None))
        return verdict_read(self.path, place + 1, line)

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as lines:
            yield from lines

    def _drop_failed(self) -> None:
        """Leave out what failed, so that it is asked again; what is left takes the file's place once it is whole."""
        beside = self.path.with_name(f"{self.path.name}.part")
        with beside.open("wb") as kept:
            kept.writelines(line for line in self._lines() if b'"status":"failed"' not in line)
        beside.replace(self.path)
        self._file.close()
        self._file = self._opened()

    def check(self, view: ItemView, source: object) -> None:
        """Refuse an item whose texts are others than those that were judged under its name."""
        found = (self.done.content_of((view.external_id, order, 0)) for order in (0, 1))
        content = next((each for each in found if each is not None), None)
        if content is not None and content != digest(item_content_hash(view)):
            raise ImportFileError(
                source,
                None,
                "id",
                f"the texts of item {quoted(view.external_id)} are not those that {self.path} has a verdict on. "
                "Name another output.",
            )

    def write(self, rows: Sequence[Row]) -> int:
        """Append verdicts, each row one line of text; they are in the file when this returns."""
        self._file.write("".join(f"{line}\n" for (line,) in rows).encode("utf-8"))
        return len(rows)

    def close(self) -> None:
        """Close it, and let others write to it."""
        self._file.close()


def verdict_read(path: object, number: int, line: bytes) -> dict[str, Any]:
    """Return a line of such a file as JSON values; raises ImportFileError that names the line and the field."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, Mapping):
        raise ImportFileError(path, number, None, "expected a verdict as a JSON object.")
    for name, kind in (
        ("item", str),
        ("order", int),
        ("sample", int),
        ("fingerprint", str),
        ("content", str),
    ):
        if not isinstance(row.get(name), kind):
            raise ImportFileError(
                path,
                number,
                name,
                f"expected one as `touchstone judge` writes it, found {quoted(row.get(name))}.",
            )
    return dict(row)


class VerdictStream:
    """Verdicts that are only written: to a pipe, which nothing can go on from."""

    def __init__(self, out: IO[bytes]) -> None:
        self.done = DoneVerdicts()
        self.n_failed = 0
        self._out = out

    def check(self, view: ItemView, source: object) -> None:
        """Accept every item: nothing was judged before."""

    def write(self, rows: Sequence[Row]) -> int:
        """Write verdicts, and pass them on at once."""
        self._out.write("".join(f"{line}\n" for (line,) in rows).encode("utf-8"))
        self._out.flush()
        return len(rows)

    def close(self) -> None:
        """Leave the pipe open: it is not ours."""


def row_writer(
    document: JudgeDocument, tell: Callable[[dict[str, Any]], None]
) -> Callable[[Work, Result], Row]:
    """Return how a sink makes a line of a result, and tells of it."""
    about = judge_columns(document)

    def written(work: Work, result: Result) -> Row:
        row = verdict_row(work, result, about)
        tell(row)
        return (encode(row),)

    return written
