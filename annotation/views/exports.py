"""Downloads of labels, people and pay, streamed."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.models import Dataset, Study
from annotation.models.work import LabelQuerySet
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.overview import (
    labels_visible_to,
    may_identify,
    studies_owned_by,
    studies_visible_to,
)
from annotation.selectors.pay import pay_report
from annotation.services.audit import audit
from annotation.services.exports import SHAPES, labels_table
from annotation.services.people_exports import pay_table, study_annotators_table
from web.access import ResearcherRequest, researcher_page
from web.files import streamed
from web.tables import FORMATS, ExportTable, table_bytes


@researcher_page
def study_export(request: ResearcherRequest, slug: str, format: str) -> HttpResponseBase:
    """Labels of a study; `?history=1` with what does not count, `?identify=1` with who the annotators are,
    `?shape=parts` with a row a rating, rank or answer.
    """
    study = get_object_or_404(studies_visible_to(request.user), slug=slug)
    # Hidden checks may come from a dataset that is somebody else's.
    labels = labels_visible_to(request.user).filter(study=study)
    return _download(request, labels, study, format, identifiable=may_identify(request.user, study))


@researcher_page
def dataset_export(request: ResearcherRequest, name: str, format: str) -> HttpResponseBase:
    """Labels of a dataset: imported ones, and those of the studies that this person may see."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    labels = labels_visible_to(request.user).filter(item__dataset=dataset)
    # Of several studies, hence of several owners.
    return _download(request, labels, dataset, format, identifiable=request.user.is_administrator)


@researcher_page
def people_export(request: ResearcherRequest, slug: str, format: str) -> HttpResponseBase:
    """The people of a study: answers about themselves and test results; `?identify=1` with who they are."""
    study = get_object_or_404(studies_visible_to(request.user), slug=slug)
    if format not in FORMATS:
        raise Http404(f"There is no format {format}.")
    identify = _identify(request, identifiable=may_identify(request.user, study))
    audit("people.exported", study, after={"format": format, "identify": identify})
    return _streamed(study_annotators_table(study, identify=identify), f"{slug}-people", format)


@researcher_page
def pay_export(request: ResearcherRequest, slug: str) -> HttpResponseBase:
    """The pay report as CSV; `?identify=1` with who the people are."""
    study = get_object_or_404(studies_owned_by(request.user), slug=slug)
    identify = _identify(request, identifiable=may_identify(request.user, study))
    audit("pay.exported", study, after={"format": "csv", "identify": identify})
    return _streamed(pay_table(pay_report(study), identify=identify), f"{slug}-pay", "csv")


def _identify(request: ResearcherRequest, *, identifiable: bool) -> bool:
    identify = request.GET.get("identify") == "1"
    if identify and not identifiable:
        raise PermissionDenied("Only the owner of a study can export the identities of its annotators.")
    return identify


def _download(
    request: ResearcherRequest,
    labels: LabelQuerySet,
    subject: Study | Dataset,
    format: str,
    *,
    identifiable: bool,
) -> HttpResponseBase:
    if format not in FORMATS:
        raise Http404(f"There is no format {format}.")
    identify = _identify(request, identifiable=identifiable)
    shape = request.GET.get("shape", "labels")
    if shape not in SHAPES:
        raise Http404(f"There is no shape {shape}.")
    history = request.GET.get("history") == "1"
    table = labels_table(labels, history=history, identify=identify, shape=shape)
    how = {"format": format, "shape": shape, "history": history, "identify": identify}
    audit("labels.exported", subject, after=how)
    name = subject.slug if isinstance(subject, Study) else subject.name
    return _streamed(table, f"{name}-{shape}", format)


def _streamed(table: ExportTable, name: str, format: str) -> StreamingHttpResponse:
    return streamed(table_bytes(table, format), f"{name}-{timezone.now():%Y%m%d}.{format}", FORMATS[format])
