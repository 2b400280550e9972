"""Importing a dataset in the browser: the upload, and the page on which columns are mapped and the file is stored."""

import io
import shlex
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from annotation.domain.images import image_digests
from annotation.forms.upload import DatasetUploadForm
from annotation.importers import ImportFileError
from annotation.importers.errors import errors_of
from annotation.importers.mapping import mapping_of
from annotation.kinds.shown import ShownItem, texts_of_item
from annotation.models import Dataset
from annotation.peers.formats import GENERIC
from annotation.services.datasets import DatasetImportError
from annotation.views.images import picture_response
from annotation.views.item_preview import STYLES, item_preview
from judges.forms.dataset_import import MappingForm, field_choices, known_fields, scale_choices
from judges.models import DatasetImport, FileUpload
from judges.services import uploads
from judges.services.dataset_imports import (
    ERRORS,
    dataset_import_confirm,
    dataset_import_delete,
    dataset_import_get_for,
    dataset_import_map,
    dataset_import_request,
    dataset_imports_of,
    import_errors,
    import_preview,
    mapping_yaml,
)
from judges.services.import_files import FileNotTakenError, may_continue, path_of, removal_due
from judges.services.judgments import bundle_import
from judges.services.uploads import UploadTakenError, upload_get_for, upload_stored
from judges.views.uploads import (
    files_of,
    page_of_upload,
    problems_of,
    upload_is_ready,
    upload_links,
    upload_named,
    upload_opened,
)
from web.access import ResearcherRequest, is_researcher, researcher_form, researcher_page
from web.bodies import FORM_BYTES, accepts_body
from web.upload import MAX_BYTES

ERRORS_PER_PAGE = 20


@accepts_body(max(MAX_BYTES, settings.DATASET_UPLOAD_MAX_BYTES) + FORM_BYTES, who=is_researcher)
@researcher_form
def dataset_upload(request: ResearcherRequest) -> HttpResponse:
    """The form. A table goes on to its own page; a file of a published format is stored at once, or refused.

    The file is in the request, or was uploaded in chunks.
    """
    upload = upload_named(request)
    form = DatasetUploadForm(
        request.POST or None, files_of(request, upload), initial=upload.said if upload else None
    )
    address = page_of_upload(upload) if upload is not None and upload.is_taken else None
    if address is None and request.method == "POST" and form.is_valid():
        address = _sent(request, form, upload)
    if address is not None:
        return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
    context = {
        "section": "datasets",
        "form": form,
        "problems": problems_of(form),
        "jobs": dataset_imports_of(request.user),
        "upload": upload,
        "uploads": upload_links(request.user, None),
        "chunk_bytes": uploads.CHUNK_BYTES,
        "begin_url": reverse("judges:dataset-upload-begin"),
        "crumbs": [("Datasets", reverse("annotation:dataset-list")), ("Import", None)],
    }
    return render(request, "judges/dataset_upload.html", context)


def _sent(request: ResearcherRequest, form: DatasetUploadForm, upload: FileUpload | None) -> str | None:
    """Where to go on; None where the file is refused, with what is wrong in the form."""
    data = form.cleaned_data
    try:
        if not upload_is_ready(upload, request, form):
            return None
        if data["format"] == GENERIC:
            job = dataset_import_request(
                user=request.user,
                name=data["file"].name,
                content=upload or data["file"],
                dataset_name=data["name"],
                **{name: data[name] for name in ("title", "split", "licence", "criteria")},
            )
            return reverse("judges:dataset-import", args=[job.pk])
        with upload_opened(upload, data["file"]):
            dataset = _import(request, form)
    except FileNotTakenError as error:
        form.add_error("file", str(error))
        return None
    except UploadTakenError:
        return page_of_upload(upload_get_for(request.user, upload and upload.pk))
    if dataset is None:
        return None
    if upload is not None:
        upload_stored(upload)
    return reverse("annotation:dataset-detail", args=[dataset.name])


def _import(request: ResearcherRequest, form: DatasetUploadForm) -> Dataset | None:
    """The dataset of a file of a published format; None when it is refused, with what is wrong in the form."""
    data = form.cleaned_data
    try:
        bundle = form.bundle()
        result, judged = bundle_import(
            bundle=bundle,
            source=data["format"],
            made_of=f"{data['format']}: {data['file'].name[:150]}{bundle.remark}",
            owner=request.user,
            name=data["name"],
            title=data["title"] or None,
            split=data["split"],
            licence=data["licence"] or None,
        )
    except ImportFileError as error:
        for one in errors_of(error):
            if not one.file.startswith(f"{data['file'].name}/"):  # a member of an archive
                # What contradicts the stored rows is found after the copy is gone.
                one.file = data["file"].name
        form.add_error("file", [str(one) for one in errors_of(error)])
        return None
    except DatasetImportError as error:
        form.add_error("name", str(error))
        return None
    messages.success(request, result.summary())
    if judged is not None:
        messages.success(request, judged.summary())
    return result.dataset


