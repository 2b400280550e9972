"""What comes in as JSON: bounded, strict, and refused with the place where it is wrong."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from web.json_text import MAX_DEPTH, JsonSyntaxError, JsonTextError, json_read

MOST_BYTES = 1_000_000
"""As for a plan in a file."""
BODY_DEPTH = MAX_DEPTH + 2
"""Levels of a body: an object with a list of what is a row in a file."""


class PlainJSONParser(JSONParser):
    """JSON of at most a megabyte, as importers read it: no NaN, no key twice, nothing that can't be stored."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the values; raises ParseError with line and column, or with the field."""
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise ParseError(f"Larger than {MOST_BYTES:,} bytes.")
        try:
            return json_read(body.decode("utf-8"), most_depth=BODY_DEPTH)
        except UnicodeDecodeError as error:
            line, column = _place(body, error.start)
            byte = f"the byte 0x{body[error.start]:02x}"
            raise ParseError(
                f"Not JSON: line {line}, column {column}: expected UTF-8 text, found {byte}."
            ) from None
        except JsonSyntaxError as error:
            raise ParseError(
                f"Not JSON: line {error.line}, column {error.column}: {error.problem}."
            ) from None
        except JsonTextError as error:
            # As in other problems: dots lead into lists and objects.
            field = ".".join(map(str, error.path))
            raise ParseError({field: [error.problem]} if field else error.problem) from None


def _place(body: bytes, at: int) -> tuple[int, int]:
    """Line and column of a byte, both from 1."""
    return body.count(b"\n", 0, at) + 1, at - body.rfind(b"\n", 0, at)
