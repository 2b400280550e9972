"""The page Unfinished imports: what was begun to be imported, to continue or to discard."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from judges.services.import_files import MOST_KEPT, FileNotTakenError
from judges.services.unfinished_imports import (
    Sort,
    UnfinishedImport,
    unfinished_import_continue,
    unfinished_import_discard,
    unfinished_imports_of,
)
from web.access import ResearcherRequest, researcher_action, researcher_page

PER_PAGE = 20


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
def unfinished_imports(request: ResearcherRequest) -> HttpResponse:
    """The list, or polled the list alone."""
    found = unfinished_imports_of(request.user)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "section": "datasets",
        "crumbs": [("Datasets", reverse("annotation:dataset-list")), ("Unfinished imports", None)],
        "page_obj": page,
        "rows": [(one, _page_of(one), _act_of(one)) for one in page.object_list],
        "keep_hours": settings.EXPORTS_KEEP_HOURS,
        "most_kept": MOST_KEPT,
        "polling": any(one.is_open for one in page.object_list),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    return render(request, f"judges/unfinished_imports.html{'#imports' if part else ''}", context)


@researcher_action
def unfinished_import_act(request: ResearcherRequest, pk: int, sort: Sort) -> HttpResponse:
    """Continue an import of theirs that was interrupted, or discard one; each twice is once."""
    action, back = request.POST.get("action"), redirect("judges:unfinished-imports")
    if action == "discard":
        unfinished_import_discard(request.user, sort, pk)
        messages.success(request, "The import was discarded. Datasets and verdicts that are stored stay.")
        return back
    if action != "continue":
        raise Http404("There is no such action.")
    try:
        continued = unfinished_import_continue(request.user, sort, pk)
    except FileNotTakenError as error:
        messages.error(request, str(error))
        return back
    if not continued:
        messages.info(request, "This import isn't interrupted, or its file is gone.")
        return back
    return redirect(reverse("judges:dataset-import", args=[pk])) if sort == "datasets" else back


def _page_of(one: UnfinishedImport) -> str:
    """Where an import goes on; nothing where that is the command line."""
    if one.sort == "datasets":
        return reverse("judges:dataset-import", args=[one.pk])
    if one.sort == "verdicts":
        return f"{reverse('judges:verdict-import', args=[one.into])}#h-file-{one.pk}"
    if one.sort == "uploads":
        page = reverse(
            "judges:dataset-upload" if one.kind == "Items" else "judges:verdict-import",
            args=[] if one.kind == "Items" else [one.into],
        )
        return f"{page}?upload={one.pk}"
    return ""


def _act_of(one: UnfinishedImport) -> str:
    return reverse(f"judges:unfinished-{one.sort}-act", args=[one.pk])
