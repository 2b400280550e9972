"""The record of processing as a page to print and sign, and as a file."""

import json

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from config.privacy.record import processing_record, record_json, record_markdown
from web.access import ResearcherRequest, administrator_page

TYPES = {"md": "text/markdown; charset=utf-8", "json": "application/json"}


@never_cache
@administrator_page
def record(request: ResearcherRequest) -> HttpResponse:
    """What the site holds of people, why, how long, and who answers for it."""
    context = {"record": processing_record(), "section": "admin"}
    return render(request, "privacy_record.html", context)


@never_cache
@administrator_page
def record_file(request: ResearcherRequest, format: str) -> HttpResponse:  # noqa: ARG001
    """The same as Markdown or JSON."""
    if format not in TYPES:
        raise Http404(f"There is no format {format}.")
    made = processing_record()
    if format == "md":
        text = record_markdown(made)
    else:
        text = json.dumps(record_json(made), default=str, ensure_ascii=False, indent=1)
    response = HttpResponse(text, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="processing-{made.made_at:%Y-%m-%d}.{format}"'
    return response
