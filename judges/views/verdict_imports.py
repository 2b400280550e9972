"""The page Import labels or verdicts of a dataset: a file, what is in it or wrong with it, and how it is stored."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.importers.errors import MAX_ERRORS
from annotation.models import Dataset
from judges.forms.verdict_import import VerdictImportForm
from judges.models import FileUpload
from judges.services import uploads
from judges.services.import_files import FileNotTakenError, may_continue
from judges.services.uploads import UploadTakenError
from judges.services.verdict_imports import (
    dataset_for_verdicts,
    verdict_import_confirm,
    verdict_import_delete,
    verdict_import_get_for,
    verdict_import_request,
    verdict_imports_of,
)
from judges.views.uploads import files_of, upload_is_ready, upload_links, upload_named
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_form
from web.bodies import FORM_BYTES, accepts_body
from web.loop import LoopPlace
from web.upload import MAX_BYTES


@accepts_body(MAX_BYTES + FORM_BYTES, who=is_researcher)
@never_cache
@vary_on_headers("HX-Request")
@researcher_form
def verdict_import_page(request: ResearcherRequest, name: str) -> HttpResponse:
    """GET shows the page, or polled its list of files; POST sends a file, or names one that was uploaded in chunks."""
    dataset = dataset_for_verdicts(request.user, name)
    address = reverse("judges:verdict-import", args=[dataset.name])
    upload = upload_named(request, dataset)
    form = VerdictImportForm(
        request.POST or None, files_of(request, upload), initial=upload.said if upload else None
    )
    is_sent = upload is not None and upload.is_taken
    if not is_sent and request.method == "POST" and form.is_valid():
        is_sent = _sent(request, dataset, form, upload)
    if is_sent:
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
        "upload": upload,
        "uploads": upload_links(request.user, dataset),
        "chunk_bytes": uploads.CHUNK_BYTES,
        "begin_url": reverse("judges:verdict-upload-begin", args=[dataset.name]),
        "jobs": jobs,
        "most_errors": MAX_ERRORS,
        "may_continue": {job.pk for job in jobs if may_continue(job)},
        "polling": any(job.is_open for job in jobs),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    return render(request, f"judges/verdict_import.html{'#files' if part else ''}", context)


def _sent(
    request: ResearcherRequest, dataset: Dataset, form: VerdictImportForm, upload: FileUpload | None
) -> bool:
    """Whether the file is kept; else the form says what is wrong."""
    data = form.cleaned_data
    try:
        if not upload_is_ready(upload, request, form):
            return False
        verdict_import_request(
            user=request.user,
            dataset=dataset,
            format=data["format"],
            name=data["file"].name,
            content=upload or data["file"],
        )
    except FileNotTakenError as error:
        form.add_error("file", str(error))
        return False
    except UploadTakenError:
        pass  # it was sent twice
    return True


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
