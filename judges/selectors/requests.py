"""What was asked: the stored requests, put together again from what they have in common and their texts."""

import json
import zlib
from collections.abc import Iterable
from datetime import datetime

from judges.backends.wire import WireRequest
from judges.models import ModelRequest, RequestText, TextBlock

CHUNK = 500
"""Digests in one look-up."""
BLOCK_BITS = 20
"""Of a block's key, those that tell blocks of one millisecond apart."""


def least_block_key(moment: datetime) -> int:
    """Return the least key that a block made at a moment can have."""
    return int(moment.timestamp() * 1000) << BLOCK_BITS


def requests_asked(rows: Iterable[ModelRequest]) -> dict[str, WireRequest]:
    """Return what was asked, by the hash of the request; not of those whose text is stored no more.

    Three queries for each 500 of them.
    """
    found: dict[str, WireRequest] = {}
    new: list[ModelRequest] = []
    for row in rows:
        if row.payload is not None:  # of an earlier version
            found[row.hash] = WireRequest.from_payload(row.payload)
        elif row.text is not None:
            new.append(row)
    for start in range(0, len(new), CHUNK):
        some = new[start : start + CHUNK]
        texts = texts_read({bytes(row.text) for row in some if row.text is not None})
        for row in some:
            shown = texts.get(bytes(row.text or b""))
            if shown is not None and row.form is not None:
                found[row.hash] = WireRequest.from_payload(row.form.content | json.loads(shown))
    return found


def texts_read(digests: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return texts by their digests; two queries."""
    places = {
        bytes(digest): (block, place)
        for digest, block, place in RequestText.objects.filter(digest__in=list(digests)).values_list(
            "digest", "block", "place"
        )
    }
    keys = {block for block, _ in places.values()}
    bodies = {
        key: zlib.decompress(body).split(b"\n")
        for key, body in TextBlock.objects.filter(pk__in=keys).values_list("pk", "body")
    }
    return {digest: bodies[block][place] for digest, (block, place) in places.items() if block in bodies}
