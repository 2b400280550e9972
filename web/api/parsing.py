"""What comes in as JSON: bounded, and without characters that no database takes."""

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

MOST_BYTES = 1_000_000
"""As for a plan in a file."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class PlainJSONParser(JSONParser):
    """JSON as DRF reads it, of at most a megabyte, and nothing that cannot be stored or nests too deep."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the values; raises ParseError."""
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise ParseError(f"Larger than {MOST_BYTES:,} bytes.")
        try:
            values = json.loads(body.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
            unstorable = _has_unstorable(values)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"Not JSON: {error}.") from None
        if unstorable:
            raise ParseError("It holds a character that cannot be stored: NUL, or half of a surrogate pair.")
        return values


def _has_unstorable(value: Any) -> bool:
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is not None
    if isinstance(value, dict):
        return any(_has_unstorable(each) for pair in value.items() for each in pair)
    return isinstance(value, list) and any(map(_has_unstorable, value))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # 1e999 is valid JSON, and infinite once it is read
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
