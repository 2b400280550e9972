"""Log lines: plain, or as one JSON object each. Neither has query strings, mail addresses or clients' addresses in it.

A JSON line has `time` (UTC, ISO 8601), `level`, `logger` and `message`; where they are known `request_id`, `user` (the
primary key of the account), `task`, `task_id`, `worker`, `sweep`, `run`, `job`; and `error` with `type` and `trace`.
Names, addresses of clients, texts and answers are never fields.
"""

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any

from config.observing.context import log_fields

GIVEN = ("sweep", "run", "job", "route", "method", "status", "ms")
"""What a call of a logger may add by `extra=`."""
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"'<>]*=[^\s\"'<>]*")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def scrubbed(text: str) -> str:
    """The text without query strings, mail addresses and the client's address.

    Query strings hold tokens, and what platforms call people.
    """
    return _without_client(_MAIL.sub("(address)", _QUERY.sub("?…", text)))


def _without_client(text: str) -> str:
    """The text with the client's network in place of its address, whichever library wrote it."""
    # Logging is set up before the applications are.
    from web.acting import current_request
    from web.throttling import client_address, client_network

    request = current_request()
    if request is None or "REMOTE_ADDR" not in request.META:
        return text
    for address in {client_address(request), str(request.META["REMOTE_ADDR"])} - {""}:
        if address in text:
            text = text.replace(address, client_network(request) or "(address)")
    return text


class PlainFormatter(logging.Formatter):
    """Lines for people who read a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        line = scrubbed(super().format(record))
        request_id = log_fields().get("request_id")
        return line if request_id is None else f"{line} [{request_id}]"


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for a log collector."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": scrubbed(record.getMessage()),
        }
        line |= log_fields()
        line |= {name: value for name in GIVEN if (value := getattr(record, name, None)) is not None}
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, trace = record.exc_info
            line["error"] = {
                "type": f"{kind.__module__}.{kind.__qualname__}",
                "trace": scrubbed("".join(traceback.format_exception(kind, error, trace))),
            }
        return json.dumps(line, ensure_ascii=False, default=str)
