"""Files that go up in chunks: begun with their form, sent one by one, imported by the form once all are there."""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.views.decorators.cache import never_cache

from annotation.forms.upload import DatasetUploadForm
from annotation.models import Dataset, User
from judges.forms.uploads import UploadBeginForm
from judges.forms.verdict_import import VerdictImportForm
from judges.models import FileUpload
from judges.services.import_files import FileNotTakenError, path_of
from judges.services.uploads import (
    CHUNK_BYTES,
    ChunkRefusedError,
    WrongDigestError,
    WrongOffsetError,
    upload_append,
    upload_begin,
    upload_check,
    upload_get_for,
    uploads_of,
)
from judges.services.verdict_imports import dataset_for_verdicts
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_form
from web.bodies import accepts_body

MOST_DIGITS = 18
"""Of an offset; a number with more is none."""


@researcher_action
def dataset_upload_begin(request: ResearcherRequest) -> HttpResponse:
    """Begin or continue the upload of a file of items; 422 with what is wrong in its form."""
    return _begin(request, DatasetUploadForm, None)


@researcher_action
def verdict_upload_begin(request: ResearcherRequest, name: str) -> HttpResponse:
    """Begin or continue the upload of a file of verdicts or labels; 422 with what is wrong in its form."""
    return _begin(request, VerdictImportForm, dataset_for_verdicts(request.user, name))


@accepts_body(CHUNK_BYTES, who=is_researcher)
@never_cache
@researcher_form
def upload_chunk(request: ResearcherRequest, pk: int) -> HttpResponse:
    """GET says how much of a file of theirs is stored; POST stores its next chunk.

    The body is the chunk itself. ``Upload-Offset`` says at which byte it begins; where something else is stored, 409
    says what. ``Content-Digest`` (RFC 9530) has its SHA-256; 422 where it arrived with another.
    """
    upload = upload_get_for(request.user, pk)
    if request.method != "POST":
        return JsonResponse(_state(upload))
    if int(request.META.get("CONTENT_LENGTH") or 0) > upload.chunk:
        return _refused(f"Expected a chunk of at most {upload.chunk:,} bytes.", 413)
    try:
        now = upload_append(
            upload=upload,
            offset=_offset(request.headers.get("Upload-Offset", "")),
            content=request,  # type: ignore[arg-type]  # it reads like a file
            digest=_digest(request.headers.get("Content-Digest", "")),
        )
    except WrongOffsetError as error:
        return JsonResponse(_state(error.upload) | {"problem": str(error)}, status=409)
    except WrongDigestError as error:
        return _refused(str(error), 422)
    except ChunkRefusedError as error:
        return _refused(str(error), 400)
    except FileNotTakenError as error:
        return _refused(str(error), 507)
    except OSError as error:
        return _refused(f"The chunk could not be stored: {error.strerror}.", 507)
    return JsonResponse(_state(now))


def upload_named(request: ResearcherRequest, dataset: Dataset | None = None) -> FileUpload | None:
    """The upload that a form or its address names, if it sends no file itself; Http404 where it isn't one of theirs."""
    pk = request.GET.get("upload") if request.method != "POST" else request.POST.get("upload")
    if not pk or request.FILES:
        return None
    upload = upload_get_for(request.user, pk)
    if upload.dataset != dataset:
        raise Http404("There is no such upload.")
    return upload


def declared_file(name: str, size: int) -> MultiValueDict[str, UploadedFile[Any]]:
    """A file for a form that looks at its name and size."""
    return MultiValueDict({"file": [UploadedFile(None, name, size=size)]})


def files_of(request: ResearcherRequest, upload: FileUpload | None) -> MultiValueDict[str, Any] | None:
    """The files of a form: those that it sends, else the one that it says is uploaded."""
    if request.method != "POST":
        return None
    return request.FILES if upload is None else declared_file(upload.name, upload.size)


@contextmanager
def upload_opened(upload: FileUpload | None, file: UploadedFile[Any]) -> Iterator[None]:
    """Let a form's file be read, where it is an upload."""
    if upload is None:
        yield
        return
    with path_of(upload).open("rb") as content:
        file.file = content
        yield


