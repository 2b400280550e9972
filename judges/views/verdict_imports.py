"""The page Import labels or verdicts of a dataset: a file, what is in it or wrong with it, and how it is stored."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.importers.errors import MAX_ERRORS
from judges.forms.verdict_import import VerdictImportForm
from judges.services.import_files import FileNotTakenError, may_continue
from judges.services.verdict_imports import (
    dataset_for_verdicts,
    verdict_import_confirm,
    verdict_import_delete,
    verdict_import_get_for,
    verdict_import_request,
    verdict_imports_of,
)
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_form
from web.bodies import FORM_BYTES, accepts_body
from web.loop import LoopPlace
from web.upload import MAX_BYTES


@accepts_body(MAX_BYTES + FORM_BYTES, who=is_researcher)
@never_cache
@vary_on_headers("HX-Request")
@researcher_form
def verdict_import_page(request: ResearcherRequest, name: str) -> HttpResponse:
    """GET shows the page, or polled its list of files; POST sends a file."""
    dataset = dataset_for_verdicts(request.user, name)
    address = reverse("judges:verdict-import", args=[dataset.name])
    form = VerdictImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload = form.cleaned_data["file"]
        try:
            verdict_import_request(
                user=request.user,
                dataset=dataset,
                format=form.cleaned_data["format"],
                name=upload.name,
                content=upload,
            )
        except FileNotTakenError as error:
            form.add_error("file", str(error))
        else:
            return redirect(f"{address}#files")
    jobs = verdict_imports_of(request.user, dataset)
    context = {
        "section": "datasets",
        "crumbs": [
            ("Datasets", reverse("annotation:dataset-list")),
            (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
            ("Import labels or verdicts", None),
        ],
        "loop": LoopPlace(dataset.name, "judge"),
        "dataset": dataset,
        "address": address,
        "form": form,
        "jobs": jobs,
        "most_errors": MAX_ERRORS,
        "may_continue": {job.pk for job in jobs if may_continue(job)},
        "polling": any(job.is_open for job in jobs),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    return render(request, f"judges/verdict_import.html{'#files' if part else ''}", context)


@researcher_action
def verdict_import_act(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Store what is in a file of theirs that was checked, or forget the file."""
    job = verdict_import_get_for(request.user, pk)
    action = request.POST.get("action")
    if action == "confirm":
        if not verdict_import_confirm(job=job):
            messages.info(request, "The import of this file has started already, or the file was refused.")
    elif action == "delete":
        verdict_import_delete(job=job)
        messages.success(request, "The file was removed. What was imported stays.")
    else:
        raise Http404("There is no such action.")
    return redirect(f"{reverse('judges:verdict-import', args=[job.dataset.name])}#files")
