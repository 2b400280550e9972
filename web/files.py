"""Files that pages offer."""

from collections.abc import Iterable

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header


def attachment(content: str | bytes, name: str, content_type: str) -> HttpResponse:
    """A file to be saved under a name."""
    response = HttpResponse(content, content_type=content_type)
    header = content_disposition_header(True, name)
    if header:
        response.headers["Content-Disposition"] = header
    return response


def streamed(pieces: Iterable[bytes], name: str, content_type: str) -> StreamingHttpResponse:
    """A file to be saved under a name, sent as it is made."""
    response = StreamingHttpResponse(pieces, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
