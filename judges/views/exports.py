"""The page Export of a dataset and of a study: what can be had, what is being made, what is there to download."""

from collections.abc import Iterator
from pathlib import Path

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.forms.upload import DatasetDocumentationForm
from annotation.selectors.datasets import datasets_owned_by
from judges.models import ExportJob, ExportState
from judges.services.export_jobs import (
    export_job_delete,
    export_job_get_for,
    export_jobs_of,
    export_of_token,
    export_request,
    export_subject_for,
    export_token,
    may_export,
    may_identify_in,
)
from judges.services.exports import EXPORTABLES, ExportError, ExportOptions, ExportSubject
from web.access import ResearcherRequest, researcher_action, researcher_form
from web.files import streamed
from web.tables import FORMATS

FLAG = "on"
BLOCK = 2**16


@never_cache
@vary_on_headers("HX-Request")
@researcher_form
def dataset_export_page(request: ResearcherRequest, name: str) -> HttpResponse:
    """GET shows the page, or polled its list of files; POST asks for a file."""
    return _page(request, export_subject_for(request.user, dataset=name))


@never_cache
@vary_on_headers("HX-Request")
@researcher_form
def study_export_page(request: ResearcherRequest, slug: str) -> HttpResponse:
    """As `dataset_export_page`, of a study."""
    return _page(request, export_subject_for(request.user, study=slug))


def _page(request: ResearcherRequest, subject: ExportSubject) -> HttpResponse:
    address = _address(subject)
    if request.method == "POST":
        what, _, format = request.POST.get("export", "").partition(":")
        options = ExportOptions(
            history=request.POST.get("history") == FLAG,
            identify=request.POST.get("identify") == FLAG,
            shape="parts" if request.POST.get("parts") == FLAG else "labels",
        )
        try:
            export_request(user=request.user, subject=subject, what=what, format=format, options=options)
        except ExportError as error:
            messages.error(request, str(error))
        return redirect(f"{address}#files")
    jobs = [(job, EXPORTABLES.get(job.what), _link(job)) for job in export_jobs_of(request.user, subject)]
    kind = subject.study.kind_info if subject.study is not None else None
    context = {
        "section": "datasets" if subject.study is None else "studies",
        "crumbs": _crumbs(subject),
        "subject": subject,
        "study": subject.study,
        "dataset": subject.dataset,
        "address": address,
        "exportables": [
            one
            for one in EXPORTABLES.values()
            if (subject.study is not None or not one.studies_only)
            and may_export(request.user, subject, one.name)
        ],
        "has_parts": kind is None or bool(kind.said),
        "may_identify": may_identify_in(request.user, subject),
        "documentation": _documentation(request, subject),
        "jobs": jobs,
        "polling": any(job.is_open for job, *_ in jobs),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    return render(request, f"judges/export.html{'#files' if part else ''}", context)


def _documentation(request: ResearcherRequest, subject: ExportSubject) -> DatasetDocumentationForm | None:
    """The form with what people know of a dataset, for those who may change it."""
    if (
        subject.study is not None
        or not datasets_owned_by(request.user).filter(pk=subject.dataset.pk).exists()
    ):
        return None
    return DatasetDocumentationForm(initial=subject.dataset.documentation)


def _address(subject: ExportSubject) -> str:
    if subject.study is None:
        return reverse("judges:dataset-export-page", args=[subject.dataset.name])
    return reverse("judges:study-export-page", args=[subject.study.slug])


def _crumbs(subject: ExportSubject) -> list[tuple[str, str | None]]:
    if subject.study is None:
        detail = reverse("annotation:dataset-detail", args=[subject.dataset.name])
        return [
            ("Datasets", reverse("annotation:dataset-list")),
            (subject.dataset.title, detail),
            ("Export", None),
        ]
    detail = reverse("annotation:study-detail", args=[subject.study.slug])
    return [("Studies", reverse("annotation:study-list")), (subject.study.title, detail), ("Export", None)]


def _link(job: ExportJob) -> str | None:
    if job.state != ExportState.DONE:
        return None
    return reverse("judges:export-file", args=[export_token(job)])


@researcher_action
def export_delete(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Delete an export of theirs, whether it is there or being made."""
    job = export_job_get_for(request.user, pk)
    address = _address(ExportSubject(job.dataset, job.study))
    export_job_delete(job=job)
    messages.success(request, "The export was deleted.")
    return redirect(f"{address}#files")


@never_cache
@require_safe
def export_file(request: HttpRequest, token: str) -> StreamingHttpResponse:  # noqa: ARG001
    """A finished file, for whoever has the link, until it expires or its owner may not have it any more."""
    job, path = export_of_token(token)
    name = job.dataset.name if job.study is None else job.study.slug
    ending = (
        f"{job.what}-{job.finished_at or timezone.now():%Y%m%d}.{EXPORTABLES[job.what].suffix(job.format)}"
    )
    response = streamed(
        _blocks(path), f"{name}-{ending}", FORMATS.get(job.format, "application/octet-stream")
    )
    response.headers["Content-Length"] = str(job.size)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