def upload_is_ready(upload: FileUpload | None, request: ResearcherRequest, form: forms.Form) -> bool:
    """Whether the file of a form is there and is the one that was chosen; else the form says what is wrong."""
    if upload is None:
        return True
    try:
        upload_check(upload, digest=request.POST.get("digest", ""))
    except FileNotTakenError as error:
        form.add_error("file", str(error))
        return False
    upload.said = said_in(form)
    return True


def said_in(form: forms.Form) -> dict[str, Any]:
    """What a form says of its file."""
    return {name: form.cleaned_data.get(name, "") for name in form.fields if name != "file"}


def page_of_upload(upload: FileUpload) -> str:
    """The form with which an upload continues, or where its import goes on once that began."""
    if upload.dataset is not None:
        page = reverse("judges:verdict-import", args=[upload.dataset.name])
        return f"{page}#files" if upload.is_taken else f"{page}?upload={upload.pk}"
    if not upload.is_taken:
        return f"{reverse('judges:dataset-upload')}?upload={upload.pk}"
    if upload.import_pk is not None:
        return reverse("judges:dataset-import", args=[upload.import_pk])
    return reverse("annotation:dataset-detail", args=[upload.said["name"]])


def upload_links(user: User, dataset: Dataset | None) -> list[tuple[FileUpload, str]]:
    """Uploads of theirs that aren't finished, for this form, each with the address at which it continues."""
    return [(one, page_of_upload(one)) for one in uploads_of(user, Q(dataset=dataset))]


def problems_of(form: forms.Form) -> list[tuple[str, str, str]]:
    """(label, message, id of the field) of everything that is wrong in a form."""
    return [
        (str(form[name].label), str(message), form[name].id_for_label or f"id_{name}")
        for name, messages in form.errors.items()
        if name in form.fields
        for message in messages
    ]


def _begin(request: ResearcherRequest, form_class: type[forms.Form], dataset: Dataset | None) -> HttpResponse:
    expected = upload_named(request, dataset)
    file = UploadBeginForm(request.POST)
    if not file.is_valid():
        words = "Expected a name, a size, a time of change and a hash of the first bytes."
        return _report(request, [("File", words, "id_file")])
    said = file.cleaned_data
    form = form_class(request.POST, declared_file(said["file_name"], said["file_size"]))
    if form.is_valid():
        try:
            upload = upload_begin(
                user=request.user,
                dataset=dataset,
                said=said_in(form),
                expected=expected,
                **{name.removeprefix("file_"): value for name, value in said.items()},
            )
        except FileNotTakenError as error:
            form.add_error("file", str(error))
        else:
            return JsonResponse(_state(upload))
    return _report(request, problems_of(form))


def _report(request: ResearcherRequest, problems: list[tuple[str, str, str]]) -> HttpResponse:
    return render(request, "judges/_upload_report.html", {"problems": problems}, status=422)


def _state(upload: FileUpload) -> dict[str, Any]:
    """What a browser has to know to continue; of a file that an import has, that it is whole."""
    return {
        "id": upload.pk,
        "address": reverse("judges:upload-chunk", args=[upload.pk]),
        "chunk": upload.chunk,
        "offset": upload.n_stored,
        "digest": upload.digest,
    }


def _refused(problem: str, status: int) -> JsonResponse:
    return JsonResponse({"problem": problem}, status=status)


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ChunkRefusedError("Expected the header Upload-Offset with the byte at which the chunk begins.")
    return int(text)


def _digest(text: str) -> bytes:
    begin, end = "sha-256=:", ":"
    try:
        if not (text.startswith(begin) and text.endswith(end)):
            raise ValueError
        digest = b64decode(text[len(begin) : -len(end)], validate=True)
        if len(digest) != 32:
            raise ValueError
    except (ValueError, binascii.Error):
        raise ChunkRefusedError("Expected the header Content-Digest with the SHA-256 of the chunk.") from None
    return digest
