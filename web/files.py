"""Files that pages offer."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header


def attachment(text: str, name: str, content_type: str) -> HttpResponse:
    """A file to be saved under a name."""
    response = HttpResponse(text, content_type=content_type)
    header = content_disposition_header(True, name)
    if header:
        response.headers["Content-Disposition"] = header
    return response
