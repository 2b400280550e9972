"""Logs of Inspect (`.eval`, `.json`), read by Inspect's own `read_eval_log`; each sample is a trace.

https://inspect.aisi.org.uk/eval-logs.html
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from annotation.domain.conversation import ToolCall, Turn
from annotation.importers.archives import MAX_UNPACKED
from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError, printable
from annotation.importers.files import MAX_DOCUMENT, mebibytes, require_file
from annotation.importers.records import DatasetBundle, Origin
from annotation.importers.rows import MAX_ID, Row
from annotation.importers.traces import DEFAULT, TraceOptions, TraceRecord, traces_add, traces_finish
from web.json_text import unstorable

SUFFIXES = (".eval", ".json")
EXTRA = "inspect"


def read_inspect(path: str | Path, options: TraceOptions = DEFAULT) -> DatasetBundle:
    """Read a log, or all logs of a folder. Rows of errors are samples, counted from 1 in each log.

    What a sample was scored is kept in the item's metadata; the model is the system.

    Raises
    ------
    ImportFileError
        The package inspect_ai is missing, a file that it can't read, or a sample with what isn't read here.
    """
    file = Path(path)
    files = [file]
    if file.is_dir():
        files = sorted(one for one in file.iterdir() if one.suffix.lower() in SUFFIXES)
        if not files:
            raise ImportFileError(
                file, None, None, f"expected logs named {' or '.join(SUFFIXES)}, found none."
            )
    builder, faults = BundleBuilder(""), Faults()
    records = [record for one in files for record in _records(one, faults)]
    faults.check()
    n_left = traces_add(builder, records, options, faults)
    faults.check()
    return traces_finish(builder, file, "inspect", options, n_left)


def _records(file: Path, faults: Faults) -> Iterator[TraceRecord]:
    log = _log(file)
    if not log.samples:
        raise ImportFileError(file, None, "samples", "expected samples, found none.")
    for number, sample in enumerate(log.samples, start=1):
        row = Row(Origin(str(file), number), {})
        with faults:
            yield TraceRecord(
                row,
                "messages",
                f"{log.eval.model}/{sample.id}/{sample.epoch}",
                _turns(row, sample),
                log.eval.model,
                category=log.eval.task.rpartition("/")[2],
                metadata=_metadata(file, sample),
            )


def _log(file: Path) -> Any:
    require_file(file)
    _check_size(file)
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        message = f"Inspect's logs need the package inspect_ai: pip install 'touchstone-judge[{EXTRA}]'."
        raise ImportFileError(file, None, None, message) from None
    try:
        return read_eval_log(str(file), resolve_attachments=True)
    except Exception as error:
        words = next(iter(str(error).splitlines()), "")
        problem = printable(f"{type(error).__name__}: {words}"[:200])
        raise ImportFileError(
            file, None, None, f"expected a log that Inspect can read; it says {problem}"
        ) from None


def _check_size(file: Path) -> None:
    """Refuse what would unfold into more than memory holds, before Inspect reads it as a whole."""
    if file.suffix.lower() == ".json":
        size, most = file.stat().st_size, MAX_DOCUMENT
    else:
        try:
            with ZipFile(file) as archive:
                size, most = sum(member.file_size for member in archive.infolist()), MAX_UNPACKED
        except (BadZipFile, OSError, ValueError):
            raise ImportFileError(
                file, None, None, "expected a log of Inspect, which is a zip archive."
            ) from None
    if size > most:
        raise ImportFileError(
            file, None, None, f"expected at most {mebibytes(most)} when unpacked, found more."
        )


def _turns(row: Row, sample: Any) -> list[Turn]:
    times = _times(sample.events)
    turns = []
    for place, message in enumerate(sample.messages):
        field = f"messages[{place}].content"
        text = _text(row, field, message.content)
        if problem := unstorable(text):
            row.fail(field, problem)
        calls = getattr(message, "tool_calls", None) or ()
        error = getattr(message, "error", None)
        call = getattr(message, "tool_call_id", None) if message.role == "tool" else None
        turns.append(
            Turn(
                message.role,
                text,
                (getattr(message, "function", None) or "") if message.role == "tool" else "",
                tuple(
                    ToolCall(each.function, _storable(row, field, each.arguments), each.id[:MAX_ID])
                    for each in calls
                ),
                (call or "")[:MAX_ID],
                error.message if error else "",
                times.get(call or message.id, ""),
            )
        )
    return turns


def _text(row: Row, field: str, content: Any) -> str:
    """The text of a message; what the model thought isn't said, so it's passed over."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content:
        if part.type == "text":
            texts.append(part.text)
        elif part.type != "reasoning":
            row.fail(field, f"expected text; parts of another type aren't read, found {part.type!r}.")
    return "\n\n".join(texts)


def _times(events: Sequence[Any]) -> dict[str, str]:
    """When each message of a model was complete, by its id, and each call of a tool, by the call's."""
    found = {}
    for event in events:
        at = getattr(event, "completed", None) or event.timestamp
        if event.event == "model" and event.output.choices:
            found[event.output.choices[0].message.id] = at
        elif event.event == "tool":
            found[event.id] = at
    return {name: at.isoformat() for name, at in found.items() if name and hasattr(at, "isoformat")}


def _metadata(file: Path, sample: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"log": file.name}
    scores = {name: _plain(score.value) for name, score in (sample.scores or {}).items()}
    if scores:
        found["scores"] = scores
    if target := sample.target:
        found["target"] = _plain(target)
    if sample.error:
        found["error"] = sample.error.message[:1000]
    return found if unstorable(found) is None else {"log": file.name}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _storable(row: Row, field: str, arguments: Any) -> Any:
    plain = _plain(arguments)
    if problem := unstorable(plain):
        row.fail(field, problem)
    return plain