@never_cache
@vary_on_headers("HX-Request")
@researcher_form
def dataset_import_page(request: ResearcherRequest, pk: int) -> HttpResponse:
    """GET shows a file of theirs, or polled how far it is; POST maps its columns anew, stores it, or forgets it."""
    job = dataset_import_get_for(request.user, pk)
    here = reverse("judges:dataset-import", args=[job.pk])
    form = MappingForm(job, request.POST if request.POST.get("action") == "check" else None)
    if request.method == "POST":
        action = request.POST.get("action")
        if action == "delete":
            dataset_import_delete(job=job)
            messages.success(request, "The file was removed. A dataset that was imported stays.")
            return redirect("judges:dataset-upload")
        if action == "confirm":
            if not dataset_import_confirm(job=job, skip_bad_rows="skip_bad_rows" in request.POST):
                messages.info(request, "The import of this file has started already, or the file has errors.")
            return redirect(here)
        if action != "check":
            raise Http404("There is no such action.")
        if form.is_valid():
            asked = form.cleaned_data["is_new_version"]
            if not dataset_import_map(job=job, mapping=form.mapping, is_new_version=asked):
                messages.info(request, "This file is being read, or was imported already.")
            return redirect(here)
    part = bool(request.htmx) and not request.htmx.history_restore_request
    context = _page(request, job, form)
    return render(request, f"judges/dataset_import.html{'#body' if part else ''}", context)


def _page(request: ResearcherRequest, job: DatasetImport, form: MappingForm) -> dict[str, Any]:
    first = (Paginator(range(job.n_errors), ERRORS_PER_PAGE)).get_page(request.GET.get("page"))
    previewed = import_preview(job) if job.state == "checked" else []
    at = request.GET.get("item", "")
    place = min(int(at) if at.isdecimal() and len(at) < 6 else 1, len(previewed)) or 1
    return {
        "section": "datasets",
        "crumbs": [
            ("Datasets", reverse("annotation:dataset-list")),
            ("Import", reverse("judges:dataset-upload")),
            (job.name, None),
        ],
        "job": job,
        "preview_styles": STYLES,
        "form": form,
        "field_choices": field_choices,
        "known_fields": known_fields,
        "scale_choices": scale_choices,
        "page_obj": first,
        "row_errors": import_errors(job, (first.number - 1) * ERRORS_PER_PAGE, ERRORS_PER_PAGE)
        if job.n_errors
        else [],
        "place": place,
        "previews": [name for name, _ in previewed],
        "preview_id": previewed[place - 1][0] if previewed else "",
        "item_html": _previewed(request, job, previewed[place - 1][1]) if previewed else "",
        "command": _command(job),
        "can_continue": may_continue(job),
        "removed_at": removal_due(job),
        "can_import": job.state == "checked"
        and not job.errors
        and bool(job.found.get("n_items") or job.found.get("instructions")),
    }


def _previewed(request: ResearcherRequest, job: DatasetImport, shown: ShownItem) -> SafeString:
    """An item of the preview. Its images belong to no dataset yet: they are asked for at the file that shows them."""
    html = item_preview(request, shown)
    for digest in {digest for text in texts_of_item(shown) for digest in image_digests(text)}:
        ours = reverse("judges:dataset-import-image", args=[job.pk, digest])
        html = mark_safe(html.replace(reverse("annotation:image", args=[digest]), ours))  # noqa: S308  (sanitised)
    return html


@researcher_page
def dataset_import_image(request: ResearcherRequest, pk: int, digest: str) -> HttpResponse:
    """An image that the preview of a file of theirs shows."""
    job = dataset_import_get_for(request.user, pk)
    texts = (text for _, shown in import_preview(job) for text in texts_of_item(shown))
    if not any(digest in image_digests(text) for text in texts):
        raise Http404("There is no such image.")
    return picture_response(digest)


def _command(job: DatasetImport) -> str:
    """The same import on the command line."""
    words = ["python", "manage.py", "import_dataset", "generic", job.name, "--name", job.dataset_name]
    words += ["--mapping", f"{job.dataset_name}.mapping.yaml"]
    if not job.found.get("exists"):
        # The command's dataset is public unless it says otherwise.
        said = {"--title": job.title, "--split": job.split, "--licence": job.licence}
        words += [word for option, value in said.items() if value for word in (option, value)]
    if job.criteria:
        words += ["--criteria", job.criteria]
    if job.is_new_version:
        words += ["--new-version"]
    return shlex.join(words)


@researcher_page
def dataset_import_mapping(request: ResearcherRequest, pk: int, format: str) -> HttpResponse:
    """The mapping of a file of theirs, as YAML or JSON."""
    job = dataset_import_get_for(request.user, pk)
    if not job.mapping or format not in ("yaml", "json"):
        raise Http404("There is no such mapping.")
    if format == "json":
        response: HttpResponse = JsonResponse(
            job.mapping, json_dumps_params={"ensure_ascii": False, "indent": 1}
        )
    else:
        response = HttpResponse(mapping_yaml(mapping_of(job.mapping)), content_type="application/yaml")
    response["Content-Disposition"] = f'attachment; filename="{job.dataset_name}.mapping.{format}"'
    return response


@researcher_page
def dataset_import_errors(request: ResearcherRequest, pk: int) -> HttpResponseBase:
    """Rows of a file of theirs that can't be read, or were left out, with their reasons, as JSON Lines."""
    job = dataset_import_get_for(request.user, pk)
    path = path_of(job, ERRORS)
    return FileResponse(
        path.open("rb") if path.exists() else io.BytesIO(),
        as_attachment=True,
        filename=f"{job.dataset_name}.left-out.jsonl",
        content_type="application/x-ndjson",
    )
